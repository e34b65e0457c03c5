"""An agent gets what it asks for, in bounds, with the call for the rest, or is told the fault."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mimohist import History, history_tool, tool_texts
from mimohist.errors import BadInput, NotFound
from tests.mimo_database import START, MimoDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
LATER = START + 86_400_000


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("mcp")
    place = folder / "mimocode.db"
    with MimoDatabase(place) as db:
        session = db.session(id="ses_long", title="A long story", directory="/w/shop")
        for number in range(120):
            db.say(session, f"line {number} 数据库 " + "word " * 400, id=f"msg_{number:03}")
        other = db.session(id="ses_calls", directory="/w/shop")
        answer = db.message(other, "assistant", id="msg_calls")
        db.tool(answer, "bash", {"command": "make zorblax"}, output="中文😀" * 6000)
        db.tool(answer, "read", {"path": "/zorblax"}, error="ENOENT")
        busy = db.message(other, "assistant", id="msg_busy")
        for number in range(400):
            db.tool(busy, "bash", {"command": f"step {number}"}, output="x" * 300)
        db.text(other_message := db.message(other, id="msg_odd"), "odd \x1b[31m\u202e zorblax")
        db.text(other_message, "hidden", synthetic=True)
    return {"HOME": str(folder), "MIMOCODE_DB": str(place)}


@pytest.fixture(scope="module")
def history(environ: dict[str, str]) -> Iterator[History]:
    with History.open(environ=environ, sources=["mimo"]) as found:
        list(found.backfill())
        yield found


def ask(history: History, operation: str, **arguments: Any) -> str:  # noqa: ANN401 - JSON
    text = history_tool.answer(history, {"operation": operation, **arguments})
    assert len(text.encode()) <= tool_texts.MOST_BYTES
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    return text


def calls(text: str) -> list[dict[str, Any]]:
    """Give the calls that an answer names, as an agent would make them."""
    found = []
    for start in re.finditer(r'\{"operation"', text):
        call, _ = json.JSONDecoder().raw_decode(text[start.start() :])
        found.append(call)
    return found


def shown(text: str) -> list[str]:
    return re.findall(r"^(?:>>> )?\d+\. .*message_id: mimo/ses_long/(\S+)$", text, re.MULTILINE)


# Arguments

INVALID = [
    ({}, "operation must be one of search, around, get"),
    ({"operation": "drop"}, "operation must be one of"),
    ({"operation": "search"}, "search needs a query"),
    ({"operation": "search", "query": "  "}, "query must be a text that is not blank"),
    ({"operation": "search", "query": ["x"]}, "query must be a text"),
    ({"operation": "search", "query": "x", "limit": -1}, "limit must be a whole number from 1 to"),
    ({"operation": "search", "query": "x", "limit": 51}, "limit must be .* 50, not 51"),
    ({"operation": "search", "query": "x", "limit": True}, "limit must be a whole number"),
    ({"operation": "search", "query": "x", "limit": 2.5}, "limit must be a whole number"),
    ({"operation": "search", "query": "x", "limit": float("nan")}, "limit must be a whole"),
    ({"operation": "search", "query": "x", "kind": []}, "kind must be a list of at least one of"),
    ({"operation": "search", "query": "x", "kind": "user_text"}, "kind must be a list"),
    ({"operation": "search", "query": "x", "kind": ["nope"]}, "kind must .* not 'nope'"),
    ({"operation": "search", "query": "x", "scope": "session"}, "scope must be one of project"),
    ({"operation": "search", "query": "x", "time_after": -1}, "time_after must be"),
    ({"operation": "search", "query": "x", "time_after": "last week"}, "not a time"),
    ({"operation": "search", "query": "x", "session_id": "ses_nope"}, "no session 'ses_nope'"),
    ({"operation": "search", "query": "x", "message_id": "m"}, "search takes no 'message_id'"),
    ({"operation": "around"}, "around needs a message_id"),
    ({"operation": "around", "message_id": "m", "before": -1}, "before must be .* from 0 to 50"),
    ({"operation": "around", "message_id": "m", "after": 51}, "after must be"),
    ({"operation": "get", "part_id": "p", "offset": -1}, "offset must be .* from 0 on"),
    ({"operation": "get", "part_id": "p", "length": 0}, "length must be .* from 1 to 8000"),
    ({"operation": "get", "part_id": "p", "length": "5"}, "length must be a whole number"),
]


@pytest.mark.parametrize(("arguments", "complaint"), INVALID)
def test_invalid_arguments_are_refused_with_a_clear_message(
    history: History, arguments: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint):
        history_tool.answer(history, arguments)


def test_the_schema_tells_what_is_checked() -> None:
    """Bounds and choices of the schema are those of the checks; nothing else is allowed."""
    schema = history_tool.schema()
    assert (schema["required"], schema["additionalProperties"]) == (["operation"], False)
    properties = schema["properties"]
    bounds = {
        name: (one.get("minimum"), one.get("maximum"), one.get("default"))
        for name, one in properties.items()
        if one["type"] == "integer"
    }
    assert bounds == {
        "limit": (1, 50, 10),
        "before": (0, 50, 5),
        "after": (0, 50, 5),
        "offset": (0, None, 0),
        "length": (1, 8000, 4000),
    }
    assert properties["kind"]["minItems"] == 1
    assert all(one["description"] for one in properties.values())


@given(
    st.dictionaries(
        st.sampled_from(list(history_tool.schema()["properties"])),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()),
    )
)
def test_any_arguments_are_either_right_or_refused(arguments: dict[str, Any]) -> None:
    try:
        call = history_tool.checked(arguments)
    except BadInput:
        return
    assert history_tool.checked(call) == call
    assert 1 <= call.get("limit", 1) <= 50


def test_null_is_the_same_as_left_out() -> None:
    """Some clients send null for what the model leaves out."""
    assert history_tool.checked({"operation": "search", "query": "x", "limit": None}) == (
        history_tool.checked({"operation": "search", "query": "x"})
    )


# Search


def test_t1_a_hit_tells_where_it_is(history: History) -> None:
    text = ask(history, "search", query="ENOENT", kind=["tool_error"])
    assert text.startswith("1 match in all projects")
    assert "message_id: mimo/ses_calls/msg_calls  part_id: prt_" in text
    assert "(tool_error · read)" in text
    assert calls(text)[0] == {"operation": "around", "message_id": "mimo/ses_calls/msg_calls"}


def test_t2_no_match(history: History) -> None:
    text = ask(history, "search", query="qqxzvwmpl")
    assert text == "0 matches in all projects (2 sessions searched)"


def test_the_scope_is_the_project_of_the_server_s_directory(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "here"
    place.mkdir()
    with MimoDatabase(Path(history.places.environ["MIMOCODE_DB"]), start=LATER, seed=7) as db:
        db.say(db.session(id="ses_here", directory=str(place), at=LATER), "quux", id="msg_here")
    history.refresh(60)
    monkeypatch.chdir(place)
    text = ask(history, "search", query="zorblax")
    assert text.startswith(f"0 matches in {place} (1 sessions searched); ")
    assert 'in other projects: add "scope": "global"' in text
    assert "match" in ask(history, "search", query="zorblax", scope="global").split("\n")[0]
    assert "1 match" in ask(history, "search", query="zorblax odd", session_id="ses_calls")


def test_fifty_hits_have_room_and_more_are_told_of(history: History) -> None:
    """Snippets become shorter until all hits fit; their matches stay in sight."""
    text = ask(history, "search", query="数据库", limit=50, scope="global")
    assert text.count("### ") == 50
    assert text.count("数据库") >= 50
    few = ask(history, "search", query="数据库", scope="global")
    assert few.count("### ") == 10
    assert calls(few)[-1]["limit"] == 50
    assert history_tool.checked(calls(few)[-1])["query"] == "数据库"


def test_times_are_milliseconds_days_or_ages(history: History) -> None:
    for bounds in ({"time_after": START}, {"time_after": "2026-12-01"}, {"time_after": str(START)}):
        assert ask(history, "search", query="zorblax", **bounds).startswith("3 matches")
    assert ask(history, "search", query="zorblax", time_before=START).startswith("0 matches")
    assert ask(history, "search", query="zorblax", time_before="2026-11").startswith("0 matches")


# Around


def test_t3_the_anchor_is_marked_between_its_neighbours(history: History) -> None:
    text = ask(history, "around", message_id="msg_060", before=1, after=1)
    assert shown(text) == ["msg_059", "msg_060", "msg_061"]
    assert ">>> 61. user" in text
    assert text.count(">>>") == 1


def test_a_window_stays_in_bounds_and_names_the_calls_for_the_rest(history: History) -> None:
    """Whoever follows the calls sees every message of the session once, in order."""
    text = ask(history, "around", message_id="msg_060", before=50, after=50)
    middle = shown(text)
    assert "msg_060" in middle
    assert len(middle) < 101
    seen = list(middle)
    earlier, later = (one for one in calls(text) if one["operation"] == "around")
    while earlier:
        text = ask(history, **earlier)
        assert shown(text)[-1] == seen[0]
        seen = shown(text)[:-1] + seen
        earlier = next((one for one in calls(text) if one.get("after") == 0), {})
    while later:
        text = ask(history, **later)
        assert shown(text)[0] == seen[-1]
        seen += shown(text)[1:]
        later = next((one for one in calls(text) if one.get("before") == 0), {})
    assert seen == [f"msg_{number:03}" for number in range(120)]


def test_an_anchor_too_large_for_an_answer_is_kept(history: History) -> None:
    """Its parts are shortened first; where even their names have no room, some are left out."""
    text = ask(history, "around", message_id="msg_busy")
    assert ">>> " in text
    assert "more parts; `mimohist around mimo/ses_calls/msg_busy -C 0` shows them" in text


def test_a_long_part_names_the_call_that_gives_it_whole(history: History) -> None:
    text = ask(history, "around", message_id="msg_calls", before=0, after=0)
    (call,) = (one for one in calls(text) if one["operation"] == "get")
    rebuilt = ""
    pages = 0
    while call:
        page = ask(history, **call)
        pages += 1
        head, body = page.split("\n\n", 1)
        body, _, rest = body.partition("\n\nmore: ")
        rebuilt += body
        assert head.startswith("[tool_output:bash] part_id: ")
        call = json.loads(rest) if rest else {}
    assert rebuilt == "bash\nmake zorblax\n" + "中文😀" * 6000
    assert pages > 4


def test_machine_text_is_told_apart(history: History) -> None:
    text = ask(history, "around", message_id="msg_odd", before=0, after=0)
    assert "[user_text] odd  zorblax" in text
    assert "[user_text] (machine: synthetic) hidden" in text


def test_what_is_unknown_is_said(history: History) -> None:
    with pytest.raises(NotFound, match="msg_nope"):
        ask(history, "around", message_id="msg_nope")
    with pytest.raises(NotFound, match="prt_nope"):
        ask(history, "get", part_id="prt_nope")


def test_get_pages_of_a_given_length(history: History) -> None:
    (call,) = (
        one
        for one in calls(ask(history, "around", message_id="msg_calls", before=0, after=0))
        if one["operation"] == "get"
    )
    text = ask(history, "get", part_id=call["part_id"], offset=5, length=4)
    assert "characters 5 to 9 of" in text
    assert "\n\nmake\n\nmore: " in text
    with pytest.raises(BadInput, match="behind the end"):
        ask(history, "get", part_id=call["part_id"], offset=10**9)
    # 8,000 characters of CJK and emoji are more bytes than a page has.
    page = ask(history, "get", part_id=call["part_id"], offset=100, length=8000)
    assert calls(page)[-1]["offset"] < 8100


# The server


def test_the_server_s_parts_are_not_imported_elsewhere() -> None:
    """Every other verb runs without the SDK, and `mcp` says what to install."""
    probe = (
        "import sys; sys.modules['mcp'] = None\n"
        "from mimohist.cli import main\n"
        "sys.argv = ['mimohist', 'mcp']; print(main())\n"
        "sys.argv = ['mimohist', 'mcp', '--help']; print(main())\n"
        "sys.argv = ['mimohist', 'export', '--help']; print(main())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert ended.stdout.splitlines()[0] == "2"
    assert ended.stdout.count("\n0\n") == 2
    assert "pip install 'mimohist[mcp]'" in ended.stderr


def test_a_real_client_talks_to_a_real_process(
    environ: dict[str, str], tmp_path: Path, history: History
) -> None:
    """The SDK's own client: what there is, answers, errors that do not end the server."""
    mcp = pytest.importorskip("mcp")
    assert history.search("zorblax").hits

    async def talk() -> dict[str, Any]:
        # A fresh home: the first call makes the index.
        home = {**environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
        parameters = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "mimohist", "mcp"], env=home, cwd="/"
        )
        said: dict[str, Any] = {}
        async with mcp.Client(parameters) as client:
            said["tools"] = (await client.list_tools()).tools

            async def call(name: str, **arguments: object) -> tuple[bool, str]:
                result = await client.call_tool(name, arguments)
                (content,) = result.content
                return bool(result.is_error), content.text

            said["first"] = await call("history", operation="search", query="zorblax")
            said["wrong"] = await call("history", operation="search", query="x", limit=-1)
            said["unknown"] = await call("history", operation="around", message_id="msg_nope")
            said["other"] = await call("nope")
            said["many"] = await asyncio.gather(
                *(call("history", operation="around", message_id=f"msg_{n:03}") for n in range(8))
            )
            said["last"] = await call("history", operation="search", query="zorblax")
        return said

    said = asyncio.run(asyncio.wait_for(talk(), 120))
    (tool,) = said["tools"]
    assert (tool.name, tool.input_schema) == ("history", history_tool.schema())
    assert tool.annotations.read_only_hint is True
    failed, text = said["first"]
    assert (failed, "the index was made just now; 0 sessions are left" in text) == (False, True)
    assert said["wrong"] == (True, "limit must be a whole number from 1 to 50, not -1")
    assert said["unknown"][0] is True
    assert said["other"] == (True, "no tool 'nope'; there is 'history'")
    for number, (failed, text) in enumerate(said["many"]):
        assert (failed, f">>> {number + 1}. user" in text) == (False, True)
        assert len(text.encode()) <= tool_texts.MOST_BYTES
    assert said["last"][1].startswith("3 matches in all projects")
