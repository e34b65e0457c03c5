"""opencode's SQLite databases: found, dated, and one conversation once beside MiMo Code's copy."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mimohist import History, sources
from mimohist.records import Message
from mimohist.sources import opencode
from tests.mimo_database import START, MimoDatabase, OpencodeDatabase
from tests.opencode_folder import Folder

if TYPE_CHECKING:
    from tests.conftest import Program

REAL = Path(__file__).parents[2] / "shared/real"
DAY = 86_400_000


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({}, ".local/share/opencode/opencode.db"),
        ({}, ".local/share/opencode/opencode-stable.db"),
        ({"XDG_DATA_HOME": "{home}/xdg"}, "xdg/opencode/opencode.db"),
        ({"OPENCODE_DB": "{home}/x.db"}, "x.db"),
        ({"OPENCODE_DB": "own.db"}, ".local/share/opencode/own.db"),
    ],
)
def test_b33_databases_of_every_channel_are_found(
    tmp_path: Path, environ: dict[str, str], place: str
) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    OpencodeDatabase(path).close()
    environ = {key: value.format(home=tmp_path) for key, value in environ.items()}
    assert [source.root for source in opencode.find(environ, tmp_path, ())] == [path]
    assert [root for root, _ in opencode.glance(environ, tmp_path, ())] == [path]


def test_b34_migrated_parts_are_dated_by_themselves_or_their_message(tmp_path: Path) -> None:
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    db = OpencodeDatabase(folder / "opencode.db")
    session = db.session(id="ses_1", at=START)
    message = db.message(session, "assistant", at=START)
    migrated = START + 200 * DAY
    own = {"type": "text", "text": "dated", "time": {"start": START + 5}}
    db.part(message, own, at=migrated)
    db.text(message, "undated", at=migrated)
    db.text(message, "of its day", at=START + 9)
    db.close()
    (source,) = opencode.find({}, tmp_path, ())
    reading = source.load(source.survey("").candidates[0], "")
    (read,) = (item for item in reading.messages if isinstance(item, Message))
    times = {part.body: part.at for part in read.parts}
    assert times == {"dated": START + 5, "undated": START, "of its day": START + 9}
    assert read.agent == "main"


def test_b39_a_session_that_mimo_code_imported_is_one_hit(
    home: Path, database: Path, mimohist: Program
) -> None:
    folder = home / ".local/share/opencode"
    folder.mkdir(parents=True)
    for db in (OpencodeDatabase(folder / "opencode.db"), MimoDatabase(database, ids="v1")):
        session = db.session(id="ses_same", title="Imported")
        db.say(session, "the zorblax is broken", at=START, id="msg_same")
        db.close()
    (line,) = mimohist("search", "--json", "zorblax").out.splitlines()
    hit = json.loads(line)
    assert [copy["ref"].split("/")[0] for copy in hit["copies"]] != [hit["source"]]
    assert len(hit["copies"]) == 1


@pytest.mark.skipif(not REAL.is_dir(), reason="no real databases are here")
@pytest.mark.parametrize(
    ("name", "parts", "errors"),
    [
        ("opencode.db", 622, 4),
        ("live-copy-opencode/opencode.db", 622, 4),
        ("opencode-1.2.1-migrated.db", 133, 1),
    ],
)
def test_real_databases_give_every_part_a_fate(
    home: Path, mimohist: Program, name: str, parts: int, errors: int
) -> None:
    folder = home / ".local/share/opencode"
    folder.mkdir(parents=True)
    for suffix in ("", "-wal"):
        if Path(f"{REAL / name}{suffix}").exists():
            shutil.copyfile(f"{REAL / name}{suffix}", folder / f"opencode.db{suffix}")
    counts = json.loads(mimohist("backfill", "--json").out)
    assert counts["failed"] == []
    message_errors = sum(counts["parts"].values()) - parts
    assert message_errors == errors
    assert mimohist("search", "-g", "连接池").status == 0


SECRET = ("event", "account", "control_account", "credential", "session_share")
"""Tables that are never read: copies of everything, and what opens other people's doors."""


@pytest.mark.parametrize(
    ("name", "program", "kind"),
    [("mimo", "mimocode", MimoDatabase), ("opencode", "opencode", OpencodeDatabase)],
)
def test_b35_the_log_of_events_and_accounts_are_never_touched(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    program: str,
    kind: type[MimoDatabase],
) -> None:
    """SQLite is asked for leave for every table: it refuses these, and nothing fails."""
    folder = tmp_path / ".local/share" / program
    folder.mkdir(parents=True)
    with kind(folder / f"{program}.db") as db:
        db.say(db.session(), "needle")
    touched: set[str] = set()
    connect = sqlite3.connect

    def guarded(*arguments: Any, **options: Any) -> sqlite3.Connection:  # noqa: ANN401
        connection: sqlite3.Connection = connect(*arguments, **options)

        def allow(action: int, table: str | None, *_: object) -> int:
            if action != sqlite3.SQLITE_READ:
                return sqlite3.SQLITE_OK
            touched.add(str(table))
            return sqlite3.SQLITE_DENY if table in SECRET else sqlite3.SQLITE_OK

        connection.set_authorizer(allow)
        return connection

    monkeypatch.setattr("mimohist.sources.sqlite.sqlite3.connect", guarded)
    (source,) = sources.find(name, {}, tmp_path, ())
    for memory in ("", source.survey("").memory):
        source.survey(memory)
    (candidate,) = source.survey("").candidates
    assert [one for one in source.load(candidate, "").messages if isinstance(one, Message)]
    assert "part" in touched
    assert touched.isdisjoint(SECRET)


def test_b37_other_files_in_mimo_codes_folder_are_no_sessions(tmp_path: Path) -> None:
    folder = tmp_path / ".local/share/mimocode"
    (folder / "storage/session_diff").mkdir(parents=True)
    (folder / "storage/session_diff/ses_x.json").write_text('[{"file": "a", "patch": "needle"}]')
    with MimoDatabase(folder / "mimocode.db") as db:
        session = db.session()
        db.say(session, "hello")
    (source,) = sources.find("mimo", {}, tmp_path, ())
    assert [one.key for one in source.survey("").candidates] == [session]


def test_b33_sessions_in_three_places_are_found_once_each(tmp_path: Path) -> None:
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    for channel, id in (("", "ses_1"), ("-stable", "ses_2")):
        with OpencodeDatabase(folder / f"opencode{channel}.db") as db:
            db.say(db.session(id), f"needle {id}")
    old = Folder(folder)
    for id in ("ses_1", "ses_3"):
        old.say(old.session(id), f"needle {id}")
    with History.open(tmp_path / "index.db", environ={"HOME": str(tmp_path)}) as history:
        list(history.backfill())
        found = sorted(hit.session_id for hit in history.search("needle").hits)
    assert found == ["ses_1", "ses_2", "ses_3"]
