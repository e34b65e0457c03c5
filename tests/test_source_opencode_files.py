"""opencode's files of JSON: found in both layouts, and one session once beside its database."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mimohist import History
from mimohist.errors import SourceError
from mimohist.records import Kind, Machine, Message, Part, Skipped
from mimohist.sources import opencode
from mimohist.sources.opencode_files import Storage
from mimohist.sources.v1 import V1
from tests.mimo_database import OpencodeDatabase
from tests.opencode_folder import PROJECT, START, Folder

if TYPE_CHECKING:
    from mimohist.records import Session

REAL = Path(__file__).parents[2] / "shared/real"
TOOL: dict[str, Any] = {"type": "tool", "tool": "bash", "callID": "call_1"}


def data(home: Path) -> Path:
    return home / ".local/share/opencode"


def storage(home: Path) -> Storage:
    (found,) = (one for one in opencode.find({}, home, ()) if isinstance(one, Storage))
    return found


def read(source: Storage | V1, id: str) -> tuple[Session, list[Message], list[Skipped]]:
    candidates = {one.key: one for one in source.survey("").candidates}
    reading = source.load(candidates[id], "")
    items = list(reading.messages)
    messages = [item for item in items if isinstance(item, Message)]
    return reading.session, messages, [item for item in items if isinstance(item, Skipped)]


def bodies(messages: list[Message]) -> list[str]:
    return [part.body for message in messages for part in message.parts]


@pytest.mark.parametrize("old", [False, True])
def test_both_layouts_give_sessions_messages_and_parts(tmp_path: Path, *, old: bool) -> None:
    folder = Folder(data(tmp_path), old=old)
    id = folder.session(parentID="ses_0")
    folder.say(id, "why does the total drift?")
    answer = folder.message(id, "assistant", cost=0.25)
    folder.part(id, answer, {"type": "reasoning", "text": "rounding"})
    state = {"status": "completed", "input": {"command": "ls"}, "output": "a.py"}
    time = {"start": START + 77}
    folder.part(id, answer, {**TOOL, "state": {**state, "time": time}})
    session, messages, skipped = read(storage(tmp_path), id)
    assert (session.directory, session.parent_id) == ("/home/dev/shop", "ses_0")
    assert session.title == "Cart total drifts"
    assert (session.project_id, session.worktree) == (
        ("shop", "") if old else (PROJECT, "/home/dev/shop")
    )
    assert bodies(messages) == ["why does the total drift?", "rounding", "bash\nls"]
    assert [part.at for part in messages[1].parts] == [messages[1].at, START + 77]
    assert messages[1].usage is not None
    assert messages[1].usage.cost == 0.25
    assert skipped == []


def undated(messages: list[Message]) -> list[Message]:
    """Leave out the times of parts, for which the move to SQLite put its own."""
    return [
        replace(one, parts=tuple(replace(part, at=0) for part in one.parts)) for one in messages
    ]


@pytest.mark.skipif(not REAL.exists(), reason="no real databases here")
def test_the_real_files_are_what_the_program_itself_made_of_them() -> None:
    """Every message and part of the files equals the one that opencode 1.2.1 moved to SQLite."""
    files = Storage(REAL / "opencode-legacy-json/storage", lambda: ())
    database = V1("opencode", REAL / "opencode-1.2.1-migrated.db", trusts_part_times=False)
    keys = {one.key for one in files.survey("").candidates}
    assert keys == {one.key for one in database.survey("").candidates}
    parts = 0
    for key in keys:
        ours, theirs = read(files, key), read(database, key)
        assert undated(ours[1]) == undated(theirs[1])
        assert (ours[0].title, ours[0].directory, ours[0].project_id, ours[0].worktree) == (
            (theirs[0].title, theirs[0].directory, theirs[0].project_id, theirs[0].worktree)
        )
        parts += len(bodies(ours[1]))
    assert parts > 60


def test_messages_come_in_the_order_of_their_times_whatever_their_ids(tmp_path: Path) -> None:
    folder = Folder(data(tmp_path))
    id = folder.session()
    late = folder.message(id, at=START + 9_000)
    folder.part(id, late, {"type": "text", "text": "second"})
    early = folder.message(id, at=START + 1_000)
    folder.part(id, early, {"type": "text", "text": "first"})
    assert bodies(read(storage(tmp_path), id)[1]) == ["first", "second"]


def test_what_was_gone_back_from_is_marked(tmp_path: Path) -> None:
    folder = Folder(data(tmp_path))
    id = folder.session()
    folder.say(id, "kept")
    second = folder.message(id)
    folder.part(id, second, {"type": "text", "text": "taken back"})
    folder.session(id, revert={"messageID": second})
    messages = read(storage(tmp_path), id)[1]
    assert [message.machine for message in messages] == [None, Machine.REVERTED]


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '"x"', "[" * 100_000, "\x00", "é\udc80"])
def test_a_broken_file_costs_itself_only(tmp_path: Path, text: str) -> None:
    folder = Folder(data(tmp_path))
    id = folder.session()
    raw = text.encode("utf-8", "surrogateescape")
    folder.say(id, "whole")
    broken = folder.message(id)
    folder.part(id, broken, {"type": "text", "text": "lost"})
    folder.message_path(id, broken).write_bytes(raw)
    folder.say(id, "cut").write_bytes(raw)
    _, messages, skipped = read(storage(tmp_path), id)
    assert bodies(messages) == ["whole"]
    assert len(skipped) == 2


@pytest.mark.parametrize("value", [None, 5, "x", [], [5], {"a": 1}])
@pytest.mark.parametrize("key", ["time", "summary", "title", "directory", "parentID", "revert"])
def test_wrong_types_in_a_header_cost_no_session(tmp_path: Path, key: str, value: object) -> None:
    folder = Folder(data(tmp_path))
    wrong: dict[str, Any] = {key: value}
    id = folder.session(**wrong)
    folder.say(id, "said")
    message = folder.message(id, **wrong)
    folder.part(id, message, {"type": "text", "text": value, "time": value, "state": value})
    session, messages, _ = read(storage(tmp_path), id)
    assert session.id == id
    assert bodies(messages) == ["said"] + ["x"] * (value == "x")


def test_a_broken_session_file_keeps_what_is_stored(tmp_path: Path) -> None:
    folder = Folder(data(tmp_path))
    id = folder.session()
    folder.say(id, "said before")
    with History.open(tmp_path / "index.db", environ={"HOME": str(tmp_path)}) as history:
        list(history.backfill())
        folder.session_path(id).write_text("{")
        list(history.backfill(verify=True))
        assert len(history.search("before").hits) == 1


def test_b48_hostile_text_reaches_the_index_harmlessly(tmp_path: Path) -> None:
    folder = Folder(data(tmp_path))
    id = folder.session(title="\x1b]0;x\x07title\u202e")
    path = folder.say(id, "x")
    path.write_bytes(b'{"type":"text","text":"needle \\ud800 \\u0000 \\u001b[31m"}')
    with History.open(tmp_path / "index.db", environ={"HOME": str(tmp_path)}) as history:
        list(history.backfill())
        (hit,) = history.search("needle").hits
        assert "\x1b" not in hit.snippet


# What changed


def test_a_look_finds_what_changed_and_nothing_else(tmp_path: Path) -> None:
    folder = Folder(data(tmp_path))
    ids = [folder.session(f"ses_{n}") for n in range(3)]
    paths = [folder.say(id, "question") for id in ids]
    source = storage(tmp_path)
    memory = source.survey("").memory
    look = source.survey(memory)
    assert look.candidates == ()
    assert look.present == frozenset(ids)
    paths[0].write_text(json.dumps({"type": "text", "text": "a longer question"}))
    look = source.survey(look.memory)
    assert [one.key for one in look.candidates] == [ids[0]]
    folder.say(ids[1], "another")
    os.utime(folder.message_path(ids[1], "x").parent, ns=(1, 1))
    folder.session(ids[2], title="Renamed")
    os.utime(folder.session_path(ids[2]), ns=(2, 2))
    look = source.survey(look.memory)
    assert {one.key for one in look.candidates} == set(ids[1:])
    assert source.survey(look.memory).candidates == ()


def test_an_old_session_keeps_the_stamp_of_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mimohist.sources.opencode_files._MOST_RECENT", 1)
    folder = Folder(data(tmp_path))
    ids = [folder.session(f"ses_{n}") for n in range(3)]
    for id in ids:
        folder.say(id, "question")
    source = storage(tmp_path)
    memory = source.survey("").memory
    for _ in range(2):
        look = source.survey(memory)
        assert look.candidates == ()
        memory = look.memory
    assert source.survey("").memory == memory


def test_stamps_differ_when_anything_that_a_look_sees_does(tmp_path: Path) -> None:
    folder = Folder(data(tmp_path))
    id = folder.session()
    source = storage(tmp_path)
    stamps = [source.stamp()]
    folder.say(id, "x")
    stamps.append(source.stamp())
    folder.session(id, title="Other")
    os.utime(folder.session_path(id), ns=(5, 5))
    stamps.append(source.stamp())
    OpencodeDatabase(data(tmp_path) / "opencode.db").close()
    stamps.append(source.stamp())
    folder.say(folder.session("ses_2"), "y")
    stamps.append(source.stamp())
    assert len(set(stamps)) == 5
    assert source.stamp() == stamps[-1]
    shutil.rmtree(folder.root)
    with pytest.raises(SourceError, match="no such folder"):
        source.stamp()


def test_a_deleted_session_is_deleted(tmp_path: Path) -> None:
    folder = Folder(data(tmp_path))
    for n in range(4):
        folder.say(folder.session(f"ses_{n}"), f"needle {n}")
    with History.open(tmp_path / "index.db", environ={"HOME": str(tmp_path)}) as history:
        list(history.backfill())
        folder.session_path("ses_1").unlink()
        list(history.backfill())
        found = {hit.session_id for hit in history.search("needle").hits}
        assert found == {"ses_0", "ses_2", "ses_3"}


# One session once


def test_a_session_that_the_database_holds_is_stored_once(tmp_path: Path) -> None:
    folder = Folder(data(tmp_path))
    for id in ("ses_both", "ses_left"):
        folder.say(folder.session(id), f"needle {id}")
    path = data(tmp_path) / "opencode.db"
    with OpencodeDatabase(path) as db:
        db.say(db.session("ses_both"), "needle ses_both")
    with History.open(tmp_path / "index.db", environ={"HOME": str(tmp_path)}) as history:
        list(history.backfill())
        hits = history.search("needle").hits
        assert sorted(hit.session_id for hit in hits) == ["ses_both", "ses_left"]
        assert all(not hit.copies for hit in hits)
        for leftover in data(tmp_path).glob("opencode.db*"):
            leftover.unlink()
        list(history.backfill())
        found = history.search("needle").hits
        assert {hit.session_id for hit in found} == {"ses_both", "ses_left"}
        living = [hit for hit in found if not hit.gone]
        assert {hit.session_id for hit in living} >= {"ses_left"}
        sessions = history.reader.execute("SELECT count(*) FROM session WHERE NOT gone").fetchone()
        assert sessions == (3,)


def test_messages_are_given_as_they_are_now(tmp_path: Path) -> None:
    folder = Folder(data(tmp_path))
    id = folder.session()
    message = folder.message(id, "assistant")
    state = {"status": "running", "input": {"command": "make"}}
    folder.part(id, message, {**TOOL, "state": state})
    (given,) = storage(tmp_path).peek(id, [message, "msg_none"])
    assert [(part.kind, part.status) for part in given.parts] == [(Kind.TOOL_INPUT, "running")]


def test_a_configured_folder_may_be_the_data_folder_or_the_storage_itself(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "backup")
    folder.say(folder.session(), "kept")
    for root in (tmp_path / "backup", folder.root):
        (found,) = opencode.find({}, tmp_path, [root])
        assert found.root == folder.root
        ((path, stamp),) = opencode.glance({}, tmp_path, [root])
        assert (path, stamp) == (folder.root, found.stamp())
    assert isinstance(read(storage_of(folder.root), "ses_1")[1][0].parts[0], Part)


def storage_of(root: Path) -> Storage:
    return Storage(root, lambda: ())
