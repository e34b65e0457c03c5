"""Sessions come out in MiMo Code's trajectory format, nothing left out, wherever they are kept."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mimohist import History
from mimohist.errors import BadInput
from mimohist.exporting import Origin
from mimohist.records import Skipped
from mimohist.trajectory import Cut, Head, inherited, message_of, part_of
from tests.claude_file import ClaudeFile
from tests.mimo_database import MimoDatabase, OpencodeDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator

REAL = Path(__file__).parents[2] / "shared/real"
PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=="


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "mimocode.db"


def history(place: Path, *sources: str, **environ: str) -> History:
    """Give an index of the database at `place`, filled."""
    home = str(place.parent)
    found = History.open(
        place.parent / "index.db",
        {"HOME": home, "MIMOCODE_DB": str(place), **environ},
        sources or ("mimo",),
    )
    for _ in found.backfill():
        pass
    return found


def messages(found: History, ref: str, **cut: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - flags
    (one,) = found.export(ref, **cut)
    items = list(one.messages)
    assert not any(isinstance(item, Skipped) for item in items)
    return [item for item in items if isinstance(item, dict)]


def ids(found: History, ref: str, **cut: Any) -> list[str]:  # noqa: ANN401 - flags
    return [str(message["id"]) for message in messages(found, ref, **cut)]


# Field by field


def expected(db: sqlite3.Connection, session: str, *, slices: bool) -> list[dict[str, Any]]:
    """Say from the rows alone what the format is: MiMo Code's own three lines, written again."""
    agent = "agent_id" if slices else "'main'"
    found = []
    for id, slice_, data in db.execute(
        f"SELECT id, {agent}, data FROM message WHERE session_id = ? ORDER BY time_created, id",
        (session,),
    ):
        info = json.loads(data)
        parts = []
        for part, text in db.execute(
            "SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (id,)
        ):
            record = json.loads(text)
            files = [record] if record["type"] == "file" else []
            files += (record.get("state") or {}).get("attachments") or []
            for file in files:
                if file["url"].startswith("data:"):
                    name = f":{file['filename']}" if file.get("filename") else ""
                    file["url"] = f"[data-url:{file['mime']}{name}]"
            parts.append({**record, "id": part, "sessionID": session, "messageID": id})
        found.append(
            {
                **info,
                "id": id,
                "sessionID": session,
                "agentID": slice_,
                "created": info["time"]["created"],
                "parts": parts,
            }
        )
    return found


@pytest.mark.skipif(not REAL.is_dir(), reason="needs databases of the real programs")
@pytest.mark.parametrize("name", ["mimocode.db", "opencode.db", "opencode-1.2.1-migrated.db"])
def test_every_session_of_a_real_database_equals_its_rows(tmp_path: Path, name: str) -> None:
    """Every field of every part of every message, whatever it is called."""
    place = tmp_path / name
    shutil.copyfile(REAL / name, place)
    found = history(place)
    with closing(sqlite3.connect(place)) as db:
        slices = any(row[1] == "agent_id" for row in db.execute("PRAGMA table_info(message)"))
        sessions = [
            id
            for (id,) in db.execute("SELECT DISTINCT session_id FROM message ORDER BY session_id")
        ]
        assert len(sessions) >= 3
        for session in sessions:
            want = expected(db, session, slices=slices)
            assert messages(found, f"mimo/{session}", agent="all") == want
            main = [one for one in want if one["agentID"] == "main"]
            if main:
                assert messages(found, f"mimo/{session}") == main
    assert not list(tmp_path.glob(f"{name}-*"))


def test_every_field_is_kept_and_created_is_hoisted(place: Path) -> None:
    """3.5: ids, times, flags, tokens, cost, path, parentID; keys and types nobody knows too."""
    with MimoDatabase(place) as db:
        session = db.session(id="ses_one")
        asked = db.message(session, id="msg_ask", future={"a": [1, 2.5, None]})
        db.text(asked, "why?", synthetic=True, metadata={"compaction_continue": True})
        answer = db.message(session, "assistant", id="msg_answer", agent_id="explore-1")
        db.part(answer, {"type": "hologram", "depth": 3, "url": PNG}, id="prt_new")
        db.tool(answer, "bash", {"command": "ls\n\t\x1b[1m"}, output="a\x00b")
        db.part(answer, {"type": "step-finish", "cost": 0.25, "tokens": {"input": 5}})
    found = history(place)
    with closing(sqlite3.connect(place)) as raw:
        want = expected(raw, "ses_one", slices=True)
    assert messages(found, "ses_one", agent="all") == want
    assert want[1]["parts"][-1]["url"] == PNG  # only files are known to hold payloads
    assert (want[1]["agentID"], want[1]["created"]) == ("explore-1", want[1]["time"]["created"])


