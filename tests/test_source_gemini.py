"""Gemini CLI's sessions: documents and logs, replayed to what they say in the end."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from mimohist.records import Kind, Machine, Mark, Message, Session, Skipped
from mimohist.sources import gemini, resume
from tests.gemini_file import CONTEXT, DIRECTORY, NAME, SESSION, GeminiFile, call
from tests.transcripts import Index

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / "home"
    place.mkdir()
    return place


def source(home: Path) -> gemini.Chats:
    (found,) = gemini.find({}, home, ())
    return found


def read(home: Path, key: str = "") -> tuple[Session, list[Message | Skipped | Mark]]:
    one = source(home)
    (candidate,) = [c for c in one.survey("").candidates if key in c.key]
    reading = one.load(candidate, "")
    return reading.session, list(reading.messages)


def told(home: Path, key: str = "") -> list[tuple[Kind, str, str]]:
    return [
        (part.kind, part.body, part.output)
        for item in read(home, key)[1]
        if isinstance(item, Message)
        for part in item.parts
    ]


def bodies(home: Path, key: str = "") -> list[str]:
    return [body for _, body, _ in told(home, key)]


@pytest.mark.parametrize("document", [False, True])
def test_a_document_and_a_log_say_the_same(home: Path, *, document: bool) -> None:
    file = GeminiFile(home, document=document)
    file.user(CONTEXT)
    file.user("why does the total drift?")
    file.says(
        "because of rounding",
        thoughts=[{"subject": "Rounding", "description": "cents"}],
        tokens={"input": 10, "output": 4, "cached": 2, "thoughts": 1, "tool": 0, "total": 17},
        toolCalls=[
            call("run_shell_command", output="a.py", command="ls"),
            call("read_file", "error", output="no such file", path="b.py"),
            call("web_fetch", "cancelled", output="stopped", url="https://x"),
            call("edit", "executing", path="c.py"),
        ],
    )
    file.message("error", "quota exceeded")
    file.message("info", "checkpoint made")
    session, items = read(home)
    assert (session.id, session.directory) == (SESSION, DIRECTORY)
    assert (session.title, session.titled) == ("why does the total drift?", False)
    messages = [item for item in items if isinstance(item, Message)]
    assert told(home) == [
        (Kind.USER_TEXT, CONTEXT, ""),
        (Kind.USER_TEXT, "why does the total drift?", ""),
        (Kind.REASONING, "Rounding\ncents", ""),
        (Kind.ASSISTANT_TEXT, "because of rounding", ""),
        (Kind.TOOL_OUTPUT, "run_shell_command\nls", "a.py"),
        (Kind.TOOL_ERROR, "read_file\nb.py", "no such file"),
        (Kind.TOOL_ERROR, "web_fetch\nhttps://x", "stopped"),
        (Kind.TOOL_INPUT, "edit\nc.py", ""),
        (Kind.TOOL_ERROR, "error", "quota exceeded"),
        (Kind.ASSISTANT_TEXT, "checkpoint made", ""),
    ]
    assert [part.machine for message in messages for part in message.parts] == [
        Machine.HARNESS, *[None] * 8, Machine.HARNESS
    ]  # fmt: skip
    assert messages[2].model == "gemini-3-pro"
    assert messages[2].usage is not None
    assert (messages[2].usage.input, messages[2].usage.cache_read) == (10, 2)
    assert resume("gemini", session.id, None) == ("gemini", "--resume", SESSION)


def test_b53_a_log_is_replayed(home: Path) -> None:
    """The same id again replaces; `$set` may replace all; `$rewindTo` takes back."""
    file = GeminiFile(home)
    first = file.user("first")
    second = file.says("half an ans")
    file.says("half an answer, whole", id=second)
    assert bodies(home) == ["first", "half an answer, whole"]
    third = file.user("third")
    file.says("fourth")
    file.line({"$rewindTo": third})
    assert bodies(home) == ["first", "half an answer, whole"]
    kept = [
        {"id": first, "type": "user", "timestamp": "2026-05-01T10:11:00Z", "content": "one"},
        {"id": "n", "type": "gemini", "timestamp": "2026-05-01T10:12:00Z", "content": "two"},
    ]
    file.line({"$set": {"messages": kept, "summary": "Counting"}})
    file.user("three")
    assert bodies(home) == ["one", "two", "three"]
    session = read(home)[0]
    assert (session.title, session.titled) == ("Counting", True)
    file.line({"$rewindTo": "never there"})
    file.user("anew")
    assert bodies(home) == ["anew"]


def test_what_was_taken_back_leaves_the_index(home: Path) -> None:
    file = GeminiFile(home)
    file.user("alpha stays")
    taken = file.user("beta goes")
    index = Index(home.parent, lambda: source(home))
    with closing(index.db):
        index.run()
        assert len(index.hits("beta")) == 1
        file.line({"$rewindTo": taken})
        file.user("gamma comes")
        index.run()
        assert [len(index.hits(word)) for word in ("alpha", "beta", "gamma")] == [1, 0, 1]


def test_a_session_gone_on_with_as_a_log_is_read_once(home: Path) -> None:
    GeminiFile(home, document=True).user("as a document")
    log = GeminiFile(home)
    log.user("as a document")
    log.user("as a log")
    assert bodies(home) == ["as a document", "as a log"]
    log.path.unlink()
    assert bodies(home) == ["as a document"]


def test_the_prompt_is_what_was_shown(home: Path) -> None:
    file = GeminiFile(home)
    sent = [
        {"text": "@a.py why?"},
        {"text": "--- content of a.py ---"},
        {"inlineData": {"data": "A"}},
    ]
    file.message("user", sent, displayContent="@a.py why?")
    file.message("user", [{"functionResponse": {"name": "x", "response": {"output": "y"}}}])
    assert bodies(home) == ["@a.py why?"]
    items = [item for item in read(home)[1] if isinstance(item, Message)]
    assert items[1].unindexed == ("functionResponse",)


# Where it ran


@pytest.mark.parametrize("project", ["", "shop"])
def test_the_directory_is_found_in_the_list_of_projects(home: Path, project: str) -> None:
    GeminiFile(home, project=project).user("hello")
    listed = {"projects": {"/elsewhere": "other", DIRECTORY: "shop"}}
    (home / ".gemini/projects.json").write_text(json.dumps(listed))
    assert read(home)[0].directory == DIRECTORY


def test_without_a_list_the_directory_is_what_the_session_says(home: Path) -> None:
    file = GeminiFile(home, project="shop")
    file.user(CONTEXT + "\nhello")
    assert read(home)[0].directory == DIRECTORY
    (home / ".gemini/projects.json").write_text("[]")
    assert read(home)[0].directory == DIRECTORY


def test_nobody_knows_where_some_sessions_ran(home: Path) -> None:
    GeminiFile(home).user("hello")
    assert read(home)[0].directory == ""


# Whose they are


def test_sub_agents_belong_to_the_session_that_started_them(home: Path) -> None:
    GeminiFile(home).user("do it")
    file = GeminiFile(home, below=SESSION)
    file.user("look for retries")
    file.says("found three")
    session, items = read(home, f"{SESSION}/")
    assert session.parent_id == SESSION
    machines = [part.machine for item in items if isinstance(item, Message) for part in item.parts]
    assert machines == [Machine.SPAWN, None]


def test_background_work_is_the_programs_own(home: Path) -> None:
    GeminiFile(home, below="skill-extraction-1").user("extract")
    session = read(home)[0]
    assert (session.machine, session.parent_id) == (Machine.SYSTEM_AGENT, None)


def test_sessions_of_the_server_for_editors_are_told_apart_by_their_files(home: Path) -> None:
    file = GeminiFile(home)
    file.line({"sessionId": "a2a-server"})
    file.user("hello")
    assert read(home)[0].id == NAME


# Broken ones


@pytest.mark.parametrize("line", ["{", "[]", "5", "null", "[" * 100_000, "\x00"])
def test_a_broken_line_costs_itself_only(home: Path, line: str) -> None:
    file = GeminiFile(home)
    file.user("before")
    with file.path.open("a") as out:
        out.write(line + "\n")
    file.user("after")
    assert bodies(home) == ["before", "after"]
    assert len([item for item in read(home)[1] if isinstance(item, Skipped)]) == 1


def test_a_torn_document_keeps_what_is_stored(home: Path) -> None:
    file = GeminiFile(home, document=True)
    file.user("alpha")
    index = Index(home.parent, lambda: source(home))
    with closing(index.db):
        index.run()
        whole = file.path.read_text()
        file.path.write_text(whole[:-20])
        index.run()
        assert len(index.hits("alpha")) == 1
        file.path.write_text(whole)
        file.user("beta")
        index.run()
        assert [len(index.hits(word)) for word in ("alpha", "beta")] == [1, 1]


def test_other_files_are_no_sessions(home: Path) -> None:
    file = GeminiFile(home)
    file.user("hello")
    chats = file.path.parent
    for name in ("logs.json", "checkpoint-x.json"):
        (chats.parent / name).write_text("[]")
    (chats / "notes.txt").write_text("x")
    assert len(source(home).survey("").candidates) == 1


def test_its_variable_and_configured_folders_are_looked_at(home: Path, tmp_path: Path) -> None:
    file = GeminiFile(tmp_path / "moved")
    file.user("hello")
    environ = {"GEMINI_CLI_HOME": str(tmp_path / "moved")}
    root = tmp_path / "moved/.gemini/tmp"
    assert [one.root for one in gemini.find(environ, home, ())] == [root]
    for place in (tmp_path / "moved", tmp_path / "moved/.gemini", root):
        assert [one.root for one in gemini.find({}, home, (place,))] == [root]
    shutil.rmtree(tmp_path / "moved")
    assert list(gemini.find(environ, home, ())) == []


def test_a_glance_tells_of_a_change(home: Path) -> None:
    file = GeminiFile(home)
    stamps: list[Any] = []
    for word in ("one", "two"):
        file.user(word)
        stamps += gemini.glance({}, home, ())
    assert stamps[0] != stamps[1]
