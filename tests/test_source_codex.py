"""Codex's rollouts: texts written twice, forks, failures, archives, every version's shape."""

from __future__ import annotations

import importlib
import json
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from mimohist.errors import SourceError
from mimohist.kinds import Kind
from mimohist.records import Usage
from mimohist.sources import codex, zstd
from mimohist.sources.codex import Codex
from mimohist.sources.codex_texts import result_of
from tests.codex_file import CodexFile, thread
from tests.transcripts import Index, by_message, read, stored, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "codex"
    made.mkdir()
    return made


@pytest.fixture
def file(root: Path) -> CodexFile:
    return CodexFile(root)


@pytest.fixture
def index(tmp_path: Path, root: Path) -> Iterator[Index]:
    made = Index(tmp_path, lambda: Codex(root))
    yield made
    made.db.close()


# Texts that are written twice


@pytest.mark.parametrize("double", [True, False])
def test_a_text_is_read_once_however_often_it_is_written(root: Path, *, double: bool) -> None:
    file = CodexFile(root, double=double)
    for _ in range(2):  # a genuine repeat stays two
        file.user("yes")
        file.agent("Done, tests pass")
    assert (
        read(Codex(root)).said
        == [
            ("user_text", "yes", None),
            ("assistant_text", "Done, tests pass", None),
        ]
        * 2
    )


def test_events_alone_are_read(root: Path, file: CodexFile) -> None:
    file.event("user_message", message="yes", images=[])
    file.event("agent_reasoning", text="thinking")
    file.event("agent_message", message="Done")
    file.event("user_message", message="yes", images=[])
    assert [body for _, body, _ in read(Codex(root)).said] == ["yes", "thinking", "Done", "yes"]


def test_the_same_words_twice_in_one_turn_stay_two(root: Path, file: CodexFile) -> None:
    file.user("go")
    file.agent("working")
    file.agent("working")
    assert [body for _, body, _ in read(Codex(root)).said] == ["go", "working", "working"]


def test_reasoning_is_read_once_and_what_is_encrypted_never(root: Path, file: CodexFile) -> None:
    file.event("agent_reasoning", text="**Looking**")
    file.item(
        "reasoning",
        summary=[{"type": "summary_text", "text": "**Looking**"}],
        content=[{"type": "reasoning_text", "text": "raw"}],
        encrypted_content="gAAAAABSECRET",
    )
    file.item("reasoning", summary=[], encrypted_content="gAAAAABSECRET")
    found = read(Codex(root))
    assert found.said == [("reasoning", "**Looking**", None), ("reasoning", "raw", None)]
    assert "SECRET" not in repr(found)
    assert [message.unindexed for message in found.messages] == [("reasoning",)]


# Messages and parts


def test_an_answer_with_its_calls_is_one_message(root: Path, file: CodexFile) -> None:
    file.envelope("turn_context", {"cwd": "/w/x", "model": "gpt-5.2-codex"})
    file.user("list")
    file.agent("I will look.")
    file.call("c1", {"command": ["bash", "-lc", "ls -l"], "workdir": "/w"})
    file.item("custom_tool_call", name="apply_patch", input="*** Begin Patch\n+x", call_id="c2")
    usage = {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}
    file.event("token_count", info={"last_token_usage": usage})
    file.result("c1", json.dumps({"output": "total 0", "metadata": {"exit_code": 0}}))
    file.item("custom_tool_call_output", call_id="c2", output="Exit code: 1\nOutput:\nno such")
    file.agent("Done.")
    found = read(Codex(root))
    assert [message.role for message in found.messages] == ["user", "assistant", "assistant"]
    answer = found.messages[1]
    assert (answer.model, answer.provider) == ("gpt-5.2-codex", "openai")
    assert answer.usage == Usage(input=9, cache_read=4, output=2)
    assert [(part.kind, part.tool, part.body, part.output) for part in answer.parts] == [
        (Kind.ASSISTANT_TEXT, None, "I will look.", ""),
        (Kind.TOOL_OUTPUT, "shell", "shell\nbash\n-lc\nls -l\n/w", "total 0"),
        (
            Kind.TOOL_ERROR,
            "apply_patch",
            "apply_patch\n*** Begin Patch\n+x",
            "Exit code: 1\nOutput:\nno such",
        ),
    ]