def test_payloads_of_files_and_attachments_are_summarised() -> None:
    """3.4, in both states of a tool; other URLs stay, and what was given is not changed."""
    own = {"id": "prt_1", "session": "ses_1", "message": "msg_1"}
    file = {"type": "file", "mime": "image/png", "filename": "a.png", "url": PNG}
    nameless = {"type": "file", "mime": "image/png", "url": PNG.upper()}
    linked = {"type": "file", "mime": "text/plain", "url": "file:///a"}
    source = {"type": "file", "path": "/a", "text": {"value": "@a", "start": 0, "end": 2}}
    assert part_of({**file, "source": source}, **own) == {
        **file,
        "source": source,
        "url": "[data-url:image/png:a.png]",
        "id": "prt_1",
        "sessionID": "ses_1",
        "messageID": "msg_1",
    }
    for status in ("completed", "error"):
        attachments = [file, nameless, linked]
        state: dict[str, object] = {"status": status, "input": {}, "attachments": attachments}
        made = part_of({"type": "tool", "tool": "read", "state": state}, **own)
        urls = [one["url"] for one in made["state"]["attachments"]]
        assert urls == ["[data-url:image/png:a.png]", "[data-url:image/png]", "file:///a"]
        assert [one["url"] for one in attachments] == [PNG, PNG.upper(), "file:///a"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), JSON))
def test_a_part_of_any_shape_passes(data: dict[str, Any]) -> None:
    """No shape is an error, and everything but the three ids and payloads comes out as it was."""
    made = part_of(data, id="prt_1", session="ses_1", message="msg_1")
    assert {key: made[key] for key in data if key not in made or made[key] == data[key]} == {
        key: value for key, value in data.items() if key not in ("id", "sessionID", "messageID")
    } or data.get("type") in ("file", "tool")
    whole = message_of(data, [made], id="msg_1", session="ses_1", agent="main", at=7)
    assert {"role", "id", "agent", "created", "parts"} - set(whole) <= {"role"}


def test_broken_records_are_told_and_the_others_given(place: Path) -> None:
    with MimoDatabase(place) as db:
        session = db.session(id="ses_one")
        message = db.say(session, "hello", id="msg_1")
        db.part(message, "{broken", id="prt_broken")
        db.message(session, id="msg_2", data="[]")
    (one,) = history(place).export("ses_one", agent="all")
    items = list(one.messages)
    assert [item.where for item in items if isinstance(item, Skipped)] == [
        "mimocode.db part prt_broken",
        "mimocode.db message msg_2",
    ]
    assert [item["id"] for item in items if isinstance(item, dict)] == ["msg_1"]


# Slices, compaction, steps


@pytest.fixture
def long(place: Path) -> History:
    """Give a session with two slices and a compaction, and one that began with its context."""
    with MimoDatabase(place) as db:
        session = db.session(id="ses_parent")
        db.say(session, "one", id="msg_1")
        db.say(session, "reply one", "assistant", id="msg_2")
        db.say(session, "aside", "assistant", id="msg_3", agent_id="explore-1", agent="explore")
        trigger = db.message(session, id="msg_4")
        db.part(trigger, {"type": "compaction", "auto": True})
        db.say(session, "sum", "assistant", id="msg_5", summary=True)
        db.say(session, "two", id="msg_6")
        db.say(session, "reply two", "assistant", id="msg_7")
        db.say(session, "reply more", "assistant", id="msg_8")
        child = db.session(id="ses_child", context_from="ses_parent", context_watermark="msg_7")
        db.say(child, "go on", id="msg_9")
        db.say(child, "going", "assistant", id="msg_a")
    return history(place)


