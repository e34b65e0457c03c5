"""opencode 2.x: messages as rows of one table, beside the tables of 1.x."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mimohist import History
from mimohist.records import Kind, Machine, Message, Skipped
from mimohist.sources import opencode
from mimohist.sources.opencode_v2 import Database
from tests.mimo_database import START, OpencodeDatabase

if TYPE_CHECKING:
    from pathlib import Path


class V2(OpencodeDatabase):
    """A database as 1.18 left it (with an empty `session_message`), used by 2.x."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.seq = 0
        self.connection.execute("PRAGMA foreign_keys=OFF")  # its sessions are in another table

    def only(self, *sessions: str) -> None:
        """Make `session_v2` with these sessions."""
        self.execute("DROP TABLE IF EXISTS session_v2")
        self.execute(
            "CREATE TABLE session_v2(id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT,"
            " directory TEXT, title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER)"
        )
        for id in sessions:
            values = (id, "p", "/home/dev/shop", f"title of {id}", START, START + 9_000_000)
            self.execute("INSERT INTO session_v2 VALUES (?, ?, NULL, ?, ?, '2.0.1', ?, ?)", *values)

    def row(self, session: str, type: str, at: int = START, **data: Any) -> str:  # noqa: ANN401
        """Add one row of `session_message`."""
        return self.raw(session, type, json.dumps(data), at)

    def raw(self, session: str, type: str, data: str, at: int = START) -> str:
        """Add a row with any data."""
        self.seq += 1
        id = f"evt_{self.seq:04}"
        self.execute(
            "INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(id, session, type, self.seq, at + self.seq, at + self.seq, data),
        )
        return id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    return path


def source(path: Path) -> Database:
    (found,) = opencode.find({}, path.parents[3], ())
    assert isinstance(found, Database)
    return found


def read(path: Path, id: str) -> list[Message | Skipped]:
    found = {one.key: one for one in source(path).survey("").candidates}
    items = source(path).load(found[id], "").messages
    return [item for item in items if isinstance(item, Message | Skipped)]


def test_every_type_of_row_has_its_fate(path: Path) -> None:
    with V2(path) as db:
        db.only("ses_1")
        db.row("ses_1", "user", text="why?", files=[{"name": "a.py", "url": "data:x;base64,AA"}])
        tool = {"type": "tool", "id": "c", "name": "bash"}
        done = {"status": "completed", "input": {"command": "ls"}}
        db.row(
            "ses_1",
            "assistant",
            model={"id": "m1", "providerID": "p1"},
            cost=0.5,
            content=[
                {"type": "reasoning", "text": "hm"},
                {"type": "text", "text": "because"},
                {**tool, "state": {**done, "content": [{"type": "text", "text": "a.py"}]}},
                {**tool, "state": {"status": "error", "input": {}, "error": {"message": "no"}}},
                {**tool, "state": {"status": "pending", "input": '{"comm'}},
            ],
        )
        db.row("ses_1", "shell", command="git log", output="commit 1")
        db.row("ses_1", "synthetic", text="context")
        db.row("ses_1", "system", text="you are")
        db.row("ses_1", "compaction", summary="so far")
        db.row("ses_1", "model-switched", model={"id": "m2"})
    messages = [one for one in read(path, "ses_1") if isinstance(one, Message)]
    told = [
        (part.kind, part.body, part.output, part.status, part.machine)
        for message in messages
        for part in message.parts
    ]
    assert told == [
        (Kind.USER_TEXT, "why?", "", None, None),
        (Kind.USER_TEXT, "a.py", "", None, None),
        (Kind.REASONING, "hm", "", None, None),
        (Kind.ASSISTANT_TEXT, "because", "", None, None),
        (Kind.TOOL_OUTPUT, "bash\nls", "a.py", "completed", None),
        (Kind.TOOL_ERROR, "bash", "no", "error", None),
        (Kind.TOOL_INPUT, 'bash\n{"comm', "", "pending", None),
        (Kind.TOOL_OUTPUT, "shell\ngit log", "commit 1", "completed", None),
        (Kind.USER_TEXT, "context", "", None, Machine.SYNTHETIC),
        (Kind.USER_TEXT, "you are", "", None, Machine.HARNESS),
        (Kind.ASSISTANT_TEXT, "so far", "", None, Machine.SUMMARY),
    ]
    assert (messages[1].model, messages[1].provider) == ("m1", "p1")
    assert messages[1].usage is not None
    assert messages[1].usage.cost == 0.5
    assert messages[-1].unindexed == ("model-switched",)
    assert [message.at for message in messages] == [START + n for n in range(1, 8)]


