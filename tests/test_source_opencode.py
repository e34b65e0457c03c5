"""opencode's SQLite databases: found, dated, and one conversation once beside MiMo Code's copy."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mimohist.records import Message
from mimohist.sources import opencode
from tests.mimo_database import START, MimoDatabase, OpencodeDatabase

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
