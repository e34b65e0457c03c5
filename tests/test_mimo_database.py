"""The builder of test databases makes what the real programs make."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.mimo_database import START, MimoDatabase, OpencodeDatabase

REAL = Path(__file__).parents[2] / "shared" / "real"


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    """Read a database file anew."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def layout(path: Path, table: str) -> list[tuple[object, ...]]:
    """Columns and indexes, but for the names that SQLite gives its own indexes."""
    columns = rows(path, f"SELECT name, upper(type), pk FROM pragma_table_info('{table}')")
    indexes = rows(
        path,
        "SELECT l.name, l.'unique', group_concat(i.name) FROM pragma_index_list"
        f"('{table}') l JOIN pragma_index_info(l.name) i WHERE l.origin = 'c'"
        " GROUP BY 1 ORDER BY 1",
    )
    return columns + indexes


@pytest.mark.skipif(not REAL.is_dir(), reason="databases of the real programs are not here")
@pytest.mark.parametrize(
    ("kind", "name", "tables"),
    [
        (MimoDatabase, "mimocode.db", "project session message part actor_registry"),
        (MimoDatabase, "mimocode.db", "external_import"),
        (OpencodeDatabase, "opencode.db", "project session message part"),
    ],
)
def test_tables_are_those_of_the_real_program(
    tmp_path: Path, kind: type[MimoDatabase], name: str, tables: str
) -> None:
    """Columns, their types and order, and indexes equal those of the program's own file."""
    kind(tmp_path / "made.db").close()
    real = Path(shutil.copy(REAL / name, tmp_path / "real.db"))
    real.chmod(0o600)
    for table in tables.split():
        assert layout(tmp_path / "made.db", table) == layout(real, table)


def test_ids_hold_their_time_and_order_by_it(tmp_path: Path) -> None:
    """Message ids ascend with time, also within a millisecond; session ids descend."""
    with MimoDatabase(tmp_path / "m.db") as db:
        first, second = db.session(at=START), db.session(at=START + 1)
        assert first.startswith("ses_-")
        assert second < first
        messages = [db.message(first, at=START + step) for step in (0, 0, 1, 5000)]
        assert messages == sorted(messages)
        assert int(messages[-1][5:21], 16) // 0x1000 == START + 5000
        assert {len(made) for made in (first, *messages)} == {30}


def test_old_ids_wrapped_in_august_2026(tmp_path: Path) -> None:
    """An opencode id of after the wrap sorts before one of before it."""
    wrap = 1_786_706_395_136
    with OpencodeDatabase(tmp_path / "o.db") as db:
        session = db.session()
        before, after = db.message(session, at=wrap - 1), db.message(session, at=wrap)
    assert after < before


def test_same_calls_make_the_same_rows_and_a_seed_other_ids(tmp_path: Path) -> None:
    """The builder is deterministic, and `seed` makes two databases differ."""

    def made(name: str, seed: int) -> list[tuple[object, ...]]:
        with MimoDatabase(tmp_path / name, seed=seed) as db:
            db.text(db.message(db.session()), "hello")
            return db.execute("SELECT * FROM part")

    assert made("a.db", 0) == made("b.db", 0)
    assert made("c.db", 1) != made("a2.db", 0)


def test_deleting_a_session_takes_messages_and_parts(tmp_path: Path) -> None:
    """Deletions cascade as in the program."""
    with MimoDatabase(tmp_path / "m.db") as db:
        session = db.session()
        db.say(session, "hello")
        db.actor(session)
        db.delete("session", session)
        for table in ("session", "message", "part", "actor_registry"):
            assert db.execute(f"SELECT * FROM {table}") == []


