"""Databases of two tables, `sessions` and `messages` with all parts of each, as JSON, in its row.

goose and Crush have them.  Which sessions changed is found without reading all messages (which
is what their times would cost: they stand behind the texts in a row):

- the header of every session, which both programs touch with every message;
- the number of every session's messages, from its index: any that were added or removed;
- all messages of the last sessions, at most 20, active in the two days before the newest:
  number, last row, times and lengths, so that a message rewritten in place is seen.

A message of a session idle for days that is rewritten without its header being touched slips
through; a survey with empty memory (`backfill --verify`, and one run a day) compares all.  A
session that changed is read whole: what belongs to a call stands in another message.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mimohist.errors import SourceError
from mimohist.records import Skipped
from mimohist.sources import jsonl
from mimohist.sources import sqlite as database
from mimohist.sources.source import Candidate, Reading, Survey
from mimohist.sources.stamps import stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from sqlite3 import Connection

    from mimohist.records import Mark, Message, Session
    from mimohist.sources.turns import Turns

_RECENT_MS = 2 * 86_400_000
_MOST_RECENT = 20
_MANY = 200
"""From so many sessions on, all messages are read at once."""
_SECOND = 1000

ROW_LIMIT = 64 << 20
"""How many characters of JSON a message may have: an image or two may stand in it."""

Row = dict[str, Any]


class Reader(Protocol):
    """Makes the messages of one session out of its rows."""

    turns: Turns

    def take(self, row: Row, parts: list[jsonl.Record], line: int) -> None:
        """Put one row into `turns`: its columns, the pieces in it, its number."""


class Program(Protocol):
    """What differs between the programs."""

    @property
    def text(self) -> str:
        """The column of `messages` that holds the parts."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The other columns of `messages` that are read, where there are such."""

    @property
    def order(self) -> str:
        """The column by which a session's messages are ordered before their row ids."""

    @property
    def header(self) -> tuple[str, ...]:
        """The columns of `sessions` that are read, where there are such."""

    @property
    def birth(self) -> tuple[str, str]:
        """A table, and a query of it for what stays as long as it is the same database.

        Without that table a database is known by its file alone.
        """

    def session(self, row: Row, root: Path) -> Session:
        """Make a session's header of its row."""

    def reader(self, row: Row) -> Reader:
        """Give what reads the messages of the session with this row."""


class _Seen(NamedTuple):
    """What is remembered of a session: its header, how many messages it has, what they are."""

    header: str
    messages: int
    stamp: str
    at: int


@dataclass(frozen=True, slots=True)
class Tables:
    """One such database of one program."""

    name: str
    root: Path
    program: Program

    def stamp(self) -> str:
        """Tell by `stat` what the database and its `-wal` look like."""
        return stamp(self.root)

    def survey(self, memory: str) -> Survey:
        """Look for sessions that changed."""
        with _opened(self.root, self.program) as db:
            before = _remembered(memory)
            now = _look(db, self.program, before)
            identity = _identity(self.root, db, self.program)
        found = [
            Candidate(id, seen.stamp, seen.at) for id, seen in now.items() if before.get(id) != seen
        ]
        found.sort(key=lambda one: (-one.at, one.key))
        return Survey(
            candidates=tuple(found),
            present=frozenset(now),
            memory=json.dumps({id: list(seen) for id, seen in now.items()}, separators=(",", ":")),
            identity=identity,
            alive=True,
        )

    def load(self, candidate: Candidate, mark: str) -> Reading:
        """Read a session, all of it whatever `mark` says."""
        del mark
        with _opened(self.root, self.program) as db:
            row = _header_of(db, self.program, candidate.key)
        return Reading(
            session=self.program.session(row, self.root),
            messages=self._messages(candidate.key, row),
            entire=False,
        )

    def peek(self, session: str, messages: Sequence[str]) -> Iterator[Message]:
        """Give nothing: a call and its result would have to be found again."""
        del session, messages
        return iter(())

    def _messages(self, key: str, row: Row) -> Iterator[Message | Skipped | Mark]:
        program = self.program
        reader = program.reader(row)
        with _opened(self.root, program) as db:
            have = database.columns(db, "messages")
            columns = database.selection(have, program.columns)
            text = program.text
            order = f"{program.order}, rowid" if program.order in have else "rowid"
            found = db.execute(
                f"SELECT rowid, {columns}, length({text}),"
                f" CASE WHEN length({text}) <= {ROW_LIMIT} THEN {text} END"
                f" FROM messages WHERE session_id = ? ORDER BY {order}",
                (key,),
            )
            for line, *values, length, data in found:
                pieces = _pieces(data, length, f"{self.root.name} {key} message {line}")
                if isinstance(pieces, Skipped):
                    yield pieces
                    continue
                reader.take(dict(zip(program.columns, values, strict=True)), pieces, line)
                yield from reader.turns.done()
            yield from reader.turns.end()


