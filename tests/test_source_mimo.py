"""MiMo Code's database: found, opened without a trace, and what becomes of each part in it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from mimohist.errors import SourceError
from mimohist.records import Kind, Machine, Mark, Message, Part, Skipped
from mimohist.sources import mimo
from mimohist.sources.parts import error_of, part_of
from mimohist.sources.source import Candidate
from mimohist.sources.v1 import V1
from tests.mimo_data import tool_data
from tests.mimo_database import START, MimoDatabase

if TYPE_CHECKING:
    from pathlib import Path

AT = START


def made(data: dict[str, Any], role: str = "assistant", *, summary: bool = False) -> Part | None:
    return part_of("prt_1", data, role=role, at=AT, summary=summary)


def messages(source: V1, session: str, mark: str = "") -> list[Message]:
    found = source.survey("").candidates
    candidate = next(one for one in found if one.key == session)
    return [item for item in source.load(candidate, mark).messages if isinstance(item, Message)]


# E: what becomes of each part (facts about the original's extraction; our changes say why)


def test_e2_e3_text_is_of_whoever_said_it() -> None:
    part = made({"type": "text", "text": "hi"}, "user")
    assert part is not None
    assert (part.kind, part.body, part.tool) == (Kind.USER_TEXT, "hi", None)
    part = made({"type": "text", "text": "hi"})
    assert part is not None
    assert part.kind is Kind.ASSISTANT_TEXT


def test_e4_empty_text_is_nothing() -> None:
    assert made({"type": "text", "text": ""}) is None


def test_e5_e6_reasoning_is_always_a_part() -> None:
    """Changed: the original left reasoning out by default; here the kinds to store decide later."""
    part = made({"type": "reasoning", "text": "hmm"})
    assert part is not None
    assert (part.kind, part.body) == (Kind.REASONING, "hmm")


@pytest.mark.parametrize("status", ["pending", "running"])
def test_e7_e8_calls_under_way_are_known_but_not_to_be_stored(status: str) -> None:
    """The store leaves these states out; `around` shows them from the source."""
    part = made(tool_data("bash", {"command": "ls"}, status=status, at=AT))
    assert part is not None
    assert (part.kind, part.status) == (Kind.TOOL_INPUT, status)


def test_e9_e10_a_finished_call_holds_input_and_output_apart() -> None:
    """Changed: one row, values instead of JSON text, so that escapes glue no words."""
    part = made(tool_data("bash", {"command": "ls\nimport os"}, output="a.py", at=AT))
    assert part is not None
    assert (part.kind, part.body, part.output) == (
        Kind.TOOL_OUTPUT,
        "bash\nls\nimport os",
        "a.py",
    )


def test_e11_e12_a_failed_call_holds_its_error() -> None:
    part = made(tool_data("read", {"file_path": "/tmp/x"}, error="ENOENT", at=AT))  # noqa: S108
    assert part is not None
    assert (part.kind, part.body, part.output) == (Kind.TOOL_ERROR, "read\n/tmp/x", "ENOENT")


@pytest.mark.parametrize("type", ["step-start", "step-finish", "snapshot", "unheard-of"])
def test_e13_steps_and_the_unknown_hold_no_text(type: str) -> None:
    assert made({"type": type, "snapshot": "abc", "reason": "stop"}) is None


def test_e13_patches_are_what_tools_did() -> None:
    """Changed: the files of a patch can be found, as a tool's output, never by default."""
    part = made({"type": "patch", "hash": "ab", "files": ["/a/b.py", "/a/c.py"]})
    assert part is not None
    assert (part.kind, part.body, part.output) == (Kind.TOOL_OUTPUT, "", "/a/b.py\n/a/c.py")


def test_the_other_types_are_of_whoever_caused_them() -> None:
    file = {"type": "file", "mime": "image/png", "filename": "shot.png", "url": "data:image/png;,x"}
    part = made(file, "user")
    assert part is not None
    assert (part.kind, part.body) == (Kind.USER_TEXT, "shot.png\nimage/png")
    subtask = {"type": "subtask", "prompt": "look", "description": "d", "agent": "explore"}
    assert getattr(made(subtask, "user"), "body", "") == "look\nd\nexplore"
    assert getattr(made({"type": "agent", "name": "plan"}, "user"), "body", "") == "plan"
    retry = {"type": "retry", "error": {"name": "APIError", "data": {"message": "503"}}}
    assert getattr(made(retry), "output", "") == "503"
    assert made({"type": "compaction", "auto": True}, "user") is None
    projected = {"type": "compaction", "projection": {"summary": "so far", "manifest": "m"}}
    assert getattr(made(projected), "machine", None) is Machine.SUMMARY
    checkpoint = made({"type": "checkpoint", "checkpointDir": "/d/1"}, "user")
    assert getattr(checkpoint, "machine", None) is Machine.CHECKPOINT


