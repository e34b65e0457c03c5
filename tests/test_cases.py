"""Faults that users of such tools met, each as a user would meet it here: places, time, safety."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from mimohist import directories, schema, store
from mimohist.errors import NoIndex
from tests.claude_file import ClaudeFile
from tests.mimo_database import MimoDatabase

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ended, Program

HOSTILE = "\x1b]52;c;QUJD\x07\x1b[2J\x9b31m evil \x1b]0;x"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def claude(home: Path) -> Callable[..., ClaudeFile]:
    """Give what makes Claude Code's transcripts in the folder of a project's slug."""

    def made(name: str, cwd: str, slug: str = "-w-api-proxy") -> ClaudeFile:
        return ClaudeFile(home / ".claude/projects" / slug / f"{name}.jsonl", cwd)

    return made


def found(ended: Ended) -> list[str]:
    """Give the session ids of hits."""
    return sorted(json.loads(line)["session_id"] for line in ended.out.splitlines())


# Places


def test_b72_projects_that_share_a_folder_are_two(
    claude: Callable[..., ClaudeFile], mimohist: Program
) -> None:
    """`/w/api-proxy`, `/w/api/proxy`, `/w/api_proxy` and `/w/api proxy` have one slug."""
    places = {
        "dash": "/w/api-proxy",
        "deep": "/w/api/proxy",
        "line": "/w/api_proxy",
        "blank": "/w/api proxy",
        "dot": "/w/api.proxy",
    }
    for name, cwd in places.items():
        claude(name, cwd).user(f"alpha in {name}")
    assert mimohist("backfill").status == 0
    listed = mimohist("sql", "select directory from projects order by 1").out.splitlines()
    assert listed == sorted(places.values())
    for name, cwd in places.items():
        assert found(mimohist("search", "alpha", "--json", "-k", "user_text", "-p", cwd)) == [name]
    below = mimohist("search", "alpha", "--json", "-k", "user_text", "-p", "/w/api")
    assert found(below) == ["deep"]


def test_b72_a_directory_is_known_by_its_link_and_by_what_it_links_to(
    home: Path, database: Path, mimohist: Program
) -> None:
    real = home / "real/shop"
    real.mkdir(parents=True)
    link = home / "link"
    link.symlink_to(home / "real")
    db = MimoDatabase(database)
    db.say(db.session(id="ses_linked", directory=str(link / "shop")), "alpha")
    db.close()
    for place in (real, link / "shop", real / "..", link):
        ended = mimohist("search", "alpha", "--json", "-k", "user_text", "-p", str(place))
        assert found(ended) == ["ses_linked"], place


def test_b73_drive_letters_fold_and_other_paths_keep_their_case(
    claude: Callable[..., ClaudeFile], mimohist: Program
) -> None:
    places = {
        "a": "C:\\Proj",
        "b": "c:\\proj",
        "c": "/srv/App",
        "d": "/srv/app",
        "e": "C:\\Proj\\sub",
        "f": "C:\\Projector",
        "g": "/c/proj",
    }
    for name, cwd in places.items():
        claude(name, cwd, name).user(f"alpha in {name}")
    assert mimohist("backfill").status == 0

    def at(place: str) -> list[str]:
        return found(mimohist("search", "alpha", "--json", "-k", "user_text", "-p", place))

    for spelled in ("C:\\Proj", "c:\\PROJ", "c:/proj", "C:\\Proj\\"):
        assert at(spelled) == ["a", "b", "e"], spelled
    assert at("/srv/App") == ["c"]
    assert at("/srv/app") == ["d"]
    assert at("/c/proj") == ["g"]
    ids = (
        "select count(distinct project_id) from projects where directory in ('C:\\Proj','C:\\proj')"
    )
    assert mimohist("sql", ids).out == "1\n"


def test_b73_databases_fold_drive_letters_too(database: Path, mimohist: Program) -> None:
    db = MimoDatabase(database)
    for number, place in enumerate(("C:\\Proj", "c:\\proj", "/srv/App", "/srv/app")):
        db.say(db.session(id=f"ses_{number}000", project=f"p{number}", directory=place), "alpha")
    db.close()
    both = mimohist("search", "alpha", "--json", "-k", "user_text", "-p", "c:/Proj")
    assert found(both) == ["ses_0000", "ses_1000"]
    one = mimohist("search", "alpha", "--json", "-k", "user_text", "-p", "/srv/App")
    assert found(one) == ["ses_2000"]


@pytest.mark.parametrize(
    ("path", "directory", "inside"),
    [
        ("/w/a/b", "/w/a", True),
        ("/w/ab", "/w/a", False),
        ("/w/a", "/w/a/", True),
        ("/w/a", "/", True),
        ("", "/", False),
        ("C:\\a\\b", "c:/A", True),
        ("C:\\ab", "C:\\a", False),
        ("C:\\a", "C:\\", True),
        ("/w/A", "/w/a", False),
        ("/w/a\\b", "/w/a", False),
        ("D:\\a", "C:\\a", False),
    ],
)
def test_b73_what_lies_in_a_directory(path: str, directory: str, *, inside: bool) -> None:
    assert directories.below(path, directory) is inside


# Time


def at(text: str) -> int:
    """Give epoch milliseconds of a time in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("zone", "moment", "day", "inside"),
    [
        ("America/New_York", "2026-03-02T03:30", "2026-03-01", True),
        ("America/New_York", "2026-03-02T05:00", "2026-03-01", False),
        ("UTC", "2026-03-02T03:30", "2026-03-01", False),
        ("Asia/Shanghai", "2026-03-01T15:59", "2026-03-01", True),
        ("Asia/Shanghai", "2026-03-01T16:00", "2026-03-01", False),
        # The clocks go forward on 8 March: the day has 23 hours and ends at 04:00Z.
        ("America/New_York", "2026-03-08T05:00", "2026-03-08", True),
        ("America/New_York", "2026-03-09T03:59", "2026-03-08", True),
        ("America/New_York", "2026-03-09T04:00", "2026-03-08", False),
        # ... and back on 1 November: it has 25 and ends at 05:00Z.
        ("America/New_York", "2026-11-02T04:59", "2026-11-01", True),
        ("America/New_York", "2026-11-02T05:00", "2026-11-01", False),
    ],
)
def test_b75_a_day_is_the_users_day(
    database: Path, mimohist: Program, zone: str, moment: str, day: str, *, inside: bool
) -> None:
    db = MimoDatabase(database, start=at(moment))
    db.say(db.session(), "alpha", at=at(moment))
    db.close()
    (told,) = mimohist("search", "alpha", "--json", "-k", "user_text").out.splitlines()
    assert json.loads(told)["at"].startswith(moment)
    days = ("--since", day, "--until", day)
    ended = mimohist("search", "alpha", "-q", "-k", "user_text", *days, environ={"TZ": zone})
    assert (ended.status == 0) is inside


