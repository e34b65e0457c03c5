"""Sessions of pi, OMP and OpenClaw: trees of branches, forks, what users ran, titles, growth."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mimohist.errors import SourceError
from mimohist.kinds import Kind
from mimohist.records import Usage
from mimohist.sources import files, omp, openclaw, pi, resume
from mimohist.sources.pi import Pi
from tests.pi_file import PiFile, uuid
from tests.transcripts import Index, by_message, read, stored, unreadable

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

COMPACTED = "The conversation history before this point was compacted into the following summary:"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "sessions"
    made.mkdir()
    return made


@pytest.fixture
def file(root: Path) -> PiFile:
    return PiFile(root)


@pytest.fixture
def index(tmp_path: Path, root: Path) -> Iterator[Index]:
    made = Index(tmp_path, lambda: Pi(root, "pi"))
    yield made
    made.db.close()


# Messages and parts


def test_an_answer_and_its_calls_are_one_message(root: Path, file: PiFile) -> None:
    asked = file.user("list them")
    thinking = {"type": "thinking", "thinking": "hm", "thinkingSignature": "SECRET"}
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls -l"}}
    other = {"type": "toolCall", "id": "c2", "name": "read", "arguments": {"path": "/w/none"}}
    answer = file.assistant(thinking, {"type": "text", "text": "I will look."}, call, other)
    file.result("c2", "ENOENT: no such file", failed=True, tool="read")
    file.result("c1", "total 0")
    found = read(Pi(root, "pi"))
    assert "SECRET" not in repr(found)
    assert [(one.id, one.role) for one in found.messages] == [
        (asked, "user"),
        (answer, "assistant"),
    ]
    one = found.messages[1]
    assert (one.model, one.provider) == ("claude-opus-4-5", "anthropic")
    assert one.usage == Usage(cost=0.5, input=9, output=2, cache_read=4, cache_write=1)
    assert sorted((part.kind, part.body, part.output) for part in one.parts) == [
        (Kind.ASSISTANT_TEXT, "I will look.", ""),
        (Kind.REASONING, "hm", ""),
        (Kind.TOOL_ERROR, "read\n/w/none", "ENOENT: no such file"),
        (Kind.TOOL_OUTPUT, "bash\nls -l", "total 0"),
    ]


def test_what_a_tool_was_given_and_gave_back_is_found(index: Index, file: PiFile) -> None:
    file.call("c1", command="ctl rotate --slot 7")
    file.result("c1", "E4417 no slot", failed=True)
    index.run()
    assert index.sessions("E4417") == index.sessions("rotate", "--slot", "7") == [file.id]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"exitCode": 0}, Kind.TOOL_OUTPUT),
        ({}, Kind.TOOL_OUTPUT),
        ({"exitCode": 2}, Kind.TOOL_ERROR),
        ({"cancelled": True}, Kind.TOOL_ERROR),
        ({"exitCode": 0, "excludeFromContext": True}, Kind.TOOL_OUTPUT),
    ],
)
def test_what_a_user_ran_is_a_tools_row(
    root: Path, file: PiFile, fields: dict[str, Any], kind: Kind
) -> None:
    file.message("bashExecution", command="make zorblax", output="done", **fields)
    (message,) = read(Pi(root, "pi")).messages
    (part,) = message.parts
    assert (message.role, part.kind, part.tool) == ("user", kind, "bash")
    assert (part.body, part.output) == ("bash\nmake zorblax", "done")


@pytest.mark.parametrize(
    ("text", "expected", "machine"),
    [
        ("fix it", "fix it", None),
        ('<file name="/w/a.py">\nSIDE\n</file>\nfix it', "fix it", None),
        (
            '<skill name="x" location="/s">\nSIDE\n</skill>\n\nfix it',
            "fix it",
            None,
        ),
        ('<skill name="x" location="/s">\nSIDE\n</skill>', ..., "harness"),
        ("fix it <system-reminder>SIDE</system-reminder>", "fix it", None),
        (
            f"{COMPACTED}\n\n<summary>\nx\n</summary>",
            ...,
            "summary",
        ),
        ("<files> are a tag", "<files> are a tag", None),
    ],
)
def test_whose_words_a_users_text_is(
    root: Path, file: PiFile, text: str, expected: object, machine: str | None
) -> None:
    file.user(text)
    (part,) = read(Pi(root, "pi")).parts
    assert part.machine == machine
    if expected is not ...:
        assert part.body.strip() == expected
        assert ("SIDE" in text) == ("SIDE" in part.cut)


def test_what_extensions_put_in_is_the_machines(index: Index, file: PiFile) -> None:
    file.user("alpha")
    file.entry("custom", customType="x", data={"text": "STATE"})
    file.entry("custom_message", customType="x", content="zorblax", display=False)
    file.message("custom", customType="x", content=[{"type": "text", "text": "zorblax"}])
    file.message("hookMessage", customType="x", content="zorblax", display=True)
    file.entry("label", targetId="01000001", label="STATE")
    file.entry("model_change", provider="STATE", modelId="STATE")
    index.run()
    assert index.sessions("STATE") == index.sessions("zorblax") == []
    machines = [machine for _, body, machine in read(index.sources[0]()).said if body == "zorblax"]
    assert machines == ["harness", "harness", "hook"]


def test_compactions_and_left_branches_are_summaries(root: Path, file: PiFile) -> None:
    file.entry("compaction", summary="So far: beta", firstKeptEntryId="x", tokensBefore=5)
    file.entry("branch_summary", summary="Tried gamma", fromId="x")
    file.message("compactionSummary", summary="old form", tokensBefore=5)
    assert read(Pi(root, "pi")).said == [
        ("assistant_text", "So far: beta", "summary"),
        ("assistant_text", "Tried gamma", "summary"),
        ("assistant_text", "old form", "summary"),
    ]


def test_an_answer_that_failed_says_why(root: Path, file: PiFile) -> None:
    file.assistant(stopReason="error", errorMessage="529 overloaded")
    (part,) = read(Pi(root, "pi")).parts
    assert (part.kind, part.body, part.output) == (Kind.TOOL_ERROR, "API error", "529 overloaded")


def test_a_picture_of_40_mb_and_the_text_beside_it(root: Path, file: PiFile) -> None:
    picture = {"type": "image", "data": "iVBORw0KGgo4" * 3_500_000, "mimeType": "image/png"}
    file.user([{"type": "text", "text": "see screenshot"}, picture])
    file.call("c1", name="read", path="a.png")
    content = [{"type": "text", "text": "Read image"}, picture]
    file.message("toolResult", toolCallId="c1", toolName="read", content=content, isError=False)
    found = read(Pi(root, "pi"))
    assert found.skipped == []
    assert found.parts[0].body == "see screenshot"
    assert found.parts[1].output == "Read image\n[data-url:image/png]"


# Branches and forks


def test_every_branch_of_a_tree_is_found(index: Index, file: PiFile) -> None:
    """An abandoned branch is no less said; a parent that is its own child is no loop."""
    first = file.user("trunk")
    file.says("abandoned idea")
    file.last = first
    file.says("kept idea")
    file.entry("message", id="loop", parentId="loop", message={"role": "user", "content": "loop"})
    index.run()
    for word in ("trunk", "abandoned", "kept", "loop"):
        assert index.sessions(word) == [file.id]


def forked(root: Path, file: PiFile) -> PiFile:
    """Copy a session's entries into a new file, as `/fork` does, and go on there."""
    child = PiFile(root, 2, parentSession=str(file.path), cwd="/w/child")
    for line in file.path.read_text().splitlines()[1:]:
        child.line(line)
    child.clock = file.clock
    child.user("gamma")
    return child


