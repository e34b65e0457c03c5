"""What is generated and committed is what the program gives now, and works in its shells."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests import generated, picture
from tests.mimo_database import MimoDatabase
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Program


@pytest.mark.parametrize("name", ["mimohist.bash", "_mimohist", "mimohist.fish"])
def test_completions_are_fresh(name: str) -> None:
    path = generated.ROOT / "completions" / name
    assert path.read_text("utf-8") == generated.completions()[name]


def test_the_reference_in_the_readme_is_the_help_of_the_verbs() -> None:
    assert (generated.ROOT / "README.md").read_text("utf-8") == generated.readme()


def test_the_picture_in_the_readme_is_there_and_tells_nothing_of_the_machine() -> None:
    """Nothing is fetched when it is shown, and no path of where it was made is in it."""
    drawn = picture.PICTURE.read_text("utf-8")
    place = picture.PICTURE.relative_to(generated.ROOT).as_posix()
    assert f"]({place})" in (generated.ROOT / "README.md").read_text("utf-8").split("## ")[0]
    addresses = re.findall(r"https?://[^\s\"<)]+", drawn)
    assert set(addresses) <= {"http://www.w3.org/2000/svg", "https://www.textualize.io"}
    for word in ("/tmp", "/root", "/work", "/home/", "file:"):  # noqa: S108 - looked for, not used
        assert word not in "".join(picture.texts(drawn)).replace("/home/dev", "")
        assert f'"{word}' not in drawn


@pytest.mark.skipif(not picture.REAL.exists(), reason="no real database is here")
def test_the_picture_shows_what_the_program_answers() -> None:
    command = [sys.executable, "-m", "tests.picture", "-"]
    made = subprocess.run(
        command, cwd=generated.ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert picture.texts(made) == picture.texts(picture.PICTURE.read_text("utf-8"))


@pytest.fixture
def shell(tmp_path: Path, database: Path, home: Path, mimohist: Program) -> dict[str, str]:
    """Give an environment in which a shell finds the program and an index."""
    db = MimoDatabase(database)
    session = db.session(id="ses_one", directory="/w/a b$(:)c")
    db.tool(db.message(session, "assistant"), "bash", {"c": "x"}, output="y")
    db.close()
    assert mimohist("backfill").status == 0
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "mimohist"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mimohist "$@"\n')
    script.chmod(0o755)
    return {"HOME": str(home), "PATH": f"{folder}:{os.environ['PATH']}", "TERM": "dumb"}


def completed(shell: dict[str, str], command: list[str]) -> str:
    return subprocess.run(
        command, env=shell, cwd=generated.ROOT, capture_output=True, text=True, check=False
    ).stdout


BASH = """
source completions/mimohist.bash
COMP_WORDS=({words} "{last}"); COMP_CWORD={at}
_mimohist_completion mimohist
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "last", "offered"),
    [
        ("mimohist", "sea", "search"),
        ("mimohist search", "--stri", "--strict"),
        ("mimohist search -s", "m", "mimo"),
        ("mimohist search -t", "", "bash"),
        ("mimohist search -k", "tool_e", "tool_error"),
        ("mimohist search --session", "ses", "ses_one"),
        ("mimohist sql", "to", "tools"),
        ("mimohist search -p", "/w/", "/w/a\\ b\\$\\(:\\)c"),
    ],
)
def test_bash_completes_verbs_flags_and_values(
    shell: dict[str, str], words: str, last: str, offered: str
) -> None:
    script = BASH.format(words=words, last=last, at=len(words.split()))
    assert offered in completed(shell, ["bash", "-c", script]).split("\n")


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes(shell: dict[str, str]) -> None:
    script = "source completions/mimohist.fish; complete -C 'mimohist search --session ses'"
    assert "ses_one" in completed(shell, ["fish", "-c", script])
    script = "source completions/mimohist.fish; complete -C 'mimohist sea'"
    assert "search" in completed(shell, ["fish", "-c", script])


ZSH = (
    "fpath=({root}/completions $fpath); autoload -Uz compinit; compinit -u -d $HOME/dump;"
    " show() {{ print -r -- LINE=$BUFFER=; BUFFER= }}; zle -N show; bindkey ^X show;"
    " print rea''dy\r"
)
"""Control and X shows the line that was typed; it is never run."""