def test_b38_synthetic_text_and_reminders_are_nobody_s_words() -> None:
    part = made({"type": "text", "text": "NEEDLE", "synthetic": True}, "user")
    assert getattr(part, "machine", None) is Machine.SYNTHETIC
    text = "fix it <system-reminder>NEEDLE</system-reminder>"
    part = made({"type": "text", "text": text}, "user")
    assert part is not None
    assert (part.body, part.cut, part.machine) == ("fix it", "NEEDLE", None)
    only = made({"type": "text", "text": "<system-reminder>x</system-reminder>"}, "user")
    assert getattr(only, "machine", None) is Machine.SYNTHETIC
    assert getattr(made({"type": "text", "text": "x", "ignored": True}), "machine", 0) == "ignored"


def test_a_summary_is_labelled() -> None:
    part = made({"type": "text", "text": "what we did"}, summary=True)
    assert getattr(part, "machine", None) is Machine.SUMMARY


def test_a_message_s_error_can_be_found_but_its_headers_cannot() -> None:
    error = {"message": "overloaded", "responseHeaders": {"x-key": "SECRET"}, "statusCode": 529}
    part = error_of("msg_1", {"error": {"name": "APIError", "data": error}}, AT)
    assert part is not None
    assert (part.kind, part.body, part.output) == (Kind.TOOL_ERROR, "APIError", "overloaded")


def test_what_the_source_trimmed_says_so() -> None:
    data = tool_data("bash", {"command": "x"}, output="a\n[... trimmed 9 chars ...]\nb", at=AT)
    assert getattr(made(data), "compacted", False)
    assert getattr(made({"type": "reasoning", "text": ""}), "compacted", False)


# Finding


def touched(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    MimoDatabase(path).close()
    return path


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({}, ".local/share/mimocode/mimocode.db"),
        ({"XDG_DATA_HOME": "{home}/xdg"}, "xdg/mimocode/mimocode.db"),
        ({"MIMOCODE_HOME": "{home}/mm"}, "mm/data/mimocode.db"),
        ({"MIMOCODE_HOME": "relative"}, ".local/share/mimocode/mimocode.db"),
        ({"MIMOCODE_DB": "{home}/x.db"}, "x.db"),
        ({"MIMOCODE_DB": "own.db"}, ".local/share/mimocode/own.db"),
        ({"MIMOCODE_DB": ":memory:"}, ".local/share/mimocode/mimocode.db"),
    ],
)
def test_the_database_is_found_where_the_program_keeps_it(
    tmp_path: Path, environ: dict[str, str], place: str
) -> None:
    path = touched(tmp_path / place)
    environ = {key: value.format(home=tmp_path) for key, value in environ.items()}
    assert [source.root for source in mimo.find(environ, tmp_path, ())] == [path]
    assert [root for root, _ in mimo.glance(environ, tmp_path, ())] == [path]


def test_databases_of_other_channels_and_configured_ones_are_found(tmp_path: Path) -> None:
    data = tmp_path / ".local/share/mimocode"
    main, other = touched(data / "mimocode.db"), touched(data / "mimocode-local.db")
    more = touched(tmp_path / "old/mimocode.db")
    found = [source.root for source in mimo.find({}, tmp_path, (more,))]
    assert found == [main, other, more]
    assert [source.root for source in mimo.find({}, tmp_path, (more.parent,))] == found


def test_without_the_program_nothing_is_found(tmp_path: Path) -> None:
    assert list(mimo.find({}, tmp_path, ())) == []


def test_a_named_database_that_is_missing_is_an_error(tmp_path: Path) -> None:
    (source,) = mimo.find({"MIMOCODE_DB": str(tmp_path / "x.db")}, tmp_path, ())
    with pytest.raises(SourceError, match="no such file"):
        source.stamp()


