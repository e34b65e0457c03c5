"""How the process starts and ends: what it imports, and the status that it leaves.

Names of modules and not milliseconds, so that a busy machine proves nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mimohist import __version__
from tests.mimo_database import MimoDatabase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[1]

SLOW = {"rich", "sqlite_utils", "pydantic", "logging", "importlib.metadata"}
"""Each costs a search between 10 and 110 ms."""

RUN = f"""
import sys
sys.path[:0] = {[str(ROOT), *sys.path]!r}
from mimohist.__main__ import main
main()
"""

PROBE = f"""
import os, sys
sys.path[:0] = {[str(ROOT), *sys.path]!r}
leave = os._exit
def tell_and_leave(status):
    with open(os.environ["MODULES"], "w") as file:
        print(*sys.modules, sep="\\n", file=file)
    leave(status)
os._exit = tell_and_leave
from mimohist.__main__ import main
try:
    main()
except SystemExit as end:
    sys.stdout.flush()
    tell_and_leave(end.code)
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Give an environment in which nothing of this machine's sessions is found."""
    return {
        "HOME": str(tmp_path),
        "PATH": os.defpath,
        "MODULES": str(tmp_path / "modules"),
        "MIMOCODE_DB": str(tmp_path / "mimocode.db"),
    }


def run(
    arguments: Sequence[str], environ: Mapping[str, str], program: str = RUN, cwd: str = "/"
) -> subprocess.CompletedProcess[str]:
    """Run the program as its script does, but without `site`, which imports what it likes."""
    return subprocess.run(
        [sys.executable, "-S", "-c", program, *arguments],
        env=environ,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_version_is_told_cheaply(environ: Mapping[str, str]) -> None:
    """`--version` needs Typer, nothing slower and none of the query core."""
    ended = run(["--version"], environ, PROBE)
    assert (ended.stdout, ended.stderr) == (f"mimohist {__version__}\n", "")
    modules = set(Path(environ["MODULES"]).read_text().split())
    assert "mimohist.cli" in modules
    assert modules & (SLOW | {"sqlite3", "mimohist.search", "mimohist.text"}) == set()


def test_a_search_imports_nothing_slow(tmp_path: Path, environ: dict[str, str]) -> None:
    """`search --json` finds a hit without Rich, sqlite-utils, pydantic, logging or metadata."""
    database = MimoDatabase(tmp_path / "mimocode.db")
    database.say(database.session(), "why does the heliotrope total drift?")
    database.close()
    assert run(["backfill"], environ).returncode == 0
    ended = run(["search", "--json", "heliotrope"], environ, PROBE)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "heliotrope" in json.loads(ended.stdout)["snippet"]
    modules = set(Path(environ["MODULES"]).read_text().split())
    assert "mimohist.search" in modules
    assert modules & SLOW == set()


def test_times_are_understood_cheaply(environ: Mapping[str, str]) -> None:
    """`--since` costs no calendar, locale or time zone database."""
    program = (
        f"import sys; sys.path[:0] = {[str(ROOT)]!r}; import mimohist.when; print(*sys.modules)"
    )
    modules = set(run([], environ, program).stdout.split())
    assert "mimohist.when" in modules
    assert modules & {"calendar", "locale", "zoneinfo", "typing_extensions", *SLOW} == set()


CLI = """
import sys, types
cli = types.ModuleType("mimohist.cli")
def main():
    {body}
cli.main = main
sys.modules["mimohist.cli"] = cli
"""


def ending(body: str) -> str:
    """Give a program whose command line does just this."""
    return CLI.format(body=body) + RUN


@pytest.mark.parametrize("verb", ["search", "backfill"])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("return 0", 0),
        ("return 1", 1),
        ("return 75", 75),
        ("raise KeyboardInterrupt", 130),
        ("raise RuntimeError('boom')", 2),
        ("import no_such_module", 2),
    ],
)
def test_the_status_is_honest(
    environ: Mapping[str, str], verb: str, body: str, status: int
) -> None:
    """A bug is 2 and never Python's 1, which would mean that nothing was found."""
    ended = run([verb], environ, ending(body))
    assert ended.returncode == status
    assert ("Traceback" in ended.stderr) == (body.startswith(("raise Runtime", "import")))


@pytest.mark.parametrize("verb", ["search", "backfill"])
def test_all_that_was_written_arrives(environ: Mapping[str, str], verb: str) -> None:
    """Ending early loses nothing of a long answer."""
    ended = run([verb], environ, ending("print('x' * 1_000_000); return 0"))
    assert (ended.returncode, len(ended.stdout)) == (0, 1_000_001)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("verb", ["search", "backfill"])
def test_an_answer_that_cannot_be_written_is_an_error(
    environ: Mapping[str, str], verb: str
) -> None:
    """A full disk is status 2 and a line on stderr, not a success and not Python's 120."""
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-S", "-c", ending("print('x'); return 0"), verb],
            env=environ,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert ended.returncode == 2
    assert ended.stderr.startswith("mimohist: the answer could not be written: ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals")
def test_a_reader_that_goes_away_ends_it(environ: Mapping[str, str]) -> None:
    """`mimohist search x | head` ends as grep does: by the signal, without a word."""
    body = "while True: print('x' * 80)"
    with subprocess.Popen(
        [sys.executable, "-S", "-c", ending(body), "search"],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == -13
