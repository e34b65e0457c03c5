"""The index follows its sources: what is new, changed, deleted, trimmed, lost, forgotten."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mimohist import forgetting, reindexing, store
from mimohist.answers import Query
from mimohist.backfill import Ended, Failed, Options, Removed, Stored, Vanished, backfill
from mimohist.errors import Busy, IndexUnusable, NoIndex
from mimohist.kinds import Kind
from mimohist.naming import resolve
from mimohist.search import search
from mimohist.sources.v1 import V1
from mimohist.store_rows import TEXT_LIMIT
from tests.mimo_database import MimoDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mimohist.backfill import Event

SIX = frozenset(Kind) - {Kind.TITLE}
LATER = 1_900_000_000_000
"""A time at which every stamp of a test is old enough to be trusted (epoch ms)."""


class Bench:
    """A database, an index, and backfills from one to the other."""

    def __init__(self, folder: Path) -> None:
        self.source = MimoDatabase(folder / "mimocode.db")
        self.path = folder / "index" / "index.db"
        self.index = store.open_writer(self.path)

    def run(self, **options: Any) -> list[Event]:  # noqa: ANN401
        found = list(
            backfill(
                self.index,
                [V1("mimo", self.source.path)],
                Options(**options),
                lambda: LATER,
            )
        )
        self.index.execute(
            "INSERT INTO history_fts_idx(history_fts_idx, rank) VALUES ('integrity-check', 1)"
        )
        assert list(reindexing.check(self.index)) == []
        return found

    def find(self, *words: str, **fields: Any) -> list[str]:  # noqa: ANN401
        query = Query(words=words, strict=True)._replace(**fields)
        return [hit.snippet for hit in search(self.index, query, time.monotonic).hits]

    def rows(self) -> list[tuple[str, str, str | None]]:
        return self.index.execute(
            "SELECT kind, coalesce(text, input), output FROM parts WHERE kind <> 'title'"
            " ORDER BY time_created, part_id"
        ).fetchall()

    def close(self) -> None:
        self.source.close()
        self.index.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()


def stored(events: list[Event]) -> list[tuple[int, int, int]]:
    return [(one.added, one.changed, one.removed) for one in events if isinstance(one, Stored)]


# B and W: the original's acceptance cases


def test_b1_text_and_tools_are_stored_and_steps_are_not(bench: Bench) -> None:
    session = bench.source.session()
    bench.source.say(session, "hello there")
    answer = bench.source.message(session, "assistant")
    bench.source.part(answer, {"type": "step-start"})
    bench.source.tool(answer, "bash", {"command": "ls"}, output="a.py")
    bench.run()
    assert bench.rows() == [
        ("user_text", "hello there", None),
        ("tool_output", "bash\nls", "a.py"),
    ]


def test_b2_a_second_run_adds_only_what_is_new(bench: Bench) -> None:
    session = bench.source.session()
    bench.source.say(session, "first")
    bench.run()
    bench.source.say(session, "second")
    assert stored(bench.run()) == [(1, 0, 0)]
    assert [body for _, body, _ in bench.rows()] == ["first", "second"]
    assert stored(bench.run()) == []


def test_w2_a_removed_part_leaves_nothing(bench: Bench) -> None:
    message = bench.source.message(bench.source.session())
    part = bench.source.text(message, "xyzzy")
    bench.source.text(message, "stays")
    bench.run()
    bench.source.delete("part", part)
    assert stored(bench.run()) == [(0, 0, 1)]
    assert bench.find("xyzzy") == []


def test_w3_a_running_call_is_stored_when_it_ends(bench: Bench) -> None:
    message = bench.source.message(bench.source.session(), "assistant")
    call = bench.source.tool(message, "bash", {"command": "make"}, status="running")
    bench.run()
    assert bench.rows() == []
    data = bench.source.tool_data("bash", {"command": "make"}, output="built")
    bench.source.update("part", call, data=data)
    bench.run()
    assert bench.rows() == [("tool_output", "bash\nmake", "built")]


def test_no_change_costs_one_look_at_the_file(bench: Bench) -> None:
    bench.source.say(bench.source.session(), "x")
    bench.source.close()
    bench.run()

    class Looked(V1):
        def survey(self, memory: str) -> Any:  # noqa: ANN401
            raise AssertionError(memory)

    source = Looked("mimo", bench.source.path)
    assert [type(one) for one in backfill(bench.index, [source], Options(), lambda: LATER)] == [
        Ended
    ]


# Changes


def test_edited_and_renamed_things_are_found_as_they_are_now(bench: Bench) -> None:
    session = bench.source.session(title="Old title")
    message = bench.source.message(session)
    part = bench.source.text(message, "plumbus one")
    bench.run()
    bench.source.edit(part, text="gallimaufry")
    bench.source.update("session", session, title="New heading")
    bench.run()
    assert bench.find("plumbus") == []
    assert bench.find("gallimaufry") == ["gallimaufry"]
    assert (bench.find("Old"), bench.find("heading")) == ([], ["New heading"])


def test_a_session_that_moves_to_another_project_moves_in_the_index(bench: Bench) -> None:
    session = bench.source.session(project="global", directory="/w/notes")
    bench.source.say(session, "moved words")
    bench.run()
    bench.source.project("p2", "/w/notes")
    bench.source.update("session", session, project_id="p2")
    bench.run()
    assert bench.find("moved", here="/w/notes") == ["moved words"]
    project = bench.index.execute("SELECT project_id FROM sessions").fetchone()
    assert project == ("p2",)


def test_reverting_hides_and_undoing_shows(bench: Bench) -> None:
    session = bench.source.session()
    bench.source.say(session, "kept words")
    message = bench.source.say(session, "xyzzy words")
    bench.run()
    bench.source.update("session", session, revert=json.dumps({"messageID": message}))
    bench.run()
    assert bench.find("words") == ["kept words"]
    assert len(bench.find("words", machine=True)) == 2
    bench.source.update("session", session, revert=None)
    bench.run()
    assert len(bench.find("words")) == 2


def test_trimmed_and_blanked_text_keeps_what_was_fuller(bench: Bench) -> None:
    message = bench.source.message(bench.source.session(), "assistant")
    full = "start " + "middle needle " * 500 + "end"
    call = bench.source.tool(message, "bash", {"command": "log"}, output=full)
    thought = bench.source.reasoning(message, "deep thought")
    bench.run()
    trimmed = "start\n[... trimmed 6000 chars ...]\nend"
    data = bench.source.tool_data("bash", {"command": "log"}, output=trimmed)
    bench.source.update("part", call, data=data)
    bench.source.edit(thought, text="")
    bench.run()
    assert bench.rows()[0][2] == full
    assert bench.find("thought", kinds=(Kind.REASONING,)) == ["deep thought"]


def test_a_shorter_text_that_was_not_trimmed_is_an_edit(bench: Bench) -> None:
    message = bench.source.message(bench.source.session())
    part = bench.source.text(message, "a long text with needle in it")
    bench.run()
    bench.source.edit(part, text="short")
    bench.run()
    assert bench.find("needle") == []
    bench.source.edit(part, text="")
    bench.run()
    assert bench.rows() == []


# Deletion and loss


def test_b61_a_deleted_session_is_deleted_here(bench: Bench) -> None:
    gone = bench.source.session()
    bench.source.say(gone, "gone words")
    for _ in range(3):
        bench.source.say(bench.source.session(), "other words")
    bench.run()
    bench.source.delete("session", gone)
    events = bench.run()
    assert [one.session for one in events if isinstance(one, Removed)] == [gone]
    assert bench.find("gone") == []
    assert bench.index.execute("SELECT count(*) FROM session").fetchone() == (3,)


def fill(db: MimoDatabase, count: int) -> None:
    for number in range(count):
        db.say(db.session(id=f"ses_{number}"), f"words of {number}")


def test_when_most_sessions_vanish_at_once_they_stay_until_that_is_accepted(bench: Bench) -> None:
    fill(bench.source, 4)
    bench.run()
    for number in range(3):
        bench.source.delete("session", f"ses_{number}")
    events = bench.run()
    assert [one.sessions for one in events if isinstance(one, Vanished)] == [3]
    assert len(bench.find("words")) == 4
    assert bench.index.execute("SELECT sum(gone) FROM sessions").fetchone() == (3,)
    assert not [one for one in bench.run(verify=True) if isinstance(one, Vanished)]
    bench.run(verify=True, accept_deletions=True)
    assert len(bench.find("words")) == 1


def test_a_replaced_database_proves_no_deletion(bench: Bench) -> None:
    fill(bench.source, 4)
    bench.run()
    bench.source.close()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{bench.source.path}{suffix}").unlink(missing_ok=True)
    bench.source = MimoDatabase(bench.source.path.parent / "mimocode.db")
    bench.source.project("global", "/", at=LATER - 1)
    for number in range(3):
        bench.source.say(bench.source.session(id=f"ses_{number}"), f"words of {number}")
    bench.run()
    assert len(bench.find("words")) == 4


def test_an_unreadable_source_is_told_once_and_its_rows_stay(bench: Bench) -> None:
    fill(bench.source, 2)
    bench.run()
    bench.source.close()
    bench.source.path.write_bytes(b"not a database at all")
    (failed,) = (one for one in bench.run() if isinstance(one, Failed))
    assert "not an SQLite database" in failed.why
    assert len(bench.find("words")) == 2
    assert bench.index.execute("SELECT error FROM sources").fetchone()[0] == failed.why


def test_one_bad_source_does_not_stop_the_others(bench: Bench, tmp_path: Path) -> None:
    fill(bench.source, 1)
    bad = tmp_path / "bad.db"
    bad.write_bytes(b"x" * 100)
    sources = [V1("mimo", bad), V1("mimo", bench.source.path)]
    events = list(backfill(bench.index, sources, Options(), lambda: LATER))
    assert isinstance(events[0], Failed)
    assert bench.find("words") == ["words of 0"]


@pytest.mark.parametrize("seconds", [0.3])
def test_b28_a_source_locked_for_a_while_is_waited_for(bench: Bench, seconds: float) -> None:
    """Another program holds the database exclusively while a run starts."""
    import threading

    fill(bench.source, 1)
    bench.source.close()
    holder = sqlite3.connect(bench.source.path, isolation_level=None, check_same_thread=False)
    holder.execute("PRAGMA journal_mode = DELETE")
    holder.execute("BEGIN EXCLUSIVE")
    timer = threading.Timer(seconds, lambda: holder.execute("COMMIT"))
    timer.start()
    try:
        bench.run()
    finally:
        timer.join()
        holder.close()
    assert bench.find("words") == ["words of 0"]


# Order, kinds, limits


def test_the_newest_sessions_are_read_first_and_a_run_may_end_anywhere(bench: Bench) -> None:
    fill(bench.source, 6)
    left = iter([False, False, True])
    events = bench.run(stop=lambda: next(left, True))
    assert [one.session for one in events if isinstance(one, Stored)] == ["ses_5", "ses_4"]
    (ended,) = (one for one in events if isinstance(one, Ended))
    assert ended.pending == 4
    assert len(bench.find("words")) == 2
    assert len(stored(bench.run())) == 4
    assert len(bench.find("words")) == 6


def test_ids_follow_time_in_a_first_build(bench: Bench) -> None:
    fill(bench.source, 30)
    bench.run()
    times = [
        at for (at,) in bench.index.execute("SELECT time_created FROM history_fts ORDER BY id")
    ]
    assert times == sorted(times)


def test_kinds_that_are_not_wanted_are_not_stored(bench: Bench) -> None:
    message = bench.source.message(bench.source.session(), "assistant")
    bench.source.tool(message, "bash", {"command": "ls"}, output="listing")
    bench.source.tool(message, "read", {"path": "x"}, error="ENOENT")
    bench.source.reasoning(message, "hm")
    bench.run(kinds=frozenset({Kind.TOOL_INPUT}))
    assert bench.rows() == [("tool_output", "bash\nls", None), ("tool_error", "read\nx", None)]


def test_reindex_takes_in_kinds_that_were_left_out_and_drops_others(bench: Bench) -> None:
    message = bench.source.message(bench.source.session(), "assistant")
    bench.source.tool(message, "bash", {"command": "ls"}, output="listing")
    bench.source.reasoning(message, "hm")
    bench.run(kinds=frozenset({Kind.REASONING}))
    assert not reindexing.outdated(bench.index, frozenset({Kind.REASONING}))
    wanted = frozenset({Kind.TOOL_INPUT, Kind.TOOL_OUTPUT})
    assert reindexing.outdated(bench.index, wanted)
    reindexing.read_again(bench.index, wanted, None)
    bench.run(kinds=wanted, verify=True)
    reindexing.reindex(bench.index)
    assert bench.rows() == [("tool_output", "bash\nls", "listing")]
    assert list(reindexing.check(bench.index)) == []


def test_b27_a_body_past_the_limit_is_cut_counted_and_told(bench: Bench) -> None:
    text = "word " * (TEXT_LIMIT // 5) + "zq-tail"
    bench.source.say(bench.source.session(), text)
    bench.run()
    assert bench.index.execute("SELECT lost FROM parts WHERE lost > 0").fetchone() == (7,)
    assert bench.index.execute("SELECT cut_parts FROM sources").fetchone() == (1,)


def test_b27_the_end_of_a_long_output_is_found(bench: Bench) -> None:
    message = bench.source.message(bench.source.session(), "assistant")
    output = "line of text\n" * 4000 + "zq-tail-token"
    bench.source.tool(message, "bash", {"command": "x"}, output=output)
    bench.run()
    assert len(bench.find("zq-tail-token", kinds=(Kind.TOOL_OUTPUT,))) == 1


# Reindex and check


def test_reindex_orders_by_time_and_keeps_what_its_source_lost(bench: Bench) -> None:
    fill(bench.source, 5)
    bench.run()
    bench.source.say("ses_0", "late words of a new message")
    bench.run()
    bench.source.close()
    bench.source.path.unlink()
    before = bench.rows()
    assert reindexing.reindex(bench.index) == 11
    assert bench.rows() == before
    assert len(bench.find("words")) == 6
    times = [
        at for (at,) in bench.index.execute("SELECT time_created FROM history_fts ORDER BY id")
    ]
    assert times == sorted(times)
    assert list(reindexing.check(bench.index)) == []


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE history_text SET body = 'tampered' WHERE id = (SELECT min(id) FROM history_text)",
        "DELETE FROM history_text WHERE id = (SELECT min(id) FROM history_text)",
        "DELETE FROM history_fts WHERE id = (SELECT min(id) FROM history_fts)",
        "UPDATE history_fts SET time_created = 5 WHERE id = (SELECT max(id) FROM history_fts)",
    ],
)
def test_check_finds_what_was_tampered_with(bench: Bench, damage: str) -> None:
    fill(bench.source, 3)
    bench.run()
    bench.index.execute(damage)
    assert list(reindexing.check(bench.index)) != []


# Forgetting


def test_forgotten_things_leave_no_byte_and_do_not_come_back(bench: Bench) -> None:
    secret = "xyzzysecretplugh"  # noqa: S105
    message = bench.source.say(bench.source.session(id="ses_a"), f"the key is {secret}")
    bench.source.say("ses_a", "other words")
    bench.run()
    items = forgetting.doomed(bench.index, [resolve(bench.index, message)], copies=False)
    assert forgetting.forget(bench.index, items) == 1
    for file in bench.path.parent.iterdir():
        assert secret.encode() not in file.read_bytes()
    bench.source.update("session", "ses_a", title="touched")
    bench.run(verify=True)
    reindexing.read_again(bench.index, SIX, None)
    bench.run(verify=True)
    assert bench.find(secret) == []
    assert bench.find("other") == ["other words"]


def test_a_forgotten_session_stays_forgotten_and_copies_go_along(bench: Bench) -> None:
    session = bench.source.session(id="ses_a")
    bench.source.say(session, "plumbus words")
    bench.source.fork(session)
    bench.run()
    named = resolve(bench.index, "ses_a")._replace(message=None)
    items = forgetting.doomed(bench.index, [named], copies=True)
    forgetting.forget(bench.index, items)
    bench.run(verify=True)
    assert bench.find("plumbus") == []


# The file


def test_the_index_is_the_user_s_alone(bench: Bench) -> None:
    assert bench.path.stat().st_mode & 0o777 == 0o600
    assert bench.path.parent.stat().st_mode & 0o777 == 0o700


def test_b87_a_newer_index_is_refused(bench: Bench) -> None:
    bench.index.execute("PRAGMA user_version = 99")
    with pytest.raises(IndexUnusable, match="newer mimohist"):
        store.open_reader(bench.path)


def test_no_index_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NoIndex, match="run `mimohist backfill` first"):
        store.open_reader(tmp_path / "x.db")
    (tmp_path / "y.db").write_bytes(b"garbage " * 1000)
    with pytest.raises(IndexUnusable, match="damaged or not an index"):
        store.open_reader(tmp_path / "y.db")


def test_another_database_is_not_taken_for_the_index(tmp_path: Path) -> None:
    MimoDatabase(tmp_path / "m.db").close()
    with pytest.raises(IndexUnusable, match="something else"):
        store.open_writer(tmp_path / "m.db")


def test_b65_two_writers_at_once_is_busy_and_the_kernel_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    busy = pytest.raises(Busy, match="another run is writing the index \\(pid ")
    with store.lock(path), busy, store.lock(path):
        pass
    with store.lock(path):
        pass
