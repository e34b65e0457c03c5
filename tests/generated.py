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


def completions() -> dict[str, str]:
    """Give each completion file's text by its name."""
    bash = run(_MIMOHIST_COMPLETE="source_bash").strip() + "\n"
    fish = run(_MIMOHIST_COMPLETE="source_fish").strip() + "\n"
    zsh = run(_MIMOHIST_COMPLETE="source_zsh").strip() + "\n"
    # As a file on fpath it is loaded by the first TAB, which it must then answer itself.
    zsh = zsh.replace(
        "compdef _mimohist_completion mimohist",
        'if [ "$funcstack[1]" = "_mimohist" ]; then\n  _mimohist_completion "$@"\n'
        "else\n  compdef _mimohist_completion mimohist\nfi",
    )
    return {"mimohist.bash": bash, "_mimohist": zsh, "mimohist.fish": fish}


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