def test_a_rewrite_moves_only_time_updated(tmp_path: Path) -> None:
    """A tool that finishes is rewritten in place."""
    with MimoDatabase(tmp_path / "m.db") as db:
        answer, given = db.message(db.session(), "assistant"), {"command": "ls"}
        call = db.tool(answer, "bash", given, status="running")
        made = db.value("part", call, "time_created")
        db.update("part", call, data=db.tool_data("bash", given, output="a.py"), at=made + 7)
        state = json.loads(db.value("part", call, "data"))["state"]
        assert (state["status"], state["output"]) == ("completed", "a.py")
        assert db.value("part", call, "time_created") == made
        assert db.value("part", call, "time_updated") == made + 7


def test_rows_since_the_checkpoint_are_only_in_the_wal(tmp_path: Path) -> None:
    """The main file alone is stale; with the `-wal` that `close` left it is whole."""
    db = MimoDatabase(tmp_path / "m.db")
    session = db.session()
    db.say(session, "old")
    db.checkpoint()
    db.say(session, "new")
    shutil.copy(db.path, tmp_path / "main-file-only.db")
    assert len(rows(tmp_path / "main-file-only.db", "SELECT * FROM part")) == 1
    db.close(keep_wal=True)
    wal = tmp_path / "m.db-wal"
    assert wal.stat().st_size > 0
    shutil.copy(db.path, tmp_path / "copy.db")
    shutil.copy(wal, tmp_path / "copy.db-wal")
    assert len(rows(tmp_path / "copy.db", "SELECT * FROM part")) == 2


def test_close_leaves_one_file(tmp_path: Path) -> None:
    """No `-wal` and no `-shm` stay after a plain close."""
    db = MimoDatabase(tmp_path / "m.db")
    db.say(db.session(), "hello")
    db.close()
    assert [path.name for path in tmp_path.iterdir()] == ["m.db"]


def test_left_out_tables_and_columns_are_not_there(tmp_path: Path) -> None:
    """Old schemas can be made, and a misspelt name is refused."""
    db = MimoDatabase(
        tmp_path / "m.db", without={"actor_registry", "message.agent_id", "session.prompt"}
    )
    db.say(db.session(), "hello", agent_id="explore-1")
    with pytest.raises(ValueError, match="actor_registry"):
        db.actor("ses_x")
    columns = [row[1] for row in db.execute("PRAGMA table_info(message)")]
    assert "agent_id" not in columns
    db.close()
    with pytest.raises(ValueError, match="no such table"):
        MimoDatabase(tmp_path / "n.db", without={"message.nonsense"})


def test_a_fork_keeps_the_times_of_messages_and_not_of_parts(tmp_path: Path) -> None:
    """A fork is what `real/mimocode.db` shows: old message times, new part times."""
    with MimoDatabase(tmp_path / "m.db") as db:
        session = db.session(title="talk")
        db.say(session, "hello", agent_id="explore-1")
        fork = db.fork(session)
        assert db.value("session", fork, "title") == "talk (fork #1)"
        mine = "SELECT agent_id, time_created, data FROM message WHERE session_id = ?"
        assert db.execute(mine, fork) == db.execute(mine, session)
        parts = "SELECT data, time_created FROM part WHERE session_id = ?"
        ((old, then),), ((new, now),) = db.execute(parts, session), db.execute(parts, fork)
        assert old == new
        assert then < now


def test_hostile_data_is_written_as_the_programs_would(tmp_path: Path) -> None:
    """Lone surrogates are escaped, and broken JSON or bytes go in as they are."""
    with MimoDatabase(tmp_path / "m.db") as db:
        message = db.message(db.session())
        lone = db.text(message, "a\ud800b\x00c")
        assert db.value("part", lone, "data") == '{"type":"text","text":"a\\ud800b\\u0000c"}'
        broken = db.part(message, '{"type":"te')
        assert db.value("part", broken, "data") == '{"type":"te'
        db.part(message, b'{"type":"text","text":"\xff"}')
        kinds = db.execute("SELECT DISTINCT typeof(data) FROM part")
        assert kinds == [("text",)]