def test_a_forks_copied_entries_are_found_once(index: Index, root: Path, file: PiFile) -> None:
    file.user("alpha")
    file.says("beta")
    child = forked(root, file)
    index.run()
    for word in ("alpha", "beta"):
        (hit,) = index.hits(word)
        assert len(hit.copies) == 1
    assert index.sessions("gamma") == [child.id]
    found = read(Pi(root, "pi"), child.path.name).session
    assert (found.directory, found.parent_id) == ("/w/child", file.id)


# Headers


def test_sessions_have_the_last_name_that_they_were_given(root: Path, file: PiFile) -> None:
    file.user("<skill name='x'>NO</skill>")
    file.user("Fix the parser\nplease")
    found = read(Pi(root, "pi")).session
    assert (found.title, found.titled) == ("Fix the parser", False)
    file.entry("session_info", name="Old")
    mark = read(Pi(root, "pi")).mark
    file.entry("session_info", name="New")
    found = read(Pi(root, "pi"), mark=mark).session
    assert (found.title, found.titled) == ("New", True)
    file.entry("session_info", name="")
    assert read(Pi(root, "pi")).session.title == "Fix the parser"


def test_projects_come_from_the_header_and_not_from_the_folder(root: Path) -> None:
    for number, cwd in enumerate(("/w/api-proxy", "/w/api/proxy"), 1):
        PiFile(root, number, folder="--w-api-proxy--", cwd=cwd)
    for number, cwd in enumerate(("C:\\Proj", "c:\\proj", "/srv/App", "/srv/app"), 3):
        PiFile(root, number, folder="--c--", cwd=cwd)
    found = [read(Pi(root, "pi"), f"{uuid(number)}.jsonl").session for number in range(1, 7)]
    assert [one.directory for one in found[:2]] == ["/w/api-proxy", "/w/api/proxy"]
    assert found[2].project_id == found[3].project_id == "c:\\proj"
    assert found[4].directory != found[5].directory