def test_b75_a_session_that_runs_over_midnight_is_of_both_days(
    database: Path, mimohist: Program
) -> None:
    db = MimoDatabase(database, start=at("2026-03-02T04:58"))
    session = db.session(id="ses_night001")
    db.say(session, "alpha before", id="msg_before")
    db.say(session, "alpha after", id="msg_after", at=at("2026-03-02T05:02"))
    db.close()

    def on(day: str) -> list[str]:
        days = ("--since", day, "--until", day, "-k", "user_text")
        out = mimohist("search", "alpha", "--json", *days, environ={"TZ": "America/New_York"}).out
        return [json.loads(line)["message_id"] for line in out.splitlines()]

    assert on("2026-03-01") == ["msg_before"]
    assert on("2026-03-02") == ["msg_after"]
    shown = mimohist(
        "around", "msg_before", "--format", "human", environ={"TZ": "America/New_York"}
    ).out
    assert "  2026-03-01  " in shown
    assert re.search(r"^> 1  you  23:58$", shown, re.MULTILINE)
    assert re.search(r"^  2  you  2026-03-02 00:02$", shown, re.MULTILINE)


def test_b75_a_time_without_z_is_local_and_one_with_z_is_not(
    database: Path, mimohist: Program
) -> None:
    db = MimoDatabase(database, start=at("2026-03-02T03:30"))
    db.say(db.session(), "alpha")
    db.close()
    environ = {"TZ": "America/New_York"}
    for since, status in (
        ("2026-03-01T22:00", 0),
        ("2026-03-01T23:00", 1),
        ("2026-03-02T03:00Z", 0),
        ("2026-03-02T04:00Z", 1),
    ):
        ended = mimohist(
            "search", "alpha", "-q", "-k", "user_text", "--since", since, environ=environ
        )
        assert ended.status == status, since


