"""The index's file, its lock, and changes written to it, tables kept in step."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mimohist import backfill as runs
from mimohist import backfill_session, schema, store, store_tuning
from mimohist.backfill import Options, Stored, backfill
from mimohist.errors import Busy, IndexUnusable
from mimohist.records import Kind, Machine, Mark, Message, Part
from mimohist.store_rows import BASE
from tests.fake_source import START, FakeSource, message, said
from tests.index_content import assert_sound, content, found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mimohist.backfill import Event

LATER = 1_900_000_000_000


@pytest.fixture
def index(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    db = store.open_writer(tmp_path / "index.db")
    yield db
    db.close()


def run(db: sqlite3.Connection, *sources: FakeSource, **options: Any) -> list[Event]:  # noqa: ANN401
    events = list(backfill(db, sources, Options(**options), lambda: LATER))
    assert_sound(db)
    return events


def times(db: sqlite3.Connection) -> list[int]:
    rows = db.execute("SELECT time_created FROM history_fts ORDER BY id")
    return [at - START for (at,) in rows]


def shape(db: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Give the columns of every table, view and index."""
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master ORDER BY 1")]
    return {
        name: [
            *db.execute("SELECT name, type, pk FROM pragma_table_info(?)", (name,)),
            *db.execute("SELECT name FROM pragma_index_info(?)", (name,)),
        ]
        for name in names
    }


def test_an_index_of_version_1_becomes_like_a_new_one(
    index: sqlite3.Connection, tmp_path: Path
) -> None:
    old = store.open_writer(tmp_path / "old.db")
    for statement in (
        "DROP VIEW sources",
        "ALTER TABLE root DROP COLUMN bytes",
        "CREATE VIEW sources AS SELECT path FROM root",
        "DROP INDEX message_time",
        "CREATE UNIQUE INDEX message_time ON message(session, time_created, message_id)",
        "CREATE INDEX history_fts_project ON history_fts(project, time_created)",
        "PRAGMA user_version = 1",
    ):
        old.execute(statement)
    old.close()
    with closing(store.open_writer(tmp_path / "old.db")) as made:
        assert shape(made) == shape(index)
        assert made.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
        run(made, FakeSource())


# Rows and their ids


def test_ids_go_down_from_the_base_and_follow_time(index: sqlite3.Connection) -> None:
    source = FakeSource()
    for key in range(4):
        parts = [said(f"p{key}{n}", "x", at=key * 100 + n) for n in (3, 1, 2)]
        source.put(f"s{key}", message(f"m{key}", *parts, at=key * 100), at=key * 100 + 50)
    run(index, source)
    assert times(index) == [k * 100 + n for k in range(4) for n in (1, 2, 3)]
    assert index.execute("SELECT max(id) FROM history_fts").fetchone() == (BASE - 1,)


def test_ids_follow_time_over_transactions_and_over_sources(
    index: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill_session, "BATCH", 1)
    one, two = FakeSource(), FakeSource(name="other")
    for key in range(6):
        where = (one, two)[key % 2]
        where.put(f"s{key}", message("m", said(f"p{key}", "x", at=key), at=key), at=key)
    run(index, one, two)
    assert times(index) == [0, 1, 2, 3, 4, 5]