# Opening without a trace


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def copy_with_wal(tmp_path: Path, *, shm: bool) -> V1:
    """Copy a live database: the newest message is only in its `-wal`."""
    live = MimoDatabase(tmp_path / "live.db")
    live.say(live.session(id="ses_old"), "old")
    live.checkpoint()
    live.say("ses_old", "new")
    folder = tmp_path / "copy"
    folder.mkdir()
    for suffix in ("", "-wal", *(("-shm",) if shm else ())):
        shutil.copy(f"{live.path}{suffix}", folder / f"mimocode.db{suffix}")
    live.close()
    return V1("mimo", folder / "mimocode.db")


@pytest.mark.parametrize("shm", [False, True])
def test_b30_a_live_copy_gives_all_and_stays_as_it_is(tmp_path: Path, *, shm: bool) -> None:
    source = copy_with_wal(tmp_path, shm=shm)
    before = digests(source.root.parent)
    assert [part.body for message in messages(source, "ses_old") for part in message.parts] == [
        "old",
        "new",
    ]
    after = digests(source.root.parent)
    before.pop("mimocode.db-shm", None)
    after.pop("mimocode.db-shm", None) if shm else None
    assert after == before


@pytest.mark.skipif(os.name != "posix", reason="folders are made read-only the POSIX way")
def test_b29_a_database_at_rest_in_a_read_only_folder_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "ro"
    folder.mkdir()
    db = MimoDatabase(folder / "mimocode.db")
    db.say(db.session(id="ses_1"), "found")
    db.close()
    before = digests(folder)
    folder.chmod(0o555)
    try:
        assert len(messages(V1("mimo", folder / "mimocode.db"), "ses_1")) == 1
    finally:
        folder.chmod(0o755)
    assert digests(folder) == before


def test_reading_beside_the_running_program_works(tmp_path: Path) -> None:
    db = MimoDatabase(tmp_path / "mimocode.db")
    db.say(db.session(id="ses_1"), "while it runs")
    assert len(messages(V1("mimo", db.path), "ses_1")) == 1
    db.say("ses_1", "and goes on")
    assert len(messages(V1("mimo", db.path), "ses_1")) == 2
    db.close()


@pytest.mark.parametrize("name", ["a b%20c#d?e.db", "données-数据.db"])
def test_odd_names_are_opened(tmp_path: Path, name: str) -> None:
    db = MimoDatabase(tmp_path / name)
    db.say(db.session(id="ses_1"), "x")
    db.close()
    assert len(messages(V1("mimo", tmp_path / name), "ses_1")) == 1


BAD = {
    "empty": (b"", "the file is empty"),
    "a text": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "not an SQLite"),
    "garbage": (b"SQLite format 3\0" + b"\xff" * 8000, "damaged"),
}


@pytest.mark.parametrize("kind", BAD)
def test_b31_what_is_no_database_is_said_in_a_line(tmp_path: Path, kind: str) -> None:
    content, complaint = BAD[kind]
    path = tmp_path / "mimocode.db"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=complaint):
        V1("mimo", path).survey("")


def test_b32_another_layout_is_refused_with_the_tables_seen(tmp_path: Path) -> None:
    path = tmp_path / "mimocode.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE sessions(id TEXT)")
    db.close()
    with pytest.raises(SourceError, match=r"unsupported layout: no table .* sessions"):
        V1("mimo", path).survey("")


def test_b32_missing_columns_and_tables_are_done_without(tmp_path: Path) -> None:
    without = {
        "actor_registry",
        "external_import",
        "message.agent_id",
        "session.time_archived",
        "session.workspace_id",
    }
    db = MimoDatabase(tmp_path / "mimocode.db", without=without)
    db.say(db.session(id="ses_1"), "x")
    db.close()
    (message,) = messages(V1("mimo", db.path), "ses_1")
    assert message.agent == "main"


# Sessions and messages


