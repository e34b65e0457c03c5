"""Which sessions of a live database changed, without reading it all.

MiMo Code and opencode rewrite parts in place and have no index on `time_updated`, so
no single probe is both cheap and sure.  These are made, each of which finds what the
others miss (facts measured on a million parts, in milliseconds):

- the header of every session (2): new, deleted, renamed, moved, archived, reverted ones, and
  those that the program touched;
- rows beyond the last row id of `part` and `message` (1): everything that was inserted, also
  after rows were deleted, as long as the row that was last is still the same row;
- the parts that were running or pending when last read (0.3 for 50): calls that finished;
- the number of rows (25), and only when it is not what the inserted rows explain, the
  numbers of every session (100): deleted parts and messages;
- every row of the sessions that were active in the two days before the newest change
  (0.3 a session, the 200 latest): parts rewritten in place.

What slips through: a part of a session idle for days that is rewritten in place
without its session's header changing (an edit over REST, a prune).  The program does prune
old parts, but only sessions it has open, whose headers change with the next prompt.  A
survey with empty memory (`backfill --verify`, and one run a day) compares everything.

When the last row is no longer the same row (rows deleted and their ids used again, a
restored copy, VACUUM), everything is compared at once.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist.sources import sqlite as database
from mimohist.sources.source import Candidate

if TYPE_CHECKING:
    from sqlite3 import Connection

_RECENT_MS = 2 * 86_400_000
_MOST_RECENT = 200
_BEGIN = 1000
"""In how many characters of a call the programs have written its status; outputs come later."""

_HEADER = (
    "project_id",
    "parent_id",
    "directory",
    "title",
    "revert",
    "time_archived",
)


class Seen(NamedTuple):
    """What is remembered of a session: header, last rows, last change, numbers of rows."""

    header: str
    part: int
    message: int
    updated: int
    parts: int
    messages: int
    touched: int

    @property
    def stamp(self) -> str:
        """The candidate's stamp, which is also the mark of a reading."""
        return json.dumps(self[:6], separators=(",", ":"))


