"""aider's histories: whose line it is, sessions of one file, and a file that grows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from mimohist import History, config, refreshing, store
from mimohist.errors import SourceError
from mimohist.history import places
from mimohist.records import Message, Usage
from mimohist.sources import aider, jsonl
from mimohist.sources.aider_file import Aider
from tests.aider_data import BANNER, AiderFile
from tests.mimo_database import START, MimoDatabase
from tests.transcripts import Index, by_message, read, stored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mimohist.sources.source import Candidate

TEN = 1_754_043_072_000
"""2025-08-01 10:11:12 UTC, in epoch ms."""


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def file(tmp_path: Path) -> AiderFile:
    return AiderFile(tmp_path / "shop/.aider.chat.history.md")


@pytest.fixture
def source(file: AiderFile) -> Aider:
    return Aider(file.path)


@pytest.fixture
def index(tmp_path: Path, file: AiderFile) -> Iterator[Index]:
    made = Index(tmp_path, lambda: Aider(file.path))
    yield made
    made.db.close()


# Which are found


def test_histories_are_found_without_walking(tmp_path: Path) -> None:
    for name in ("w/a", "w/b", "w/deep/er", "elsewhere", "."):
        AiderFile(tmp_path / name / ".aider.chat.history.md").begin()
    AiderFile(tmp_path / "own.md").begin()
    AiderFile(tmp_path / "w/a/.aider/h.md").begin()

    def found(environ: dict[str, str], *roots: str) -> list[str]:
        paths = [tmp_path / root for root in roots]
        made = [one.root for one in aider.find(environ, tmp_path, paths)]
        assert [path for path, stamp in aider.glance(environ, tmp_path, paths) if stamp] == [
            path for path in made if path.exists()
        ]
        return [str(path.relative_to(tmp_path)) for path in made]

    history = ".aider.chat.history.md"
    assert found({}) == [history]
    own = {"AIDER_CHAT_HISTORY_FILE": str(tmp_path / "own.md")}
    assert found(own) == [history, "own.md"]
    assert found({}, "w") == [history, f"w/a/{history}", f"w/b/{history}"]
    assert found({}, "w/deep/er") == [history, f"w/deep/er/{history}"]
    assert found({}, f"elsewhere/{history}") == [history, f"elsewhere/{history}"]
    relative = {"AIDER_CHAT_HISTORY_FILE": ".aider/h.md"}
    assert found(relative, "w/a") == [history, f"w/a/{history}", "w/a/.aider/h.md"]
    assert found({}, "missing.md") == [history, "missing.md"]
    (missing,) = list(aider.find({}, tmp_path / "nobody", [tmp_path / "missing.md"]))
    for look in (missing.stamp, lambda: missing.survey("")):
        with pytest.raises(SourceError, match="no such file"):
            look()


def test_a_history_beside_known_sessions_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where another agent ran, and where aider was found before; nowhere on other machines."""
    database = MimoDatabase(tmp_path / "mimocode.db")
    for folder in (str(tmp_path / "shop"), "//host/share", "relative", "", "/w\0x"):
        database.say(database.session(directory=folder), "hello", at=START)
    database.close()
    found = config.Config(db=tmp_path / "index.db", sources=("mimo", "aider"))
    environ = {"HOME": str(tmp_path / "home"), "MIMOCODE_DB": str(tmp_path / "mimocode.db")}
    where = places(found, environ)
    assert [one.name for one in where.find()] == ["mimo"]
    with History(found, where) as history:
        list(history.backfill())
        file = AiderFile(tmp_path / "shop/.aider.chat.history.md")
        file.begin()
        file.user("zorblax?")
        reader = store.open_reader(found.db)
        assert where.changed(reader)
        looked: list[str] = []

        def look(path: str) -> bool:
            looked.append(path)
            return False

        with monkeypatch.context() as patch:
            patch.setattr(refreshing, "_is_file", look)
            where.find()
        assert {path for path in looked if not path.startswith(str(tmp_path))} == {
            "/w\0x/.aider.chat.history.md",
            "/.aider.chat.history.md",
        }
        assert [one.root for one in where.find()[1:]] == [file.path]
        list(history.backfill())
        reader.execute("SELECT 1")
        (hit,) = history.search("zorblax").hits
        assert (hit.source, hit.project) == ("aider", str(file.path.parent))
        reader.close()
    only = places(found, environ, ["mimo"])
    assert [one.name for one in only.find()] == ["mimo"]


