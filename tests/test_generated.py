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

if TYPE_CHECKING:
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
    db.tool(db.message(db.session(id="ses_one"), "assistant"), "bash", {"c": "x"}, output="y")
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
    ],
)
def test_bash_completes_verbs_flags_and_values(
    shell: dict[str, str], words: str, last: str, offered: str
) -> None:
    script = BASH.format(words=words, last=last, at=len(words.split()))
    assert offered in completed(shell, ["bash", "-c", script]).split()


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes(shell: dict[str, str]) -> None:
    script = "source completions/mimohist.fish; complete -C 'mimohist search --session ses'"
    assert "ses_one" in completed(shell, ["fish", "-c", script])
    script = "source completions/mimohist.fish; complete -C 'mimohist sea'"
    assert "search" in completed(shell, ["fish", "-c", script])


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_loads_its_file_and_asks_the_program(shell: dict[str, str]) -> None:
    script = (
        "fpath=(completions $fpath); autoload -Uz compinit; compinit -u -d $HOME/dump;"
        " print -r -- ${_comps[mimohist]}"
    )
    assert completed(shell, ["zsh", "-fc", script]).strip() == "_mimohist"
    words = {"_MIMOHIST_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "mimohist sea"}
    assert "search" in completed({**shell, **words}, ["mimohist"])


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
