"""The files that are made from the program itself: completions and the README's reference.

python -m tests.generated         writes them
pytest tests/test_generated.py    proves that they are fresh
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERBS = ("search", "around", "export", "backfill", "reindex", "sql", "forget", "mcp")
BEGIN, END = "<!-- reference: from --help -->", "<!-- end of reference -->"


def run(*arguments: str, **environ: str) -> str:
    """Run the program in an empty home and give what it prints."""
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "PATH": os.environ["PATH"], "COLUMNS": "80", "LANG": "C.UTF-8"}
        return subprocess.run(
            [sys.executable, "-m", "mimohist", *arguments],
            env={**env, **environ},
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        ).stdout


BASH = r"""_mimohist_completion() {
    local IFS=$'\n' out value
    COMPREPLY=()
    out=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \
              _MIMOHIST_COMPLETE=complete_bash "$1" 2>/dev/null) || return 0
    while IFS= read -r value; do
        [ -n "$value" ] && COMPREPLY+=("$(printf %q "$value")")
    done <<< "$out"
    return 0
}

complete -o default -F _mimohist_completion mimohist
"""

ZSH = r"""#compdef mimohist

_mimohist() {
  local out line value
  local -a found
  out=$(env _MIMOHIST_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args \
    _TYPER_COMPLETE_ARGS="${(j: :)words[1,CURRENT]}" ${words[1]} 2>/dev/null) || return 1
  for line in ${(f)out}; do
    value=${${${line%%$'\t'*}//\\/\\\\}//:/\\:}
    [[ $line == *$'\t'* ]] && value+=:${line#*$'\t'}
    found+=($value)
  done
  if (( $#found )); then
    _describe -t values value found
  else
    _files
  fi
}

if [ "$funcstack[1]" = "_mimohist" ]; then
  _mimohist "$@"
else
  compdef _mimohist mimohist
fi
"""

_FISH = (
    "env _MIMOHIST_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION={}"
    " _TYPER_COMPLETE_ARGS=(commandline -cp) mimohist 2>/dev/null"
)
FISH = (
    f'complete --command mimohist --no-files --arguments "({_FISH.format("get-args")})"'
    f' --condition "{_FISH.format("is-args")}"\n'
)


def completions() -> dict[str, str]:
    """Give each completion file's text by its name.

    Values come from transcripts, so what the program prints is data to the shells and never
    evaluated: Typer's own script for zsh runs what stands in a title, and so is not used.
    """
    return {"mimohist.bash": BASH, "_mimohist": ZSH, "mimohist.fish": FISH}


def reference() -> str:
    """Give the README's reference: the help of every verb."""
    parts = []
    for verb in VERBS:
        text = run(verb, "--help").strip()
        parts.append(f"### `mimohist {verb}`\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def readme() -> str:
    """Give the README with its reference as the program has it now."""
    text = (ROOT / "README.md").read_text("utf-8")
    pattern = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END), re.DOTALL)
    return pattern.sub(lambda _: f"{BEGIN}\n\n{reference()}\n{END}", text)


def main() -> None:
    """Write the files."""
    (ROOT / "completions").mkdir(exist_ok=True)
    for name, text in completions().items():
        (ROOT / "completions" / name).write_text(text, "utf-8")
    (ROOT / "README.md").write_text(readme(), "utf-8")


if __name__ == "__main__":
    main()
