"""Qwen Code's sessions: lines that only grow, at first Gemini CLI's files."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from mimohist.records import Kind, Machine, Message, Session
from mimohist.sources import qwen, resume
from tests.gemini_file import DIRECTORY, SESSION, GeminiFile, QwenFile
from tests.transcripts import Index, stored

if TYPE_CHECKING:
    from pathlib import Path

    from mimohist.sources.source import Source


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / "home"
    place.mkdir()
    return place


def source(home: Path) -> Source:
    (found,) = qwen.find({}, home, ())
    return found


def read(home: Path) -> tuple[Session, list[Message]]:
    one = source(home)
    (candidate,) = one.survey("").candidates
    reading = one.load(candidate, "")
    return reading.session, [item for item in reading.messages if isinstance(item, Message)]


def told(messages: list[Message]) -> list[tuple[Kind, str, str, str | None]]:
    return [
        (part.kind, part.body, part.output, part.status)
        for message in messages
        for part in message.parts
    ]


def test_every_sort_of_line_has_its_fate(home: Path) -> None:
    file = QwenFile(home)
    file.user("why does the total drift?")
    file.line(
        "assistant",
        {"text": "rounding", "thought": True},
        {"text": "because of cents"},
        {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "ls"}}},
        {"functionCall": {"id": "c2", "name": "read_file", "args": {"path": "b.py"}}},
        model="qwen3-coder",
        usageMetadata={"promptTokenCount": 9, "candidatesTokenCount": 3},
    )
    file.result("c1", "a.py")
    file.result("c2", "no such file", status="error")
    file.line("system", subtype="ui_telemetry", systemPayload={"function_args": "needle"})
    file.line("system", subtype="chat_compression", systemPayload={"compressedHistory": ["needle"]})
    session, messages = read(home)
    assert (session.id, session.directory, session.version) == (SESSION, DIRECTORY, "0.9.0")
    assert (session.title, session.titled) == ("why does the total drift?", False)
    assert sorted(told(messages)) == sorted([
        (Kind.USER_TEXT, "why does the total drift?", "", None),
        (Kind.REASONING, "rounding", "", None),
        (Kind.ASSISTANT_TEXT, "because of cents", "", None),
        (Kind.TOOL_OUTPUT, "run_shell_command\nls", "a.py", "completed"),
        (Kind.TOOL_ERROR, "read_file\nb.py", "no such file", "error"),
    ])  # fmt: skip
    answer = next(message for message in messages if message.role == "assistant")
    assert answer.model == "qwen3-coder"
    assert answer.usage is not None
    assert (answer.usage.input, answer.usage.output) == (9, 3)
    assert resume("qwen", session.id, None) == ("qwen", "--resume", SESSION)


def test_a_sub_agents_transcript_in_a_result_is_not_taken(home: Path) -> None:
    file = QwenFile(home)
    file.call("c1", "task", prompt="look")
    response = {"functionResponse": {"id": "c1", "name": "task", "response": {}}}
    nested = {"type": "task_execution", "toolCalls": [{"args": "needle"}]}
    file.line("tool_result", response, toolCallResult={"callId": "c1", "resultDisplay": nested})
    assert all("needle" not in output for _, _, output, _ in told(read(home)[1]))


def test_b52_an_appended_line_is_read_from_where_one_left_off(home: Path) -> None:
    file = QwenFile(home)
    for number in range(50):
        file.user(f"alpha {number}")
    file.call("c9", "run_shell_command", command="make")
    index = Index(home.parent, lambda: source(home))
    with closing(index.db):
        index.run()
        file.result("c9", "omega")
        file.says("psi")
        assert stored(index.run()) == [(2, 0, 0)]
        assert [len(index.hits(word)) for word in ("make", "psi")] == [1, 1]
        (output,) = index.db.execute(
            "SELECT output FROM history_text WHERE body GLOB '*make'"
        ).fetchone()
        assert output == "omega"
        before = index.db.execute("SELECT part_id, copy FROM history_fts ORDER BY 1").fetchall()
        index.run(verify=True)
        after = index.db.execute("SELECT part_id, copy FROM history_fts ORDER BY 1").fetchall()
        assert before == after


def test_what_the_program_puts_in_is_not_the_users(home: Path) -> None:
    file = QwenFile(home)
    file.user("<system-reminder>be brief</system-reminder>")
    file.user("real words")
    session, messages = read(home)
    machines = [part.machine for message in messages for part in message.parts]
    assert machines == [Machine.HARNESS, None]
    assert session.title == "real words"


def test_the_first_format_is_gemini_clis(home: Path) -> None:
    file = GeminiFile(home)
    file.user("of the first days")
    (home / ".gemini").rename(home / ".qwen")
    one = source(home)
    assert (one.name, one.root) == ("qwen", home / ".qwen/tmp")
    (candidate,) = one.survey("").candidates
    items = [item for item in one.load(candidate, "").messages if isinstance(item, Message)]
    assert told(items) == [(Kind.USER_TEXT, "of the first days", "", None)]
    QwenFile(home).user("of today")
    assert {found.root.name for found in qwen.find({}, home, ())} == {"tmp", "projects"}


def test_its_variable_and_configured_folders_are_looked_at(home: Path, tmp_path: Path) -> None:
    QwenFile(tmp_path / "moved").user("hello")
    place = tmp_path / "moved/.qwen"
    environ = {"QWEN_RUNTIME_DIR": str(place)}
    assert [one.root for one in qwen.find(environ, home, ())] == [place / "projects"]
    for root in (tmp_path / "moved", place, place / "projects"):
        assert [one.root for one in qwen.find({}, home, (root,))] == [place / "projects"]
    assert [root for root, _ in qwen.glance(environ, home, ())] == [place / "projects"]
