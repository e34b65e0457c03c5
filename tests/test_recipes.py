"""The recipes of the README, run as they stand there, with the programs that they name."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.generated import ROOT
from tests.mimo_database import MimoDatabase
from tests.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Program


def recipes() -> dict[str, str]:
    """Give the README's recipes by the comment above each."""
    text = (ROOT / "README.md").read_text("utf-8")
    block = re.search(r"^## Recipes\n\n```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert block, "the README has recipes"
    found = {}
    for paragraph in block[1].split("\n\n"):
        comment, _, script = paragraph.partition("\n")
        found[comment.lstrip("# ")] = script
    return found


def recipe(word: str) -> str:
    """Give the one recipe that uses `word`."""
    (script,) = [script for script in recipes().values() if word in script]
    return script


def run(shell: dict[str, str], script: str) -> str:
    """Run a recipe in which every program must end well; give what it prints."""
    ended = subprocess.run(
        [shutil.which("bash") or "", "-euo", "pipefail", "-c", script],
        env=shell,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {missing}")


def fzf_is_old() -> bool:
    """Whether fzf is missing or knows no `become`, which came with 0.38."""
    if shutil.which("fzf") is None:
        return True
    told = run({"PATH": os.environ["PATH"]}, "fzf --version")
    version = re.match(r"(\d+)\.(\d+)", told)
    return version is None or (int(version[1]), int(version[2])) < (0, 38)


@pytest.fixture
def shell(tmp_path: Path, database: Path, home: Path, mimohist: Program) -> dict[str, str]:
    """Give an environment with the program and a history that the recipes find something in."""
    db = MimoDatabase(database, start=int(time.time() * 1000) - 60_000)
    shop = db.session(id="ses_shop0001", directory="/w/shop", title="Flaky deadlock")
    db.say(shop, "the deadlock came back after migration 0042", id="msg_ask")
    answer = db.message(shop, "assistant", id="msg_answer")
    db.text(answer, "It is the lock order.")
    db.tool(answer, "bash", {"command": "psql"}, error="no such table: orders")
    db.say(db.session(id="ses_note0002", directory="/w/notes"), "tests are flaky", id="msg_note")
    db.close()
    assert mimohist("backfill").status == 0
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "mimohist"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mimohist "$@"\n')
    script.chmod(0o755)
    return {
        "HOME": str(home),
        "PATH": f"{folder}:{os.environ['PATH']}",
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "MIMOHIST_PAGER": "cat",
    }


def test_every_recipe_is_tried_here() -> None:
    """A recipe that is added to the README gets a test."""
    tried = ("around - -C", "jq", "search -q", "xargs -0", "search -l", "fzf")
    assert [
        script for script in recipes().values() if not any(one in script for one in tried)
    ] == []
    assert len(recipes()) == len(tried)


@needs("bash")
def test_what_was_said_about_it_in_context(shell: dict[str, str]) -> None:
    lines = run(shell, recipe("around - -C")).splitlines()
    assert [line.split("\t")[0].rsplit("/", 1)[1] for line in lines] == [
        *("msg_ask", "msg_answer", "msg_answer", "msg_answer")
    ]


@needs("bash", "jq")
def test_refs_of_failed_calls_with_jq(shell: dict[str, str]) -> None:
    assert run(shell, recipe("jq")) == "mimo/ses_shop0001/msg_answer\n"


@needs("bash", "jq")
def test_jq_reads_what_around_and_sql_write(shell: dict[str, str]) -> None:
    script = "mimohist around msg_ask --json | jq -sc 'map(select(.anchor) | .parts[].text)'"
    assert json.loads(run(shell, script)) == ["the deadlock came back after migration 0042"]
    script = "mimohist sql sessions --json | jq -r .session_id | sort"
    assert run(shell, script) == "ses_note0002\nses_shop0001\n"


@needs("bash")
def test_a_status_answers_whether_it_is_known(shell: dict[str, str]) -> None:
    script = recipe("search -q")
    assert run(shell, script) == "we have been here\n"
    assert run(shell, script.replace("0042", "0043")) == ""


@needs("bash", "xargs")
def test_files_for_other_programs_with_xargs(shell: dict[str, str], database: Path) -> None:
    (line,) = run(shell, recipe("xargs -0")).splitlines()
    assert line.endswith(f" {database}")


@needs("bash", "xargs", "head")
def test_whole_sessions_one_after_the_other(shell: dict[str, str]) -> None:
    out = run(shell, recipe("search -l"))
    assert {line.split("\t")[0] for line in out.splitlines()} == {
        "mimo/ses_shop0001/msg_ask",
        "mimo/ses_shop0001/msg_answer",
        "mimo/ses_note0002/msg_note",
    }


@needs("bash")
@pytest.mark.skipif(fzf_is_old(), reason="fzf is not installed, or older than 0.38")
def test_mh_lists_hits_for_fzf(shell: dict[str, str]) -> None:
    """What fzf is given are the records, of which the first field is what it hands on."""
    shell["FZF_DEFAULT_OPTS"] = "--filter lock"
    lines = run(shell, recipe("fzf") + "\nmh deadlock -k user_text").splitlines()
    assert [line.split("\t")[0] for line in lines] == ["mimo/ses_shop0001/msg_ask"]


@needs("bash")
@pytest.mark.skipif(fzf_is_old(), reason="fzf is not installed, or older than 0.38")
@pytest.mark.parametrize("name", [name for name in ("bash", "zsh") if shutil.which(name)])
def test_mh_shows_a_preview_and_enter_shows_the_rest(shell: dict[str, str], name: str) -> None:
    """At a terminal: the preview holds the answer to what was found, Enter leaves it there."""
    script = recipe("fzf") + "\nmh deadlock -k user_text"
    terminal = Terminal([name, "-c", script], shell)
    try:
        terminal.wait_for("lock order")
        terminal.type("\r")
        shown = terminal.rest()
    finally:
        status = terminal.close()
    assert "> 1  you" in shown
    assert "It is the lock order." in shown
    assert "no such table: orders" in shown
    assert status == 0