@pytest.fixture
def zsh(shell: dict[str, str]) -> Iterator[Callable[[str], str]]:
    """Give what types a line and TAB at zsh, and gives the line as it then stands."""
    terminal = Terminal(["zsh", "-f", "-i"], shell)
    terminal.type(ZSH.format(root=generated.ROOT))
    terminal.wait_for("ready\r\n")

    def typed(line: str) -> str:
        terminal.type(f"{line}\t\x18")
        terminal.wait_for("=\r\n")
        said = terminal.said.decode("utf-8", "replace")
        return said[said.rindex("LINE=") + 5 :].split("=\r\n")[0].strip()

    yield typed
    terminal.type("\x15exit\r")
    terminal.rest()
    terminal.close()


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("mimohist sea", "mimohist search"),
        ("mimohist search --stri", "mimohist search --strict"),
        ("mimohist search --session ses", "mimohist search --session ses_one"),
        ("mimohist sql too", "mimohist sql tools"),
        ("mimohist search -k tool_e", "mimohist search -k tool_error"),
        ("mimohist search -p /w/", "mimohist search -p /w/a\\ b\\$\\(:\\)c"),
    ],
)
def test_zsh_completes_verbs_flags_and_values(
    zsh: Callable[[str], str], line: str, completed: str
) -> None:
    """At a TAB in zsh itself; what is inserted is quoted, so that it is one word and no command."""
    assert zsh(line) == completed


BROKEN: dict[str, Callable[[Path, Path], object]] = {
    "no program": lambda _, bin: (bin / "mimohist").unlink(),
    "a crash": lambda _, bin: (bin / "mimohist").write_text(
        "#!/bin/sh\necho Traceback >&2; echo rubbish; exit 1\n"
    ),
    "no index": lambda home, _: (home / ".local/share/mimohist/index.db").unlink(),
    "a damaged index": lambda home, _: (home / ".local/share/mimohist/index.db").write_bytes(
        b"garbage" * 999
    ),
    "a bad configuration": lambda home, _: _written(home / ".config/mimohist/config.toml", "kind="),
}


def _written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)


SILENT = {
    "bash": BASH.format(words="mimohist search --session", last="s", at=3),
    "zsh": """
        compdef() { : }; source completions/_mimohist
        _describe() { print -rl -- ${(P)5} $4 }; _files() { : }
        words=(mimohist search --session s); CURRENT=4; _mimohist
    """,
    "fish": "source completions/mimohist.fish; complete -C 'mimohist search --session s'",
}


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("name", SILENT)
def test_what_is_broken_completes_nothing_and_says_nothing(
    shell: dict[str, str], home: Path, tmp_path: Path, name: str, broken: str
) -> None:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    BROKEN[broken](home, tmp_path / "bin")
    shell["PATH"] = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    ended = subprocess.run(
        [program, *(["-f"] if name == "zsh" else []), "-c", SILENT[name]],
        env=shell,
        cwd=generated.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stderr == ""
    # Fish falls back on the names of files.
    assert [line for line in ended.stdout.split() if not (generated.ROOT / line).exists()] == []


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.parametrize("name", SILENT)
def test_titles_are_data_to_the_shells(
    shell: dict[str, str], database: Path, mimohist: Program, name: str, tmp_path: Path
) -> None:
    """A title of a transcript with commands in it, in every way of quoting them, runs nothing."""
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    trap = tmp_path / "trap"
    db = MimoDatabase(database, start=1_800_000_000_000)
    for number, quote in enumerate(("", "\\", "'", '"', '\\"', "\\'", "))", "`", "\\\\")):
        title = f"x {quote}$(touch {trap}) {quote}`touch {trap}`{quote};touch {trap};"
        place = f"/w/{title}"
        db.say(db.session(id=f"ses_s{number}", title=title, directory=place), "hi")
    db.close()
    assert mimohist("backfill").status == 0
    for option in ("--session", "-p"):
        script = SILENT[name].replace("--session", option)
        subprocess.run(
            [program, *(["-f"] if name == "zsh" else []), "-c", script],
            env=shell,
            cwd=generated.ROOT,
            capture_output=True,
            check=False,
        )
    if name == "zsh":
        terminal = Terminal(["zsh", "-f", "-i"], shell)
        terminal.type(ZSH.format(root=generated.ROOT))
        terminal.wait_for("ready\r\n")
        terminal.type("mimohist search --session ses_s\t\t\t")
        terminal.wait_for("ses_s8")
        terminal.type("\x03\x15exit\r")
        terminal.rest()
        terminal.close()
    assert not trap.exists()


@pytest.mark.parametrize("asked", ["source_zsh", "complete_zsh", "source_bash", "x"])
def test_scripts_that_would_evaluate_values_are_not_given(mimohist: Program, asked: str) -> None:
    ended = mimohist(environ={"_MIMOHIST_COMPLETE": asked})
    assert (ended.status, ended.out) == (2, "")


@pytest.mark.parametrize("flag", ["-s", "--session", "-t"])
def test_without_an_index_values_complete_to_nothing_silently(
    home: Path, mimohist: Program, flag: str
) -> None:
    environ = {
        "_MIMOHIST_COMPLETE": "complete_bash",
        "COMP_WORDS": f"mimohist search {flag} ",
        "COMP_CWORD": "3",
    }
    ended = mimohist(environ=environ)
    assert (ended.status, ended.out.strip(), ended.err) == (0, "", "")
    assert home.exists()
