"""Kimi's sessions: the log and the context, steps, sub-agents, both programs, titles, growth."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from mimohist.errors import SourceError
from mimohist.kinds import Kind
from mimohist.records import Usage
from mimohist.sources import kimi, resume
from mimohist.sources.kimi import Kimi
from tests.kimi_file import KimiCodeFile, KimiFile, uuid
from tests.transcripts import Index, by_message, read, stored, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "kimi"
    made.mkdir()
    return made


@pytest.fixture
def file(root: Path) -> KimiFile:
    return KimiFile(root)


@pytest.fixture
def index(tmp_path: Path, root: Path) -> Iterator[Index]:
    made = Index(tmp_path, lambda: Kimi(root, "kimi"))
    yield made
    made.db.close()


# The log of kimi-cli


def test_a_step_is_one_message(root: Path, file: KimiFile) -> None:
    file.user("list them")
    file.step()
    file.thinks("hm")
    file.says("I will look.")
    file.call("c1", '{"command": "ls -l", "timeout": 5}')
    usage = {"input_other": 9, "output": 2, "input_cache_read": 4, "input_cache_creation": 1}
    file.event("StatusUpdate", context_usage=0.1, token_usage=usage, message_id="m")
    file.call("c2", '{"path": "/w/none"}', name="ReadFile")
    file.result("c2", "", failed=True, message="`/w/none` does not exist.")
    file.result("c1", [{"type": "text", "text": "total 0"}], message="Command executed.")
    file.step()
    file.says("Done.")
    file.event("TurnEnd")
    found = read(Kimi(root, "kimi"))
    assert "SECRET" not in repr(found)
    assert [one.role for one in found.messages] == ["user", "assistant", "assistant"]
    assert [one.at for one in found.messages] == sorted(one.at for one in found.messages)
    step = found.messages[1]
    assert step.usage == Usage(input=9, output=2, cache_read=4, cache_write=1)
    assert sorted((part.kind, part.body, part.output) for part in step.parts) == [
        (Kind.ASSISTANT_TEXT, "I will look.", ""),
        (Kind.REASONING, "hm", ""),
        (Kind.TOOL_ERROR, "ReadFile\n/w/none", "`/w/none` does not exist."),
        (Kind.TOOL_OUTPUT, "Shell\nls -l\n5", "total 0"),
    ]


def test_a_calls_input_may_be_written_in_pieces(root: Path, file: KimiFile) -> None:
    file.step()
    file.call("c1", '{"comm')
    file.event("ToolCallPart", arguments_part='and": "ls ')
    file.event("ToolCallPart", arguments_part='-l"}')
    mark = read(Kimi(root, "kimi")).mark
    file.result("c1", "total 0")
    whole = read(Kimi(root, "kimi"))
    rest = read(Kimi(root, "kimi"), mark=mark)
    assert [part.body for part in whole.parts] == ["Shell\nls -l"]
    assert by_message(rest.messages) == by_message(whole.messages)


def test_what_a_tool_was_given_and_gave_back_is_found(index: Index, file: KimiFile) -> None:
    file.call("c1", '{"command": "ctl rotate --slot 7"}')
    file.result("c1", "E4417 no slot", failed=True, message="failed")
    index.run()
    assert index.sessions("E4417") == index.sessions("rotate", "--slot", "7") == [file.id]


@pytest.mark.parametrize(
    ("text", "expected", "machine"),
    [
        ("fix it", "fix it", None),
        ("<system-reminder>SIDE</system-reminder>", ..., "harness"),
        ("fix it <system-reminder>SIDE</system-reminder>", "fix it", None),
        ("<git-context>\nSIDE\n</git-context>\n\nfix it", "fix it", None),
        ('<notification id="n1" category="task">SIDE</notification>', ..., "harness"),
        ("<systems> are a tag", "<systems> are a tag", None),
    ],
)
def test_whose_words_a_users_text_is(
    root: Path, file: KimiFile, text: str, expected: object, machine: str | None
) -> None:
    file.user([{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": "x"}}])
    (message,) = read(Kimi(root, "kimi")).messages
    (part,) = message.parts
    assert (part.machine, message.unindexed) == (machine, ("image_url",))
    if expected is not ...:
        assert part.body.strip() == expected
        assert ("SIDE" in text) == ("SIDE" in part.cut)


def test_what_else_was_said_and_what_was_not(root: Path, file: KimiFile) -> None:
    file.event("SteerInput", user_input="rather this")
    file.event("BtwBegin", id="b", question="aside?")
    file.event("BtwEnd", id="b", response="yes", error=None)
    file.event("PlanDisplay", content="first this", file_path="x")
    file.event("ApprovalRequest", id="a", action="NO", description="NO", display=[])
    file.event("ApprovalResponse", request_id="a", response="reject", feedback="never so")
    file.event("Notification", title="Task ended", body="ok", payload={"text": "NO"})
    file.event("CompactionBegin")
    file.event("StepInterrupted")
    assert read(Kimi(root, "kimi")).said == [
        ("user_text", "rather this", None),
        ("user_text", "aside?", None),
        ("assistant_text", "yes", None),
        ("assistant_text", "first this", None),
        ("user_text", "never so", None),
        ("user_text", "Task ended\nok", "harness"),
    ]


def test_a_picture_of_40_mb_and_the_text_beside_it(root: Path, file: KimiFile) -> None:
    url = "data:image/png;base64," + "iVBORw0KGgo4" * 3_500_000
    picture = {"type": "image_url", "image_url": {"url": url}}
    file.user([{"type": "text", "text": "see screenshot"}, picture])
    file.call("c1", "{}")
    file.result("c1", [picture, {"type": "text", "text": "seen"}])
    found = read(Kimi(root, "kimi"))
    assert (found.parts[0].body, found.skipped) == ("see screenshot", [])
    assert found.parts[1].output == "[data-url:image]\nseen"


# Sub-agents


def test_sub_agents_in_the_log_are_slices_of_it(root: Path, file: KimiFile) -> None:
    file.user("begin")
    file.step()
    file.call("t1", '{"prompt": "go"}', name="Task")
    for call in ("t1", "t2"):
        file.inner("TurnBegin", call=call, user_input="orders")
        file.inner("StepBegin", call=call, n=1)
    for call in ("t1", "t2"):  # in turns
        file.inner("ContentPart", call=call, type="text", text=f"{call} works")
    tool = {"name": "Shell", "arguments": '{"command":"ls"}'}
    file.inner("ToolCall", id="c1", function=tool)
    value = {"is_error": False, "output": "out", "message": ""}
    file.inner("ToolResult", tool_call_id="c1", return_value=value)
    file.result("t1", "found it")
    found = read(Kimi(root, "kimi"))
    slices = {(part.body, one.agent, part.machine) for one in found.messages for part in one.parts}
    assert slices == {
        ("begin", "main", None),
        ("Task\ngo", "main", None),
        ("orders", "agent-t1", "spawn"),
        ("orders", "agent-t2", "spawn"),
        ("t1 works", "agent-t1", None),
        ("t2 works", "agent-t2", None),
        ("Shell\nls", "agent-t1", None),
    }
    assert {part.output for part in found.parts} == {"", "out", "found it"}


def test_a_sub_agent_with_a_log_of_its_own_is_read_there(index: Index, root: Path) -> None:
    file = KimiFile(root)
    file.user("begin")
    file.inner("ContentPart", agent="a1b2c3d4", type="text", text="xylophone")
    child = KimiFile(root, agent="a1b2c3d4")
    (child.folder / "meta.json").write_text('{"subagent_type": "coder", "description": "x"}')
    (child.folder / "context.jsonl").write_text("")
    child.user("orders " * 20)
    child.step()
    child.says("xylophone")
    index.run()
    (hit,) = index.hits("xylophone")
    assert (hit.session_id, hit.agent, hit.agent_name) == (
        f"{file.id}-a1b2c3d4",
        "agent-a1b2c3d4",
        "coder",
    )
    assert hit.copies == ()
    found = read(Kimi(root, "kimi"), "a1b2c3d4")
    assert (found.session.parent_id, found.session.directory) == (file.id, "/w/x")
    assert found.said[0][2] == "spawn"


# The context


def context(root: Path, name: str = "") -> KimiFile:
    file = KimiFile(root, log=False)
    file.path = file.folder / (name or "context.jsonl")
    return file


def test_without_a_log_the_context_is_read(root: Path) -> None:
    file = context(root)
    (file.folder / "wire.jsonl").write_text('{"type": "metadata", "protocol_version": "1.3"}\n')
    file.line({"role": "_system_prompt", "content": "SYSTEMPROMPT"})
    file.line({"role": "_checkpoint", "id": 0})
    file.line({"role": "user", "content": "<system>CHECKPOINT 0</system>"})
    file.line({"role": "user", "content": [{"type": "text", "text": "list them"}]})
    calls = [{"type": "function", "id": "c1", "function": {"name": "Shell", "arguments": "{"}}]
    thought = {"type": "think", "think": "hm"}
    file.line({"role": "assistant", "content": [thought], "tool_calls": calls})
    output = [{"type": "text", "text": "<system>ERROR: no</system>"}, {"type": "text", "text": "x"}]
    file.line({"role": "tool", "content": output, "tool_call_id": "c1"})
    file.line({"role": "_usage", "token_count": 5})
    file.line({"role": "assistant", "content": "Done."})
    prefix = "<system>Previous context has been compacted. Here is the compaction output:</system>"
    blocks = [{"type": "text", "text": prefix}, {"type": "text", "text": "So far: beta"}]
    file.line({"role": "user", "content": blocks})
    os.utime(file.path, (1_767_323_040, 1_767_323_040))
    found = read(Kimi(root, "kimi"))
    assert [(part.kind, part.body, part.output, part.machine) for part in found.parts] == [
        (Kind.USER_TEXT, "list them", "", None),
        (Kind.REASONING, "hm", "", None),
        (Kind.TOOL_ERROR, "Shell\n{", "<system>ERROR: no</system>\nx", None),
        (Kind.ASSISTANT_TEXT, "Done.", "", None),
        (Kind.ASSISTANT_TEXT, "So far: beta", "", "summary"),
    ]
    assert {part.at for part in found.parts} == {1_767_323_040_000}
    assert (found.session.id, found.session.title) == (file.id, "list them")


def test_a_log_and_a_context_are_not_both_read(index: Index, root: Path, file: KimiFile) -> None:
    """Also when the log comes later, and when only the oldest shape is there."""
    old = root / "sessions" / file.folder.parent.name / f"{uuid(2)}.jsonl"
    old.write_text('{"role": "user", "content": "oldest"}\n')
    other = context(root)
    other.line({"role": "user", "content": "alpha"})
    index.run()
    assert index.sessions("oldest") == [uuid(2)]
    assert index.sessions("alpha") == [file.id]
    file.user("alpha")
    file.says("beta " * 30)
    index.run()
    (hit,) = index.hits("alpha")
    assert hit.copies == ()
    folder = old.with_suffix("")
    folder.mkdir()
    old.rename(folder / "context.jsonl")
    index.run()
    (hit,) = index.hits("oldest")
    assert not hit.gone


def test_contexts_that_were_left_behind_are_found(index: Index, root: Path) -> None:
    context(root).line({"role": "user", "content": "kept"})
    context(root, "context_1.jsonl").line({"role": "user", "content": "forgotten"})
    context(root, "context_2.jsonl").path.write_text("")
    context(root, "context_sub_1.jsonl").line({"role": "user", "content": "orders"})
    index.run()
    assert index.sessions("kept") == [uuid(1)]
    assert index.sessions("forgotten") == [f"{uuid(1)}-context_1"]
    assert index.sessions("orders") == []  # a sub-agent's are no person's words
    assert index.db.execute("SELECT count(*) FROM session").fetchone() == (3,)


# Kimi Code


def test_kimi_codes_records_are_read(root: Path) -> None:
    file = KimiCodeFile(root)
    file.record("turn.prompt", input=[{"type": "text", "text": "list"}], origin={"kind": "user"})
    file.event("step.begin", step=1)
    file.event("content.part", part={"type": "think", "think": "hm"})
    file.event("content.part", part={"type": "text", "text": "I will look."})
    file.event("tool.call", toolCallId="c1", name="Bash", args={"command": "ls"})
    file.record("usage.record", model="kimi-code/k2.6", usage={"inputOther": 9, "output": 2})
    file.event("tool.result", toolCallId="c1", result={"output": "no", "isError": True})
    file.event("step.end", step=1)
    file.record("turn.steer", input=[{"type": "text", "text": "stop"}])
    file.record("turn.prompt", input="task over", origin={"kind": "background_task"})
    file.record("context.apply_compaction", summary="So far: beta")
    found = read(Kimi(root, "kimi"))
    assert "SYSTEMPROMPT" not in repr(found)
    assert (found.session.id, found.session.directory) == (file.id, "/w/code")
    assert found.session.title == "list"
    assert [(part.kind, part.body, part.output, part.machine) for part in found.parts] == [
        (Kind.USER_TEXT, "list", "", None),
        (Kind.REASONING, "hm", "", None),
        (Kind.ASSISTANT_TEXT, "I will look.", "", None),
        (Kind.TOOL_ERROR, "Bash\nls", "no", None),
        (Kind.USER_TEXT, "stop", "", None),
        (Kind.USER_TEXT, "task over", "", "harness"),
        (Kind.ASSISTANT_TEXT, "So far: beta", "", "summary"),
    ]
    step = next(one for one in found.messages if one.role == "assistant")
    assert (step.model, step.usage) == ("kimi-code/k2.6", Usage(input=9, output=2))


def test_kimi_codes_other_agents_are_sessions_below(index: Index, root: Path) -> None:
    KimiCodeFile(root).record("turn.prompt", input="begin")
    child = KimiCodeFile(root, agent="agent-0")
    child.record("turn.prompt", input="orders")
    child.event("content.part", part={"type": "text", "text": "xylophone"})
    index.run()
    assert index.sessions("xylophone") == [f"{child.id}-agent-0"]
    assert read(Kimi(root, "kimi"), "agent-0").session.parent_id == child.id


# Headers


def test_titles_and_archives_are_what_the_folder_tells(root: Path, file: KimiFile) -> None:
    file.user("Fix the parser\nplease" + " " * 99)
    found = read(Kimi(root, "kimi")).session
    assert (found.title, found.titled, found.archived) == ("Fix the parser", False, None)
    (file.folder / "metadata.json").write_text('{"title": "Untitled"}')
    assert read(Kimi(root, "kimi")).session.title == "Fix the parser"
    file.state(custom_title="Parsers", archived=True, archived_at=1_767_400_000.5)
    found = read(Kimi(root, "kimi")).session
    assert (found.title, found.titled, found.archived) == ("Parsers", True, 1_767_400_000_500)


def test_a_new_title_is_noticed_by_itself(index: Index, root: Path, file: KimiFile) -> None:
    file.user("alpha " * 30)
    file.state()
    index.run()
    stamp = Kimi(root, "kimi").stamp()
    file.state(custom_title="Parsers")
    assert Kimi(root, "kimi").stamp() != stamp
    index.run()
    assert index.sessions("Parsers") == [file.id]
    assert stored(index.run()) == []


def test_projects_come_from_the_list_of_directories(root: Path) -> None:
    for number, cwd in enumerate(("/w/api-proxy", "/w/api/proxy", "C:\\Proj", "c:\\proj"), 1):
        KimiFile(root, number, cwd=cwd).user("alpha " * 30)
    found = [read(Kimi(root, "kimi"), uuid(number)).session for number in range(1, 5)]
    assert [one.directory for one in found[:2]] == ["/w/api-proxy", "/w/api/proxy"]
    assert found[2].project_id == found[3].project_id == "c:\\proj"
    (root / "kimi.json").write_text("{")
    assert read(Kimi(root, "kimi"), uuid(1)).session.directory == ""


# Growth


def test_reading_in_any_steps_gives_the_same(root: Path, file: KimiFile) -> None:
    file.user("go " * 40)
    file.step()
    file.says("on it")
    for number in range(3):
        file.call(f"c{number}", f'{{"command": "run {number}"}}')
    file.inner("StepBegin", n=1)
    file.inner("ContentPart", type="text", text="sub works")
    file.result("c2", "second")
    file.inner("ContentPart", type="text", text="sub goes on")
    file.result("c0", "zero", failed=True)
    file.step()
    file.says("done")
    file.says("really")
    whole = by_message(read(Kimi(root, "kimi")).messages)
    lines = file.path.read_bytes().splitlines(keepends=True)
    file.path.write_bytes(b"".join(lines[:2]))
    given, mark = [], ""
    for line in (b"", *lines[2:]):
        for piece in (line[:40], line[40:]):
            with file.path.open("ab") as out:
                out.write(piece)
            found = read(Kimi(root, "kimi"), mark=mark)
            assert found.whole == (mark == "")
            given += found.messages
            mark = found.mark
    assert by_message(given) == whole


def test_growth_rewrites_and_loss(index: Index, file: KimiFile) -> None:
    file.user("AAA one" + " " * 99)
    index.run()
    assert stored(index.run()) == []
    file.user("two")
    assert stored(index.run()) == [(1, 0, 0)]
    file.path.write_text(file.path.read_text().replace("AAA", "BBB"))
    file.user("three")
    index.run()
    assert [index.sessions(word) for word in ("AAA", "BBB", "three")] == [[], [file.id], [file.id]]
    file.path.unlink()
    index.run()
    assert index.hits("BBB")[0].gone


def test_a_bad_line_costs_itself(index: Index, file: KimiFile) -> None:
    file.user("alpha" + " " * 99)
    for line in ('{"timestamp":1,"mess', "null", "[1]", '"x"', "", '{"a":"\\p"}'):
        file.line(line)
    file.user("beta\u2028\u0085 \ud83d needle")
    assert len(unreadable(index.run())) == 5
    assert index.sessions("alpha") == index.sessions("beta", "needle") == [file.id]


HOSTILE: list[object] = [
    None,
    5,
    -1e400,
    True,
    [],
    {},
    [None, 5, {}],
    "\x00\x1b[31m\ud83d\u202e",
    {"text": 5, "type": []},
]


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_values_of_another_type_break_nothing(index: Index, root: Path, value: object) -> None:
    file = KimiFile(root)
    payloads: list[tuple[str, dict[str, Any]]] = [
        ("TurnBegin", {"user_input": "x"}),
        ("ContentPart", {"type": "text", "text": "x"}),
        ("ContentPart", {"type": "think", "think": "x"}),
        ("ToolCall", {"id": "c", "function": {"name": "n", "arguments": "{}"}}),
        ("ToolCall", {"id": "c", "function": {"name": value, "arguments": value}}),
        ("ToolCallPart", {"arguments_part": "x"}),
        ("ToolResult", {"tool_call_id": "c", "return_value": {"output": value, "message": value}}),
        ("StatusUpdate", {"token_usage": {"output": value, "input_other": value}}),
        ("SubagentEvent", {"task_tool_call_id": "c", "event": {"type": value, "payload": value}}),
        ("Notification", {"title": "x", "body": "y"}),
    ]
    for type, payload in payloads:
        file.event(type, **payload)
        for key in payload:
            file.event(type, **{**payload, key: value})
    for key in ("timestamp", "message", "type", "time"):
        file.line({"timestamp": 1, "message": {"type": "TurnBegin", "payload": {}}, key: value})
    file.line({"timestamp": value, "message": {"type": value, "payload": value}})
    for type in ("turn.prompt", "context.append_loop_event", "config.update", "usage.record"):
        for key in ("input", "origin", "event", "usage", "model", "cwd"):
            file.line({"type": type, "time": value, key: value})
    for type in ("content.part", "tool.call", "tool.result"):
        event = {"type": type, "part": value, "args": value, "toolCallId": value, "result": value}
        file.line({"type": "context.append_loop_event", "event": event})
    file.user("after")
    other = KimiFile(root, 2, log=False)
    for role in ("user", "assistant", "tool", "_usage"):
        other.line({"role": role, "content": value, "tool_call_id": value, "tool_calls": value})
        other.line({"role": role, "content": [value], "tool_calls": [{"function": value}]})
    other.line({"role": value, "content": "x"})
    other.line({"role": "user", "content": "afterwards"})
    (root / "kimi.json").write_text(json.dumps({"work_dirs": [{"path": value, "kaos": value}]}))
    index_line = json.dumps({"sessionId": value, "workDir": value})
    (root / "session_index.jsonl").write_text(f"{index_line}\n[]\n")
    file.state(custom_title=value, archived=value, archived_at=value)
    index.run()
    assert index.sessions("after") == [file.id]
    assert index.sessions("afterwards") == [other.id]


# Where they lie


def test_where_it_looks(tmp_path: Path) -> None:
    def roots(environ: dict[str, str], *extra: Path) -> list[Path]:
        return [one.root for one in kimi.find(environ, tmp_path, extra)]

    assert roots({}) == []
    for name in (".kimi", ".kimi-code", "own"):
        (tmp_path / name / "sessions").mkdir(parents=True)
    usual, code, own = tmp_path / ".kimi", tmp_path / ".kimi-code", tmp_path / "own"
    assert roots({}) == [usual, code]
    assert roots({"KIMI_SHARE_DIR": str(own)}) == [own, code]
    assert roots({}, own, tmp_path / "none") == [usual, code, own, tmp_path / "none"]
    with pytest.raises(SourceError, match="no such file"):
        Kimi(tmp_path / "none", "kimi").survey("")
    assert resume("kimi", "s", None) == resume("kimi", "s-a1", "s") == ("kimi", "--session", "s")