def test_calls_of_other_sorts(root: Path, file: CodexFile) -> None:
    action = {"type": "exec", "command": ["ls"], "timeout_ms": 5}
    file.item("local_shell_call", call_id="c1", status="completed", action=action)
    file.result("c1", "out")
    file.item("web_search_call", status="completed", action={"type": "search", "query": "zorblax"})
    file.item("image_generation_call", revised_prompt="a fox", result="iVBORw0KGgo")
    file.item("tool_search_call", call_id="c2", arguments={"query": "mail"})
    file.item("tool_search_output", call_id="c2", tools=[{"name": "send_mail"}])
    file.item("ghost_snapshot", ghost_commit={"id": "NO"})
    found = read(Codex(root)).parts
    assert [(part.body, part.output, part.status) for part in found] == [
        ("local_shell\nls\n5", "out", "completed"),
        ("web_search\nzorblax", "", "completed"),
        ("image_generation\na fox", "", "completed"),
        ("tool_search\nmail", "send_mail", "completed"),
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("fine", ("fine", False)),
        ('{"output":"x","metadata":{"exit_code":2}}', ("x", True)),
        ('{"output":"x","metadata":{"exit_code":0}}', ("x", False)),
        ('{"a":1}', ('{"a":1}', False)),
        ("{not json", ("{not json", False)),
        ("Exit code: 0\nOutput:\nok", ("Exit code: 0\nOutput:\nok", False)),
        ("Chunk ID: 1\nProcess exited with code 127\nOutput:", (..., True)),
        ({"content": "x", "success": False}, ("x", True)),
        ([{"type": "input_text", "text": "x"}, {"type": "input_image"}], ("x", False)),
        ("aborted by user", (..., True)),
        ("failed to parse function arguments", (..., True)),
        ("0 tests failed", (..., False)),
        ("x" * 500 + "\nExit code: 1", (..., False)),
        (None, ("", False)),
    ],
)
def test_what_failed_is_read_from_what_a_tool_gave_back(
    value: object, expected: tuple[object, bool]
) -> None:
    output, failed = result_of(value)
    assert (output if expected[0] is not ... else ..., failed) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>x</INSTRUCTIONS>", (..., "harness")),
        ("<user_instructions>\n\nx\n\n</user_instructions>", (..., "harness")),
        ("<environment_context><cwd>/w</cwd></environment_context>", (..., "harness")),
        ("<turn_aborted>x</turn_aborted>", (..., "harness")),
        ("<user_shell_command>ls</user_shell_command>", (..., "harness")),
        ("<skill><name>x</name></skill>", (..., "harness")),
        ("<subagent_notification>x</subagent_notification>", (..., "harness")),
        ("<skills> are a tag", ("<skills> are a tag", None)),
        (
            "# Context from my IDE setup:\n\n## Active: NO.py\n\n## My request for Codex:\nfix",
            ("fix", None),
        ),
        (
            "# Files mentioned by the user:\n\nNO\n## My request for Codex:\nfix it",
            ("fix it", None),
        ),
    ],
)
def test_whose_words_a_users_text_is(
    root: Path, file: CodexFile, said: str, expected: tuple[object, str]
) -> None:
    file.user(said)
    (part,) = read(Codex(root)).parts
    assert (part.body if expected[0] is not ... else ..., part.machine) == expected


def test_developers_and_system_prompts_are_no_conversation(root: Path, file: CodexFile) -> None:
    for role in ("developer", "system"):
        file.item("message", role=role, content=[{"type": "input_text", "text": "SYSTEMPROMPT"}])
    found = read(Codex(root))
    assert found.messages == []
    assert "SYSTEMPROMPT" not in repr(found)


def test_a_compaction_is_a_summary_and_its_history_is_not_read_again(
    root: Path, file: CodexFile
) -> None:
    file.user("alpha")
    old = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "alpha"}]}
    file.envelope("compacted", {"message": "So far: beta", "replacement_history": [old]})
    file.event("context_compacted")
    assert read(Codex(root)).said == [
        ("user_text", "alpha", None),
        ("assistant_text", "So far: beta", "summary"),
    ]


def test_plans_reviews_and_errors_are_read(root: Path, file: CodexFile) -> None:
    file.event("item_completed", item={"type": "Plan", "text": "first this"})
    finding = {"title": "Race", "body": "two writers"}
    file.event("exited_review_mode", review_output={"findings": [finding]})
    file.event("error", message="stream disconnected")
    file.event("turn_aborted", reason="interrupted")
    found = read(Codex(root)).parts
    assert [(part.kind, part.body, part.output) for part in found] == [
        (Kind.ASSISTANT_TEXT, "first this", ""),
        (Kind.ASSISTANT_TEXT, "Race\ntwo writers", ""),
        (Kind.TOOL_ERROR, "error", "stream disconnected"),
    ]


