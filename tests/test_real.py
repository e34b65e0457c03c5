"""The databases that the real programs wrote, where they lie beside the checkout."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ended, Program

    Ask = Callable[..., Ended]

REAL = Path(__file__).parents[2] / "shared/real"
PLACES = {"at rest": "mimocode.db", "live copy": "live-copy-mimocode/mimocode.db"}

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="no real databases are here")


@pytest.fixture(params=PLACES)
def ask(request: pytest.FixtureRequest, database: Path, mimohist: Program) -> Ask:
    """Give the program with one of the real databases in the test's home."""
    source = REAL / PLACES[request.param]
    for suffix in ("", "-wal"):
        if Path(f"{source}{suffix}").exists():
            copied = Path(f"{database}{suffix}")
            shutil.copyfile(f"{source}{suffix}", copied)
    before = digests(database.parent)

    def run(*arguments: str) -> Ended:
        ended = mimohist(*arguments)
        assert digests(database.parent) == before
        return ended

    assert run("backfill").status == 0
    return run


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("连接池", "title"),
        ("カード", "assistant_text"),
        ("한글", "title"),
        ("pricing", "assistant_text"),
        ('"drag handle"', "title"),
        ("does-not-exist", None),
        ("Traceback", None),
    ],
)
def test_what_is_known_to_be_there_is_found_and_shown(
    ask: Ask, word: str, kind: str | None
) -> None:
    ended = ask("search", "-g", "--json", word, "-k", "all")
    assert ended.status == 0
    hits = [json.loads(line) for line in ended.out.splitlines()]
    assert kind is None or hits[0]["kind"] == kind or kind in {hit["kind"] for hit in hits}
    shown = ask("around", hits[0]["ref"], "--json")
    assert shown.status == 0
    assert all(json.loads(line)["session_id"] for line in shown.out.splitlines())


def test_every_part_has_a_fate(ask: Ask) -> None:
    """742 parts, and four messages whose error is a row of its own."""
    parts = json.loads(ask("backfill", "--verify", "--json").out)["parts"]
    assert sum(parts.values()) == 742 + 4
    assert (parts["(step-start)"], parts["(step-finish)"], parts["(running bash)"]) == (159, 154, 1)


def test_deleted_and_machine_text_is_not_what_people_said(ask: Ask) -> None:
    """The original's own history finds 90 % synthetic text, and deleted sessions."""
    ended = ask("search", "-g", "arxiv", "-k", "user_text")
    assert (ended.status, "-a shows them" in ended.err) == (1, True)
    assert ask("search", "-g", "arxiv", "-k", "user_text", "-a").status == 0


def test_a_second_run_adds_nothing(ask: Ask) -> None:
    counts = json.loads(ask("backfill", "--json").out)
    assert (counts["added"], counts["updated"]) == (0, 0)
