"""goose: its database and its older files, what was said in them, and what only the model saw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mimohist import sources
from mimohist.backfill import Ended, Removed, Vanished
from mimohist.errors import SourceError
from mimohist.sources import goose
from mimohist.sources.goose_database import Goose
from mimohist.sources.goose_files import GooseFiles
from mimohist.sources.goose_records import result_of
from mimohist.sources.tables import ROW_LIMIT, Tables
from tests.goose_data import BEGIN, GooseDatabase, GooseFile, request, response, text
from tests.transcripts import Index, read, stored, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

S = 1000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "goose/sessions/sessions.db"


@pytest.fixture
def db(path: Path) -> Iterator[GooseDatabase]:
    made = GooseDatabase(path)
    yield made
    made.close()


@pytest.fixture
def source(path: Path) -> Tables:
    return Tables("goose", path, Goose())


@pytest.fixture
def index(tmp_path: Path, source: Tables) -> Iterator[Index]:
    made = Index(tmp_path, lambda: source)
    yield made
    made.db.close()


# Where it lies


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({}, ".local/share/goose/sessions"),
        ({"XDG_DATA_HOME": "{home}/xdg"}, "xdg/goose/sessions"),
        ({"XDG_DATA_HOME": "relative"}, ".local/share/goose/sessions"),
        ({"GOOSE_PATH_ROOT": "{home}/own", "XDG_DATA_HOME": "{home}/xdg"}, "own/data/sessions"),
        ({"APPDATA": "{home}/Roaming"}, "Roaming/Block/goose/data/sessions"),
    ],
)
def test_the_database_and_the_older_files_are_found(
    tmp_path: Path, environ: dict[str, str], place: str
) -> None:
    environ = {key: value.format(home=tmp_path) for key, value in environ.items()}
    folder = tmp_path / place
    assert list(goose.find(environ, tmp_path, ())) == []
    GooseDatabase(folder / "sessions.db").close()
    assert [one.root for one in goose.find(environ, tmp_path, ())] == [folder / "sessions.db"]
    GooseFile(folder)
    found = list(goose.find(environ, tmp_path, ()))
    assert [one.root for one in found] == [folder / "sessions.db", folder]
    assert {root: stamp != "" for root, stamp in goose.glance(environ, tmp_path, ())} == {
        one.root: True for one in found
    }
    for one in found:  # as a stored root is found again
        assert one.root in [again.root for again in goose.find({}, tmp_path, [one.root])]


def test_configured_roots_are_databases_data_folders_and_folders_of_files(tmp_path: Path) -> None:
    GooseDatabase(tmp_path / "a/sessions/sessions.db").close()
    GooseFile(tmp_path / "b")
    (tmp_path / "empty").mkdir()
    names = ("a", "a/sessions/sessions.db", "b", "empty", "missing.db", "missing")
    roots = [tmp_path / name for name in names]
    found = {str(one.root.relative_to(tmp_path)): one for one in goose.find({}, tmp_path, roots)}
    assert list(found) == ["a/sessions/sessions.db", "b", "empty", "missing.db", "missing"]
    for name in ("missing.db", "missing"):  # one that was asked for is not passed over in silence
        with pytest.raises(SourceError, match="no such"):
            found[name].survey("")
    assert dict(goose.glance({}, tmp_path, [tmp_path / "missing"])) == {tmp_path / "missing": ""}


# What was said


def test_a_conversation_with_its_calls(db: GooseDatabase, source: Tables) -> None:
    db.session(name="Prices", working_dir="/w/shop")
    db.message("20251009_1", "user", text("why does it drift?"))
    db.message(
        "20251009_1",
        "assistant",
        {"type": "thinking", "thinking": "let me look", "signature": "SIGNATURE"},
        text("I will look."),
        request("c1", "developer__shell", command="ctl rotate --slot 7"),
        request("c2", "developer__text_editor", path="/w/a.py"),
    )
    double = [
        {"type": "text", "text": "slot 7 is out", "annotations": {"audience": ["assistant"]}},
        {"type": "text", "text": "slot 7 is out", "annotations": {"audience": ["user"]}},
    ]
    db.message("20251009_1", "user", response("c1", double))
    db.message("20251009_1", "user", response("c2", "E4417 no file", status="error"))
    db.message("20251009_1", "assistant", text("Done."))
    found = read(source)
    assert (found.session.id, found.session.title, found.session.directory) == (
        "20251009_1",
        "Prices",
        "/w/shop",
    )
    assert found.session.at == BEGIN * S
    assert [(one.role, one.at) for one in found.messages] == [
        ("user", (BEGIN + 1) * S),
        ("assistant", (BEGIN + 2) * S),
        ("assistant", (BEGIN + 5) * S),
    ]
    assert [(str(part.kind), part.tool, part.body, part.output) for part in found.parts] == [
        ("user_text", None, "why does it drift?", ""),
        ("reasoning", None, "let me look", ""),
        ("assistant_text", None, "I will look.", ""),
        (
            "tool_output",
            "developer__shell",
            "developer__shell\nctl rotate --slot 7",
            "slot 7 is out",
        ),
        (
            "tool_error",
            "developer__text_editor",
            "developer__text_editor\n/w/a.py",
            "E4417 no file",
        ),
        ("assistant_text", None, "Done.", ""),
    ]
    assert "SIGNATURE" not in repr(found)
    assert found.skipped == []


def test_a_call_without_a_result_runs(db: GooseDatabase, source: Tables) -> None:
    db.session()
    db.message("20251009_1", "assistant", request("c1", "shell", command="sleep"))
    assert [part.status for part in read(source).parts] == ["running"]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"status": "success", "value": []}, ("", False)),
        ({"status": "success", "value": {"content": [text("x")], "isError": True}}, ("x", True)),
        ({"status": "success", "value": {"content": [text("x")], "isError": False}}, ("x", False)),
        ({"status": "error", "error": "boom"}, ("boom", True)),
        ({"Ok": [text("x")]}, ("x", False)),
        ({"Err": {"ExecutionError": "boom"}}, ("boom", True)),
        ({"status": "success", "value": [{"type": "image", "data": "iVBOR"}]}, ("", False)),
        (
            {
                "status": "success",
                "value": [
                    {
                        "type": "resource",
                        "resource": {"uri": "file:///a", "text": "t", "blob": "NO"},
                    }
                ],
            },
            ("file:///a\nt", False),
        ),
        (
            {"status": "success", "value": [3, None, [1], text("\ud83d x")]},
            ("3\n1\n\ufffd x", False),
        ),
        ({}, ("", False)),
    ],
)
def test_what_a_tool_gave_back(result: dict[str, object], expected: tuple[str, bool]) -> None:
    assert result_of(result) == expected


def test_a_call_that_could_not_be_read_is_an_error(db: GooseDatabase, source: Tables) -> None:
    db.session()
    bad = {
        "type": "toolRequest",
        "id": "c1",
        "toolCall": {"status": "error", "error": "-32602: bad arguments"},
    }
    old = {"type": "toolRequest", "id": "c2", "toolCall": {"Ok": {"name": "sh", "arguments": {}}}}
    db.message("20251009_1", "assistant", bad, old)
    found = read(source).parts
    assert [(str(part.kind), part.body, part.output) for part in found] == [
        ("tool_error", "tool call", "-32602: bad arguments"),
        ("tool_input", "sh", ""),
    ]


# Whose words


def test_b58_what_only_the_model_sees_is_no_words_of_the_user(
    db: GooseDatabase, source: Tables
) -> None:
    model_only = '{"userVisible":false,"agentVisible":true}'
    db.session()
    db.message("20251009_1", "user", text("fix it"), metadata_json='{"agentVisible":false}')
    db.message("20251009_1", "user", text("we fixed NEEDLE"), metadata_json=model_only)
    db.message("20251009_1", "assistant", text("Go on."), metadata_json=model_only)
    db.message("20251009_1", "user", text("fix it"), metadata_json=model_only)
    db.message("20251009_1", "assistant", {"type": "conversationCompacted", "msg": "compacted"})
    assert read(source).said == [
        ("user_text", "fix it", None),
        ("assistant_text", "we fixed NEEDLE", "summary"),
        ("assistant_text", "Go on.", "synthetic"),
        ("user_text", "fix it", "synthetic"),
        ("assistant_text", "compacted", "harness"),
    ]


def test_what_goose_puts_before_a_text_is_cut_out(db: GooseDatabase, source: Tables) -> None:
    db.session()
    wrapped = "<info-msg>\nIt is NOON\n</info-msg>\nfix it"
    db.message("20251009_1", "user", text(wrapped), text("<info-msg>x</info-msg>"))
    db.message("20251009_1", "user", text("a <system-reminder>NO</system-reminder> b"))
    found = read(source)
    assert found.said == [
        ("user_text", "fix it", None),
        ("user_text", "<info-msg>x</info-msg>", "harness"),
        ("user_text", "a  b", None),
    ]
    assert "NOON" in found.parts[0].cut


def test_b56_sessions_of_other_sorts(db: GooseDatabase, source: Tables) -> None:
    for id, sort, parent in (
        ("1", "user", None),
        ("2", "sub_agent", "1"),
        ("3", "hidden", None),
        ("4", "scheduled", None),
    ):
        db.session(id, session_type=sort, parent_session_id=parent)
        db.message(id, "user", text("count the files"))
    found = [read(source, id) for id in "1234"]
    assert [one.session.parent_id for one in found] == [None, "1", None, None]
    assert [one.session.machine for one in found] == [None, None, "system_agent", None]
    assert [one.parts[0].machine for one in found] == [None, "spawn", None, None]


def test_pieces_without_words_are_counted(db: GooseDatabase, source: Tables) -> None:
    db.session()
    pieces = [
        {"type": "image", "data": "iVBORSECRET", "mimeType": "image/png"},
        {"type": "redactedThinking", "data": "SECRET"},
        {"type": "toolConfirmationRequest", "id": "c1", "prompt": "SECRET"},
        {"type": "contextLengthExceeded", "msg": "too long"},
        {"nonsense": 1},
    ]
    db.message("20251009_1", "assistant", *pieces)
    db.db.execute("INSERT INTO usage_ledger VALUES (1, '20251009_1', 'SECRET')")
    (message,) = read(source).messages
    assert message.unindexed == ("image", "reasoning", "toolConfirmationRequest", "unknown")
    assert [(str(part.kind), part.output) for part in message.parts] == [("tool_error", "too long")]
    assert "SECRET" not in repr(message)


# Titles, times, ids


def test_titles_and_times_of_all_schema_versions(db: GooseDatabase, source: Tables) -> None:
    db.session("1", name="1", description="Described")
    db.session("2", name="Named", description="Described")
    db.session("3", created_at="2025-10-09T08:53:20.123Z", archived_at="2025-10-10 00:00:00")
    db.session("4", created_at="nonsense", updated_at=None, working_dir="C:\\Proj")
    found = [read(source, id).session for id in "1234"]
    assert [one.title for one in found] == ["Described", "Named", "", ""]
    assert [one.at for one in found] == [BEGIN * S, BEGIN * S, BEGIN * S + 123, 0]
    assert [one.archived for one in found] == [None, None, 1_760_054_400_000, None]
    assert (found[3].directory, found[3].project_id) == ("C:\\Proj", "c:\\proj")


def test_messages_of_one_second_keep_their_order(db: GooseDatabase, source: Tables) -> None:
    db.session()
    for number in range(12):
        db.message("20251009_1", "user", text(str(number)), created_timestamp=BEGIN + 5)
    found = read(source).messages
    assert [one.parts[0].body for one in sorted(found, key=lambda one: (one.at, one.id))] == [
        str(number) for number in range(12)
    ]
    assert {one.at // S for one in found} == {BEGIN + 5}


def test_ids_stand_when_a_conversation_is_written_anew(db: GooseDatabase, source: Tables) -> None:
    """`replace_conversation` deletes all rows and inserts them again."""
    db.session()
    for name in ("msg_a", "msg_b", "msg_b", None):
        db.message("20251009_1", "user", text("x"), message_id=name)
    before = [one.id for one in read(source).messages]
    assert before == [
        "20251009_1-msg_a",
        "20251009_1-msg_b",
        "20251009_1-msg_b.2",
        "20251009_1-00000004",
    ]
    columns = (
        "message_id, session_id, role, content_json, created_timestamp, timestamp, metadata_json"
    )
    rows = db.db.execute(f"SELECT {columns} FROM messages ORDER BY id").fetchall()
    db.db.execute("DELETE FROM messages")
    db.db.executemany(f"INSERT INTO messages({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    assert [one.id for one in read(source).messages][:3] == before[:3]


def test_a_fork_has_parts_of_its_own(db: GooseDatabase, index: Index) -> None:
    for id in ("1", "2"):
        db.session(id)
        db.message(id, "user", text("zorblax"), message_id="msg_a", created_timestamp=BEGIN + 1)
    index.run()
    (hit,) = index.hits("zorblax")
    assert len(hit.copies) == 1


# Other shapes of the database


def test_b32_the_first_schema_is_read(path: Path, source: Tables) -> None:
    db = GooseDatabase(
        path,
        """
        CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP);
        CREATE TABLE sessions (id TEXT PRIMARY KEY, description TEXT NOT NULL DEFAULT '',
            working_dir TEXT NOT NULL, created_at TIMESTAMP, updated_at TIMESTAMP);
        CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
            role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
            metadata_json TEXT);
        """,
    )
    db.session(description="First")
    db.message("20251009_1", "user", text("hello"))
    found = read(source)
    assert (found.session.title, found.session.parent_id) == ("First", None)
    assert found.said == [("user_text", "hello", None)]
    db.close()


@pytest.mark.parametrize(
    "ddl",
    [
        "CREATE TABLE session (id TEXT);",
        "CREATE TABLE sessions (id TEXT); CREATE TABLE messages (id TEXT);",
        "CREATE TABLE sessions (name TEXT); CREATE TABLE messages (session_id TEXT);",
    ],
)
def test_b32_an_unknown_layout_is_said(path: Path, source: Tables, ddl: str) -> None:
    GooseDatabase(path, ddl).close()
    with pytest.raises(SourceError, match="unsupported layout"):
        source.survey("")


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs.github.com/spec/v1\n"])
def test_b31_what_is_no_database_is_said(path: Path, source: Tables, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"empty|not an SQLite"):
        source.survey("")


def test_b30_rows_in_the_wal_are_read_and_nothing_is_left(
    db: GooseDatabase, tmp_path: Path
) -> None:
    db.session()
    db.message("20251009_1", "user", text("in the wal"))
    copy = tmp_path / "copy/sessions.db"
    copy.parent.mkdir()
    for end in ("", "-wal"):
        Path(f"{copy}{end}").write_bytes(Path(f"{db.path}{end}").read_bytes())
    before = {one.name: one.read_bytes() for one in copy.parent.iterdir()}
    assert read(Tables("goose", copy, Goose())).said == [("user_text", "in the wal", None)]
    assert {one.name: one.read_bytes() for one in copy.parent.iterdir()} == before


# Bad rows


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "not JSON"),
        ("null", "not an array"),
        ('{"type":"text"}', "not an array"),
        (b"\xff[", "not JSON"),
        (7, "not an array"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_b41_a_bad_message_costs_itself_alone(
    db: GooseDatabase, index: Index, content: object, why: str
) -> None:
    db.session()
    db.message("20251009_1", "user", text("before"))
    db.message("20251009_1", "user", content_json=content)
    db.message("20251009_1", "user", text("after"))
    assert [why in one.why for one in read(index.sources[0]()).skipped] == [True]
    assert unreadable(index.run()) == ["sessions.db 20251009_1 message 2"]
    assert index.sessions("before") == index.sessions("after") == ["20251009_1"]


@pytest.mark.parametrize(
    "piece",
    [
        None,
        3,
        "x",
        [],
        {"type": None},
        {"type": "text", "text": {"a": 1}},
        {"type": "text", "text": None},
        {"type": "toolRequest", "id": 3, "toolCall": "x"},
        {"type": "toolRequest", "toolCall": {"value": {"name": 3, "arguments": "x"}}},
        {"type": "toolResponse", "id": None, "toolResult": [1]},
        {"type": "thinking", "thinking": 4},
    ],
)
def test_wrong_types_anywhere_are_survived(
    db: GooseDatabase, source: Tables, piece: object
) -> None:
    db.session()
    db.message("20251009_1", "user", piece, text("after"))
    db.message("20251009_1", "assistant", text("more"), metadata_json="[", message_id=b"\xff")
    db.message("20251009_1", "9", text("most"), metadata_json=None, created_timestamp="x")
    assert {part.body for part in read(source).parts} >= {"after", "more", "most"}


def test_b44_b45_hostile_texts_are_stored(db: GooseDatabase, index: Index) -> None:
    db.session(name="a\x00b\x1b]0;x")
    picture = "data:image/png;base64," + "QUJD" * 200_000
    db.message("20251009_1", "user", text("ok \ud83d needle \x00"), text(f"see {picture} it"))
    index.run()
    assert index.sessions("needle") == index.sessions("see") == ["20251009_1"]
    assert "QUJDQUJD" not in repr([part.body for part in read(index.sources[0]()).parts])


def test_a_message_too_long_is_told_of(db: GooseDatabase, source: Tables) -> None:
    db.session()
    db.message("20251009_1", "user", text("x"), content_json="x" * (ROW_LIMIT + 1))
    db.message("20251009_1", "user", text("after"))
    found = read(source)
    assert ["more than" in one.why for one in found.skipped] == [True]
    assert found.said == [("user_text", "after", None)]


# Keeping the index right


def test_what_did_not_change_is_not_read_again(db: GooseDatabase, index: Index) -> None:
    for id in ("1", "2"):
        db.session(id)
        db.message(id, "user", text(f"said in {id}"))
    index.run()
    assert stored(index.run(verify=True)) == [(0, 0, 0), (0, 0, 0)]
    (ended,) = index.run()
    assert isinstance(ended, Ended)
    db.message("2", "assistant", text("more"))
    assert stored(index.run()) == [(1, 0, 0)]


def test_a_call_that_ends_later_is_found(db: GooseDatabase, index: Index) -> None:
    db.session()
    db.message("20251009_1", "assistant", request("c1", "sh", command="rotate"))
    index.run()
    assert index.sessions("rotate") == []
    db.message("20251009_1", "user", response("c1", [text("slot")]))
    index.run()
    assert index.sessions("rotate") == ["20251009_1"]


def test_a_message_rewritten_in_place_is_found(db: GooseDatabase, index: Index) -> None:
    db.session()
    db.message("20251009_1", "user", text("zorblax"))
    index.run()
    sql = "UPDATE messages SET content_json = ?"
    db.db.execute(sql, (json.dumps([text("quuxly and more")]),))
    index.run()
    assert (index.sessions("zorblax"), index.sessions("quuxly")) == ([], ["20251009_1"])


def test_b61_what_is_deleted_goes(db: GooseDatabase, index: Index) -> None:
    for id in ("1", "2", "3"):
        db.session(id)
        db.message(id, "user", text(f"zorblax {id}"))
        db.message(id, "user", text(f"quuxly {id}"))
        db.clock += 10 * 86_400  # so that the first is idle for long
    index.run()
    db.db.execute("DELETE FROM messages WHERE session_id = '1' AND content_json LIKE '%quuxly%'")
    db.db.execute("DELETE FROM messages WHERE session_id = '2'")
    db.db.execute("DELETE FROM sessions WHERE id = '2'")
    events = index.run()
    assert [one.session for one in events if isinstance(one, Removed)] == ["2"]
    assert sorted(index.sessions("zorblax")) == ["1", "3"]
    assert index.sessions("quuxly") == ["3"]


def test_a_database_that_was_replaced_deletes_nothing(
    db: GooseDatabase, path: Path, index: Index
) -> None:
    db.session()
    db.message("20251009_1", "user", text("zorblax"))
    index.run()
    db.close()
    for one in path.parent.iterdir():
        one.unlink()
    other = GooseDatabase(path)
    other.session("20261010_1")
    events = index.run()
    assert [one.sessions for one in events if isinstance(one, Vanished)] == [1]
    assert [hit.gone for hit in index.hits("zorblax")] == [True]
    other.close()


def test_memory_of_another_shape_means_that_all_is_looked_at(
    db: GooseDatabase, source: Tables
) -> None:
    db.session()
    for memory in ("{", "[1]", '{"20251009_1":[1]}', '{"20251009_1":3}', "null"):
        assert len(source.survey(memory).candidates) == 1
    assert source.survey(source.survey("").memory).candidates == ()


# The older files


def test_an_older_file_is_read(tmp_path: Path) -> None:
    file = GooseFile(tmp_path)
    file.message("user", text("why?"))
    file.message("assistant", text("so."), request("c1", "sh", command="ls"))
    file.message("user", response("c1", [text("a.py")]))
    found = read(GooseFiles(tmp_path))
    session = found.session
    assert (session.id, session.title, session.directory) == (
        "20250724_101112",
        "Old times",
        "/w/old",
    )
    assert [(one.role, one.at) for one in found.messages] == [
        ("user", (BEGIN + 1) * S),
        ("assistant", (BEGIN + 2) * S),
    ]
    assert [(str(part.kind), part.body, part.output) for part in found.parts] == [
        ("user_text", "why?", ""),
        ("assistant_text", "so.", ""),
        ("tool_output", "sh\nls", "a.py"),
    ]


def test_an_older_file_that_grows_is_read_on(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    file = GooseFile(folder)
    index = Index(tmp_path, lambda: GooseFiles(folder))
    file.message("user", text("first"))
    file.message("assistant", request("c1", "sh", command="rotate"))
    index.run()
    line = json.dumps({"role": "user", "content": [response("c1", [text("slot 7")])]})
    with file.path.open("a") as raw:
        raw.write(line[:20])  # torn
    assert (unreadable(index.run()), index.sessions("first")) == ([], ["20250724_101112"])
    file.line(line[20:])
    file.message("user", text("last"))
    assert stored(index.run()) == [(2, 0, 0)]
    assert index.sessions("rotate") == index.sessions("last") == ["20250724_101112"]
    again = Index(tmp_path / "again", lambda: GooseFiles(folder))
    again.run()
    ids = "SELECT part_id FROM history_fts ORDER BY 1"
    assert again.db.execute(ids).fetchall() == index.db.execute(ids).fetchall()
    assert stored(again.run()) == []
    again.db.close()
    index.db.close()


def test_b41_bad_lines_of_an_older_file_cost_themselves_alone(tmp_path: Path) -> None:
    file = GooseFile(tmp_path)
    for line in ("{", "null", "[1]", '"x"', "", '{"content":7,"role":[]}'):
        file.line(line)
    said = text("a\u2028b\u0085c needle")
    file.line(json.dumps({"role": "user", "content": [said]}, ensure_ascii=False))
    found = read(GooseFiles(tmp_path))
    assert [one.why.partition(":")[0] for one in found.skipped] == [
        "not JSON",
        "not an object",
        "not an object",
        "not an object",
    ]
    assert [part.body for part in found.parts] == ["a\u2028b\u0085c needle"]


def test_a_session_that_the_database_took_in_is_read_there_alone(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    for id in ("20250101_000000", "mine"):
        GooseFile(folder, id).message("user", text("zorblax"))
    source = GooseFiles(folder)
    assert len(source.survey("").candidates) == 2
    before = source.stamp()
    db = GooseDatabase(folder / "sessions.db")
    db.session("mine")
    assert source.stamp() != before
    survey = source.survey("")
    assert [one.key for one in survey.candidates] == ["20250101_000000"]
    assert survey.present == frozenset({"20250101_000000", "mine"})
    db.close()
    (folder / "sessions.db").write_text("no database")
    assert len(source.survey("").candidates) == 2


def test_b62_a_file_that_vanished_stays_found(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    file = GooseFile(folder)
    file.message("user", text("zorblax"))
    GooseFile(folder, "other")
    index = Index(tmp_path, lambda: GooseFiles(folder))
    index.run()
    file.path.unlink()
    index.run()
    assert [hit.gone for hit in index.hits("zorblax")] == [True]
    index.db.close()
    source = GooseFiles(folder)
    (other,) = source.survey("").candidates
    with pytest.raises(LookupError):
        source.load(other._replace(key="../x"), "")


def test_a_session_is_reopened_by_its_id() -> None:
    assert "goose" in sources.ALL
    command = ("goose", "session", "--resume", "--session-id", "20251009_1")
    assert sources.resume("goose", "20251009_1", None) == command