def _pieces(data: object, length: int | None, where: str) -> list[jsonl.Record] | Skipped:
    """Decode a message's parts, or say why they cannot be."""
    if data is None and length:
        return Skipped(where, f"{length} characters, more than {ROW_LIMIT >> 20} Mi")
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    if not isinstance(data, bytes):
        return Skipped(where, "no text")
    try:
        value = jsonl.decoded(data)
    except ValueError as error:
        return Skipped(where, f"not JSON: {error}")
    return jsonl.records_in(value) if isinstance(value, list) else Skipped(where, "not an array")


@contextmanager
def _opened(root: Path, program: Program) -> Iterator[Connection]:
    with database.reading(root) as db:
        db.text_factory = database.lenient
        missing = {"sessions", "messages"} - database.tables(db)
        if missing:
            seen = ", ".join(sorted(database.tables(db))[:8]) or "none"
            raise SourceError(
                f"{root}: unsupported layout: no table {min(missing)} (there are: {seen})"
            )
        for table, column in (
            ("sessions", "id"),
            ("messages", "session_id"),
            ("messages", program.text),
        ):
            if column not in database.columns(db, table):
                raise SourceError(f"{root}: unsupported layout: no column {table}.{column}")
        yield db


def _identity(root: Path, db: Connection, program: Program) -> str:
    found = root.stat()
    born = None
    table, query = program.birth
    if database.columns(db, table):
        (born,) = db.execute(query).fetchone()
    return f"{found.st_dev}:{found.st_ino}:{born}"


def _remembered(memory: str) -> dict[str, _Seen]:
    try:
        kept = json.loads(memory) if memory else {}
        return {id: _Seen(*seen) for id, seen in kept.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _header_of(db: Connection, program: Program, key: str) -> Row:
    columns = database.selection(database.columns(db, "sessions"), program.header)
    row = db.execute(f"SELECT {columns} FROM sessions WHERE id = ?", (key,)).fetchone()
    if row is None:
        raise LookupError(key)
    return dict(zip(program.header, row, strict=True))


def _look(db: Connection, program: Program, before: dict[str, _Seen]) -> dict[str, _Seen]:
    """Give what is there now; messages are looked at only where they may have changed."""
    headers = _headers(db, program)
    counts = dict(
        db.execute("SELECT session_id, count(*) FROM messages GROUP BY session_id").fetchall()
    )
    newest = max((at for _, at in headers.values()), default=0)
    recent = sorted(headers, key=lambda id: -headers[id][1])[:_MOST_RECENT]
    looked = {id for id in recent if headers[id][1] >= newest - _RECENT_MS}
    for id, (header, _) in headers.items():
        seen = before.get(id)
        if seen is None or (seen.header, seen.messages) != (header, counts.get(id, 0)):
            looked.add(id)
    now = {id: before[id] for id in headers if id not in looked}
    sums = _sums(db, program, looked)
    for id in looked:
        header, touched = headers[id]
        sum, at = sums.get(id, ("", 0))
        count = counts.get(id, 0)
        text = f"{header} {count} {sum}"
        now[id] = _Seen(header, count, text, max(touched, at))
    return now


def _headers(db: Connection, program: Program) -> dict[str, tuple[str, int]]:
    """Give, for every session, a digest of what is told of it and when it was touched."""
    columns = database.selection(database.columns(db, "sessions"), program.header)
    place = program.header.index("updated_at")
    return {
        id: (_digest(row), updated(row[place]))
        for id, *row in db.execute(f"SELECT id, {columns} FROM sessions")
        if isinstance(id, str)
    }


def _sums(db: Connection, program: Program, sessions: set[str]) -> dict[str, tuple[str, int]]:
    """Give, for some sessions, a digest of what their messages look like, and the last time."""
    have = database.columns(db, "messages")
    lengths = [name for name in (program.text, *program.columns) if name in have]
    sums = ", ".join(f"total(length({name})), max({name})" for name in lengths[1:])
    first = f"count(*), max(rowid), total(length({program.text}))"
    last = f"max({program.order})" if program.order in have else "0"
    sql = f"SELECT session_id, {last}, {', '.join(filter(None, (first, sums)))} FROM messages"
    rows: Iterable[Sequence[Any]]
    if len(sessions) > _MANY:
        rows = db.execute(f"{sql} GROUP BY session_id")
    else:
        rows = (
            row
            for id in sessions
            for row in db.execute(f"{sql} WHERE session_id = ? GROUP BY session_id", (id,))
        )
    return {id: (_digest(row), jsonl.epoch_ms(at) or 0) for id, at, *row in rows}


def updated(value: object) -> int:
    """Read when a session was touched, in whole seconds: one database has both units (epoch ms)."""
    return (jsonl.epoch_ms(value) or 0) // _SECOND * _SECOND


def _digest(values: Sequence[object]) -> str:
    return blake2b(repr(values).encode("utf-8", "replace"), digest_size=6).hexdigest()