def test_what_was_rolled_back_is_still_found(index: Index, file: CodexFile) -> None:
    file.user("abandoned idea")
    file.event("thread_rolled_back", num_turns=1)
    index.run()
    assert index.sessions("abandoned") == [file.id]


def test_a_picture_of_40_mb_and_the_text_beside_it(root: Path, file: CodexFile) -> None:
    url = "data:image/png;base64," + "iVBORw0KGgo4" * 3_500_000
    content = [{"type": "input_text", "text": "see screenshot"}]
    content.append({"type": "input_image", "image_url": url})
    file.item("message", role="user", content=content)
    found = read(Codex(root))
    assert (found.said, found.skipped) == ([("user_text", "see screenshot", None)], [])


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "message"},
        {"type": "message", "role": "user", "content": 5},
        {"type": "message", "role": "assistant", "content": [None, {"text": 5}]},
        {"type": "reasoning", "summary": "x", "content": None},
        {"type": "function_call", "arguments": 5, "name": [], "call_id": {}},
        {"type": "function_call", "arguments": "[" * 100_000, "call_id": "c"},
        {"type": "function_call_output", "output": {"metadata": 5, "content": None}},
        {"type": "function_call_output", "output": "{" * 50_000},
        {"type": "local_shell_call", "action": "x"},
        {"type": ["message"]},
        {"type": "user_message", "message": None},
        {"type": "token_count", "info": None},
        {"type": "exited_review_mode", "review_output": {"findings": 5}},
        {"type": "item_completed", "item": "x"},
    ],
)
def test_records_of_another_shape_break_nothing(
    root: Path, file: CodexFile, payload: dict[str, Any]
) -> None:
    for type in ("response_item", "event_msg", "compacted", "turn_context", "session_meta"):
        file.envelope(type, payload)
    file.line({"type": "response_item", "payload": 5, "timestamp": []})
    file.user("after")
    assert ("user_text", "after", None) in read(Codex(root)).said


# Forks and sub-agents


def forked(root: Path) -> tuple[CodexFile, CodexFile]:
    """Make a parent of two turns, and a fork of it with one of its own."""
    parent = CodexFile(root)
    parent.user("alpha")
    parent.agent("beta")
    parent.user("delta")
    parent.agent("epsilon")
    child = CodexFile(root, 2, cwd="/w/child", forked_from_id=parent.id)
    child.meta(parent.id)
    for line in parent.path.read_text().splitlines()[1:]:
        record = json.loads(line)
        child.envelope(record["type"], record["payload"])  # with times of its own
    child.user("gamma")
    return parent, child


def test_a_forks_copied_turns_are_found_once(index: Index, root: Path) -> None:
    parent, child = forked(root)
    index.run()
    for word in ("alpha", "beta", "delta", "epsilon"):
        (hit,) = index.hits(word)
        assert len(hit.copies) == 1
    assert index.sessions("gamma") == [child.id]
    found = read(Codex(root), child.id).session
    assert (found.id, found.directory) == (child.id, "/w/child")
    parent.path.unlink()
    index.run()
    assert len(index.hits("alpha")) == 1


def test_a_fork_of_a_fork_too(index: Index, root: Path) -> None:
    _, child = forked(root)
    grandchild = CodexFile(root, 3, forked_from_id=child.id)
    for line in child.path.read_text().splitlines():
        record = json.loads(line)
        grandchild.envelope(record["type"], record["payload"])
    grandchild.user("zeta")
    index.run()
    assert len(index.hits("alpha")) == 1
    assert len(index.hits("gamma")) == 1
    assert index.sessions("zeta") == [grandchild.id]


def test_a_forks_text_stays_when_its_parent_was_never_there(index: Index, root: Path) -> None:
    parent, child = forked(root)
    parent.path.unlink()
    index.run()
    assert index.sessions("alpha") == [child.id]


def test_a_sub_agent_is_a_session_below_its_parent(index: Index, root: Path) -> None:
    parent = CodexFile(root)
    parent.user("begin")
    spawn = {"parent_thread_id": parent.id, "depth": 1, "agent_role": "explorer"}
    child = CodexFile(root, 2, source={"subagent": {"thread_spawn": spawn}})
    child.user("orders")
    child.agent("xylophone")
    index.run()
    (hit,) = index.hits("xylophone")
    assert (hit.session_id, hit.agent_name) == (child.id, "explorer")
    assert hit.agent != "main"
    found = read(Codex(root), child.id)
    assert found.session.parent_id == parent.id
    assert found.said[0] == ("user_text", "orders", "spawn")


