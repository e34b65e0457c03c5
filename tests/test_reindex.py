"""The index made anew: other kinds and limits both ways, exact order, and an honest check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mimohist import reindexing, store, store_rows
from mimohist.backfill import SIX, Options, backfill
from mimohist.errors import IndexUnusable
from mimohist.kinds import Kind
from mimohist.records import Part
from tests.fake_source import START, FakeSource, message, said
from tests.index_content import assert_sound, content, found

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

LATER = 1_900_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


@pytest.fixture
def index(path: Path) -> Iterator[sqlite3.Connection]:
    db = store.open_writer(path)
    yield db
    db.close()


def run(db: sqlite3.Connection, *sources: FakeSource, **options: Any) -> None:  # noqa: ANN401
    for _ in backfill(db, sources, Options(**options), lambda: LATER):
        pass
    assert_sound(db)


def reindex(db: sqlite3.Connection, kinds: frozenset[Kind], *sources: FakeSource) -> None:
    reindexing.read_again(db, kinds, None)
    run(db, *sources, kinds=kinds, verify=True)
    reindexing.reindex(db)
    assert_sound(db)


def call(id: str, *, error: bool = False) -> Part:
    kind = Kind.TOOL_ERROR if error else Kind.TOOL_OUTPUT
    return Part(
        id=id, kind=kind, at=START, body=f"bash\nmake {id}", output=f"printed {id}", tool="bash"
    )


@pytest.fixture
def source() -> FakeSource:
    made = FakeSource()
    thought = said("r", "thought", kind=Kind.REASONING)
    parts = (said("u", "question"), thought, call("o"), call("e", error=True))
    made.put("s", message("m", *parts), title="Title")
    return made


def shown(db: sqlite3.Connection) -> dict[str, str]:
    rows = db.execute(
        "SELECT part_id, concat_ FROM (SELECT part_id, kind, coalesce(text, input)"
        " || '|' || coalesce(output, '') AS concat_ FROM parts)"
    )
    return dict(rows.fetchall())


ALL = {
    "title:ses_s": "Title|",
    "u": "question|",
    "r": "thought|",
    "o": "bash\nmake o|printed o",
    "e": "bash\nmake e|printed e",
}
NARROWED = {
    frozenset({Kind.USER_TEXT}): {"title:ses_s": "Title|", "u": "question|"},
    frozenset({Kind.TOOL_OUTPUT}): {"title:ses_s": "Title|", "o": "|printed o"},
    frozenset({Kind.TOOL_INPUT}): {
        "title:ses_s": "Title|",
        "o": "bash\nmake o|",
        "e": "bash\nmake e|",
    },
    frozenset({Kind.TOOL_ERROR}): {"title:ses_s": "Title|", "e": "bash\nmake e|printed e"},
    frozenset(): {"title:ses_s": "Title|"},
    SIX: ALL,
}


@pytest.mark.parametrize("kinds", NARROWED, ids=lambda kinds: "+".join(sorted(kinds)) or "none")
@pytest.mark.parametrize("lost", [False, True], ids=["source", "source gone"])
def test_narrowing_drops_rows_also_of_sources_that_are_gone(
    index: sqlite3.Connection, source: FakeSource, kinds: frozenset[Kind], *, lost: bool
) -> None:
    run(index, source)
    assert shown(index) == ALL
    reindex(index, kinds, *([] if lost else [source]))
    assert shown(index) == NARROWED[kinds]
    assert not reindexing.outdated(index, kinds)


@pytest.mark.parametrize("kinds", NARROWED, ids=lambda kinds: "+".join(sorted(kinds)) or "none")
def test_widening_reads_what_was_left_out(
    index: sqlite3.Connection, source: FakeSource, kinds: frozenset[Kind]
) -> None:
    run(index, source, kinds=kinds)
    assert shown(index) == NARROWED[kinds]
    reindex(index, SIX, source)
    assert shown(index) == ALL


def test_until_a_reindex_the_index_keeps_to_the_kinds_it_was_built_for(
    index: sqlite3.Connection, source: FakeSource
) -> None:
    run(index, source, kinds=frozenset({Kind.USER_TEXT}))
    source.put("t", message("n", said("v", "another"), call("x")))
    run(index, source)
    assert "x" not in shown(index)
    assert "v" in shown(index)
    assert reindexing.outdated(index, SIX)


def test_another_limit_or_other_rules_make_it_read_everything_again(
    index: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = FakeSource()
    source.put("s", message("m", said("a", "word " * 20 + "tail")))
    monkeypatch.setattr(store_rows, "TEXT_LIMIT", 50)
    monkeypatch.setattr(reindexing, "TEXT_LIMIT", 50)
    monkeypatch.setattr("mimohist.backfill.TEXT_LIMIT", 50)
    run(index, source)
    assert (found(index, "tail"), index.execute("SELECT lost FROM parts").fetchall()) == (
        set(),
        [(54,)],
    )
    monkeypatch.undo()
    assert reindexing.outdated(index, SIX)
    reindex(index, SIX, source)
    assert (found(index, "tail"), index.execute("SELECT lost FROM parts").fetchall()) == (
        {"a"},
        [(0,)],
    )
    monkeypatch.setattr(reindexing, "RULES", 99)
    assert reindexing.outdated(index, SIX)


def test_ids_are_in_the_exact_order_of_time_and_zones_are_tight(
    index: sqlite3.Connection,
) -> None:
    source = FakeSource()
    for n in range(5):
        source.put(f"s{n}", message("m", said(f"p{n}", "x", at=10 * n), at=n), at=5 - n)
    run(index, source)
    source.put("s0", message("m", said("p0", "x"), said("q", "x", at=25), at=0), at=9)
    run(index, source)
    reindex(index, SIX, source)
    order = [id for (id,) in index.execute("SELECT part_id FROM history_fts ORDER BY id")]
    assert order == ["p0", "p1", "p2", "q", "p3", "p4"]
    zones = index.execute("SELECT min(low), max(high) FROM zone").fetchone()
    assert zones == (START, START + 40)


def test_nothing_is_lost_or_doubled_and_the_next_run_has_nothing_to_do(
    index: sqlite3.Connection, source: FakeSource
) -> None:
    run(index, source)
    before = content(index)
    reindex(index, SIX, source)
    assert content(index) == before
    source.loads.clear()
    run(index, source)
    assert source.loads == []


def test_what_comes_after_a_reindex_goes_above(
    index: sqlite3.Connection, source: FakeSource
) -> None:
    run(index, source)
    reindex(index, SIX, source)
    source.put("t", message("n", said("new", "newer", at=99)), at=99)
    run(index, source)
    (last,) = index.execute("SELECT part_id FROM history_fts ORDER BY id DESC").fetchone()
    assert last == "new"


def test_the_file_is_compacted_and_its_wal_empty(index: sqlite3.Connection, path: Path) -> None:
    source = FakeSource()
    for n in range(40):
        text = " ".join(f"w{n * k % 811}" for k in range(900))
        source.put(f"s{n}", message("m", said(f"p{n}", text)), at=n)
    run(index, source)
    source.drop(*[f"s{n}" for n in range(19)])
    run(index, source)
    (pages,) = index.execute("PRAGMA page_count").fetchone()
    reindex(index, SIX, source)
    assert path.stat().st_size < 0.8 * 4096 * pages
    assert path.with_name(f"{path.name}-wal").stat().st_size == 0
    assert index.execute("PRAGMA freelist_count").fetchone() == (0,)


# The check


def test_check_finds_words_that_the_full_text_table_has_wrong(
    index: sqlite3.Connection, source: FakeSource
) -> None:
    run(index, source)
    index.execute("UPDATE message SET agent = agent + 1")
    assert any("full-text" in line for line in reindexing.check(index))


def test_check_finds_a_damaged_page_of_the_file(index: sqlite3.Connection, path: Path) -> None:
    source = FakeSource()
    for n in range(30):
        source.put(f"s{n}", message("m", said(f"p{n}", f"text {n} " * 300)), at=n)
    run(index, source)
    (page,) = index.execute(
        "SELECT max(pageno) FROM dbstat WHERE name = 'history_text' AND pagetype = 'leaf'"
    ).fetchone()
    index.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    db = store.open_writer(path)
    assert list(reindexing.check(db)) != []
    with pytest.raises(IndexUnusable, match="damaged"):
        reindexing.reindex(db)
    db.close()