def test_the_first_format_has_no_ids(root: Path) -> None:
    file = PiFile(root, header=False)
    file.line({"type": "session", "id": file.id, "timestamp": file.time(), "cwd": "/w/old"})
    for text in ("one", "two"):
        message = {"role": "user", "content": text, "timestamp": file.ms()}
        file.line({"type": "message", "timestamp": file.time(), "message": message})
    found = read(Pi(root, "pi"))
    assert found.session.directory == "/w/old"
    assert [body for _, body, _ in found.said] == ["one", "two"]
    assert len({message.id for message in found.messages}) == 2
    assert [one.id for one in found.messages] == [one.id for one in read(Pi(root, "pi")).messages]


def test_a_file_that_holds_no_session_is_none(index: Index, root: Path, file: PiFile) -> None:
    (root / "--w-x--" / "notes.jsonl").write_text('{"a":1}\n' * 500)
    (root / "--w-x--" / "empty.jsonl").write_text("")
    file.user("alpha")
    index.run()
    assert index.db.execute("SELECT count(*) FROM session").fetchone() == (1,)
    assert stored(index.run()) == []


def test_a_session_whose_header_was_lost_is_still_read(index: Index, root: Path) -> None:
    file = PiFile(root, header=False)
    file.line('{"type":"session","ver')
    file.user("alpha")
    assert len(unreadable(index.run())) == 1
    assert index.sessions("alpha") == [file.id]


# Growth


def test_reading_in_any_steps_gives_the_same(root: Path, file: PiFile) -> None:
    file.user("go")
    calls: list[dict[str, Any]] = [
        {"type": "toolCall", "id": f"c{n}", "name": "bash", "arguments": {"command": f"run {n}"}}
        for n in range(3)
    ]
    file.assistant({"type": "text", "text": "on it"}, *calls)
    file.result("c2", "second")
    file.user("steer")
    file.result("c0", "zero", failed=True)
    file.says("done")
    whole = by_message(read(Pi(root, "pi")).messages)
    lines = file.path.read_bytes().splitlines(keepends=True)
    file.path.write_bytes(lines[0])
    given, mark = [], ""
    for line in lines[1:]:
        for piece in (line[:40], line[40:]):
            with file.path.open("ab") as out:
                out.write(piece)
            found = read(Pi(root, "pi"), mark=mark)
            assert found.whole == (mark == "")
            given += found.messages
            mark = found.mark
    assert by_message(given) == whole