class Changes:
    """One look at a database, against what an earlier one remembered."""

    def __init__(self, db: Connection, memory: str) -> None:
        self._db = db
        self._then = _remembered(memory)
        self._headers = _headers(db)
        self._now: dict[str, Seen] = {}
        self._last = {table: _last(db, table) for table in ("part", "message")}
        self._counts: dict[str, int] = {}

    @property
    def present(self) -> frozenset[str]:
        """The ids of all sessions there are."""
        return frozenset(self._headers)

    def candidates(self) -> tuple[Candidate, ...]:
        """Give the sessions that may have changed, the newest first."""
        if self._comparable():
            looked = self._suspects()
            self._now = {**self._then["sessions"]}
            self._now.update(self._look(looked))
            for gone in set(self._now) - set(self._headers):
                del self._now[gone]
        else:
            self._now = self._look(None)
        if not self._counts:
            self._counts = self._count()
        before = self._then["sessions"]
        found = [
            Candidate(id, seen.stamp, max(seen.touched, seen.updated))
            for id, seen in self._now.items()
            if before.get(id) != seen
        ]
        return tuple(sorted(found, key=lambda one: (-one.at, one.key)))

    def memory(self) -> str:
        """Give what to compare the next look with."""
        return json.dumps(
            {
                "sessions": {id: list(seen) for id, seen in self._now.items()},
                "last": self._last,
                "counts": self._counts,
                "pending": self._pending(),
            },
            separators=(",", ":"),
        )

    def _comparable(self) -> bool:
        """Whether the rows that were last are still the same rows."""
        then = self._then["last"]
        if not then:
            return False
        for table, (row, id) in then.items():
            if id is None:
                if row:
                    return False
                continue
            found = self._db.execute(f"SELECT id FROM {table} WHERE rowid = ?", (row,)).fetchone()
            if found is None or found[0] != id:
                return False
        return True

    def _suspects(self) -> set[str]:
        then = self._then
        suspects = {
            id
            for id, (header, touched) in self._headers.items()
            if (seen := then["sessions"].get(id)) is None
            or (seen.header, seen.touched) != (header, touched)
        }
        inserted = {}
        for table in ("part", "message"):
            # For the grouping SQLite would rather read a whole index than the few rows.
            rows = self._db.execute(
                f"SELECT session_id, count(*) FROM {table} NOT INDEXED WHERE rowid > ? GROUP BY 1",
                (then["last"][table][0],),
            ).fetchall()
            suspects |= {session for session, _ in rows}
            inserted[table] = sum(count for _, count in rows)
        suspects |= self._finished()
        suspects |= self._recent()
        self._counts = self._count()
        expected = {table: then["counts"].get(table, -1) + inserted[table] for table in inserted}
        if self._counts != expected:
            suspects |= self._shrunk()
        return suspects & set(self._headers)

    def _finished(self) -> set[str]:
        """Give the sessions of calls that were running and are no longer as they were."""
        found = set()
        for id, (session, updated) in self._then["pending"].items():
            row = self._db.execute("SELECT time_updated FROM part WHERE id = ?", (id,)).fetchone()
            if row is None or row[0] != updated:
                found.add(session)
        return found

    def _recent(self) -> set[str]:
        times = {id: touched for id, (_, touched) in self._headers.items()}
        for id, seen in self._then["sessions"].items():
            if id in times:
                times[id] = max(times[id], seen.updated)
        newest = max(times.values(), default=0)
        recent = sorted(times, key=lambda id: -times[id])[:_MOST_RECENT]
        return {id for id in recent if times[id] >= newest - _RECENT_MS}

    def _shrunk(self) -> set[str]:
        found = set()
        for table, field in (("part", "parts"), ("message", "messages")):
            rows = self._db.execute(f"SELECT session_id, count(*) FROM {table} GROUP BY 1")
            now = dict(rows.fetchall())
            for id, seen in self._then["sessions"].items():
                if now.get(id, 0) != getattr(seen, field):
                    found.add(id)
        return found

    def _count(self) -> dict[str, int]:
        return {
            table: self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("part", "message")
        }

    def _look(self, sessions: set[str] | None) -> dict[str, Seen]:
        """Read the rows' numbers and times of some sessions, or of all at once."""
        if sessions is None:
            parts = _numbers(self._db, "part", None)
            messages = _numbers(self._db, "message", None)
            sessions = set(self._headers)
        else:
            parts = {}
            messages = {}
            for id in sessions:
                parts.update(_numbers(self._db, "part", id))
                messages.update(_numbers(self._db, "message", id))
        none = (0, 0, 0)
        found = {}
        for id in sessions:
            header, touched = self._headers[id]
            part_count, part_last, part_at = parts.get(id, none)
            message_count, message_last, message_at = messages.get(id, none)
            updated = max(part_at, message_at)
            found[id] = Seen(
                header, part_last, message_last, updated, part_count, message_count, touched
            )
        return found

    def _pending(self) -> dict[str, tuple[str, int]]:
        """Give the calls under way in the sessions that changed last."""
        recent = sorted(self._now, key=lambda id: -self._now[id].updated)[:_MOST_RECENT]
        found = {}
        for session in recent:
            if self._then["sessions"].get(session) == self._now[session]:
                found.update(
                    {
                        id: (owner, at)
                        for id, (owner, at) in self._then["pending"].items()
                        if owner == session
                    }
                )
                continue
            rows = self._db.execute(
                "SELECT id, time_updated FROM part WHERE session_id = ?"
                f' AND (substr(data, 1, {_BEGIN}) LIKE \'%"status":"running"%\''
                f' OR substr(data, 1, {_BEGIN}) LIKE \'%"status":"pending"%\')',
                (session,),
            )
            found.update({id: (session, at) for id, at in rows})
        return found


def _remembered(memory: str) -> dict[str, Any]:
    empty: dict[str, Any] = {"sessions": {}, "last": {}, "counts": {}, "pending": {}}
    try:
        kept = json.loads(memory) if memory else empty
        sessions = {id: Seen(*seen) for id, seen in kept["sessions"].items()}
    except (ValueError, TypeError, KeyError):
        return empty
    return {**kept, "sessions": sessions}


def _headers(db: Connection) -> dict[str, tuple[str, int]]:
    """Give, for every session, a digest of what is told of it and when it was touched."""
    columns = database.selection(database.columns(db, "session"), _HEADER)
    touched = "time_updated" if "time_updated" in database.columns(db, "session") else "0"
    return {
        row[0]: (blake2b(repr(row[2:]).encode(), digest_size=6).hexdigest(), row[1] or 0)
        for row in db.execute(f"SELECT id, {touched}, {columns} FROM session")
    }


def _last(db: Connection, table: str) -> tuple[int, str | None]:
    row = db.execute(f"SELECT rowid, id FROM {table} ORDER BY rowid DESC LIMIT 1").fetchone()
    return (row[0], row[1]) if row else (0, None)


def _numbers(db: Connection, table: str, session: str | None) -> dict[str, tuple[int, int, int]]:
    """Give the number, the last row id and the last change of each session's rows."""
    where = "" if session is None else "WHERE session_id = ?"
    rows = db.execute(
        f"SELECT session_id, count(*), max(rowid), max(time_updated) FROM {table} {where}"
        " GROUP BY 1",
        () if session is None else (session,),
    )
    return {id: (count, last, at or 0) for id, count, last, at in rows}
