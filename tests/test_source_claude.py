"""Claude Code's transcripts: whose words, calls, copies, sub-agents, growth, rewrites."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mimohist.errors import SourceError
from mimohist.kinds import Kind
from mimohist.records import Usage
from mimohist.sources import claude
from mimohist.sources.claude import Claude
from tests.claude_file import ClaudeFile, text, thinking
from tests.transcripts import Index, by_message, read, stored, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "projects"
    made.mkdir()
    return made


@pytest.fixture
def file(root: Path) -> ClaudeFile:
    return ClaudeFile(root / "-w-x" / "aaaa.jsonl")


@pytest.fixture
def index(tmp_path: Path, root: Path) -> Iterator[Index]:
    made = Index(tmp_path, lambda: Claude(root))
    yield made
    made.db.close()


# What a transcript holds


def test_an_answer_of_many_lines_is_one_message_with_its_calls_joined(
    root: Path, file: ClaudeFile
) -> None:
    file.user("why does it fail?")
    first = file.assistant(thinking("let me see"), id="m1")
    file.assistant(text("I will look."), id="m1")
    file.call("t1", command="ls -l", description="list", message="m1")
    file.call("t2", "Read", file_path="/a.py", message="m1")
    file.result("t1", "total 0")
    file.result("t2", [{"type": "text", "text": "E4417 no slot"}], failed=True)
    found = read(Claude(root))
    assert [message.role for message in found.messages] == ["user", "assistant"]
    answer = found.messages[1]
    assert answer.id == first
    assert answer.model == "claude-opus-4-5"
    assert answer.usage == Usage(input=10, output=3, cache_read=7)
    assert [(part.kind, part.body, part.output, part.status) for part in answer.parts] == [
        (Kind.REASONING, "let me see", "", None),
        (Kind.ASSISTANT_TEXT, "I will look.", "", None),
        (Kind.TOOL_OUTPUT, "Bash\nls -l\nlist", "total 0", "completed"),
        (Kind.TOOL_ERROR, "Read\n/a.py", "E4417 no slot", "error"),
    ]
    assert "c2lnbmF0dXJl" not in repr(found)


def test_results_between_the_lines_of_an_answer_do_not_split_it(
    root: Path, file: ClaudeFile
) -> None:
    for number in range(9):
        file.call(f"t{number}", command=f"step {number}", message="m1")
        file.result(f"t{number}", "ok")
    found = read(Claude(root))
    assert {message.id for message in found.messages} == {"aaaa-0001"}
    assert [part.body for part in found.parts] == [f"Bash\nstep {number}" for number in range(9)]


@pytest.mark.parametrize(
    ("said", "fields", "expected"),
    [
        ("fix it", {}, ("fix it", None)),
        ("be terse", {"isMeta": True}, ("be terse", "harness")),
        ("long ago", {"isCompactSummary": True}, ("long ago", "summary")),
        ("This session is being continued from a previous conversation that", {}, (..., "summary")),
        (
            "<command-name>/clear</command-name>\n<command-args></command-args>",
            {},
            (..., "harness"),
        ),
        ("<local-command-stdout>done</local-command-stdout>", {}, (..., "harness")),
        ("<bash-input>ls</bash-input>", {}, (..., "harness")),
        ("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>", {}, (..., "harness")),
        ("<task-notification>\n<x>1</x></task-notification>", {}, (..., "harness")),
        ("<user-memory-input>x</user-memory-input>", {}, (..., "harness")),
        ("<system-reminder>x</system-reminder>", {}, (..., "harness")),
        ("<user-prompt-submit-hook>x</user-prompt-submit-hook>", {}, (..., "hook")),
        ("Caveat: The messages below were", {}, (..., "harness")),
        ("[Request interrupted by user]", {}, (..., "harness")),
        ("<ide_selection>x</ide_selection>explain this", {}, ("explain this", None)),
        ("fix <system-reminder>x</system-reminder>", {}, ("fix", None)),
        ("<div>is a tag</div>", {}, ("<div>is a tag</div>", None)),
        ("<bash-inputs>", {}, ("<bash-inputs>", None)),
        ("do it", {"isSidechain": True, "agentId": "a1"}, ("do it", "spawn")),
    ],
)
def test_whose_words_a_users_text_is(
    root: Path, file: ClaudeFile, said: str, fields: dict[str, object], expected: tuple[object, str]
) -> None:
    for content in (said, [text(said)]):
        file.user(content, **fields)
    for part in read(Claude(root)).parts:
        assert part.kind is Kind.USER_TEXT
        assert (part.body if expected[0] is not ... else ..., part.machine) == expected


def test_what_was_cut_is_kept_apart(root: Path, file: ClaudeFile, index: Index) -> None:
    file.user("fix it <system-reminder>NEEDLE</system-reminder>")
    (part,) = read(Claude(root)).parts
    assert (part.body, part.cut) == ("fix it", "NEEDLE")
    index.run()
    assert index.sessions("NEEDLE") == []
    assert index.sessions("NEEDLE", machine=True) == ["aaaa"]


def test_what_was_typed_while_the_agent_worked_is_the_users(root: Path, file: ClaudeFile) -> None:
    file.line(
        file.record(
            "attachment",
            attachment={"type": "queued_command", "prompt": "stop that", "commandMode": "prompt"},
        )
    )
    note = "<task-notification>done</task-notification>"
    file.line(file.record("attachment", attachment={"type": "queued_command", "prompt": note}))
    file.line(file.record("attachment", attachment={"type": "todo_reminder", "content": "NO"}))
    assert read(Claude(root)).said == [
        ("user_text", "stop that", None),
        ("user_text", note, "harness"),
    ]


def test_errors_of_the_api_are_errors(root: Path, file: ClaudeFile) -> None:
    file.assistant(text("API Error: 529 overloaded"), isApiErrorMessage=True)
    file.line(file.record("system", subtype="api_error", error={"status": 529, "message": "busy"}))
    file.line(file.record("system", subtype="local_command", content="<command-name>/x"))
    file.line(file.record("system", subtype="turn_duration", durationMs=3))
    found = read(Claude(root)).parts
    assert [(part.kind, part.output, part.machine) for part in found] == [
        (Kind.TOOL_ERROR, "API Error: 529 overloaded", None),
        (Kind.TOOL_ERROR, "529\nbusy", None),
        (Kind.USER_TEXT, "", "harness"),
    ]


def test_what_is_no_conversation_is_not_read(root: Path, file: ClaudeFile) -> None:
    file.user("hello")
    copy = {"type": "agent_progress", "message": {"content": "NEEDLE"}}
    file.line(file.record("progress", data=copy))
    file.line({"type": "file-history-snapshot", "snapshot": {"a": "NEEDLE"}})
    file.line({"type": "queue-operation", "operation": "enqueue", "content": "NEEDLE"})
    file.line({"type": "last-prompt", "lastPrompt": "NEEDLE"})
    file.line({"type": "of-tomorrow", "text": "NEEDLE"})
    found = read(Claude(root))
    assert [part.body for part in found.parts] == ["hello"]
    assert found.skipped == []


def test_pictures_are_named_and_left_out(root: Path, file: ClaudeFile) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png"}}
    picture["source"]["data"] = "iVBORw0KGgo4" * 3_500_000  # type: ignore[index]
    file.user([text("see screenshot"), picture])
    file.call("t1")
    file.result("t1", [text("drawn"), picture])
    found = read(Claude(root))
    assert found.skipped == []
    assert [(part.body, part.output) for part in found.parts] == [
        ("see screenshot", ""),
        ("Bash", "drawn\n[data-url:image/png]"),
    ]


def test_a_slim_file_is_a_session_without_messages(root: Path, file: ClaudeFile) -> None:
    file.line({"type": "summary", "summary": "Old talk", "leafUuid": "elsewhere"})
    found = read(Claude(root))
    assert (found.messages, found.skipped, found.session.title) == ([], [], "Old talk")


# Lines that are bad


def test_a_bad_line_costs_itself_and_is_counted(index: Index, file: ClaudeFile) -> None:
    file.user("first good")
    for line in ('{"type":"user","mess', '{"type":"user","a":"\\p"}', "", "null", "[1]", '"x"'):
        file.line(line)
    file.user("second good")
    events = index.run()
    assert len(unreadable(events)) == 5
    assert all("aaaa.jsonl byte " in where for where in unreadable(events))
    assert len(index.hits("good")) == 2


def test_line_separators_in_a_string_do_not_end_the_line(root: Path, file: ClaudeFile) -> None:
    file.user("a\u2028b\u0085c needle")
    assert read(Claude(root)).said == [("user_text", "a\u2028b\u0085c needle", None)]


def test_hostile_text_is_stored(index: Index, file: ClaudeFile) -> None:
    made = file.record("user", message={"role": "user", "content": "ok \ud83d needle\0\x1b[2J"})
    file.line(json.dumps(made))
    index.run()
    (hit,) = index.hits("needle")
    assert "ok \ufffd needle" in hit.snippet


@pytest.mark.parametrize(
    "record",
    [
        {"type": "user"},
        {"type": "user", "message": "text"},
        {"type": "user", "message": {"content": 3}},
        {"type": "user", "message": {"content": [None, 3, "said", {"type": 5}, {"text": "x"}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use"}], "usage": 5}},
        {"type": "assistant", "uuid": 5, "message": {"id": 5, "content": {"a": 1}}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": {"a": 1}}]}},
        {"type": ["user"], "message": {}},
        {"type": "attachment", "attachment": "x"},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": {"a": 1}}},
        {"type": "system", "content": {"a": 1}, "subtype": 7},
        {"type": "user", "timestamp": "never", "isSidechain": "yes", "message": {"content": "t"}},
        {"type": "custom-title", "customTitle": 5},
        {"cwd": 5, "sessionId": 5, "version": [], "timestamp": {}, "type": "user"},
    ],
)
def test_records_of_another_shape_break_nothing(
    root: Path, file: ClaudeFile, record: dict[str, object]
) -> None:
    file.line(record)
    file.user("after")
    assert "after" in [part.body for part in read(Claude(root)).parts]


def test_a_file_that_cannot_be_read_costs_itself(
    index: Index, root: Path, file: ClaudeFile
) -> None:
    file.user("readable")
    other = ClaudeFile(root / "-w-x" / "bbbb.jsonl")
    other.user("needle")
    other.path.unlink()
    other.path.symlink_to(root / "-w-x")
    (root / "-w-x" / "cccc.jsonl").symlink_to("/proc/self/mem")
    events = index.run()
    assert index.sessions("readable") == ["aaaa"]
    assert len(unreadable(events)) <= 1


# Headers


def test_the_header_comes_from_the_records(root: Path, file: ClaudeFile) -> None:
    file.user("<command-name>/init</command-name>", isMeta=True)
    file.user("Fix the parser\nand more")
    found = read(Claude(root)).session
    assert (found.id, found.title, found.directory) == ("aaaa", "Fix the parser", "/w/x")
    assert (found.at, found.updated) == (1767323041123, 1767323042123)
    assert (found.version, found.parent_id) == ("2.1.30", None)
    assert found.path == str(file.path)


def test_titles_that_were_given_come_first(root: Path, file: ClaudeFile) -> None:
    leaf = file.user("x" * 200)
    assert read(Claude(root)).session.title == "x" * 100
    file.line({"type": "summary", "summary": "Of another talk", "leafUuid": "other"})
    assert read(Claude(root)).session.title == "x" * 100
    file.line('{"type":"summary","summary":"Summed up","leafUuid":"%s"}' % leaf)  # noqa: UP031
    # Programs write no blanks between keys and values; the sample's other lines have some.
    compact = file.path.read_text().replace('"uuid": ', '"uuid":')
    file.path.write_text(compact)
    assert read(Claude(root)).session.title == "Summed up"
    file.line({"type": "ai-title", "aiTitle": "By the model"})
    assert read(Claude(root)).session.title == "By the model"
    file.line({"type": "custom-title", "customTitle": "By the user", "sessionId": "aaaa"})
    file.line({"type": "ai-title", "aiTitle": "By the model again"})
    assert read(Claude(root)).session.title == "By the user"


def test_projects_are_told_by_the_records_and_not_by_the_folders_name(root: Path) -> None:
    for name, cwd in (("a", "/w/api-proxy"), ("b", "/w/api/proxy"), ("c", "/srv/App")):
        ClaudeFile(root / "-w-api-proxy" / f"{name}.jsonl", cwd).user("hi")
    found = {key: read(Claude(root), f"{key}.jsonl").session.directory for key in "abc"}
    assert found == {"a": "/w/api-proxy", "b": "/w/api/proxy", "c": "/srv/App"}


def test_drive_letters_fold_and_other_paths_do_not(root: Path) -> None:
    places = {"a": "C:\\Proj", "b": "c:\\proj", "c": "/srv/App", "d": "/srv/app", "e": "/c:/x"}
    for name, cwd in places.items():
        ClaudeFile(root / "p" / f"{name}.jsonl", cwd).user("hi")
    found = {key: read(Claude(root), f"{key}.jsonl").session for key in places}
    assert found["a"].project_id == found["b"].project_id == "c:\\proj"
    assert (found["a"].directory, found["b"].directory) == ("C:\\Proj", "C:\\proj")
    assert {found[key].project_id for key in "cde"} == {""}
    assert [found[key].directory for key in "cde"] == ["/srv/App", "/srv/app", "/c:/x"]


# Copies and branches


def test_a_resumed_copy_is_found_once_and_the_new_under_the_new(
    index: Index, root: Path, file: ClaudeFile
) -> None:
    file.user("alpha")
    file.call("t1", command="rotate --slot 7")
    file.result("t1", "beta")
    copy = root / "-w-x" / "bbbb.jsonl"
    copy.write_text(file.path.read_text().replace('"sessionId": "aaaa"', '"sessionId": "bbbb"'))
    other = ClaudeFile(copy, session="bbbb")
    other.clock = 30
    other.user("gamma")
    index.run()
    (hit,) = index.hits("alpha")
    assert len(hit.copies) == 1
    assert len(index.hits("rotate")) == 1
    assert index.sessions("gamma") == ["bbbb"]
    file.path.unlink()
    index.run()
    assert len(index.hits("alpha")) == 1


def test_records_written_twice_into_one_file_are_read_once(
    index: Index, root: Path, file: ClaudeFile
) -> None:
    file.user("alpha")
    file.call("t1", command="beta")
    file.result("t1", "done")
    file.path.write_text(file.path.read_text() * 2)
    assert len(read(Claude(root)).parts) == 2
    assert stored(index.run()) == [(2, 0, 0)]


def test_a_dead_branch_is_found_and_a_cycle_ends(index: Index, file: ClaudeFile) -> None:
    first = file.user("begin")
    file.user("abandoned idea", parentUuid=first)
    file.line(file.record("system", subtype="compact_boundary", parentUuid=None, content="x"))
    file.user("summary of it", isCompactSummary=True)
    kept = file.record("user", message={"role": "user", "content": "kept line"}, parentUuid="zz")
    kept["timestamp"] = "2026-01-01T00:00:00.000Z"
    kept["uuid"] = "zz"
    file.line(kept)
    index.run()
    assert index.sessions("abandoned") == ["aaaa"]
    assert index.sessions("kept") == ["aaaa"]
    times = [at for (at,) in index.db.execute("SELECT time_created FROM messages ORDER BY 1")]
    assert times[0] == 1767225600000


def test_several_session_ids_in_one_file_are_one_session(root: Path, file: ClaudeFile) -> None:
    file.user("one")
    file.user("two", sessionId="cccc")
    found = read(Claude(root))
    assert found.session.id == "aaaa"
    assert len(found.messages) == 2


# Sub-agents


def test_sub_agents_are_sessions_below_their_parents(index: Index, root: Path) -> None:
    parent = ClaudeFile(root / "s" / "pppp.jsonl")
    parent.user("begin")
    folder = root / "s" / "pppp" / "subagents"
    one = ClaudeFile(folder / "agent-a1.jsonl", session="pppp", isSidechain=True, agentId="a1")
    one.user("orders")
    one.assistant(text("xylophone"))
    (folder / "agent-a1.meta.json").write_text('{"agentType":"Explore","description":"d"}')
    two = ClaudeFile(folder / "workflows" / "w1" / "agent-a2.jsonl", session="pppp")
    two.assistant(text("yacht"))
    (folder / "workflows" / "w1" / "journal.jsonl").write_text('{"type":"user","text":"zebra"}\n')
    old = ClaudeFile(root / "s" / "agent-a3.jsonl", session="pppp", isSidechain=True)
    old.assistant(text("walrus"))
    index.run()
    rows = index.db.execute("SELECT session_id, parent_id FROM sessions ORDER BY 1").fetchall()
    assert rows == [
        ("agent-a1", "pppp"),
        ("agent-a2", "pppp"),
        ("agent-a3", "pppp"),
        ("pppp", None),
    ]
    (hit,) = index.hits("xylophone")
    assert (hit.session_id, hit.agent, hit.agent_name) == ("agent-a1", "agent-a1", "Explore")
    assert index.sessions("yacht") == ["agent-a2"]
    assert index.sessions("walrus") == ["agent-a3"]
    assert index.sessions("zebra", machine=True) == []
    assert read(Claude(root), "agent-a1.jsonl").said[0] == ("user_text", "orders", "spawn")


def test_a_side_chain_in_its_parents_file_is_a_slice(root: Path, file: ClaudeFile) -> None:
    file.user("begin")
    file.user("orders", isSidechain=True, agentId="a1")
    file.assistant(text("found"), isSidechain=True)
    assert [message.agent for message in read(Claude(root)).messages] == [
        "main",
        "agent-a1",
        "sidechain",
    ]


# Outputs in files of their own


@pytest.mark.parametrize("inside", [False, True])
def test_a_tools_output_in_a_file_of_its_own_is_read(root: Path, *, inside: bool) -> None:
    path = root / "s" / "pppp.jsonl"
    if inside:
        path = root / "s" / "pppp" / "subagents" / "agent-a1.jsonl"
    file = ClaudeFile(path)
    side = root / "s" / "pppp" / "tool-results"
    side.mkdir(parents=True)
    (side / "toolu_1.txt").write_text("long NEEDLE output")
    file.call("t1")
    file.result(
        "t1",
        "<persisted-output>\nOutput too large (80KB). Full output saved to:"
        f" {side}/toolu_1.txt\n\nPreview (first 2KB):\nlong\n</persisted-output>",
    )
    (part,) = read(Claude(root)).parts
    assert (part.output, part.compacted) == ("long NEEDLE output", False)
    (side / "toolu_1.txt").unlink()
    (part,) = read(Claude(root)).parts
    assert part.compacted
    assert "Preview" in part.output


def test_no_other_file_is_read_for_it(root: Path, file: ClaudeFile) -> None:
    (root / "secret.txt").write_text("SECRET")
    (root / "-w-x" / "aaaa" / "tool-results").mkdir(parents=True)
    for number, name in enumerate(("../../../secret.txt", "..", f"{root}/secret.txt")):
        file.call(f"t{number}")
        file.result(f"t{number}", f"<persisted-output>tool-results/{name}\n</persisted-output>")
    assert "SECRET" not in repr(read(Claude(root)))


# Growth and rewriting


def test_growth_is_read_from_where_it_began(index: Index, file: ClaudeFile) -> None:
    file.user("alpha")
    assert stored(index.run()) == [(1, 0, 0)]
    assert stored(index.run()) == []
    file.assistant(text("beta"))
    assert stored(index.run()) == [(1, 0, 0)]
    assert index.sessions("alpha") == index.sessions("beta") == ["aaaa"]


def test_a_result_that_comes_later_is_joined_with_its_call(
    root: Path, index: Index, file: ClaudeFile
) -> None:
    file.call("t1", command="rotate --slot 7", message="m1")
    file.call("t2", command="other", message="m1")
    found = read(Claude(root))
    assert [part.status for part in found.parts] == ["running", "running"]
    index.run()
    assert index.sessions("rotate", machine=True) == []
    file.user("meanwhile")
    index.run()
    file.result("t1", "E4417 no slot", failed=True)
    index.run()
    (hit,) = index.hits("rotate", "E4417")
    assert (hit.kind, hit.message_id) == (Kind.TOOL_ERROR, "aaaa-0001")
    file.assistant(text("so it is"), id="m1")
    index.run()
    assert index.hits("so it is")[0].message_id == "aaaa-0001"


def test_reading_in_any_steps_gives_the_same(root: Path, file: ClaudeFile) -> None:
    """Stable ids: a message read line by line, each line in a run of its own, is the same."""
    file.user("begin")
    file.assistant(thinking("hm"), id="m1")
    file.call("t1", command="one", message="m1")
    file.call("t2", command="two", message="m1")
    file.result("t2", "second")
    file.result("t1", "first", failed=True)
    file.assistant(text("done"), id="m2")
    whole = by_message(read(Claude(root)).messages)
    lines = file.path.read_bytes().splitlines(keepends=True)
    given, mark = [], ""
    file.path.write_bytes(b"")
    for line in lines:
        for piece in (line[:40], line[40:]):  # a torn line first
            with file.path.open("ab") as out:
                out.write(piece)
            found = read(Claude(root), mark=mark)
            assert found.whole == (mark == "")
            assert found.skipped == []
            given += found.messages
            mark = found.mark
    assert by_message(given) == whole


def test_a_last_line_without_its_end_is_read_but_not_left_behind(
    index: Index, file: ClaudeFile
) -> None:
    file.user("alpha")
    made = json.dumps(file.record("user", message={"role": "user", "content": "beta"}))
    with file.path.open("a") as out:
        out.write(made)
    index.run()
    assert index.sessions("beta") == ["aaaa"]
    with file.path.open("a") as out:
        out.write("\n")
    assert stored(index.run()) == [(0, 0, 0)]


def test_a_file_that_was_cut_and_grew_again_is_read_whole(index: Index, file: ClaudeFile) -> None:
    file.user("AAA one")
    file.user("two")
    index.run()
    old = file.size()
    file.path.write_text("")
    for said in ("BBB one", "two", "three"):
        file.user(said)
    assert file.size() > old
    index.run()
    assert index.sessions("BBB") == ["aaaa"]
    assert index.sessions("AAA") == []
    assert index.sessions("three") == ["aaaa"]


def test_a_file_that_vanished_stays_in_the_index(index: Index, file: ClaudeFile) -> None:
    file.user("alpha")
    index.run()
    file.path.unlink()
    index.run()
    index.run(verify=True)
    (hit,) = index.hits("alpha")
    assert hit.gone


def test_a_file_that_vanishes_while_it_is_looked_at(root: Path, file: ClaudeFile) -> None:
    file.user("alpha")
    source = Claude(root)
    (candidate,) = source.survey("").candidates
    reading = source.load(candidate, "")
    file.path.unlink()
    with pytest.raises(LookupError):
        list(reading.messages)
    with pytest.raises(LookupError):
        source.load(candidate, "")


def test_a_large_file_has_marks_on_the_way(root: Path, file: ClaudeFile) -> None:
    lines = []
    for number in range(40):
        block = {"type": "text", "text": f"{number} " + "lorem ipsum " * 20_000}
        made = file.record("assistant", message={"id": f"m{number}", "content": [block]})
        lines.append(json.dumps(made))
    file.path.write_text("\n".join(lines) + "\n")
    source = Claude(root)
    (candidate,) = source.survey("").candidates
    marks = [item for item in source.load(candidate, "").messages if hasattr(item, "text")]
    assert len(marks) == 3
    begun = read(source, mark=str(marks[0].text))
    assert not begun.whole
    assert 0 < len(begun.messages) < 40


# Where


def roots(environ: dict[str, str], home: Path, *extra: Path) -> list[Path]:
    return [one.root for one in claude.find(environ, home, extra)]


def test_where_it_looks(tmp_path: Path) -> None:
    assert roots({}, tmp_path) == []
    for name in (".claude", ".config/claude", "own", "extra"):
        (tmp_path / name / "projects").mkdir(parents=True)
    assert roots({}, tmp_path) == [
        tmp_path / ".claude/projects",
        tmp_path / ".config/claude/projects",
    ]
    assert roots({"CLAUDE_CONFIG_DIR": str(tmp_path / "own")}, tmp_path) == [
        tmp_path / "own/projects"
    ]
    extra = tmp_path / "extra"
    assert roots({}, tmp_path, extra, extra / "projects")[2:] == [extra / "projects"]


def test_a_configured_root_that_is_missing_is_said(tmp_path: Path) -> None:
    (source,) = claude.find({}, tmp_path, [tmp_path / "none"])
    with pytest.raises(SourceError, match="no such file"):
        source.survey("")
    assert list(claude.glance({}, tmp_path, [tmp_path / "none"])) == [(tmp_path / "none", "")]


def test_a_look_at_the_files_loads_no_reader(root: Path, file: ClaudeFile) -> None:
    """What every search does first must not import what only reading needs."""
    file.user("x")
    script = (
        "import sys; from pathlib import Path; from mimohist.sources import claude, codex;"
        f"print(list(claude.glance({{}}, Path({str(root)!r}), [Path({str(root)!r})])));"
        "print(*sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    modules = set(ended.stdout.split())
    assert "mimohist.sources.files" in modules
    heavy = {"dataclasses", "hashlib", "inspect", "mimohist.sources.jsonl", "mimohist.text"}
    assert modules & heavy == set()