# Growth


def test_reading_in_any_steps_gives_the_same(root: Path) -> None:
    """Also in the middle of a text's two writings, of an answer, of a fork's copied turns."""
    parent, file = forked(root)
    file.event("agent_reasoning", text="hm")
    file.agent("working")
    file.call("c1", {"command": "one"})
    file.call("c2", {"command": "two"})
    file.result("c2", "second")
    file.result("c1", "Exit code: 1")
    file.agent("working")
    whole = by_message(read(Codex(root), file.id).messages)
    lines = file.path.read_bytes().splitlines(keepends=True)
    given, mark = [], ""
    file.path.write_bytes(b"")
    for line in lines:
        for piece in (line[:40], line[40:]):
            with file.path.open("ab") as out:
                out.write(piece)
            found = read(Codex(root), file.id, mark)
            assert found.whole == (mark == "")
            given += found.messages
            mark = found.mark
    assert by_message(given) == whole
    assert parent.id != file.id


def test_growth_rewrites_and_loss(index: Index, file: CodexFile) -> None:
    file.user("AAA one")
    index.run()
    assert stored(index.run()) == []
    file.user("two")
    assert stored(index.run()) == [(1, 0, 0)]
    text = file.path.read_text().replace("AAA", "BBB")
    file.path.write_text(text)
    file.user("three")
    index.run()
    assert [index.sessions(word) for word in ("AAA", "BBB", "three")] == [[], [file.id], [file.id]]
    file.path.unlink()
    index.run()
    assert index.hits("BBB")[0].gone


def test_a_bad_line_costs_itself(index: Index, file: CodexFile) -> None:
    file.user("alpha")
    file.line('{"type":"response_item","payl')
    file.line("null")
    file.user("beta\u2028\u0085")
    assert len(unreadable(index.run())) == 2
    assert index.sessions("alpha") == index.sessions("beta") == [file.id]


# Every place and shape


def test_an_archived_rollout_stays_the_same_session(
    index: Index, root: Path, file: CodexFile
) -> None:
    file.user("alpha")
    index.run()
    (root / "archived_sessions").mkdir()
    file.path.rename(root / "archived_sessions" / file.path.name)
    assert stored(index.run()) == [(0, 0, 0)]
    (hit,) = index.hits("alpha")
    assert not hit.gone
    assert "archived_sessions" in hit.path
    assert read(Codex(root)).session.archived


def test_threads_have_the_names_that_they_were_given(root: Path, file: CodexFile) -> None:
    file.user("<environment_context>x</environment_context>")
    file.user("Fix the parser\nplease")
    found = read(Codex(root)).session
    assert (found.title, found.titled) == ("Fix the parser", False)
    lines = [{"id": file.id, "thread_name": name, "updated_at": "x"} for name in ("Old", "New")]
    index = root / "session_index.jsonl"
    index.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read(Codex(root)).session
    assert (found.title, found.titled) == ("New", True)