# Whose line it is


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("spaces", ["  ", ""])
def test_a_conversation(file: AiderFile, source: Aider, ending: str, spaces: str) -> None:
    file.ending, file.spaces = ending, spaces
    file.begin()
    file.user("why does it drift?\n\nplease  look")
    file.answer("# Heading\n\n### Sub\n\nBecause of *x*.\n\n\nSecond.")
    file.aside(
        "Tokens: 2.5k sent, 1.0k cache hit, 192 received. Cost: $0.01 message, $0.05 session."
    )
    file.aside("Applied edit to a.py", "Commit 1a2b3c4 fix: drift")
    file.user("thanks")
    found = read(source)
    assert [(one.role, one.at) for one in found.messages] == [
        ("assistant", TEN),
        ("user", TEN),
        ("assistant", TEN),
        ("user", TEN),
    ]
    assert [(str(one.kind), one.body, one.output, one.machine) for one in found.parts] == [
        ("tool_output", "", "\n".join(BANNER), "harness"),
        ("user_text", "why does it drift?\n\nplease  look", "", None),
        ("assistant_text", "# Heading\n\n### Sub\n\nBecause of *x*.\n\n\nSecond.", "", None),
        ("tool_output", "", "Applied edit to a.py\nCommit 1a2b3c4 fix: drift", None),
        ("user_text", "thanks", "", None),
    ]
    answer = found.messages[2]
    assert answer.model == "gpt-4o"
    assert answer.usage == Usage(cost=0.01, input=2500, output=192, cache_read=1000)
    assert answer.unindexed == ("tokens",)
    session = found.session
    assert (session.title, session.titled) == ("why does it drift?", False)
    assert (session.at, session.directory) == (TEN, str(file.path.parent))


def test_lines_of_a_model_that_look_like_aiders_are_the_models(
    file: AiderFile, source: Aider
) -> None:
    file.begin()
    file.user("show")
    file.answer("> quoted\n#### Heading four\n```diff\n> left\n```\n#### \n>")
    assert [one.body for one in read(source).parts if one.kind == "assistant_text"] == [
        "> quoted\n#### Heading four\n```diff\n> left\n```\n#### \n>"
    ]


def test_commands_that_aider_ran_and_what_went_wrong(file: AiderFile, source: Aider) -> None:
    file.begin()
    file.user("test it")
    file.aside("Run shell command? (Y)es/(N)o [Yes]: y", "Running pytest -q E4417", "1 failed")
    file.aside("litellm.RateLimitError: quota", "Retrying in 0.2 seconds...")
    file.answer("Hm.")
    file.aside("Added 3 lines of output to the chat.")
    parts = read(source).parts[2:]
    assert [(str(one.kind), one.tool, one.body, one.output) for one in parts] == [
        ("tool_output", "aider", "", "Run shell command? (Y)es/(N)o [Yes]: y"),
        ("tool_output", "shell", "shell\npytest -q E4417", "1 failed"),
        (
            "tool_error",
            "aider",
            "error",
            "litellm.RateLimitError: quota\nRetrying in 0.2 seconds...",
        ),
        ("assistant_text", None, "Hm.", ""),
        ("tool_output", "aider", "", "Added 3 lines of output to the chat."),
    ]


def test_b48_what_aider_writes_again_is_no_words_of_the_user(
    file: AiderFile, source: Aider
) -> None:
    file.begin()
    file.user("/ask why is it slow?")
    file.user("why is it slow?")
    file.answer("Change the loop:\n\n- use a set")
    file.aside("Edit the files? (Y)es/(N)o [Yes]: y")
    file.user("Change the loop:\n\n- use a set")
    file.user("why is it slow?")
    file.user("")
    file.user("<blank>")
    found = read(source)
    assert [said for said in found.said if said[0] == "user_text"] == [
        ("user_text", "/ask why is it slow?", None),
        ("user_text", "why is it slow?", "synthetic"),
        ("user_text", "Change the loop:\n\n- use a set", "synthetic"),
        ("user_text", "why is it slow?", None),  # asked again, later
    ]
    assert [one.unindexed for one in found.messages[-2:]] == [("blank",), ("blank",)]


def test_what_aider_says_before_anybody_spoke_is_the_harness(
    file: AiderFile, source: Aider
) -> None:
    file.begin(banner=("Aider v0.86.1", "Running in the home directory"))
    file.aside("litellm.AuthenticationError: no key")
    assert [(str(one.kind), one.machine) for one in read(source).parts] == [
        ("tool_output", "harness"),
        ("tool_error", None),
    ]


