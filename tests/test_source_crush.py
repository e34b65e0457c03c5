"""Crush and the Go opencode: databases of projects, what is in them, and which are found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mimohist import sources
from mimohist.backfill import Removed, Vanished
from mimohist.errors import SourceError
from mimohist.sources import crush
from mimohist.sources.crush_database import Crush
from mimohist.sources.tables import Tables
from tests.crush_data import BEGIN, OPENCODE, CrushDatabase, call, end, part, result, text
from tests.mimo_database import OpencodeDatabase
from tests.transcripts import Index, read, stored, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

S = 1000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop/.crush/crush.db"


@pytest.fixture
def db(path: Path) -> Iterator[CrushDatabase]:
    made = CrushDatabase(path)
    yield made
    made.close()


@pytest.fixture
def source(path: Path) -> Tables:
    return Tables("crush", path, Crush("/w/shop"))


@pytest.fixture
def index(tmp_path: Path, source: Tables) -> Iterator[Index]:
    made = Index(tmp_path, lambda: source)
    yield made
    made.db.close()


# Which are found


def listed(folder: Path, projects: object, *, bare: bool = False) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    value = projects if bare else {"projects": projects}
    (folder / "projects.json").write_text(json.dumps(value))


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({}, ".local/share/crush"),
        ({"XDG_DATA_HOME": "{home}/xdg"}, "xdg/crush"),
        ({"CRUSH_GLOBAL_DATA": "{home}/own", "XDG_DATA_HOME": "{home}/xdg"}, "own"),
        ({"LOCALAPPDATA": "{home}/Local"}, "Local/crush"),
    ],
)
@pytest.mark.parametrize("bare", [True, False])
def test_the_projects_that_crush_lists_are_found(
    tmp_path: Path, environ: dict[str, str], place: str, *, bare: bool
) -> None:
    environ = {key: value.format(home=tmp_path) for key, value in environ.items()}
    project, other = tmp_path / "w/a b%#?é", tmp_path / "w/other"
    entries: list[Any] = [
        {"path": str(project), "data_dir": str(project / ".crush")},
        {"path": str(other), "data_dir": str(tmp_path / "elsewhere")},
        {"path": str(tmp_path / "w/never"), "data_dir": str(tmp_path / "w/never/.crush")},
        {"path": "relative", "data_dir": ".crush"},
        {"path": "/a\0b"},
        {"path": 3},
        "x",
    ]
    listed(tmp_path / place, entries, bare=bare)
    assert list(crush.find(environ, tmp_path, ())) == []
    paths = [
        project / ".crush/crush.db",
        project / ".opencode/opencode.db",
        tmp_path / "elsewhere/crush.db",
    ]
    for path in paths:
        CrushDatabase(path).close()
    found = list(crush.find(environ, tmp_path, ()))
    assert [one.root for one in found] == paths
    assert [root for root, stamp in crush.glance(environ, tmp_path, ()) if stamp] == paths
    directories = [one.program.session(_header("s"), one.root).directory for one in found]
    assert directories == [str(project), str(project), str(other)]
    for one in found:  # as a stored root is found again
        assert one.root in [again.root for again in crush.find(environ, tmp_path, [one.root])]


def _header(id: str) -> dict[str, object]:
    return {**dict.fromkeys(Crush("").header), "id": id}


@pytest.mark.parametrize("content", ["{", "[" * 100_000, "3", '{"projects":3}', "[null]", ""])
def test_a_broken_list_names_nothing(tmp_path: Path, content: str) -> None:
    folder = tmp_path / ".local/share/crush"
    folder.mkdir(parents=True)
    (folder / "projects.json").write_text(content)
    assert list(crush.find({}, tmp_path, ())) == []


def test_configured_roots_are_databases_data_folders_and_projects(tmp_path: Path) -> None:
    for name in ("a/.crush/crush.db", "b/.opencode/opencode.db", "c/crush.db", "d/x.db"):
        CrushDatabase(tmp_path / name).close()
    (tmp_path / "empty").mkdir()
    roots = [tmp_path / name for name in ("a", "b/.opencode", "c", "d/x.db", "empty", "gone.db")]
    found = list(crush.find({}, tmp_path, roots))
    told = {
        str(one.root.relative_to(tmp_path)): one.program.session(_header("s"), one.root).directory
        for one in found
    }
    assert told == {
        "a/.crush/crush.db": str(tmp_path / "a"),
        "b/.opencode/opencode.db": str(tmp_path / "b"),
        "c/crush.db": "",
        "d/x.db": "",
        "empty/crush.db": "",
        "gone.db": "",
    }
    for one in found[-2:]:
        with pytest.raises(SourceError, match="no such file"):
            one.survey("")


def test_b32_the_database_of_the_other_opencode_is_not_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / ".opencode/opencode.db"
    path.parent.mkdir()
    OpencodeDatabase(path).close()
    (source,) = crush.find({}, tmp_path, [path])
    with pytest.raises(SourceError, match="unsupported layout: no table messages"):
        source.survey("")


# What was said


def test_a_conversation_with_its_calls(db: CrushDatabase, source: Tables) -> None:
    db.session(title="Prices")
    picture = part("binary", Path="/w/a.png", MIMEType="image/png", Data="iVBORSECRET")
    db.message("s1", "user", text("why does it drift?"), picture, end("stop"))
    db.message(
        "s1",
        "assistant",
        part("reasoning", thinking="let me look", signature="SIGNATURE"),
        text("I will look."),
        call("c1", "bash", command="ctl rotate\n--slot 7"),
        call("c2", "view", file_path="/w/a.py"),
        end("tool_use"),
        model="gpt-5",
        provider="openai",
    )
    db.message("s1", "tool", result("c1", "slot 7 is out"), result("c2", "E4417", failed=True))
    db.message("s1", "assistant", text("Done."), end())
    db.db.execute(
        "INSERT INTO files VALUES ('f', 's1', '/w/a.py', 'SECRET', '1', ?, ?)", (BEGIN, BEGIN)
    )
    found = read(source)
    session = found.session
    assert (session.id, session.title, session.directory) == ("s1", "Prices", "/w/shop")
    assert session.at == BEGIN * S
    assert [(one.id, one.role, one.at) for one in found.messages] == [
        ("m1", "user", (BEGIN + 1) * S),
        ("m2", "assistant", (BEGIN + 2) * S),
        ("m4", "assistant", (BEGIN + 4) * S),
    ]
    assert (found.messages[1].model, found.messages[1].provider) == ("gpt-5", "openai")
    assert found.messages[1].unindexed == ("finish",)
    assert [(str(one.kind), one.tool, one.body, one.output) for one in found.parts] == [
        ("user_text", None, "why does it drift?", ""),
        ("user_text", None, "/w/a.png\nimage/png", ""),
        ("reasoning", None, "let me look", ""),
        ("assistant_text", None, "I will look.", ""),
        ("tool_output", "bash", "bash\nctl rotate\n--slot 7", "slot 7 is out"),
        ("tool_error", "view", "view\n/w/a.py", "E4417"),
        ("assistant_text", None, "Done.", ""),
    ]
    assert not [word for word in ("SECRET", "SIGNATURE") if word in repr(found)]


def test_an_answer_that_failed_says_why(db: CrushDatabase, source: Tables) -> None:
    db.session()
    db.message("s1", "assistant", end("error", message="Rate limit", details="429 quux"))
    db.message("s1", "assistant", text("x"), end("canceled", message="User canceled"))
    assert [(str(one.kind), one.body, one.output) for one in read(source).parts] == [
        ("tool_error", "Rate limit", "429 quux"),
        ("assistant_text", "x", ""),
    ]


def test_commands_that_the_user_ran(db: CrushDatabase, source: Tables) -> None:
    db.session()
    ran = part("shell_command", command="ls /x", output="no such", exit_code=2)
    db.message("s1", "user", ran)
    assert [(str(one.kind), one.body, one.output) for one in read(source).parts] == [
        ("tool_error", "shell\nls /x", "no such")
    ]


def test_a_call_whose_input_is_being_written(db: CrushDatabase, source: Tables) -> None:
    db.session()
    cut = part("tool_call", id="c1", name="bash", input='{"command":"ro', finished=False)
    db.message("s1", "assistant", cut)
    assert [(one.status, one.body) for one in read(source).parts] == [
        ("running", 'bash\n{"command":"ro')
    ]


# Whose words


@pytest.mark.parametrize("marked", ["message", "session"])
def test_b58_a_summary_is_labelled(db: CrushDatabase, source: Tables, marked: str) -> None:
    db.session(summary_message_id="m2" if marked == "session" else None)
    db.message("s1", "user", text("fix it"))
    db.message("s1", "assistant", text("NEEDLE"), is_summary_message=int(marked == "message"))
    db.message("s1", "user", text("go on <system-reminder>NO</system-reminder>"))
    assert read(source).said == [
        ("user_text", "fix it", None),
        ("assistant_text", "NEEDLE", "summary"),
        ("user_text", "go on", None),
    ]


def test_b56_sessions_of_agents_and_for_titles(db: CrushDatabase, source: Tables) -> None:
    db.session()
    db.message("s1", "user", text("look"))
    for id in ("m1$$c1", "title-s1"):
        db.session(id, parent_session_id="s1")
        db.message(id, "user", text("look"))
        db.message(id, "system", text("You are"))
    by_id = {one.key: source.load(one, "").session for one in source.survey("").candidates}
    assert {id: (one.parent_id, one.machine) for id, one in by_id.items()} == {
        "s1": (None, None),
        "m1$$c1": ("s1", None),
        "title-s1": ("s1", "system_agent"),
    }
    assert read(source, "m1$$c1").said == [
        ("user_text", "look", "spawn"),
        ("assistant_text", "You are", "harness"),
    ]


# Times


@pytest.mark.parametrize("unit", [1, 1000])
def test_times_are_seconds_or_milliseconds(path: Path, source: Tables, unit: int) -> None:
    db = CrushDatabase(path, OPENCODE, unit)
    db.session()
    db.message("s1", "user", text("one"))
    found = read(source)
    assert (found.session.at, found.session.updated) == (BEGIN * S, (BEGIN + 1) * S)
    assert [one.at for one in found.messages] == [(BEGIN + 1) * S]
    db.close()


def test_milliseconds_before_a_trigger_rounds_them_are_no_step_back(
    db: CrushDatabase, index: Index
) -> None:
    now = BEGIN * S + 900
    db.session(created_at=now, updated_at=now)
    for word in ("zorblax", "quuxly"):
        db.message("s1", "user", text(word), created_at=now, updated_at=BEGIN)
        db.db.execute("UPDATE sessions SET updated_at = ?", (BEGIN,))
        assert not [one for one in index.run() if isinstance(one, Vanished)]
    db.db.execute("DELETE FROM messages WHERE id = 'm1'")
    index.run()
    assert (index.sessions("zorblax"), index.sessions("quuxly")) == ([], ["s1"])


def test_messages_of_one_second_keep_their_order(db: CrushDatabase, source: Tables) -> None:
    db.session()
    for number in range(12):
        db.message("s1", "user", text(str(number)), id=f"m{99 - number}", created_at=BEGIN)
    found = sorted(read(source).messages, key=lambda one: (one.at, one.id))
    assert [one.parts[0].body for one in found] == [str(number) for number in range(12)]


# Bad rows


@pytest.mark.parametrize("content", ["{", "null", '"x"', b"\xff[", "[" * 100_000])
def test_b41_a_bad_message_costs_itself_alone(
    db: CrushDatabase, index: Index, content: object
) -> None:
    db.session()
    db.message("s1", "user", text("before"))
    db.message("s1", "user", parts=content)
    db.message("s1", "user", text("after"))
    assert unreadable(index.run()) == ["crush.db s1 message 2"]
    assert index.sessions("before") == index.sessions("after") == ["s1"]


@pytest.mark.parametrize(
    "piece",
    [
        None,
        3,
        [],
        {"type": "text", "data": "x"},
        {"type": 3, "data": {"text": "x"}},
        part("text", text=["x"]),
        part("tool_call", id=3, name=None, input={"a": "x"}),
        part("tool_result", tool_call_id=[], content={"a": 1}, is_error="yes"),
        part("shell_command", command=3, exit_code="x"),
        part("binary", Path=3, MIMEType=None),
        part("image_url", url="data:image/png;base64,QUJDREVGRw=="),
        part("finish", reason="error", message=3),
    ],
)
def test_wrong_types_anywhere_are_survived(
    db: CrushDatabase, source: Tables, piece: object
) -> None:
    db.session(title="\x1b]0;a\x00b", parent_session_id=b"\xff")
    db.message("s1", "user", piece, text("after \ud83d"), model=b"\xff", created_at="x")
    found = read(source)
    assert "after \ufffd" in [one.body for one in found.parts]
    assert "QUJD" not in repr(found)


# Keeping the index right


def test_what_did_not_change_is_not_read_again(db: CrushDatabase, index: Index) -> None:
    for id in ("s1", "s2"):
        db.session(id)
        db.message(id, "user", text(f"said in {id}"))
    index.run()
    assert stored(index.run(verify=True)) == [(0, 0, 0), (0, 0, 0)]
    assert stored(index.run()) == []
    db.message("s2", "assistant", text("more"))
    assert stored(index.run()) == [(1, 0, 0)]


def test_an_answer_that_grows_within_a_second_is_found(db: CrushDatabase, index: Index) -> None:
    """Crush writes an answer anew while it comes; times in seconds do not tell."""
    db.session()
    id = db.message("s1", "assistant", text("zorb"))
    index.run()
    sql = "UPDATE messages SET parts = ? WHERE id = ?"
    db.db.execute(sql, (json.dumps([text("zorblax quuxly")]), id))
    index.run()
    assert (index.sessions("zorb"), index.sessions("quuxly")) == ([], ["s1"])


def test_b61_what_is_deleted_goes(db: CrushDatabase, index: Index) -> None:
    for id in ("s1", "s2", "s3"):
        db.session(id)
        db.message(id, "user", text(f"zorblax {id}"))
    index.run()
    db.db.execute("DELETE FROM messages WHERE session_id = 's2'")
    db.db.execute("DELETE FROM sessions WHERE id = 's2'")
    events = index.run()
    assert [one.session for one in events if isinstance(one, Removed)] == ["s2"]
    assert sorted(index.sessions("zorblax")) == ["s1", "s3"]


def test_b61_half_of_all_sessions_are_not_believed_gone(db: CrushDatabase, index: Index) -> None:
    for id in ("s1", "s2", "s3"):
        db.session(id)
        db.message(id, "user", text(f"zorblax {id}"))
    index.run()
    db.db.execute("DELETE FROM messages")
    db.db.execute("DELETE FROM sessions WHERE id <> 's1'")
    assert [one.sessions for one in index.run() if isinstance(one, Vanished)] == [3]
    assert len(index.sessions("zorblax")) == 3
    index.run(accept_deletions=True)
    assert index.sessions("zorblax") == []


def test_b30_rows_in_the_wal_are_read_and_nothing_is_left(
    db: CrushDatabase, tmp_path: Path
) -> None:
    db.session()
    db.message("s1", "user", text("in the wal"))
    copy = tmp_path / "copy/crush.db"
    copy.parent.mkdir()
    for suffix in ("", "-wal"):
        Path(f"{copy}{suffix}").write_bytes(Path(f"{db.path}{suffix}").read_bytes())
    before = {one.name: one.read_bytes() for one in copy.parent.iterdir()}
    found = read(Tables("crush", copy, Crush("")))
    assert found.said == [("user_text", "in the wal", None)]
    assert {one.name: one.read_bytes() for one in copy.parent.iterdir()} == before


def test_two_projects_are_two(tmp_path: Path) -> None:
    made = []
    for name in ("a-b", "a_b"):
        db = CrushDatabase(tmp_path / name / ".crush/crush.db")
        db.session("same")
        db.message("same", "user", text(f"zorblax {name}"))
        db.close()
        made.append(db.path)
    found = list(crush.find({}, tmp_path, made))
    index = Index(tmp_path, *(lambda one=one: one for one in found))
    index.run()
    hits = index.hits("zorblax")
    assert {hit.project for hit in hits} == {str(tmp_path / name) for name in ("a-b", "a_b")}
    index.db.close()


def test_a_session_is_reopened_by_its_id() -> None:
    assert "crush" in sources.ALL
    assert sources.resume("crush", "s1", None) == ("crush", "--session", "s1")
    assert sources.resume("crush", "m1$$c1", "s1") == ("crush", "--session", "s1")
