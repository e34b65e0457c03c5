"""The library does what the command line does, typed and without printing anything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mimohist
from mimohist import History
from mimohist.backfill import Ended, Stored
from mimohist.errors import BadInput, Busy, NoIndex, NotFound, SourceError
from mimohist.kinds import Kind
from mimohist.store import lock
from tests.mimo_database import START, MimoDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Program

ROOT = Path(__file__).parents[1]
LATER = START + 86_400_000
KEY = "AKIA" + "ABCDEFGHIJKLMNOP"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "mimocode.db"
    with MimoDatabase(place) as db:
        session = db.session(id="ses_shop", title="Cart total drifts", directory="/w/shop")
        db.say(session, "why does the cart drift?", id="msg_ask")
        answer = db.message(session, "assistant", id="msg_answer")
        db.tool(answer, "bash", {"command": "ls cart"}, output="a.py\n" * 2000, at=None)
        db.say(session, "thanks", id="msg_thanks")
        other = db.session(id="ses_note", directory="/w/note")
        db.say(other, "the cart of notes", id="msg_note", at=LATER)
    return place


@pytest.fixture
def environ(place: Path) -> dict[str, str]:
    return {"HOME": str(place.parent), "MIMOCODE_DB": str(place)}


@pytest.fixture
def history(environ: dict[str, str]) -> Iterator[History]:
    with History.open(environ=environ) as found:
        list(found.backfill())
        yield found


def refs(history: History, *words: str, **narrowed: Any) -> list[str | None]:  # noqa: ANN401 - flags
    return [hit.message_id for hit in history.search(*words, **narrowed).hits]


def test_without_an_index_it_says_so_and_backfill_makes_it(environ: dict[str, str]) -> None:
    history = History.open(environ=environ, sources=["mimo"])
    with pytest.raises(NoIndex):
        history.search("cart")
    with pytest.raises(NoIndex):
        history.refresh()
    events = list(history.backfill())
    assert {type(event) for event in events} >= {Stored, Ended}
    assert len(refs(history, "drift", kinds=["user_text"])) == 1


def test_a_backfill_left_in_the_middle_goes_on_later(environ: dict[str, str]) -> None:
    """Whoever stops taking events stops the run; nothing is lost and nothing stays locked."""
    history = History.open(environ=environ)
    events = history.backfill()
    next(events)
    events.close()  # type: ignore[attr-defined]
    list(history.backfill())
    assert len(history.search("cart", limit=0).hits) >= 3


def test_refresh_takes_in_what_is_new(history: History, place: Path) -> None:
    assert history.refresh() == (False, 0, ())
    with MimoDatabase(place, start=LATER, seed=1) as db:
        db.say("ses_note", "a zorblax appeared", id="msg_new")
    assert history.refresh(60).pending == 0
    assert refs(history, "zorblax") == ["msg_new"]


def test_nothing_to_read_and_a_held_lock_are_errors(tmp_path: Path, history: History) -> None:
    nowhere = History.open(tmp_path / "x/index.db", {"HOME": str(tmp_path / "x")})
    with pytest.raises(SourceError, match="no sessions found"):
        next(nowhere.backfill())
    with lock(history.config.db), pytest.raises(Busy):
        next(history.backfill())


def test_a_search_is_narrowed_by_keywords(history: History) -> None:
    said = {"kinds": ["user_text"]}
    assert set(refs(history, "cart", **said)) == {"msg_ask", "msg_note"}
    assert refs(history, "cart", **said, sessions=["ses_shop"]) == ["msg_ask"]
    assert refs(history, "cart", **said, projects=["/w/note"]) == ["msg_note"]
    assert refs(history, "cart", **said, here="/w/shop/src") == ["msg_ask"]
    assert refs(history, "cart", **said, since=LATER) == ["msg_note"]
    assert refs(history, "cart", **said, until=LATER) == refs(
        history, "cart", **said, sort="newest"
    )
    assert refs(history, "cart", **said, until=LATER - 1) == ["msg_ask"]
    assert refs(history, "cart", **said, since="2026-12-02", until="2026-12-03") == ["msg_note"]
    assert refs(history, "cart", **said, limit=1, sort="oldest") == ["msg_ask"]
    assert refs(history, "cart", "notes", **said, any_word=True, without=["drift"]) == ["msg_note"]
    assert refs(history, "c.rt of", mode="regex") == ["msg_note"]
    assert refs(history, "ls", tools=["bash"]) == ["msg_answer"]


@pytest.mark.parametrize(
    ("narrowed", "complaint"),
    [
        ({"kinds": ["nope"]}, "no kind 'nope'"),
        ({"mode": "nope"}, "no mode 'nope'"),
        ({"sort": "nope"}, "no sort 'nope'"),
        ({"limit": -1}, "limit -1 is negative"),
        ({"since": "last week"}, "not a time"),
        ({"sources": ["nope"]}, "no source 'nope'"),
    ],
)
def test_what_a_search_cannot_mean(
    history: History, narrowed: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint):
        history.search("cart", **narrowed)


def test_windows(history: History) -> None:
    (context,) = history.around("msg_answer", before=1, after=0)
    assert [one.message_id for one in context.messages] == ["msg_ask", "msg_answer"]
    (whole,) = history.around("ses_shop", whole=True, kinds=["user_text"])
    assert [one.message_id for one in whole.messages] == ["msg_ask", "msg_thanks"]
    with pytest.raises(NotFound):
        history.around("msg_nope")
    with pytest.raises(BadInput, match="cannot be negative"):
        history.around("msg_ask", before=-1)


def part_of(history: History, *words: str) -> str:
    return history.search(*words, kinds=["tool_input", "user_text"]).hits[0].part_id


def test_the_pages_of_a_part_rebuild_its_text(history: History) -> None:
    part = part_of(history, "ls")
    pages = [history.get(part, 0, 700)]
    while (at := pages[-1].next_offset) is not None:
        pages.append(history.get(part, at, 700))
    text = "".join(page.text for page in pages)
    assert text == "bash\nls cart\n" + "a.py\n" * 2000
    assert {page.total for page in pages} == {len(text)}
    assert [page.offset for page in pages] == list(range(0, len(text), 700))
    assert (pages[0].kind, pages[0].tool) == (Kind.TOOL_OUTPUT, "bash")
    assert pages[0].ref == "mimo/ses_shop/msg_answer"


def test_pages_of_other_things(history: History, place: Path) -> None:
    """A title, a call that is still running, and nothing at all."""
    assert history.get("title:ses_shop").text == "Cart total drifts"
    with MimoDatabase(place, start=LATER, seed=1) as db:
        running = db.tool("msg_answer", "bash", {"command": "sleep 9"}, status="running")
    assert history.get(running).text == "bash\nsleep 9"
    with pytest.raises(NotFound, match="no part 'prt_nope'"):
        history.get("prt_nope")


@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (0, 0), (0, -5), (10**9, 1)])
def test_pages_that_cannot_be(history: History, offset: int, length: int) -> None:
    with pytest.raises(BadInput):
        history.get(part_of(history, "drift"), offset, length)


def test_a_page_at_the_very_end_is_empty(history: History) -> None:
    part = part_of(history, "drift")
    total = history.get(part).total
    assert history.get(part, total, 5) == history.get(part)._replace(
        text="", offset=total, next_offset=None
    )


def test_a_part_is_looked_up_by_an_index(history: History) -> None:
    """A page of a large history costs no walk through it."""
    plan = " ".join(
        str(row)
        for row in history.reader.execute(
            "EXPLAIN QUERY PLAN SELECT 1 FROM history_fts h"
            " WHERE h.root IN (SELECT id FROM root) AND h.part_id = ?",
            ("x",),
        )
    )
    assert "history_fts_part" in plan
    assert "SCAN h" not in plan


def test_with_redact_no_answer_holds_a_secret(environ: dict[str, str], place: Path) -> None:
    """Snippets are redacted before they are cut, so that no end of a key is left at an edge."""
    with MimoDatabase(place, start=LATER, seed=1) as db:
        session = db.session(id="ses_leak", title=f"the {KEY} leaked")
        for words in range(20, 60):
            db.say(session, f"{'pad ' * words}{KEY} {'word ' * words}needle{words}x")
    folder = place.parent / ".config/mimohist"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("redact = true\n")
    with History.open(environ=environ) as history:
        list(history.backfill())
        hits = [*history.search("needle*", limit=0).hits, *history.search("leaked").hits]
        assert len(hits) == 41
        (context,) = history.around("ses_leak", whole=True)
        shown = [hit.snippet + hit.title for hit in hits]
        shown += [part.text for message in context.messages for part in message.parts]
        shown += [history.get(hit.part_id).text for hit in hits]
        (exported,) = history.export("ses_leak")
        shown += [exported.title, str(list(exported.messages))]
        for text in shown:
            assert not re.search(r"AKIA|ABCDEF|KLMNOP", text)
        assert any("[redacted:aws-key]" in text for text in shown)


def test_the_package_gives_its_class_and_nothing_else() -> None:
    assert mimohist.History is History
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = mimohist.Nothing


def test_importing_the_package_loads_nothing_of_it() -> None:
    """`import mimohist` alone costs nothing; `History` is loaded when it is asked for."""
    probe = "import sys, mimohist; print([m for m in sys.modules if m.startswith('mimohist.')])"
    ended = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert ended.stdout.strip() == "[]"


def test_the_example_in_the_readme_runs(
    environ: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands under "As a library" is run as it stands."""
    text = (ROOT / "README.md").read_text("utf-8")
    section = text.split("## As a library", 1)[1].split("\n## ", 1)[0]
    (example,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    for name in ("MIMOHIST_DB", "MIMOHIST_CONFIG", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    exec(compile(example, "README.md", "exec"), {"__name__": "example"})  # noqa: S102 - the example
    out = capsys.readouterr().out
    assert "mimo/ses_shop/msg_ask" in out


def test_the_command_line_answers_as_the_library_does(
    database: Path, home: Path, mimohist: Program
) -> None:
    with MimoDatabase(database) as db:
        db.say(db.session(id="ses_a"), "one zorblax", id="msg_a")
        db.say(db.session(id="ses_b"), "two zorblax", id="msg_b")
    out = mimohist("search", "zorblax", "--ids").out.split()
    with History.open(environ={"HOME": str(home)}) as history:
        assert [hit.ref for hit in history.search("zorblax").hits] == out