# Sessions of one file


def test_one_file_holds_many_sessions(file: AiderFile, source: Aider) -> None:
    for time_, word in (
        ("2025-08-01 10:11:12", "one"),
        ("2025-08-01 10:11:12", "two"),
        ("2025-08-02 00:00:00", "three"),
        ("2025-99-99 00:00:00", "four"),
    ):
        file.begin(time_)
        file.user(word)
    survey = source.survey("")
    assert [one.key for one in survey.candidates] == [
        "20259999T000000",
        "20250802T000000",
        "20250801T101112.2",
        "20250801T101112",
    ]
    said = {
        one.key: [part.body for message in _messages(source, one) for part in message.parts][1:]
        for one in survey.candidates
    }
    assert list(said.values()) == [["four"], ["three"], ["two"], ["one"]]


def _messages(source: Aider, candidate: Candidate) -> list[Message]:
    items = source.load(candidate, "").messages
    return [one for one in items if isinstance(one, Message)]


def test_what_stands_before_the_first_session_is_found(file: AiderFile, source: Aider) -> None:
    file.append("\n#### lost  \n\nand found\n")
    assert read(source).said == [
        ("user_text", "lost", None),
        ("assistant_text", "and found", None),
    ]
    file.begin()
    assert read(source, "start").session.at == TEN


@pytest.mark.parametrize("content", ["", "\n", "\n\n  \n"])
def test_a_file_with_nothing_in_it_has_no_session(
    file: AiderFile, source: Aider, content: str
) -> None:
    file.append(content)
    survey = source.survey("")
    assert (survey.candidates, survey.present) == ((), frozenset())
    file.begin()
    assert [one.key for one in source.survey(survey.memory).candidates] == ["20250801T101112"]