def test_slices_models_times_and_costs_are_taken(tmp_path: Path) -> None:
    db = MimoDatabase(tmp_path / "mimocode.db")
    session = db.session(id="ses_1", project="p1", directory="/w/shop", title="T")
    db.say(session, "go", at=AT)
    tokens = {"input": 5, "output": 7, "reasoning": 0, "cache": {"read": 1, "write": 2}}
    db.say(session, "done", "assistant", agent_id="explore-1", cost=0.25, tokens=tokens)
    db.close()
    source = V1("mimo", db.path)
    reading = source.load(source.survey("").candidates[0], "")
    assert (reading.session.directory, reading.session.project_id) == ("/w/shop", "p1")
    first, second = (item for item in reading.messages if isinstance(item, Message))
    assert (first.role, first.agent, first.at) == ("user", "main", AT)
    assert (second.role, second.agent) == ("assistant", "explore-1")
    assert second.usage is not None
    assert (second.usage.cost, second.usage.output, second.usage.cache_write) == (0.25, 7, 2)


def test_r1_r2_roles_are_the_messages_own(tmp_path: Path) -> None:
    """Changed: a part always comes with its message here, so none is guessed to be assistant."""
    db = MimoDatabase(tmp_path / "mimocode.db")
    session = db.session(id="ses_1")
    db.say(session, "q")
    db.say(session, "a", "assistant")
    db.close()
    assert [one.role for one in messages(V1("mimo", db.path), "ses_1")] == ["user", "assistant"]


def test_machine_turns_and_system_agents_are_marked(tmp_path: Path) -> None:
    db = MimoDatabase(tmp_path / "mimocode.db")
    main = db.session(id="ses_main")
    db.say(main, "by a person", source="user")
    db.say(main, "by a hook", source="hook")
    db.say(main, "task", source="spawn", agent_id="explore-1")
    child = db.session(id="ses_child", parent_id=main, title="some prompt")
    db.actor(child, "checkpoint-writer-1", agent="checkpoint-writer", mode="subagent")
    db.say(child, "sum up")
    dream = db.session(id="ses_dream", title="Auto Dream")
    db.say(dream, "dreaming")
    db.close()
    source = V1("mimo", db.path)
    assert [one.machine for one in messages(source, "ses_main")] == [None, "hook", "spawn"]
    machines = {
        candidate.key: source.load(candidate, "").session.machine
        for candidate in source.survey("").candidates
    }
    assert machines == {
        "ses_main": None,
        "ses_child": "system_agent",
        "ses_dream": "system_agent",
    }


def test_reverted_messages_are_marked_from_the_point_gone_back_to(tmp_path: Path) -> None:
    db = MimoDatabase(tmp_path / "mimocode.db")
    session = db.session(id="ses_1")
    db.say(session, "kept")
    gone = db.say(session, "gone", "assistant")
    db.say(session, "gone too")
    db.update("session", session, revert=json.dumps({"messageID": gone}))
    db.close()
    marks = [one.machine for one in messages(V1("mimo", db.path), "ses_1")]
    assert marks == [None, "reverted", "reverted"]


def test_b39_imports_tell_what_they_mirror(tmp_path: Path) -> None:
    db = MimoDatabase(tmp_path / "mimocode.db")
    session = db.session(id="ses_1")
    db.say(session, "x")
    db.external_import(session, "cc", "abc")
    db.close()
    source = V1("mimo", db.path)
    assert source.load(source.survey("").candidates[0], "").session.mirrors == ("claude", "abc")


def test_a_broken_record_costs_only_itself(tmp_path: Path) -> None:
    db = MimoDatabase(tmp_path / "mimocode.db")
    session = db.session(id="ses_1")
    message = db.message(session)
    db.part(message, '{"type":"text","te')
    db.part(message, "[1]")
    db.text(message, "good")
    db.part(message, b'{"type":"text","text":"latin \xe9"}')
    db.message(session, data="not json")
    db.close()
    source = V1("mimo", db.path)
    items = list(source.load(source.survey("").candidates[0], "").messages)
    assert [part.body for item in items if isinstance(item, Message) for part in item.parts] == [
        "good",
        "latin \ufffd",
    ]
    skipped = [item for item in items if isinstance(item, Skipped)]
    assert len(skipped) == 3
    assert "mimocode.db part prt_" in skipped[0].where


def test_a_huge_summary_of_diffs_is_not_read_into_the_index(tmp_path: Path) -> None:
    db = MimoDatabase(tmp_path / "mimocode.db")
    session = db.session(id="ses_1")
    summary = {"diffs": [{"file": "a", "patch": "x" * 300_000}]}
    db.say(session, "asked", summary=summary, system="You are NEEDLE" * 1000)
    db.close()
    (message,) = messages(V1("mimo", db.path), "ses_1")
    assert [part.body for part in message.parts] == ["asked"]