def test_a_session_is_read_from_the_side_that_has_text(path: Path) -> None:
    with V2(path) as db:
        for id in ("ses_old", "ses_new"):
            db.say(db.session(id), f"{id} in 1.x")
            db.row(id, "model-switched", model={"id": "m"})
    assert [one.parts[0].body for one in read(path, "ses_new") if isinstance(one, Message)] == [
        "ses_new in 1.x"
    ]
    with V2.__mro__[1](path) as db:  # the program, later
        values = ("evt_9", "ses_new", "user", 9, START, START, '{"text": "ses_new in 2.x"}')
        db.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", *values)
    texts = {
        id: [part.body for one in read(path, id) if isinstance(one, Message) for part in one.parts]
        for id in ("ses_old", "ses_new")
    }
    assert texts == {"ses_old": ["ses_old in 1.x"], "ses_new": ["ses_new in 2.x"]}


def test_a_session_that_moves_to_the_new_table_is_stored_once_and_deleted_by_it(
    path: Path, tmp_path: Path
) -> None:
    db = V2(path)
    for n in range(4):
        db.say(db.session(f"ses_{n}"), f"needle {n}")
    with History.open(tmp_path / "index.db", environ={"HOME": str(tmp_path)}) as history:

        def found() -> list[tuple[str, str]]:
            list(history.backfill())
            return sorted((hit.session_id, hit.snippet) for hit in history.search("needle").hits)

        assert found() == [(f"ses_{n}", f"needle {n}") for n in range(4)]
        db.row("ses_0", "user", text="needle 0")
        db.row("ses_0", "user", text="needle more")
        assert found()[:2] == [("ses_0", "needle 0"), ("ses_0", "needle more")]
        assert len(found()) == 5
        (exported,) = history.export("ses_0")
        messages = [one for one in exported.messages if not isinstance(one, Skipped)]
        texts = [part["text"] for message in messages for part in message["parts"]]
        assert texts == ["needle 0", "needle more"]
        db.only("ses_0", "ses_1", "ses_2")
        assert {session for session, _ in found()} == {"ses_0", "ses_1", "ses_2"}
    db.close()


def test_a_look_finds_what_changed_and_nothing_else(path: Path) -> None:
    db = V2(path)
    ids = [f"ses_{n}" for n in range(3)]
    db.only(*ids)
    rows = [db.row(id, "user", text="x") for id in ids]
    look = source(path).survey("")
    assert {one.key for one in look.candidates} == set(ids)
    assert look.present == frozenset(ids)

    def changed() -> set[str]:
        nonlocal look
        look = source(path).survey(look.memory)
        return {one.key for one in look.candidates}

    assert changed() == set()
    db.row(ids[0], "user", text="y")
    assert changed() == {ids[0]}
    db.execute(
        "UPDATE session_message SET data = '{}', time_updated = ? WHERE id = ?",
        *(START + 99, rows[1]),
    )
    assert changed() == {ids[1]}
    db.execute("UPDATE session_v2 SET title = 'renamed' WHERE id = ?", ids[2])
    assert changed() == {ids[2]}
    db.execute("DELETE FROM session_message WHERE id = ?", rows[0])
    assert changed() == {ids[0]}
    assert changed() == set()
    db.close()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "5", "[" * 100_000])
def test_a_broken_row_costs_itself_only(path: Path, text: str) -> None:
    with V2(path) as db:
        db.only("ses_1")
        db.raw("ses_1", "user", text)
        db.row("ses_1", "user", text="whole")
    broken, whole = read(path, "ses_1")
    assert isinstance(broken, Skipped)
    assert isinstance(whole, Message)


@pytest.mark.parametrize("value", [None, 5, "x", [], [5], {"a": 1}, [{"type": "tool"}]])
@pytest.mark.parametrize(
    "key", ["text", "files", "content", "model", "error", "tokens", "summary", "command", "agent"]
)
def test_wrong_types_cost_no_row(path: Path, key: str, value: object) -> None:
    with V2(path) as db:
        db.only("ses_1")
        for type in ("user", "assistant", "shell", "synthetic", "compaction", "unheard-of"):
            wrong: dict[str, Any] = {key: value}
            db.row("ses_1", type, **wrong)
        db.row("ses_1", "user", text="whole")
    items = read(path, "ses_1")
    assert len(items) == 7
    assert all(isinstance(item, Message) for item in items)


def test_messages_are_given_as_they_are_now(path: Path) -> None:
    with V2(path) as db:
        state = {"status": "running", "input": {"command": "make"}}
        content = [{"type": "tool", "name": "bash", "state": state}]
        db.session("ses_1")
        id = db.row("ses_1", "assistant", content=content)
        old = db.say(db.session("ses_2"), "in 1.x")
    (given,) = source(path).peek("ses_1", [id, "evt_none"])
    assert [(part.kind, part.status) for part in given.parts] == [(Kind.TOOL_INPUT, "running")]
    (given,) = source(path).peek("ses_2", [old])
    assert given.parts[0].body == "in 1.x"