@pytest.mark.parametrize(("zone", "hours"), [("UTC", 0), ("America/New_York", 4)])
def test_b75_times_are_of_this_machine(
    file: AiderFile, source: Aider, monkeypatch: pytest.MonkeyPatch, zone: str, hours: int
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    file.begin()
    assert read(source).session.at == TEN + hours * 3_600_000


def test_a_file_for_many_repositories_tells_no_directory(tmp_path: Path) -> None:
    file = AiderFile(tmp_path / "all.md")
    file.begin()
    assert read(Aider(file.path)).session.directory == ""


# A file that grows


def test_what_is_new_is_read_from_where_it_was_left(file: AiderFile, index: Index) -> None:
    file.begin("2025-07-01 00:00:00")
    file.user("older")
    file.begin()
    file.user("zorblax?")
    file.answer("Half an")
    index.run()
    source = Aider(file.path)
    survey = source.survey("")
    (mark,) = index.db.execute(
        "SELECT mark FROM session WHERE key = ?", ("20250801T101112",)
    ).fetchone()
    file.answer("answer.")
    file.user("more?")
    again = source.survey(survey.memory)
    assert [one.key for one in again.candidates] == ["20250801T101112"]
    reading = source.load(again.candidates[0], mark)
    assert not reading.whole
    assert reading.session.title == "zorblax?"
    assert len([one for one in reading.messages if hasattr(one, "parts")]) == 2
    assert stored(index.run()) == [(1, 1, 0)]
    assert index.sessions("half") == index.sessions("more") != []
    assert stored(index.run()) == []


def test_a_new_session_leaves_the_others_alone(file: AiderFile, index: Index) -> None:
    file.begin()
    file.user("zorblax?")
    index.run()
    file.begin("2025-08-02 00:00:00")
    file.user("quuxly?")
    assert [added for added, _, _ in stored(index.run())] == [2]


@pytest.mark.parametrize("step", [1, 7, 64])
def test_reading_in_steps_gives_what_reading_at_once_gives(
    tmp_path: Path, file: AiderFile, step: int
) -> None:
    """Whatever bytes a write ends with: the stored parts are those of one reading."""
    file.begin()
    file.user("/ask one\n#### two")
    file.user("one\n#### two")
    file.answer("An answer\n> with a quote\n\nand é more")
    file.aside("Tokens: 10 sent, 5 received.", "Running ls", "a.py", "Error: no")
    file.begin("2025-08-02 00:00:00")
    file.user("last")
    data = file.path.read_bytes()
    other = file.path
    other.write_bytes(b"")
    index = Index(tmp_path / "steps", lambda: Aider(other))
    for at in range(0, len(data), step):
        with other.open("ab") as raw:
            raw.write(data[at : at + step])
        if at % 3 == 0:
            index.run()
    index.run()
    whole = Index(tmp_path / "whole", lambda: Aider(other))
    whole.run()
    sql = "SELECT * FROM parts WHERE session_id NOT LIKE '%-start' ORDER BY session_id, part_id"
    assert index.db.execute(sql).fetchall() == whole.db.execute(sql).fetchall()
    index.db.close()
    whole.db.close()


def test_b59_a_file_written_anew_is_read_anew(file: AiderFile, index: Index) -> None:
    file.begin()
    file.user("aaa one")
    file.user("two")
    index.run()
    file.path.write_bytes(b"")
    file.begin()
    file.user("bbb one")
    file.user("two")
    file.user("three")
    index.run()
    assert index.sessions("aaa") == []
    assert len(index.sessions("bbb")) == len(index.sessions("three")) == 1


def test_old_sessions_cut_away_stay_found_and_others_stay_the_same(
    file: AiderFile, index: Index
) -> None:
    for day in (1, 2, 3):
        file.begin(f"2025-08-0{day} 00:00:00")
        file.user(f"zorblax {day}")
    index.run()
    ids = {hit.part_id for hit in index.hits("zorblax")}
    data = file.path.read_bytes()
    file.path.write_bytes(data[data.index(b"\n# aider", 10) :])
    assert stored(index.run()) == []
    file.user("quuxly")
    assert stored(index.run()) == [(1, 0, 0)]
    assert {hit.part_id for hit in index.hits("zorblax")} == ids
    assert [hit.gone for hit in index.hits("zorblax", "1")] == [True]


def test_b62_a_file_that_vanished_stays_found(file: AiderFile, index: Index) -> None:
    file.begin()
    file.user("zorblax?")
    index.run()
    file.path.unlink()
    index.run()
    assert len(index.hits("zorblax")) == 1


def test_a_session_gone_between_look_and_reading_is_missing(file: AiderFile, source: Aider) -> None:
    file.begin()
    file.user("x")
    (candidate,) = source.survey("").candidates
    with pytest.raises(LookupError):
        source.load(candidate._replace(key="20240101T000000"), "")
    file.path.write_bytes(b"other\n" * 20)
    with pytest.raises(LookupError):
        source.load(candidate, "")


@pytest.mark.parametrize("memory", ["{", "3", "[]", '{"sessions":3}', '{"sessions":[[1]]}'])
def test_memory_of_another_shape_means_that_all_is_looked_at(
    file: AiderFile, source: Aider, memory: str
) -> None:
    file.begin()
    assert len(source.survey(memory).candidates) == 1


# Hostile files


def test_bytes_that_are_no_text_cost_themselves_alone(file: AiderFile, index: Index) -> None:
    file.begin()
    file.append("\n#### ok ")
    with file.path.open("ab") as raw:
        raw.write(b"\xff\x00\x1b[31m\xed\xa0\xbd needle\xc2\x85x\xe2\x80\xa8y  \n")
    file.answer("see data:image/png;base64," + "QUJD" * 5000 + " it")
    index.run()
    assert len(index.sessions("needle")) == len(index.sessions("see")) == 1
    bodies = [one.body for one in read(Aider(file.path)).parts]
    assert "\x85x\u2028y" in bodies[1]
    assert "QUJDQUJD" not in repr(bodies)


def test_a_line_too_long_is_told_of(
    file: AiderFile, source: Aider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "LINE_LIMIT", 1 << 20)
    file.begin()
    file.user("before")
    file.answer("word " * 500_000)
    file.user("after")
    found = read(source)
    assert [one.where.startswith(".aider.chat.history.md byte") for one in found.skipped] == [True]
    assert [one.body for one in found.parts][1:] == ["before", "after"]


def test_a_very_long_answer_is_several_messages(file: AiderFile, source: Aider) -> None:
    file.begin()
    file.user("print it")
    file.answer("\n".join(f"line {number} {'x' * 90}" for number in range(100_000)))
    found = read(source)
    answers = [one for one in found.messages if one.role == "assistant"][1:]
    assert len(answers) > 1
    assert all(sum(len(part.body) for part in one.parts) < 5_000_000 for one in answers)
    assert "".join(part.body for one in answers for part in one.parts).count("line") == 100_000
    assert len(by_message(found.messages)) == len(found.messages)