def test_a_build_that_was_ended_goes_on_below_and_what_is_newer_goes_above(
    index: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mimohist.backfill.BATCH", 1)
    source = FakeSource()
    for key in range(6):
        source.put(f"s{key}", message("m", said(f"p{key}", "x", at=key), at=key), at=key)
    left = iter([False, False, True])
    run(index, source, stop=lambda: next(left, True))
    assert times(index) == [4, 5]
    source.put("s9", message("m", said("p9", "x", at=9), at=9), at=9)
    run(index, source)
    assert times(index) == [0, 1, 2, 3, 4, 5, 9]


def test_a_changed_row_keeps_its_id(index: sqlite3.Connection) -> None:
    source = FakeSource()
    source.put("s", message("m", said("a", "plumbus"), said("b", "second")))
    run(index, source)
    before = index.execute("SELECT part_id, id FROM history_fts").fetchall()
    source.put("s", message("m", said("a", "xyzzy"), said("b", "second")))
    run(index, source)
    assert index.execute("SELECT part_id, id FROM history_fts").fetchall() == before
    assert (found(index, "plumbus"), found(index, "xyzzy")) == (set(), {"a"})


def test_tags_follow_the_agent_of_a_message(index: sqlite3.Connection) -> None:
    source = FakeSource()
    source.put("s", message("m", said("a", "words")))
    run(index, source)
    source.put("s", message("m", said("a", "words"), agent="explore-1"))
    run(index, source)
    (name,) = index.execute("SELECT id FROM name WHERE text = 'explore-1'").fetchone()
    assert found(index, f"tags : a{name}") == {"a"}


def test_a_moved_session_takes_its_unread_rows_along_and_leaves_no_project(
    index: sqlite3.Connection,
) -> None:
    source = FakeSource(partial={"s"})
    source.put("s", message("m", said("a", "words")))
    run(index, source)
    source.put("s", message("n", said("b", "more")), directory="/elsewhere", project_id="q")
    run(index, source)
    rows = index.execute("SELECT id, directory FROM project").fetchall()
    assert [directory for _, directory in rows] == ["/elsewhere"]
    assert found(index, f"tags : p{rows[0][0]}") == {"a", "b"}


def test_a_part_that_went_to_another_session_or_message_is_there_once(
    index: sqlite3.Connection,
) -> None:
    source = FakeSource()
    source.put("s", message("m", said("a", "words")), at=1)
    run(index, source)
    source.put("s", message("m"), message("n", said("a", "words"), at=1), at=1)
    run(index, source)
    source.put("t", message("o", said("a", "words")), at=2)
    source.put("s", at=1)
    run(index, source)
    assert index.execute("SELECT session_id, message_id, part_id FROM parts").fetchall() == [
        ("ses_t", "o", "a")
    ]


@pytest.mark.parametrize("order", [("m", "n"), ("n", "m")])
def test_a_part_may_change_its_message_in_a_partial_reading(
    index: sqlite3.Connection, order: tuple[str, str]
) -> None:
    source = FakeSource(partial={"s"})
    source.put("s", message("m", said("a", "words")), message("n", said("b", "more"), at=1))
    run(index, source)
    now = {"m": message("m"), "n": message("n", said("b", "more"), said("a", "words"), at=1)}
    source.put("s", *(now[id] for id in order))
    run(index, source)
    rows = index.execute("SELECT message_id, part_id FROM parts ORDER BY part_id").fetchall()
    assert rows == [("n", "a"), ("n", "b")]


def test_what_two_sessions_of_a_new_source_both_hold_does_not_stop_it(
    index: sqlite3.Connection,
) -> None:
    source = FakeSource()
    source.put("s", message("m", said("a", "words")), at=1)
    source.put("t", message("m", said("a", "words"), said("b", "more")), at=2)
    run(index, source)
    rows = index.execute("SELECT part_id FROM parts ORDER BY 1").fetchall()
    assert rows == [("a",), ("b",)]


def test_a_message_given_twice_is_one(index: sqlite3.Connection) -> None:
    source = FakeSource()
    source.put("s", message("m", said("a", "one")), message("m", said("a", "two"), said("b", "x")))
    run(index, source)
    assert index.execute("SELECT count(*) FROM messages").fetchone() == (1,)
    assert found(index, "two") == {"a"}


@pytest.mark.parametrize(
    ("part", "inside", "whole", "kept"),
    [
        (None, None, None, None),
        (Machine.SYNTHETIC, Machine.HOOK, Machine.SYSTEM_AGENT, "synthetic"),
        (None, Machine.HOOK, Machine.SYSTEM_AGENT, "hook"),
        (None, None, Machine.SYSTEM_AGENT, "system_agent"),
        (Machine.SUMMARY, None, None, "summary"),
        (Machine.SUMMARY, Machine.REVERTED, None, "reverted"),
        (Machine.SUMMARY, None, Machine.SYSTEM_AGENT, "system_agent"),
    ],
)
def test_the_nearest_reason_counts_but_a_summary_hides_the_least(
    index: sqlite3.Connection,
    part: Machine | None,
    inside: Machine | None,
    whole: Machine | None,
    kept: str | None,
) -> None:
    one = Part(id="a", kind=Kind.USER_TEXT, at=START, body="words", machine=part)
    source = FakeSource()
    source.put(
        "s", Message(id="m", at=START, role="user", parts=(one,), machine=inside), machine=whole
    )
    run(index, source)
    assert index.execute("SELECT machine FROM parts").fetchall() == [(kept,)]


def test_a_machine_session_that_becomes_human_is_rewritten(index: sqlite3.Connection) -> None:
    source = FakeSource()
    source.put("s", message("m", said("a", "words")), machine=Machine.SYSTEM_AGENT, title="ask: x")
    run(index, source)
    assert found(index, "said : words") == set()
    source.put("s", message("m", said("a", "words")), title="x")
    run(index, source)
    assert found(index, "said : words") == {"a"}


@pytest.mark.parametrize(
    ("tool", "call", "echo"),
    [
        ("history", "search", 1),
        ("Memory", "x", 1),
        ("bash", "cd x && mimohist search zorblax", 1),
        ("bash", "mimohist around mimo/x/3 -C 2", 1),
        ("bash", "pip install mimohist", 0),
        ("bash", "ls mimohist/search.py", 0),
        (None, "mimohist search zorblax", 0),
    ],
)
def test_b68_own_past_output_is_marked(
    index: sqlite3.Connection, tool: str | None, call: str, echo: int
) -> None:
    kind = Kind.TOOL_OUTPUT if tool else Kind.USER_TEXT
    part = Part(id="a", kind=kind, at=START, body=call, output="x" if tool else "", tool=tool)
    source = FakeSource()
    source.put("s", message("m", part))
    run(index, source)
    assert index.execute("SELECT echo FROM history_fts").fetchall() == [(echo,)]


def test_copies_share_a_number_and_equal_texts_said_at_other_times_do_not(
    index: sqlite3.Connection,
) -> None:
    source = FakeSource()
    source.put("s", message("m", said("a", "Same"), at=5))
    source.put("fork", message("n", said("b", "Same", at=9), at=5))
    source.put("later", message("o", said("c", "Same"), at=6))
    run(index, source)
    copies = dict(index.execute("SELECT part_id, copy FROM history_fts").fetchall())
    assert copies["a"] == copies["b"] != copies["c"]


# Long sessions


def long_session(*, marks: bool) -> list[Message | Mark]:
    items: list[Message | Mark] = []
    for n in range(40):
        items.append(message(f"m{n:02}", said(f"p{n:02}", f"word{n} " * 40, at=n), at=n))
        if marks:
            items.append(Mark(str(n)))
    return items


@pytest.mark.parametrize("marks", [True, False])
@pytest.mark.parametrize("batch", [1, 700, 10**9])
def test_a_long_session_is_the_same_in_pieces_and_whole(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    batch: int,
    marks: bool,  # noqa: FBT001
) -> None:
    whole, pieces = (store.open_writer(tmp_path / name / "i.db") for name in "ab")
    source = FakeSource()
    source.put("s", *long_session(marks=marks), title="Title")
    source.put("t", message("m", said("x", "other")), at=5)
    run(whole, source)
    monkeypatch.setattr(backfill_session, "BATCH", batch)
    monkeypatch.setattr("mimohist.backfill.BATCH", batch)
    run(pieces, source)
    assert content(pieces) == content(whole)
    source.put("s", *long_session(marks=marks)[10:], title="Title")
    run(whole, source)
    run(pieces, source)
    assert content(pieces) == content(whole)
    whole.close()
    pieces.close()


def test_a_new_long_session_goes_on_at_its_last_mark(
    index: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill_session, "BATCH", 700)
    source = FakeSource(breaks_after={"s": 60})
    source.put("s", *long_session(marks=True))
    run(index, source)
    assert 20 < index.execute("SELECT count(*) FROM parts").fetchone()[0] < 40
    source.breaks_after.clear()
    source.touch("s")
    run(index, source)
    assert int(source.loads[-1][1]) > 20
    assert index.execute("SELECT count(*) FROM parts").fetchone() == (40,)


@pytest.mark.parametrize("batch", [1, 10**9])
def test_a_session_that_breaks_while_it_is_read_anew_stays_as_it_was(
    index: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    source = FakeSource()
    source.put("s", *long_session(marks=False), at=1)
    run(index, source)
    before = content(index)
    monkeypatch.setattr(backfill_session, "BATCH", batch)
    monkeypatch.setattr("mimohist.backfill.BATCH", batch)
    source.put("s", *long_session(marks=False)[20:], at=1)
    source.breaks_after["s"] = 15
    source.put("t", message("m", said("x", "stored before it broke")), at=2)
    run(index, source)
    parts = [row for row in content(index) if "ses_t" not in row]
    assert [row for row in parts if "/w" not in row or "p00" in row] == [
        row for row in before if "/w" not in row or "p00" in row
    ]
    assert found(index, "broke") == {"x"}


def test_hurry_gives_a_long_session_up_and_says_that_it_waits(index: sqlite3.Connection) -> None:
    source = FakeSource()
    source.put("s", *long_session(marks=False))
    left = iter([False] * 5)
    events = run(index, source, hurry=True, stop=lambda: next(left, True))
    assert not [one for one in events if isinstance(one, Stored)]
    assert content(index) == []
    run(index, source)
    assert index.execute("SELECT count(*) FROM parts").fetchone() == (40,)


# The same as a new build, whatever happened


PARTS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f"]), max_size=6, unique=True)
TEXTS = st.sampled_from(["alpha", "Beta 连接池", "getUserName", "straße", "", "x\u200by"])


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(PARTS, TEXTS, st.sampled_from(["main", "sub"])), min_size=2, max_size=5))
def test_after_any_edits_the_index_is_what_a_new_build_gives(
    tmp_path_factory: pytest.TempPathFactory, states: list[tuple[list[str], str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("i")
    living = store.open_writer(folder / "living.db")
    source = FakeSource()
    for parts, text, agent in states:
        messages = [
            message(f"m{n}", said(id, f"{id} {text}" if text else ""), at=n, agent=agent)
            for n, id in enumerate(parts)
        ]
        source.put("s", *messages, title=text)
        run(living, source)
    fresh = store.open_writer(folder / "fresh.db")
    run(fresh, source)
    assert content(living) == content(fresh)
    for word in ("alpha", "beta", '"连 接 池"', "user", "strasse", *"abcdef"):
        assert found(living, word) == found(fresh, word)
    living.close()
    fresh.close()


# How it is written


def written(index: sqlite3.Connection) -> tuple[int, int, set[str]]:
    """Give the size of the hash, the number of segments, the indexes made late."""
    size = index.execute("SELECT v FROM history_fts_idx_config WHERE k = 'hashsize'").fetchone()
    (segments,) = index.execute("SELECT count(DISTINCT segid) FROM history_fts_idx_idx").fetchone()
    names = {name for (name,) in index.execute("SELECT name FROM sqlite_master")}
    return int(size[0]) if size else 1 << 20, segments, names & schema.LATE_INDEXES.keys()


def test_a_first_build_writes_in_large_pieces_and_leaves_one_and_the_usual_settings(
    index: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "BATCH", 1)
    source = FakeSource()
    for n in range(20):
        source.put(f"s{n}", message(f"m{n}", said(f"p{n}", f"word{n} retry")))
    late = set(schema.LATE_INDEXES)
    store_tuning.begin(index, hurry=False)
    assert written(index) == (64 << 20, 0, set())
    run(index, source)
    assert written(index) == (1 << 20, 1, late)
    assert len(found(index, "retry")) == 20
    store_tuning.begin(index, hurry=False)
    assert written(index) == (1 << 20, 1, late)


def test_a_hurried_run_leaves_the_merging_of_a_build_to_a_later_one(
    index: sqlite3.Connection,
) -> None:
    source = FakeSource()
    source.put("a", message("m1", said("p1", "one retry")))
    list(backfill(index, [source], Options(hurry=True), lambda: LATER))
    source.put("b", message("m2", said("p2", "two retry")))
    list(backfill(index, [source], Options(hurry=True), lambda: LATER))
    assert written(index)[:2] == (1 << 20, 2)
    run(index, source)
    assert written(index)[:2] == (1 << 20, 1)
    assert len(found(index, "retry")) == 2


def test_the_merging_at_the_end_stops_in_time_and_is_gone_on_with(
    index: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "BATCH", 1)
    monkeypatch.setattr(store_tuning, "_STEP", 1)
    source = FakeSource()
    for n in range(12):
        words = " ".join(f"w{n}x{k}" for k in range(2_000))
        source.put(f"s{n}", message(f"m{n}", said(f"p{n}", f"retry {words}")))
    list(backfill(index, [source], Options(hurry=True), lambda: LATER))
    before = written(index)[1]
    store_tuning.end(index, lambda: True)
    assert index.execute("SELECT 1 FROM state WHERE key = 'built'").fetchone() is None
    assert written(index)[1] > 1
    assert before > 1
    store_tuning.end(index)
    assert written(index)[:2] == (1 << 20, 1)
    assert len(found(index, "retry")) == 12
    assert_sound(index)


def test_a_source_that_cannot_be_read_does_not_keep_the_index_from_being_whole(
    index: sqlite3.Connection,
) -> None:
    broken = FakeSource(root=Path("/elsewhere"))
    broken.broken = "/elsewhere: no such folder"
    list(backfill(index, [FakeSource(), broken], Options(), lambda: LATER))
    assert index.execute("SELECT value FROM state WHERE key = 'built'").fetchone() == ("1",)


def test_b64_a_thousand_small_changes_leave_a_small_index_and_wal(tmp_path: Path) -> None:
    """A session that grows by a message a run, against the same built at once."""
    words = [" ".join(f"w{n * k % 997}" for k in range(60)) for n in range(300)]
    texts = [f"message {n} says {text}" for n, text in enumerate(words)]
    grown, built = tmp_path / "grown.db", tmp_path / "built.db"
    source = FakeSource(partial={"s"})
    db = store.open_writer(grown)
    for n, text in enumerate(texts):
        source.put("s", message(f"m{n}", said(f"p{n}", text, at=n), at=n))
        list(backfill(db, [source], Options(), lambda: LATER))
    assert Path(f"{grown}-wal").stat().st_size < 6 << 20
    db.close()
    source.put("s", *(message(f"m{n}", said(f"p{n}", t, at=n), at=n) for n, t in enumerate(texts)))
    db = store.open_writer(built)
    list(backfill(db, [source], Options(), lambda: LATER))
    db.close()
    assert grown.stat().st_size < 1.5 * built.stat().st_size


# The lock


def test_the_kernel_lets_go_of_a_killed_writer_s_lock(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    script = (
        "import sys, pathlib; from mimohist import store\n"
        "with store.lock(pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
    ) as child:
        assert child.stdout
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(Busy, match=rf"\(pid {child.pid}, since \d\d:\d\d\)"), store.lock(path):
            pass
        child.kill()
        child.wait()
        with store.lock(path):
            pass


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexUnusable, match="file"):
        store.open_writer(tmp_path / "file" / "index.db")
    with pytest.raises(IndexUnusable, match="file"), store.lock(tmp_path / "file" / "index.db"):
        pass


def test_a_reader_cannot_write(index: sqlite3.Connection, tmp_path: Path) -> None:
    del index
    reader = store.open_reader(tmp_path / "index.db")
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute("DELETE FROM state")
    reader.close()