# What reaches a terminal


def test_b80_names_of_files_and_directories_do_not_drive_the_terminal(
    home: Path, mimohist: Program
) -> None:
    folder = home / f"da\x1b[2Jta{HOSTILE.replace('/', '')}"
    folder.mkdir()
    path = folder / "mimocode.db"
    db = MimoDatabase(path)
    session = db.session(id="ses_evil0001", title=HOSTILE, directory=f"/w/{HOSTILE}")
    db.say(session, f"alpha {HOSTILE}", id="msg_evil")
    db.close()
    (folder / "broken.db").write_bytes(b"no database at all" * 99)
    environ = {"MIMOCODE_DB": str(path), "TERM": "xterm", "NO_COLOR": "1"}
    calls: list[tuple[str, ...]] = [
        ("backfill", "-v"),
        ("backfill", "--dry-run"),
        ("search", "alpha"),
        ("search", "alpha", "-l"),
        ("search", "alpha", "--paths"),
        ("search", "alpha", "--explain"),
        ("search", "nonesuch"),
        ("search", "alpha", "-p", f"/w/{HOSTILE}"),
        ("search", HOSTILE, "-s", HOSTILE),
        ("around", "msg_evil", "--no-pager"),
        ("around", HOSTILE),
        ("sql", "sources"),
        ("sql", "sessions"),
        ("sql", HOSTILE),
        ("forget", "msg_evil", "--dry-run"),
        (),
    ]
    for call in calls:
        ended = mimohist(*call, tty=True, environ=environ)
        assert CONTROL.search(ended.out) is None, (call, ended.out)
        assert ended.out.strip(), call


# What programs read


@pytest.fixture
def indexed(database: Path, mimohist: Program) -> Path:
    """Give the database of an indexed history of one project."""
    db = MimoDatabase(database)
    db.say(db.session(id="ses_one00001", directory="/w/shop"), "alpha beta", id="msg_one")
    db.close()
    assert mimohist("backfill").status == 0
    return database


@pytest.mark.parametrize(
    ("arguments", "status", "lines", "said"),
    [
        (("alpha",), 0, 1, ""),
        (("nonesuch",), 1, 0, ""),
        (("alpha", "-p", "/nowhere"), 2, 0, "no session ran in /nowhere"),
        (("alpha", "--session", "nope"), 2, 0, "no session 'nope'"),
        (("alpha", "--since", "2027"), 1, 0, ""),
        (("alpha", "gamma"), 0, 1, "these have some of them"),
    ],
)
def test_b82_stdout_is_the_answer_alone_and_of_one_shape(
    indexed: Path,
    mimohist: Program,
    arguments: tuple[str, ...],
    status: int,
    lines: int,
    said: str,
) -> None:
    """No hit is no line; a filter that selects nothing another status; warnings on stderr."""
    ended = mimohist("search", "--json", *arguments)
    hits = [json.loads(line) for line in ended.out.splitlines()]
    assert (ended.status, len(hits)) == (status, lines)
    assert {"ref", "snippet", "matches", "widened"} <= set.intersection(
        *(set(hit) for hit in hits or [{"ref": 0, "snippet": 0, "matches": 0, "widened": 0}])
    )
    assert said in ended.err
    assert indexed.exists()


def test_b82_a_warning_leaves_the_answer_as_it_is(indexed: Path, mimohist: Program) -> None:
    before = mimohist("search", "--json", "alpha").out
    indexed.write_bytes(b"no database any more")
    ended = mimohist("search", "--json", "alpha")
    assert "not an SQLite database" in ended.err
    assert [json.loads(line)["ref"] for line in ended.out.splitlines()] == [
        json.loads(before)["ref"]
    ]


def test_b82_the_first_build_says_nothing_on_stdout(database: Path, mimohist: Program) -> None:
    db = MimoDatabase(database)
    db.say(db.session(), "alpha")
    db.close()
    ended = mimohist("search", "--json", "nonesuch")
    assert (ended.status, ended.out) == (1, "")
    assert "building the index" in ended.err


