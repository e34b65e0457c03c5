"""Rows of `session`, `message`, `part` as they are, for export: nothing is cleaned or dropped.

The tables are MiMo Code's and opencode's; what reads them for the index is `v1`.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist.records import Skipped
from mimohist.sources import sqlite as database
from mimohist.sources.opencode_v2 import has_text
from mimohist.trajectory import MAIN, Head, message_of, part_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from sqlite3 import Connection

    from mimohist.trajectory import TrajectoryMessage

_NEEDED = frozenset({"session", "message", "part"})
_MARKS = ("compaction", "checkpoint")


class Origin(NamedTuple):
    """Whose context a session began with, and up to which message of it."""

    session: str | None
    watermark: str | None


@dataclass(frozen=True, slots=True)
class Rows:
    """One database's rows, while it is open."""

    db: Connection
    name: str

    def origin(self, session: str) -> Origin | None:
        """Tell where a session's context came from; None when there is no such session."""
        have = database.columns(self.db, "session")
        wanted = database.selection(have, ("context_from", "context_watermark"))
        row = self.db.execute(f"SELECT {wanted} FROM session WHERE id = ?", (session,)).fetchone()
        return Origin(*row) if row else None

    def heads(self, session: str) -> list[Head]:
        """Tell what must be known of a session's messages to choose among them, oldest first.

        None for a session that opencode 2.x keeps in a table of its own.
        """
        if has_text(self.db, session):
            return []
        agent = "m.agent_id" if self._has_slices() else "NULL"
        marks = " OR ".join(f"instr(p.data, '\"{mark}\"')" for mark in _MARKS)
        rows = self.db.execute(
            f"SELECT id, agent, {_value('role')}, {_value('agent')}, {_value('summary')} IS 1,"
            f" {_value('role')} = 'user' AND EXISTS (SELECT 1 FROM part p WHERE"
            f" p.message_id = m.id AND ({marks}) AND json_valid(p.data)"
            f" AND json_extract(p.data, '$.type') IN ('{_MARKS[0]}', '{_MARKS[1]}'))"
            f" FROM (SELECT m.id, {agent} AS agent, m.data, m.time_created FROM message m"
            " WHERE m.session_id = ?) m ORDER BY m.time_created, m.id",
            (session,),
        )
        return [
            Head(id, str(role or ""), slice_ or MAIN, _name(name), bool(starts), bool(summary))
            for id, slice_, role, name, summary, starts in rows
        ]

    def messages(self, session: str, ids: Iterable[str]) -> Iterator[TrajectoryMessage | Skipped]:
        """Give messages with all their parts; what is no JSON object is `Skipped`."""
        agent = "agent_id" if self._has_slices() else "NULL"
        sql = f"SELECT {agent}, time_created, data FROM message WHERE id = ?"
        for id in ids:
            row = self.db.execute(sql, (id,)).fetchone()
            if row is None:
                continue  # deleted since it was chosen
            slice_, at, text = row
            info = _decoded(text)
            if isinstance(info, str):
                yield Skipped(f"{self.name} message {id}", info)
                continue
            skipped: list[Skipped] = []
            parts = list(self._parts(session, id, skipped))
            yield message_of(info, parts, id=id, session=session, agent=slice_ or MAIN, at=at)
            yield from skipped

    def message_with(self, part: str) -> tuple[str, str] | None:
        """Give the session and message that a part belongs to."""
        sql = "SELECT session_id, message_id FROM part WHERE id = ?"
        found: tuple[str, str] | None = self.db.execute(sql, (part,)).fetchone()
        return found

    def _parts(self, session: str, id: str, skipped: list[Skipped]) -> Iterator[dict[str, Any]]:
        sql = "SELECT id, data FROM part WHERE message_id = ? ORDER BY id"
        for part, text in self.db.execute(sql, (id,)):
            data = _decoded(text)
            if isinstance(data, str):
                skipped.append(Skipped(f"{self.name} part {part}", data))
            else:
                yield part_of(data, id=part, session=session, message=id)

    def _has_slices(self) -> bool:
        return "agent_id" in database.columns(self.db, "message")


@contextmanager
def opened(path: Path) -> Iterator[Rows | None]:
    """Open a database for its rows; None when it has not these tables.

    Raises `SourceError` when it cannot be read.
    """
    with database.reading(path) as db:
        db.text_factory = _text
        yield Rows(db, path.name) if database.tables(db) >= _NEEDED else None


def is_database(path: Path) -> bool:
    """Whether a path is an SQLite file."""
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _value(key: str) -> str:
    return f"(CASE WHEN json_valid(m.data) THEN json_extract(m.data, '$.{key}') END)"


def _name(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _decoded(text: str) -> dict[str, Any] | str:
    """Decode a JSON object, or say why it is none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    return data if isinstance(data, dict) else "not an object"


def _text(text: bytes) -> str:
    return text.decode("utf-8", "replace")