def test_growth_rewrites_and_loss(index: Index, file: PiFile) -> None:
    file.user("AAA one")
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


def test_a_bad_line_costs_itself(index: Index, file: PiFile) -> None:
    file.user("alpha")
    for line in ('{"type":"message","mess', "null", "[1]", '"x"', "", '{"a":"\\p"}'):
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
    {"text": 5},
]


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_values_of_another_type_break_nothing(index: Index, file: PiFile, value: object) -> None:
    keys = ("content", "toolCallId", "usage", "model", "timestamp", "command", "summary", "role")
    for role in ("user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary"):
        for key in keys:
            known = {"role": role, "content": "x", "toolCallId": "y"}
            file.entry("message", message={**known, key: value})
    block = {"type": "toolCall", "id": "c", "name": "n", "arguments": {}}
    for key in block:
        file.assistant({**block, key: value})
        file.assistant({"type": "text", "text": value}, {"type": value, "text": "x"})
    for key in ("id", "timestamp", "type", "message", "summary", "content", "name", "cwd"):
        for type in ("message", "compaction", "custom_message", "session_info", "session", "title"):
            file.line({"type": type, "summary": "s", "name": "n", key: value})
    file.user("after")
    index.run()
    assert index.sessions("after") == [file.id]


# Where they lie


def roots(module: Any, environ: dict[str, str], home: Path, *extra: Path) -> list[Path]:  # noqa: ANN401
    return [one.root for one in module.find(environ, home, extra)]


def test_where_pi_looks(tmp_path: Path) -> None:
    assert roots(pi, {}, tmp_path) == []
    usual = tmp_path / ".pi/agent/sessions"
    own = tmp_path / "own/sessions"
    apart = tmp_path / "apart"
    for made in (usual, own, apart):
        made.mkdir(parents=True)
    assert roots(pi, {}, tmp_path) == [usual]
    assert roots(pi, {"PI_CODING_AGENT_DIR": str(own.parent)}, tmp_path) == [own]
    assert roots(pi, {"PI_CODING_AGENT_DIR": "~/own"}, tmp_path) == [own]
    assert roots(pi, {"PI_CODING_AGENT_SESSION_DIR": "~/apart"}, tmp_path) == [usual, apart]
    extra = (own.parent, own, tmp_path / ".pi", tmp_path / "none")
    assert roots(pi, {}, tmp_path, *extra) == [usual, own, tmp_path / "none"]
    with pytest.raises(SourceError, match="no such file"):
        Pi(tmp_path / "none", "pi").survey("")
    assert dict(pi.glance({}, tmp_path, [tmp_path / "none"]))[tmp_path / "none"] == ""


def test_where_omp_and_openclaw_look(tmp_path: Path) -> None:
    assert roots(omp, {}, tmp_path) == roots(openclaw, {}, tmp_path) == []
    places = [
        tmp_path / ".omp/agent/sessions",
        tmp_path / ".omp/profiles/p/agent/sessions",
        tmp_path / ".openclaw/agents/a/sessions",
        tmp_path / ".openclaw/agents/b/sessions",
        tmp_path / "state/agents/c/sessions",
    ]
    for made in places:
        made.mkdir(parents=True)
    assert roots(omp, {}, tmp_path) == places[:2]
    assert roots(openclaw, {}, tmp_path) == places[2:4]
    assert roots(openclaw, {"OPENCLAW_STATE_DIR": "~/state"}, tmp_path) == places[4:]
    assert roots(openclaw, {}, tmp_path, tmp_path / "state") == places[2:]
    assert roots(openclaw, {}, tmp_path, places[4]) == places[2:]
    (one,) = openclaw.find({"OPENCLAW_STATE_DIR": "~/state"}, tmp_path, ())
    assert one.name == "openclaw"
    assert resume("omp", "s", None) == ("omp", "--resume", "s")
    assert resume("pi", "s", None) == ("pi", "--session", "s")
    assert resume("openclaw", "s", None) is None