def test_b83_nonsense_is_not_answered_with_something_else(indexed: Path, mimohist: Program) -> None:
    for form in ("human", "plain", "json"):
        ended = mimohist("search", "qqxzvwmpl", "--format", form)
        assert (ended.status, ended.out) == (1, "")
    assert indexed.exists()


# Secrets


KEY = "AKIA" + "QWERTYUIOPASDFGH"
EXPORTED = "export API_KEY=" + "abc123def456ghi789"


@pytest.fixture
def leaky(database: Path, home: Path, mimohist: Program) -> Path:
    """Give the index of a history that holds keys: in a title, an output, a broken line."""
    db = MimoDatabase(database)
    session = db.session(id="ses_leak0001", title=f"Rotate {KEY}")
    db.tool(
        db.message(session, "assistant", id="msg_leak"),
        "bash",
        {"command": "env"},
        output=f"leaked {KEY}\n{EXPORTED}",
    )
    db.close()
    file = ClaudeFile(home / ".claude/projects/p/a.jsonl")
    file.user("fine")
    file.line(f'{{"type": "user", "broken {KEY} ')
    file.line(json.dumps({"type": "user", "uuid": "u", "message": [KEY], "timestamp": KEY}))
    file.user("fine too")
    ended = mimohist("backfill", "-v")
    assert (ended.status, KEY in ended.err) == (0, False)
    return home / ".local/share/mimohist/index.db"


def test_b85_the_index_is_the_users_alone(leaky: Path) -> None:
    assert leaky.parent.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in leaky.parent.iterdir() if path.stat().st_mode & 0o077} == set()


def test_b85_redaction_hides_keys_wherever_an_answer_is_written(
    leaky: Path, home: Path, mimohist: Program
) -> None:
    folder = home / ".config/mimohist"
    folder.mkdir(parents=True)
    calls: list[tuple[str, ...]] = [
        ("search", "leaked", "-k", "all"),
        ("search", "rotate"),
        ("search", "rotate", "-l"),
        ("search", "leaked", "-k", "all", "-l"),
        ("around", "msg_leak", "--full"),
    ]
    forms = ("human", "plain", "json")
    assert any(KEY in mimohist(*call, "--format", form).out for call in calls for form in forms)
    (folder / "config.toml").write_text("redact = true\n")
    for call in calls:
        for form in forms:
            ended = mimohist(*call, "--format", form)
            assert ended.status == 0
            assert KEY not in ended.out + ended.err, (call, form)
            assert "abc123def456" not in ended.out, (call, form)
    assert KEY not in mimohist("export", "ses_leak0001").out
    typed = {
        "_MIMOHIST_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": "mimohist export ses",
    }
    offered = mimohist(environ=typed).out
    assert "ses_leak0001" in offered
    assert KEY not in offered
    assert leaky.exists()


def test_b85_forgetting_leaves_no_byte_of_it(leaky: Path, mimohist: Program) -> None:
    assert any(KEY.encode() in path.read_bytes() for path in leaky.parent.iterdir())
    assert mimohist("forget", "--session", "ses_leak0001").status == 0
    for path in leaky.parent.iterdir():
        for trace in (KEY, KEY.lower(), "abc123def456ghi789"):
            assert trace.encode() not in path.read_bytes(), path
    assert mimohist("backfill", "--verify").status == 0
    assert mimohist("search", KEY, "-k", "all", "-a").status == 1


@pytest.mark.parametrize(
    "call",
    [("search", "leaked", "-s", "nope"), ("around", "ses_leak"), ("sql", "select nope from parts")],
)
def test_b85_no_key_is_in_a_complaint(
    leaky: Path, mimohist: Program, call: tuple[str, ...]
) -> None:
    ended = mimohist(*call, environ={"MIMOHIST_DEBUG": "1"})
    assert KEY not in ended.err
    assert leaky.exists()


# The SQLite that there is


WITHOUT_FTS5 = """
import sqlite3, sys

class Bare(sqlite3.Connection):
    def execute(self, sql, *values):
        if "fts5(" in sql.lower() or "history_fts_idx" in sql:
            raise sqlite3.OperationalError("no such module: fts5")
        return super().execute(sql, *values)

real = sqlite3.connect
sqlite3.connect = lambda *places, **options: real(*places, **{**options, "factory": Bare})
from mimohist.__main__ import main
main()
"""


