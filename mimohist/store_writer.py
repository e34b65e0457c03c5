"""Changes of sessions written to the index, many in one transaction, the tables kept in step.

Rows that the full-text table holds are taken out of it as they are, changed, and put in again.
FTS5 writes what it has gathered whenever a row's id is not above the last one's, so all
of that goes in ascending order, and the rows that one transaction adds get one block of ids.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from sqlite3 import IntegrityError
from typing import TYPE_CHECKING, Any

from mimohist import schema
from mimohist.store_rows import (
    BASE,
    FTS_COLUMNS,
    TEXT_COLUMNS,
    Maker,
    Row,
    fts_values,
    text_values,
)
from mimohist.store_work import MESSAGE_COLUMNS, SESSION_COLUMNS, Change, Known, Work, rows_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from sqlite3 import Connection

    from mimohist.records import Kind, Session


def _insert(table: str, columns: Sequence[str]) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table}({', '.join(columns)}) VALUES ({marks})"


def _update(table: str, columns: Sequence[str]) -> str:
    """Write an UPDATE by `id`, whose values are given as for an INSERT: the id first."""
    values = ", ".join(f"{column} = ?{at}" for at, column in enumerate(columns[1:], 2))
    return f"UPDATE {table} SET {values} WHERE id = ?1"


_LISTED = "id IN (SELECT value FROM json_each(?))"


@dataclass(slots=True)
class Writer:
    """Gathers changes of sessions and writes them, all or none.

    `db` comes from `store.open_writer` and is held under `store.lock`: nobody else hands out ids.
    """

    db: Connection
    kinds: frozenset[Kind]
    _changes: list[Change] = field(default_factory=list)
    _next: dict[str, int] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)
    _projects: dict[tuple[object, ...], int] = field(default_factory=dict)
    _made: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    weight: int = 0

    def work(self, root: int, key: str, at: int, session: Session, known: Known | None) -> Work:
        """Begin to take in the session `key` of a root, last active at `at` (epoch ms).

        `known` is what the index has of it.
        """
        project = self._project(root, session)
        mirror = session.mirrors or (None, None)
        values = (
            known.id if known else self.number("session"),
            root,
            key,
            session.id,
            project,
            session.parent_id,
            session.title,
            session.path,
            session.version,
            str(session.machine) if session.machine else None,
            *mirror,
            session.at,
            session.updated,
            session.archived,
            "",
            "",
            known.gone if known and known.gone > 1 else 0,
        )
        header = dict(zip(SESSION_COLUMNS, values, strict=True))
        novel = known is None or not known.stamp
        change = Change(fresh=known is None, novel=novel, at=at, header=header)
        work = Work(self.db, Maker(self.kinds, self._name), change, self.number)
        if known and known.project != project:
            change.moved = True
            change.tagged.update(rows_of(self.db, "session", [known.id]))
        return work

    def add(self, change: Change) -> None:
        """Take a change to be written with the next `flush`."""
        self._changes.append(change)
        self.weight += change.weight + 1000

    def commit(self) -> None:
        """Write all that was added, as one transaction; one that is under way ends with it."""
        if self._changes or self.db.in_transaction:
            self.flush()
            self.db.execute("COMMIT")

    def rollback(self) -> None:
        """Drop what was added and not committed."""
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")
        for gathered in (self._changes, self._made, self._names, self._projects, self._next):
            gathered.clear()
        self.weight = 0

    def flush(self) -> None:
        """Write all that was added; the transaction stays open."""
        if not self.db.in_transaction:
            self.db.execute("BEGIN IMMEDIATE")
        try:
            self._write(self._changes)
        except BaseException:
            self.rollback()
            raise
        self._changes.clear()
        self.weight = 0

    # Numbers that stand for names

    def number(self, table: str) -> int:
        """Hand out the next id of a table."""
        if table not in self._next:
            (last,) = self.db.execute(f"SELECT max(id) FROM {table}").fetchone()
            self._next[table] = last or 0
        self._next[table] += 1
        return self._next[table]

    def _name(self, text: str) -> int:
        found = self._names.get(text)
        if found is None:
            row = self.db.execute("SELECT id FROM name WHERE text = ?", (text,)).fetchone()
            found = row[0] if row else self._make("name", (text,))
            self._names[text] = found
        return found

    def _project(self, root: int, session: Session) -> int:
        key = (root, session.project_id, session.worktree, session.directory)
        found = self._projects.get(key)
        if found is None:
            row = self.db.execute(
                "SELECT id FROM project WHERE root = ? AND project_id = ? AND worktree = ?"
                " AND directory = ?",
                key,
            ).fetchone()
            found = row[0] if row else self._make("project", key)
            self._projects[key] = found
        return found

    def _make(self, table: str, values: tuple[Any, ...]) -> int:
        id = self.number(table)
        self._made.append((_insert(table, _MADE[table]), (id, *values)))
        return id

    # Writing

    def _write(self, changes: Sequence[Change]) -> None:
        db = self.db
        gone = {id for change in changes for id in change.gone}
        changed = {id: row for change in changes for id, row in change.changed.items()}
        tagged = {id for change in changes for id in change.tagged}
        again = sorted((changed.keys() | tagged) - gone)
        _unindex(db, gone.union(again))
        for statement, values in self._made:
            db.execute(statement, values)
        self._made.clear()
        for change in changes:
            self._headers(change)
        _delete(db, gone)
        db.executemany(_UPDATE_FTS, [fts_values(id, changed[id]) for id in sorted(changed)])
        db.executemany(_UPDATE_TEXT, (text_values(id, changed[id]) for id in sorted(changed)))
        for change in changes:
            if change.moved:
                header = change.header
                db.execute(
                    "UPDATE history_fts SET project = ? WHERE session = ?",
                    (header["project"], header["id"]),
                )
        self._blocks(changes)
        if again:
            db.execute(schema.INDEX_ROWS + _LISTED, (json.dumps(again),))
            for id in changed:
                db.execute(schema.WIDEN_ZONES, {"first": id, "last": id})
        if any(change.moved for change in changes):
            db.execute(_FORGET_PROJECTS)

    def _headers(self, change: Change) -> None:
        db = self.db
        header = tuple(change.header.values())
        db.execute(_INSERT_SESSION if change.fresh else _UPDATE_SESSION, header)
        db.executemany("DELETE FROM message WHERE id = ?", [(id,) for id in change.dropped])
        db.executemany(_UPDATE_MESSAGE, change.altered.values())
        db.executemany(_INSERT_MESSAGE, change.messages.values())

    def _blocks(self, changes: Sequence[Change]) -> None:
        """Give the new rows their ids: those of old sessions below all others, the rest above.

        Ids thus follow time closely when the newest sessions are read first.
        """
        low, high = _bounds(self.db)
        reached = self._reached() if low else None
        below: list[Row] = []
        above: list[Row] = []
        for change in changes:
            if change.novel and (reached is None or change.at <= reached):
                below += change.new.values()
                reached = change.at
            else:
                above += change.new.values()
        if below:
            self._block(below, (low or BASE) - len(below))
            self.db.execute(
                "INSERT OR REPLACE INTO state(key, value) VALUES ('reached', ?)", (str(reached),)
            )
        if above:
            self._block(above, (high or BASE - 1) + 1)

    def _reached(self) -> int | None:
        row = self.db.execute("SELECT value FROM state WHERE key = 'reached'").fetchone()
        return int(row[0]) if row else -1

    def _block(self, rows: list[Row], first: int) -> None:
        rows.sort(key=lambda row: row.time_created)
        db = self.db
        db.execute("SAVEPOINT rows")
        try:
            db.executemany(_INSERT_FTS, (fts_values(id, row) for id, row in enumerate(rows, first)))
        except IntegrityError:
            # The source gave parts of one session that were another's: the last word counts.
            db.execute("ROLLBACK TO rows")
            rows = list({(row.root, row.part_id): row for row in rows}.values())
            _evict(db, rows)
            db.executemany(_INSERT_FTS, (fts_values(id, row) for id, row in enumerate(rows, first)))
        db.execute("RELEASE rows")
        db.executemany(_INSERT_TEXT, (text_values(id, row) for id, row in enumerate(rows, first)))
        last = first + len(rows) - 1
        db.execute(f"{schema.INDEX_ROWS} id BETWEEN ? AND ?", (first, last))
        db.execute(schema.WIDEN_ZONES, {"first": first, "last": last})


_MADE = {
    "name": ("id", "text"),
    "project": ("id", "root", "project_id", "worktree", "directory"),
}
_INSERT_SESSION = _insert("session", SESSION_COLUMNS)
_UPDATE_SESSION = _update("session", SESSION_COLUMNS)
_INSERT_MESSAGE = _insert("message", MESSAGE_COLUMNS)
_UPDATE_MESSAGE = _update("message", MESSAGE_COLUMNS)
_INSERT_FTS = _insert("history_fts", FTS_COLUMNS)
_UPDATE_FTS = _update("history_fts", FTS_COLUMNS)
_INSERT_TEXT = _insert("history_text", TEXT_COLUMNS)
_UPDATE_TEXT = _update("history_text", TEXT_COLUMNS)
_FORGET_PROJECTS = (
    "DELETE FROM project WHERE NOT EXISTS (SELECT 1 FROM session s WHERE s.project = project.id)"
)


def _bounds(db: Connection) -> tuple[int | None, int | None]:
    """Give the lowest and the highest id; two queries, as SQLite looks up but one at a time."""
    (low,) = db.execute("SELECT min(id) FROM history_fts").fetchone()
    (high,) = db.execute("SELECT max(id) FROM history_fts").fetchone()
    return low, high


def _unindex(db: Connection, ids: Collection[int]) -> None:
    if ids:
        db.execute(schema.UNINDEX_ROWS + _LISTED, (json.dumps(sorted(ids)),))


def _delete(db: Connection, ids: Iterable[int]) -> None:
    for table in ("history_fts", "history_text"):
        db.executemany(f"DELETE FROM {table} WHERE id = ?", [(id,) for id in ids])


def _evict(db: Connection, rows: Sequence[Row]) -> None:
    ids = set()
    for row in rows:
        found = db.execute(
            "SELECT id FROM history_fts WHERE root = ? AND part_id = ?", (row.root, row.part_id)
        ).fetchone()
        if found:
            ids.add(found[0])
    remove_rows(db, ids)


def remove_rows(db: Connection, ids: Collection[int]) -> int:
    """Remove rows by id, and say how many; the transaction is the caller's."""
    _unindex(db, ids)
    _delete(db, ids)
    return len(ids)


def remove_session(db: Connection, session: int) -> int:
    """Remove a session and all that it holds, and say how many parts that were.

    The transaction is the caller's.
    """
    count = remove_rows(db, rows_of(db, "session", [session]))
    db.execute("DELETE FROM message WHERE session = ?", (session,))
    db.execute("DELETE FROM session WHERE id = ?", (session,))
    db.execute(_FORGET_PROJECTS)
    return count