def test_omps_title_stands_before_the_header(tmp_path: Path, root: Path) -> None:
    file = PiFile(root, header=False)
    slot = {"type": "title", "v": 1, "title": "Parsers", "updatedAt": "x", "pad": " " * 40}
    file.line(slot)
    file.header()
    file.user("alpha")
    index = Index(tmp_path, lambda: Pi(root, "omp"))
    index.run()
    found = read(Pi(root, "omp"))
    assert (found.session.title, found.session.id) == ("Parsers", file.id)
    text = file.path.read_text()
    file.path.write_text(text.replace("Parsers", "Lexers!"))  # written over in its place
    index.run()
    assert index.sessions("Lexers") == [file.id]
    assert index.sessions("Parsers") == []
    assert len(index.hits("alpha")) == 1
    index.db.close()


def test_omps_sub_agents_are_sessions_below_their_parents(tmp_path: Path, root: Path) -> None:
    parent = PiFile(root)
    parent.user("begin")
    folder = str(parent.path.with_suffix("").relative_to(root))
    child = PiFile(root, 2, folder=folder, name="0-Scout.jsonl")
    child.entry("session_init", systemPrompt="SYSTEMPROMPT", task="NO", agent="scout", tools=[])
    child.user("orders")
    child.says("xylophone")
    index = Index(tmp_path, lambda: Pi(root, "omp"))
    index.run()
    (hit,) = index.hits("xylophone")
    assert (hit.session_id, hit.agent, hit.agent_name) == (child.id, "agent-0-Scout", "scout")
    found = read(Pi(root, "omp"), "0-Scout.jsonl")
    assert found.session.parent_id == parent.id
    assert found.said[0] == ("user_text", "orders", "spawn")
    assert "SYSTEMPROMPT" not in repr(found)
    index.db.close()


def test_openclaws_reset_conversations_stay_the_same_sessions(tmp_path: Path, root: Path) -> None:
    file = PiFile(root, folder="", name=f"{uuid(1)}.jsonl")
    file.user("alpha")
    index = Index(tmp_path, lambda: Pi(root, "openclaw"))
    index.run()
    file.path.rename(f"{file.path}.reset.2026-01-03T00-00-00.000Z")
    assert stored(index.run()) in ([], [(0, 0, 0)])
    (hit,) = index.hits("alpha")
    assert (hit.session_id, hit.gone) == (file.id, False)
    index.db.close()


@pytest.mark.parametrize("backwards", [False, True])
def test_a_live_session_is_read_before_a_reset_one_of_its_name(
    root: Path, monkeypatch: pytest.MonkeyPatch, *, backwards: bool
) -> None:
    file = PiFile(root, folder="", name=f"{uuid(1)}.jsonl")
    file.user("old")
    reset = root / f"{uuid(1)}.jsonl.reset.2026-01-03T00-00-00.000Z"
    file.path.rename(reset)
    PiFile(root, folder="", name=f"{uuid(1)}.jsonl").user("live")
    entries = files.entries

    def ordered(folder: str) -> list[os.DirEntry[str]]:
        return sorted(entries(folder), key=lambda one: one.name, reverse=backwards)

    monkeypatch.setattr(files, "entries", ordered)
    assert [body for _, body, _ in read(Pi(root, "openclaw")).said] == ["live"]


def test_a_link_out_of_the_record_is_not_followed(tmp_path: Path, root: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_text(json.dumps({"type": "session", "id": "SECRET"}) + "\n")
    file = PiFile(root, parentSession=str(secret))
    file.message("bashExecution", command="x", output="y", fullOutputPath=str(secret))
    assert "SECRET" not in repr(read(Pi(root, "pi")))