def test_the_earliest_rollouts_are_bare_items(root: Path) -> None:
    folder = root / "sessions"
    folder.mkdir()
    id = thread(7)
    path = folder / f"rollout-2025-05-07T12-00-00-{id}.jsonl"
    env = "<environment_context>\nCurrent working directory: /w/old\n</environment_context>"
    records = [
        {"id": id, "timestamp": "2025-05-07T12:00:00.000Z", "instructions": "SYSTEMPROMPT"},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": env}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "alpha"}]},
        {"type": "function_call", "name": "shell", "arguments": '{"command":"ls"}', "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "out"},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = read(Codex(root))
    assert (found.session.id, found.session.directory) == (id, "/w/old")
    assert found.session.at == 1746619200000
    assert [part.body for part in found.parts][1:] == ["alpha", "shell\nls"]
    assert {message.at for message in found.messages} == {1746619200000}
    assert [message.id for message in found.messages] == sorted(
        message.id for message in found.messages
    )
    document = {"session": records[0], "items": records[2:]}
    path.unlink()
    (folder / f"rollout-2025-05-07-{id}.json").write_text(json.dumps(document))
    other = read(Codex(root))
    assert [(part.body, part.output) for part in other.parts] == [
        (part.body, part.output) for part in found.parts
    ]
    assert other.session.id == id
    assert other.whole


def test_a_document_that_is_cut_is_said(index: Index, root: Path, file: CodexFile) -> None:
    (file.path.parent / f"rollout-2025-05-07-{thread(9)}.json").write_text('{"session":{')
    file.user("alpha")
    assert len(unreadable(index.run())) == 1
    assert index.sessions("alpha") == [file.id]
    del root


class Unzstd(ModuleType):
    """Stands for the package `zstandard`, with a compression that is none."""

    def ZstdDecompressor(self) -> Unzstd:  # noqa: N802 - the package's name
        return self

    def stream_reader(self, file: Any, *, read_across_frames: bool) -> Any:  # noqa: ANN401
        assert read_across_frames
        return file


def test_a_compressed_rollout_needs_a_reader_and_is_read_once_there_is_one(
    index: Index, root: Path, file: CodexFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.user("alpha")
    packed = file.path.with_name(file.path.name + ".zst")
    file.path.rename(packed)
    monkeypatch.setattr(zstd, "reader", lambda: None)
    index.run()
    ((why,),) = index.db.execute("SELECT skipped_why FROM root").fetchall()
    assert "install mimohist[zstd]" in why
    assert index.sessions("alpha") == []
    monkeypatch.setattr(zstd, "reader", lambda: "zstandard")
    monkeypatch.setitem(sys.modules, "zstandard", Unzstd("zstandard"))
    index.run()
    assert index.sessions("alpha") == [file.id]
    packed.write_bytes(packed.read_bytes() + b'{"torn')
    assert read(Codex(root)).said == [("user_text", "alpha", None)]
    file.path.write_bytes(packed.read_bytes().replace(b"alpha", b"omega"))
    assert read(Codex(root)).said == [("user_text", "omega", None)]


def test_a_compressed_rollout_that_breaks_off_loses_nothing(
    index: Index, root: Path, file: CodexFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.user("alpha")
    index.run()
    file.path.rename(file.path.with_name(file.path.name + ".zst"))

    class Broken(Unzstd):
        def read(self, size: int) -> bytes:
            raise ValueError(f"bad frame, {size}")

        def close(self) -> None:
            pass

        def stream_reader(self, file: Any, *, read_across_frames: bool) -> Any:  # noqa: ANN401
            super().stream_reader(file, read_across_frames=read_across_frames).close()
            return self

    monkeypatch.setattr(zstd, "reader", lambda: "zstandard")
    monkeypatch.setitem(sys.modules, "zstandard", Broken("zstandard"))
    index.run()
    assert index.sessions("alpha") == [file.id]
    del root


def test_where_it_looks(tmp_path: Path) -> None:
    def roots(environ: dict[str, str], *extra: Path) -> list[Path]:
        return [one.root for one in codex.find(environ, tmp_path, extra)]

    assert roots({}) == []
    (tmp_path / ".codex" / "archived_sessions").mkdir(parents=True)
    (tmp_path / "own" / "sessions").mkdir(parents=True)
    assert roots({}) == [tmp_path / ".codex"]
    assert roots({"CODEX_HOME": str(tmp_path / "own")}) == [tmp_path / "own"]
    assert roots({}, tmp_path / "none") == [tmp_path / ".codex", tmp_path / "none"]
    with pytest.raises(SourceError, match="no such folder"):
        Codex(tmp_path / "none").survey("")


def test_a_configured_root_may_be_a_folder_of_rollouts(tmp_path: Path) -> None:
    file = CodexFile(tmp_path, folder="kept/by/year")
    file.user("alpha")
    assert read(Codex(tmp_path / "kept")).said == [("user_text", "alpha", None)]


def test_frames_are_decompressed(root: Path, file: CodexFile) -> None:
    """With whatever can do so here: Python 3.14, or the package."""
    name = zstd.reader()
    if name is None:
        pytest.skip("nothing here reads zstd")
    module = importlib.import_module(name)
    compress = module.compress
    file.user("alpha " * 1000)
    first = compress(file.path.read_bytes())
    file.user("beta")
    second = compress(file.path.read_bytes().splitlines(keepends=True)[-2])
    file.path.with_name(file.path.name + ".zst").write_bytes(first + second)
    file.path.unlink()
    found = read(Codex(root))
    assert [body[:5] for _, body, _ in found.said] == ["alpha", "beta"]
    assert found.session.id == file.id