@pytest.mark.parametrize(
    ("ref", "cut", "want"),
    [
        ("ses_parent", {}, "1 2 4 5 6 7 8"),
        ("ses_parent", {"agent": "all"}, "1 2 3 4 5 6 7 8"),
        ("ses_parent", {"agent": "explore-1"}, "3"),
        ("ses_parent", {"agent": "explore"}, "3"),
        ("ses_parent/msg_6", {}, "1 2 4 5 6 7 8"),
        ("ses_parent", {"compacted": True}, "4 5 6 7 8"),
        ("ses_parent", {"compacted": True, "agent": "explore-1"}, "3"),
        ("ses_parent", {"step": 1}, "1 2"),
        ("ses_parent", {"step": 2}, "4 5 6 7"),
        ("ses_parent", {"step": 3}, "4 5 6 7 8"),
        ("ses_child", {}, "9 a"),
        ("ses_child", {"compacted": True}, "4 5 6 7 9 a"),
        ("ses_child", {"step": 1}, "4 5 6 7 9 a"),
    ],
)
def test_which_messages_are_given(long: History, ref: str, cut: dict[str, Any], want: str) -> None:
    assert ids(long, ref, **cut) == [f"msg_{one}" for one in want.split()]


@pytest.mark.parametrize(
    ("cut", "complaint"),
    [
        ({"agent": "nobody"}, "no agent 'nobody' in this session; there are: main, explore-1, all"),
        ({"step": 4}, "no step 4: the model answered 3 times here"),
        ({"compacted": True, "agent": "all"}, "one agent's"),
    ],
)
def test_what_is_not_there_is_said(long: History, cut: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        next(long.export("ses_parent", **cut))


def test_a_child_of_its_own_slice_needs_no_flag(place: Path) -> None:
    """A peer's slice is called as its session is; without a main slice the only one is given."""
    with MimoDatabase(place) as db:
        db.say(db.session(id="ses_peer"), "hello", id="msg_1", agent_id="ses_peer")
    assert ids(history(place), "ses_peer") == ["msg_1"]


def test_a_watermark_that_is_gone_gives_the_whole_slice() -> None:
    heads = [Head("a", "user"), Head("b", "assistant"), Head("c", "assistant", "explore-1")]
    assert [head.id for head in inherited(heads, "gone")] == ["a", "b"]
    assert [head.id for head in inherited(heads, "a")] == ["a"]


HEADS = st.lists(
    st.builds(
        Head,
        st.uuids().map(str),
        st.sampled_from(["user", "assistant"]),
        st.just("main"),
        starts=st.booleans(),
        summary=st.booleans(),
    ),
    max_size=12,
)


@given(HEADS)
def test_the_last_step_saw_what_the_session_did_until_then(heads: list[Head]) -> None:
    """A compacted view is an end of the slice that begins where the model's view began anew."""
    seen = Cut(compacted=True).of(heads)
    assert seen == heads[len(heads) - len(seen) :]
    assert not any(head.starts for head in seen[1:])
    assert seen == heads or seen[0].starts
    answers = [head for head in heads if head.role == "assistant" and not head.summary]
    for step, answer in enumerate(answers, 1):
        assert Cut(step=step).of(heads)[-1] == answer


# opencode, other sources, the index


def test_a_database_without_slices_is_all_main(tmp_path: Path) -> None:
    place = tmp_path / "opencode.db"
    with OpencodeDatabase(place) as db:
        db.say(db.session(id="ses_one"), "hello", id="msg_1")
    (one,) = messages(history(place), "ses_one")
    assert (one["agentID"], one["agent"]) == ("main", "build")


def test_another_program_s_session_has_the_same_shape(tmp_path: Path) -> None:
    """What its reader gives: texts, reasoning, calls with input and output; nothing made up."""
    file = ClaudeFile(tmp_path / ".claude/projects/-w-x/11111111-aaaa.jsonl")
    file.user("why does it drift?")
    file.assistant(
        {"type": "thinking", "thinking": "rounding"},
        {"type": "text", "text": "let me look"},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls -la"}},
        id="msg_c1",
    )
    file.user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.py"}])
    found = history(tmp_path / "mimocode.db", "claude")
    (one,) = found.export("claude/11111111-aaaa")
    assert one.origin is Origin.READ
    items = [item for item in one.messages if isinstance(item, dict)]
    for message in items:
        assert {"role", "id", "agent", "created", "parts", "sessionID", "agentID"} <= set(message)
        assert message["created"] == message["time"]["created"]
        assert all({"id", "sessionID", "messageID", "type"} <= set(p) for p in message["parts"])
    assert items[0]["parts"][0]["text"] == "why does it drift?"
    kinds = [part["type"] for message in items for part in message["parts"]]
    assert kinds == ["text", "reasoning", "text", "tool"]
    (call,) = (part for message in items for part in message["parts"] if part["type"] == "tool")
    state = {key: call["state"][key] for key in ("status", "input", "output")}
    assert (call["tool"], state) == (
        "Bash",
        {"status": "completed", "input": {"text": "ls -la"}, "output": "a.py"},
    )


@pytest.fixture
def gone(place: Path) -> Iterator[History]:
    """Give an index whose source was taken away."""
    with MimoDatabase(place) as db:
        session = db.session(id="ses_one")
        db.say(session, "why?", id="msg_1")
        answer = db.message(session, "assistant", id="msg_2", error={"name": "X", "data": {}})
        db.reasoning(answer, "hm")
        db.tool(answer, "bash", {"command": "ls"}, output="a.py")
        db.tool(answer, "read", {"path": "/x"}, error="ENOENT")
        db.part(answer, {"type": "patch", "hash": "1", "files": ["/a", "/b"]})
        db.text(answer, "done <system-reminder>x</system-reminder>")
    found = history(place)
    place.unlink()
    yield found
    found.close()


def test_when_the_source_is_gone_the_index_answers_and_it_is_said(gone: History) -> None:
    (one,) = gone.export("ses_one")
    assert (one.origin, str(one.why).endswith("no such file or directory")) == (Origin.INDEX, True)
    asked, answer = (item for item in one.messages if isinstance(item, dict))
    assert [part["text"] for part in asked["parts"]] == ["why?"]
    assert answer["error"] == {"name": "X", "data": {"message": "X"}}
    assert (answer["providerID"], answer["modelID"]) == ("fake", "fake-1")
    told = [
        (part["type"], part.get("text"), part.get("state", {}).get("output"), part.get("files"))
        for part in answer["parts"]
    ]
    assert told == [
        ("reasoning", "hm", None, None),
        ("tool", None, "a.py", None),
        ("tool", None, None, None),
        ("patch", None, None, ["/a", "/b"]),
        ("text", "done", None, None),
        ("text", "x", None, None),
    ]
    assert answer["parts"][2]["state"]["error"] == "ENOENT"


def test_what_was_forgotten_is_not_handed_out(place: Path) -> None:
    """What was to be forgotten is in its source still, but not in what this program writes."""
    with MimoDatabase(place) as db:
        session = db.session(id="ses_one")
        db.say(session, "the secret", id="msg_1")
        db.part(db.say(session, "the rest", id="msg_2"), {"type": "x"}, id="prt_secret")
    found = history(place)
    with closing(sqlite3.connect(found.config.db)) as index:
        index.execute("INSERT INTO forgotten VALUES ('mimo', 'message', 'msg_1')")
        index.execute("INSERT INTO forgotten VALUES ('mimo', 'part', 'prt_secret')")
        index.commit()
    (one,) = messages(found, "ses_one")
    assert (one["id"], [part["type"] for part in one["parts"]]) == ("msg_2", ["text"])


def test_secrets_are_replaced_on_request(place: Path) -> None:
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    with MimoDatabase(place) as db:
        session = db.session(id="ses_one", title=f"about {key}")
        call = {"env": {"DB_PASSWORD": "correcthorse"}}
        db.tool(db.message(session, "assistant"), "bash", call, output=f"found {key}")
    found = history(place)
    (plain,) = found.export("ses_one")
    assert key in json.dumps(list(plain.messages))
    (veiled,) = found.export("ses_one", redact=True)
    text = veiled.title + json.dumps(list(veiled.messages))
    assert key not in text
    assert "correcthorse" not in text
    assert text.count("[redacted:aws-key]") == 2