# Changes


class Looked:
    """A database looked at again and again, as backfills do."""

    def __init__(self, path: Path) -> None:
        self.source = V1("mimo", path)
        self.memory = ""
        self.marks: dict[str, str] = {}

    def changed(self) -> set[str]:
        """Look once more: the sessions that may have changed."""
        survey = self.source.survey(self.memory)
        self.memory = survey.memory
        self.marks |= {one.key: one.stamp for one in survey.candidates}
        return {one.key for one in survey.candidates}


@pytest.fixture
def two(tmp_path: Path) -> tuple[MimoDatabase, Looked]:
    db = MimoDatabase(tmp_path / "mimocode.db")
    for id in ("ses_a", "ses_b"):
        db.session(id=id)
        db.say(id, "one")
        db.say(id, "two", "assistant")
    looked = Looked(db.path)
    assert looked.changed() == {"ses_a", "ses_b"}
    return db, looked


def test_nothing_new_is_no_candidate(two: tuple[MimoDatabase, Looked]) -> None:
    db, looked = two
    assert looked.changed() == set()
    db.close()


def test_every_sort_of_change_is_noticed(two: tuple[MimoDatabase, Looked]) -> None:
    db, looked = two
    db.say("ses_a", "three")
    assert looked.changed() == {"ses_a"}
    part = db.execute("SELECT id FROM part WHERE session_id = 'ses_b' LIMIT 1")[0][0]
    db.edit(part, text="edited")
    assert looked.changed() == {"ses_b"}
    db.update("session", "ses_a", title="renamed")
    assert looked.changed() == {"ses_a"}
    db.update("session", "ses_a", time_archived=db.tick())
    assert looked.changed() == {"ses_a"}
    db.delete("part", part)
    assert looked.changed() == {"ses_b"}
    message = db.execute("SELECT id FROM message WHERE session_id = 'ses_a' LIMIT 1")[0][0]
    db.delete("message", message)
    assert looked.changed() == {"ses_a"}
    call = db.tool(db.message("ses_a", "assistant"), "bash", {"command": "x"}, status="running")
    assert looked.changed() == {"ses_a"}
    db.update("part", call, data=db.tool_data("bash", {"command": "x"}, output="done"))
    assert looked.changed() == {"ses_a"}
    db.delete("session", "ses_b")
    assert looked.changed() == set()
    assert looked.source.survey(looked.memory).present == frozenset({"ses_a"})
    db.session(id="ses_c")
    assert looked.changed() == {"ses_c"}
    db.close()


def test_only_what_is_new_is_read_of_a_session_that_grew(
    two: tuple[MimoDatabase, Looked],
) -> None:
    db, looked = two
    mark = looked.marks["ses_a"]
    db.say("ses_a", "three")
    looked.changed()
    candidate = Candidate("ses_a", looked.marks["ses_a"], 0)
    reading = looked.source.load(candidate, mark)
    bodies = [
        part.body for item in reading.messages if isinstance(item, Message) for part in item.parts
    ]
    assert not reading.whole
    assert "three" in bodies
    assert "one" not in bodies
    db.close()


def test_a_session_that_lost_something_is_read_whole(two: tuple[MimoDatabase, Looked]) -> None:
    db, looked = two
    mark = looked.marks["ses_a"]
    part = db.execute("SELECT id FROM part WHERE session_id = 'ses_a' LIMIT 1")[0][0]
    db.delete("part", part)
    looked.changed()
    reading = looked.source.load(Candidate("ses_a", looked.marks["ses_a"], 0), mark)
    assert reading.whole
    assert isinstance(list(reading.messages)[-1], Mark)
    db.close()


def test_peek_gives_calls_that_still_run(tmp_path: Path) -> None:
    db = MimoDatabase(tmp_path / "mimocode.db")
    message = db.message(db.session(id="ses_1"), "assistant")
    db.tool(message, "bash", {"command": "sleep"}, status="running")
    db.close()
    (found,) = V1("mimo", db.path).peek("ses_1", [message])
    assert [part.status for part in found.parts] == ["running"]
