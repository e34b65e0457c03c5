"""The index after deletions, losses, restored copies; a search's refresh; a run that stays."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mimohist import store
from mimohist.backfill import Ended, Failed, Options, Removed, Stored, Vanished, backfill
from mimohist.follow import Clockwork, follow
from mimohist.kinds import Kind
from mimohist.records import Part, Skipped
from mimohist.refreshing import Places, refresh
from mimohist.sources.v1 import V1
from tests.fake_source import START, FakeSource, message, said
from tests.index_content import assert_sound, content, found
from tests.mimo_database import MimoDatabase

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from mimohist.backfill import Event

LATER = 1_900_000_000_000


@pytest.fixture
def index(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    db = store.open_writer(tmp_path / "index" / "index.db")
    yield db
    db.close()


def run(db: sqlite3.Connection, *sources: Any, now: int = LATER, **options: Any) -> list[Event]:  # noqa: ANN401
    events = list(backfill(db, sources, Options(**options), lambda: now))
    assert_sound(db)
    return events


def filled(count: int, **fields: Any) -> FakeSource:  # noqa: ANN401
    source = FakeSource(**fields)
    for n in range(count):
        parts = [
            message(f"m{k}", said(f"s{n}p{k}", f"word{n} text{k}", at=k), at=k) for k in (0, 1)
        ]
        source.put(f"s{n}", *parts, at=100 + n)
    return source


def sessions(db: sqlite3.Connection) -> dict[str, int]:
    return dict(db.execute("SELECT key, gone FROM session ORDER BY key").fetchall())


def kinds_of(events: list[Event]) -> list[str]:
    return [type(one).__name__ for one in events]


# What the user deleted goes


def test_a_deleted_session_goes_with_its_messages_and_project(index: sqlite3.Connection) -> None:
    source = filled(3)
    source.put("other", message("m", said("x", "plumbus")), directory="/only/here")
    run(index, source)
    source.drop("other")
    events = run(index, source)
    assert [one.session for one in events if isinstance(one, Removed)] == ["ses_other"]
    assert sorted(sessions(index)) == ["s0", "s1", "s2"]
    assert found(index, "plumbus") == set()
    assert index.execute("SELECT count(*) FROM project").fetchone() == (1,)
    assert index.execute("SELECT count(*) FROM message").fetchone() == (6,)


def test_half_of_the_sessions_may_be_deleted_at_once_and_no_more(
    index: sqlite3.Connection,
) -> None:
    source = filled(8)
    run(index, source)
    source.drop("s0", "s1", "s2", "s3")
    run(index, source)
    assert sessions(index) == dict.fromkeys(("s4", "s5", "s6", "s7"), 0)
    source.drop("s4", "s5", "s6")
    events = run(index, source)
    assert [one.sessions for one in events if isinstance(one, Vanished)] == [3]
    assert sessions(index) == {"s4": 1, "s5": 1, "s6": 1, "s7": 0}


def test_what_once_vanished_does_not_count_again(index: sqlite3.Connection) -> None:
    source = filled(5)
    run(index, source)
    source.drop("s0", "s1", "s2")
    run(index, source)
    source.put("s9", message("m", said("x", "new")), at=200)
    assert "Vanished" not in kinds_of(run(index, source))
    source.drop("s4")
    assert "Removed" in kinds_of(run(index, source))
    assert sessions(index) == {"s0": 1, "s1": 1, "s2": 1, "s3": 0, "s9": 0}


def test_accepting_applies_what_vanished_though_nothing_changed_since(
    index: sqlite3.Connection,
) -> None:
    source = filled(3)
    run(index, source)
    source.drop("s0", "s1")
    run(index, source)
    assert kinds_of(run(index, source)) == ["Ended"]
    assert "Removed" in kinds_of(run(index, source, accept_deletions=True))
    assert sessions(index) == {"s2": 0}


def test_an_emptied_database_keeps_everything(index: sqlite3.Connection) -> None:
    source = filled(1)
    run(index, source)
    source.drop("s0")
    assert "Vanished" in kinds_of(run(index, source))
    assert found(index, "word0") == {"s0p0", "s0p1"}
    source.put("s0", *filled(1).sessions["s0"][1], at=300)
    run(index, source)
    assert sessions(index) == {"s0": 0}


# What was lost stays


def restored(source: FakeSource, index: sqlite3.Connection) -> None:
    """Leave the source with less in s0, and the index told of it."""
    items = source.sessions["s0"][1]
    source.put("s0", items[0], at=source.sessions["s0"][0].updated - START)
    run(index, source)


def test_another_database_in_its_place_takes_no_message_away(index: sqlite3.Connection) -> None:
    source = filled(4)
    run(index, source)
    source.identity = "two"
    source.drop("s3")
    restored(source, index)
    assert sessions(index) == {"s0": 2, "s1": 0, "s2": 0, "s3": 1}
    assert found(index, "word0") == {"s0p0", "s0p1"}


def test_a_database_that_went_back_in_time_takes_nothing_away(index: sqlite3.Connection) -> None:
    source = filled(4)
    run(index, source)
    session, items = source.sessions["s0"]
    source.put("s0", items[0], at=50)
    source.drop("s3")
    events = run(index, source)
    assert [one.sessions for one in events if isinstance(one, Vanished)] == [2]
    assert sessions(index) == {"s0": 2, "s1": 0, "s2": 0, "s3": 1}
    # It goes on from there; what the copy lacked still stays.
    source.put("s0", items[0], message("m9", said("s0p9", "later")), at=400)
    run(index, source)
    assert found(index, "word0 OR later") == {"s0p0", "s0p1", "s0p9"}
    del session
    run(index, source, accept_deletions=True)
    assert found(index, "word0 OR later") == {"s0p0", "s0p9"}
    assert sessions(index) == {"s0": 0, "s1": 0, "s2": 0}


def test_after_a_restored_copy_deletions_are_believed_again(index: sqlite3.Connection) -> None:
    source = filled(4)
    run(index, source)
    source.identity = "two"
    source.touch("s0")
    run(index, source)
    source.drop("s3")
    assert "Removed" in kinds_of(run(index, source))


def test_b62_a_transcript_that_vanished_stays_also_when_deletions_are_accepted(
    index: sqlite3.Connection,
) -> None:
    source = filled(3, alive=False)
    run(index, source)
    source.drop("s0")
    run(index, source)
    run(index, source, accept_deletions=True)
    assert sessions(index) == {"s0": 1, "s1": 0, "s2": 0}


def test_b59_a_transcript_rewritten_from_its_start_is_read_anew(index: sqlite3.Connection) -> None:
    source = filled(3, alive=False)
    source.put("s0", message("a", said("a", "AAA one")), message("b", said("b", "two"), at=1))
    run(index, source)
    now = (message("c", said("c", "BBB one")), message("b", said("b", "two"), at=1))
    source.put("s0", *now, message("d", said("d", "three"), at=2), at=500)
    run(index, source)
    assert (found(index, "aaa"), found(index, "bbb"), found(index, "three")) == (
        set(),
        {"c"},
        {"d"},
    )


def test_a_root_whose_files_are_gone_is_marked_and_comes_back(
    index: sqlite3.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "mimocode.db"
    database = MimoDatabase(path)
    database.say(database.session(), "plumbus")
    database.close()
    run(index, V1("mimo", path))
    path.rename(tmp_path / "away.db")
    run(index)
    assert index.execute("SELECT gone FROM root").fetchall() == [(1,)]
    assert len(found(index, "plumbus")) == 1
    (tmp_path / "away.db").rename(path)
    run(index, V1("mimo", path))
    assert index.execute("SELECT gone FROM root").fetchall() == [(0,)]


@pytest.mark.parametrize("kind", [Kind.REASONING, Kind.TOOL_OUTPUT])
def test_trimmed_text_is_not_taken_for_an_edit(index: sqlite3.Connection, kind: Kind) -> None:
    part = Part(id="a", kind=kind, at=START, body="long plumbus text", output="x" * 30, tool="bash")
    source = FakeSource()
    source.put("s", message("m", part))
    run(index, source)
    source.put("s", message("m", replace(part, body="", output="", compacted=True)))
    run(index, source)
    assert found(index, "plumbus") == {"a"}
    assert index.execute("SELECT compacted FROM history_fts").fetchall() == [(1,)]
    source.put("s", message("m", replace(part, body="a plumbus that is longer than that was")))
    run(index, source)
    assert found(index, "longer") == {"a"}


def test_a_blank_part_that_was_never_fuller_is_not_stored(index: sqlite3.Connection) -> None:
    source = FakeSource()
    source.put("s", message("m", replace(said("a", "", kind=Kind.REASONING), compacted=True)))
    run(index, source)
    assert index.execute("SELECT count(*) FROM parts").fetchone() == (0,)


def test_a_part_edited_to_nothing_is_removed(index: sqlite3.Connection) -> None:
    source = FakeSource(partial={"s"})
    source.put("s", message("m", said("a", "plumbus"), said("b", "stays")))
    run(index, source)
    source.put("s", message("m", said("a", ""), said("b", "stays")))
    events = run(index, source)
    assert [one.removed for one in events if isinstance(one, Stored)] == [1]
    assert found(index, "plumbus OR stays") == {"b"}


# How surely changes are found


def test_a_stamp_younger_than_the_clock_of_a_file_system_is_not_trusted(
    index: sqlite3.Connection,
) -> None:
    """Two commits within one tick of its clock leave equal stamps."""

    class Coarse(FakeSource):
        def stamp(self) -> str:
            return f"64 4096 {LATER * 1_000_000}"

    source = Coarse()
    source.put("s", message("m", said("a", "first")))
    run(index, source, now=LATER + 500)
    source.put("s", message("m", said("a", "second")))
    run(index, source, now=LATER + 3000)
    assert found(index, "second") == {"a"}
    assert kinds_of(run(index, source, now=LATER + 4000)) == ["Ended"]


def test_verify_finds_what_no_probe_can(index: sqlite3.Connection) -> None:
    source = filled(2)
    run(index, source)
    session, items = source.sessions["s0"]
    source.sessions["s0"] = (session, [message("m0", said("s0p0", "plumbus")), items[1]])
    run(index, source)
    assert found(index, "plumbus") == set()
    run(index, source, verify=True)
    assert found(index, "plumbus") == {"s0p0"}


def test_once_a_day_everything_is_looked_at(index: sqlite3.Connection) -> None:
    source = filled(1)
    run(index, source)
    for hours, whole in ((1, False), (25, True), (26, False)):
        source.touch("s0")
        run(index, source, now=LATER + hours * 3_600_000)
        assert (source.surveys[-1] == "") is whole


def test_what_a_look_found_is_remembered_only_when_all_of_it_is_stored(
    index: sqlite3.Connection,
) -> None:
    source = filled(4)
    left = iter([False, False, True])
    run(index, source, stop=lambda: next(left, True))
    assert index.execute("SELECT memory, stamp FROM root").fetchall() == [("", "")]
    source.loads.clear()
    events = run(index, source)
    assert [key for key, _ in source.loads] == ["s1", "s0"]
    (ended,) = [one for one in events if isinstance(one, Ended)]
    assert (ended.unchanged, ended.pending) == (2, 0)


def test_a_session_that_goes_while_it_is_about_to_be_read_is_passed_over(
    index: sqlite3.Connection,
) -> None:
    class Leaving(FakeSource):
        def load(self, candidate: Any, mark: str) -> Any:  # noqa: ANN401
            if candidate.key == "s1":
                raise LookupError(candidate.key)
            return super().load(candidate, mark)

    source = Leaving(**vars(filled(3)))
    run(index, source)
    assert sorted(sessions(index)) == ["s0", "s2"]


def test_bad_records_are_counted_with_where_and_why(index: sqlite3.Connection) -> None:
    source = filled(1)
    source.put("t", Skipped("x.db part 7", "not JSON"), message("m", said("x", "fine")), at=7)
    events = run(index, source)
    assert "Unreadable" in kinds_of(events)
    assert found(index, "fine") == {"x"}
    row = index.execute("SELECT skipped, skipped_why FROM sources").fetchone()
    assert row == (1, "x.db part 7: not JSON")


# A search's refresh


def places(*found_: Any) -> Places:  # noqa: ANN401
    class Fixed(Places):
        def changed(self, db: sqlite3.Connection) -> bool:
            del db
            return True

        def find(self) -> list[Any]:
            return list(found_)

    return Fixed((), {}, Path(), {})


def test_a_refresh_takes_the_newest_and_says_what_waits(
    index: sqlite3.Connection, tmp_path: Path
) -> None:
    source = filled(6)
    run(index, FakeSource())
    ticks = iter([0.0, 0.1, 0.1, 0.1, 0.1])
    done = refresh(
        tmp_path / "index" / "index.db",
        places(source),
        frozenset(Kind),
        (lambda: LATER, lambda: next(ticks, 9.0)),
        0.3,
    )
    assert 0 < done.pending < 6
    assert found(index, "word5") == {"s5p0", "s5p1"}
    assert found(index, "word0") == set()
    run(index, source)
    assert len(sessions(index)) == 6


def test_a_refresh_leaves_a_busy_index_alone(index: sqlite3.Connection, tmp_path: Path) -> None:
    run(index, FakeSource())
    path = tmp_path / "index" / "index.db"
    with store.lock(path):
        done = refresh(path, places(filled(1)), frozenset(Kind), (lambda: LATER, lambda: 0.0), 0.3)
    assert done.busy
    assert sessions(index) == {}


# A run that stays


class Following:
    """Follows a database; each sleep does the next of `steps`, and after the last it ends."""

    def __init__(self, path: Path, *sources: Any) -> None:  # noqa: ANN401
        self.path = path
        self.sources = sources
        self.time = 0.0
        self.slept: list[float] = []

    def follow(self, *steps: Any) -> list[Event]:  # noqa: ANN401
        left = list(steps)
        over = False

        def sleep(seconds: float) -> None:
            nonlocal over
            self.time += seconds
            self.slept.append(seconds)
            if left:
                left.pop(0)()
            else:
                over = True

        def now() -> int:
            return LATER + int(self.time * 1000)

        options = Options(stop=lambda: over)
        clockwork = Clockwork(now, lambda: self.time, sleep)
        return list(follow(self.path, places(*self.sources), options, clockwork))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[MimoDatabase]:
    made = MimoDatabase(tmp_path / "mimocode.db")
    yield made
    made.close()


def nothing() -> None:
    pass


def test_follow_takes_in_what_is_written_within_two_seconds(
    tmp_path: Path, database: MimoDatabase
) -> None:
    path = tmp_path / "i.db"
    following = Following(path, V1("mimo", database.path))
    session = database.session()
    seen: list[int] = []
    call = ""

    def count() -> None:
        reader = store.open_reader(path)
        seen.append(len(found(reader, "plumbus")))
        reader.close()

    def say() -> None:
        database.say(session, "plumbus")

    def running() -> None:
        nonlocal call
        call = database.tool(database.message(session, "assistant"), "bash", status="running")

    def done() -> None:
        database.update("part", call, data=database.tool_data("bash", output="plumbus"))

    following.follow(say, count, say, count, running, count, done, count, count)
    assert seen == [1, 2, 2, 3, 3]
    assert max(following.slept) <= 1.5


def test_follow_looks_at_files_only_while_nothing_changes(tmp_path: Path) -> None:
    source = filled(2)
    following = Following(tmp_path / "i.db", source)
    following.follow(*[nothing] * 20)
    assert len(source.surveys) == 1
    assert set(following.slept) == {0.5}


def test_follow_survives_deletion_replacement_and_damage_and_tells_of_each_once(
    tmp_path: Path, database: MimoDatabase
) -> None:
    path, kept = database.path, tmp_path / "kept.db"
    database.say(database.session(), "plumbus")
    database.close()
    shutil.copy(path, kept)
    following = Following(tmp_path / "i.db", V1("mimo", path))
    events = following.follow(
        nothing,
        path.unlink,
        *[nothing] * 20,
        lambda: path.write_bytes(b"x" * 4096),
        *[nothing] * 20,
        lambda: shutil.copy(kept, path),
        nothing,
    )
    assert len([one for one in events if isinstance(one, Failed)]) == 2
    db = store.open_writer(tmp_path / "i.db")
    assert_sound(db)
    assert len(found(db, "plumbus")) == 1
    assert db.execute("SELECT error, gone FROM root").fetchall() == [(None, 0)]
    db.close()


def test_follow_reads_later_what_another_program_had_locked(tmp_path: Path) -> None:
    source = filled(1)
    source.broken = "locked by another program"
    following = Following(tmp_path / "i.db", source)

    def let_go() -> None:
        source.broken = ""

    following.follow(nothing, let_go, *[nothing] * 12)
    db = store.open_reader(tmp_path / "i.db")
    assert len(found(db, "word0")) == 2
    db.close()


def test_follow_waits_for_another_run_and_then_goes_on(tmp_path: Path) -> None:
    source = filled(1)
    path = tmp_path / "i.db"
    following = Following(path, source)
    held = store.lock(path)
    held.__enter__()
    following.follow(nothing, nothing, lambda: held.__exit__(None, None, None), nothing)
    db = store.open_reader(path)
    assert len(content(db)) > 0
    db.close()