@pytest.mark.parametrize("call", [("backfill",), ("search", "alpha")])
@pytest.mark.parametrize("built", [True, False])
def test_b86_without_fts5_one_line_says_so(
    database: Path, home: Path, mimohist: Program, call: tuple[str, ...], *, built: bool
) -> None:
    """An SQLite that lacks the module, before there is an index and when there is one."""
    db = MimoDatabase(database)
    db.say(db.session(), "alpha")
    db.close()
    if built:
        assert mimohist("backfill").status == 0
        db = MimoDatabase(database, start=at("2026-12-03T00:00"))
        db.say(db.session(), "alpha again")
        db.close()
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_FTS5, *call],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    last = ended.stderr.splitlines()[-1]
    assert "has no FTS5, which the index needs" in last
    assert "Traceback" not in ended.stderr
    assert "bug" not in ended.stderr


def test_b86_the_index_asks_for_nothing_newer_than_fts5_itself() -> None:
    """No trigram tokenizer (SQLite 3.34), no contentless deletes (3.43)."""
    made = " ".join(store.MIGRATIONS).lower()
    assert "fts5(" in made
    assert "trigram" not in made
    assert "contentless_delete" not in made


# The index of another version


@pytest.mark.parametrize("call", [("search", "alpha"), ("around", "msg_one"), ("backfill",)])
def test_b87_an_older_index_is_brought_up_to_date_or_made_anew(
    indexed: Path, home: Path, mimohist: Program, call: tuple[str, ...]
) -> None:
    """What begins without tables, as an interrupted first run leaves it, is built by any verb."""
    index = home / ".local/share/mimohist/index.db"
    for path in index.parent.iterdir():
        path.unlink()
    sqlite3.connect(index).close()
    index.touch(mode=0o600)
    ended = mimohist(*call)
    assert ended.status == 0
    assert mimohist("search", "alpha", "-q").status == 0
    assert indexed.exists()


def test_b87_a_migration_keeps_what_its_source_no_longer_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step is one transaction over the tables as they are; nothing is read again."""
    path = tmp_path / "index.db"
    db = store.open_writer(path)
    db.execute("INSERT INTO state VALUES ('kept', 'by an older version')")
    db.close()
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setattr(store, "MIGRATIONS", (*store.MIGRATIONS, "CREATE TABLE later(id INTEGER);"))
    with pytest.raises(NoIndex, match="older version; run `mimohist backfill`"):
        store.open_reader(path)
    store.open_writer(path).close()
    db = store.open_reader(path)
    assert db.execute("SELECT value FROM state WHERE key = 'kept'").fetchone() == (
        "by an older version",
    )
    assert db.execute("SELECT count(*) FROM later").fetchone() == (0,)
    db.close()


@pytest.mark.parametrize(
    "call",
    [("search", "alpha"), ("around", "msg_one"), ("backfill",), ("reindex",), ("sql", "tools")],
)
def test_b87_a_newer_index_is_refused_by_every_verb_and_left_alone(
    indexed: Path, home: Path, mimohist: Program, call: tuple[str, ...]
) -> None:
    index = home / ".local/share/mimohist/index.db"
    db = sqlite3.connect(index)
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = index.read_bytes()
    ended = mimohist(*call)
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "was made by a newer mimohist" in ended.err
    assert index.read_bytes() == before
    assert indexed.exists()


def test_b88_what_a_call_was_given_is_words_and_not_json(database: Path, mimohist: Program) -> None:
    db = MimoDatabase(database)
    message = db.message(db.session(), "assistant")
    command = 'cat a.txt\nfoo --bar "x y"'
    db.tool(message, "bash", {"command": command, "path": "C:\\Users\\me\\b.txt"}, output="ok")
    db.close()
    for query in ("foo", '"foo --bar"', "C:\\Users\\me", "x y", '"x y"', "a.txt"):
        ended = mimohist("search", "--json", "--strict", "--", query)
        assert ended.status == 0, query
    assert mimohist("search", "--strict", "nfoo").status == 1
