"""Something removed from the index for good, so that no backfill brings it back.

Only its id is remembered.  The full-text table keeps words of removed rows until it is
optimized (FTS5 in SQLite 3.40 does so even with `secure-delete`), free pages keep texts until the
file is written anew, and so does the `-wal`: all three are seen to, and if that is cut
short, the next run that writes sees to it.
"""

from __future__ import annotations

from sqlite3 import DatabaseError
from typing import TYPE_CHECKING, NamedTuple

from mimohist import store
from mimohist.errors import Busy
from mimohist.store_writer import remove_rows, remove_session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection

    from mimohist.naming import Named


class Doomed(NamedTuple):
    """What is to be forgotten: a part, message or session with its source.

    `parts` is how many parts go with it, `within` the session of a message, whose id
    is unique there only.
    """

    level: str
    source: str
    id: str
    row: int
    parts: int
    within: str = ""

    @property
    def remembered(self) -> str:
        """What is kept of it, so that no backfill brings it back."""
        return f"{self.within}/{self.id}" if self.within else self.id


def doomed(db: Connection, named: Sequence[Named], *, copies: bool) -> list[Doomed]:
    """Give what forgetting these messages and sessions removes, with `copies` all of a text."""
    found: dict[tuple[str, int], Doomed] = {}
    for one in named:
        for item in _one(db, one):
            found[item.level, item.row] = item
            if copies:
                found |= {(copy.level, copy.row): copy for copy in _copies(db, item)}
    return list(found.values())


def _one(db: Connection, named: Named) -> list[Doomed]:
    if named.message is None:
        source, id, parts = db.execute(
            "SELECT r.source, s.session_id,"
            " (SELECT count(*) FROM history_fts h WHERE h.session = s.id)"
            " FROM session s JOIN root r ON r.id = s.root WHERE s.id = ?",
            (named.session,),
        ).fetchone()
        return [Doomed("session", source, id, named.session, parts)]
    source, id, within, parts = db.execute(
        "SELECT r.source, m.message_id, s.session_id,"
        " (SELECT count(*) FROM history_fts h WHERE h.message = m.id)"
        " FROM message m JOIN session s ON s.id = m.session JOIN root r ON r.id = s.root"
        " WHERE m.id = ?",
        (named.message,),
    ).fetchone()
    return [Doomed("message", source, id, named.message, parts, within)]


def _copies(db: Connection, item: Doomed) -> list[Doomed]:
    column = {"part": "id", "message": "message", "session": "session"}[item.level]
    rows = db.execute(
        f"SELECT DISTINCT r.source, c.part_id, c.id FROM history_fts h"
        f" JOIN history_fts c ON c.copy = h.copy AND c.{column} <> h.{column}"
        f" JOIN root r ON r.id = c.root WHERE h.{column} = ? AND h.kind <> 'title'",
        (item.row,),
    )
    return [Doomed("part", source, part, row, 1) for source, part, row in rows]


def doomed_parts(db: Connection, id: str, *, copies: bool) -> list[Doomed]:
    """Give what forgetting the parts that have this id removes, of whatever source."""
    rows = db.execute(
        "SELECT r.source, h.id FROM history_fts h JOIN root r ON r.id = h.root"
        " WHERE h.part_id = ? AND h.kind <> 'title'",
        (id,),
    ).fetchall()
    found = {row: Doomed("part", source, id, row, 1) for source, row in rows}
    if copies:
        for item in list(found.values()):
            found |= {copy.row: copy for copy in _copies(db, item)}
    return list(found.values())


def forget(db: Connection, items: Sequence[Doomed]) -> int:
    """Remove these for good; give how many parts went.

    `db` comes from `store.open_writer` and is held under `store.lock`.  Raises `IndexUnusable`
    when it cannot be written, and `Busy` when all is removed but a reader that stays keeps
    bytes of it in the `-wal`.
    """
    count = 0
    try:
        db.execute("BEGIN IMMEDIATE")
        try:
            for item in items:
                db.execute(
                    "INSERT OR IGNORE INTO forgotten(source, level, id) VALUES (?, ?, ?)",
                    (item.source, item.level, item.remembered),
                )
                count += _remove(db, item)
            db.execute("INSERT OR REPLACE INTO state(key, value) VALUES ('unpurged', '1')")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        purge(db)
    except DatabaseError as error:
        raise store.unwritable(db, error) from error
    return count


def purge(db: Connection) -> None:
    """Write the files anew where removed texts are still in them; raises `Busy` as `forget`."""
    if db.execute("SELECT 1 FROM state WHERE key = 'unpurged'").fetchone() is None:
        return
    db.execute("INSERT INTO history_fts_idx(history_fts_idx) VALUES ('optimize')")
    db.execute("VACUUM")
    busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise Busy(
            "it is forgotten, but another program reads the index and so keeps its bytes;"
            " `mimohist backfill` clears them once that has ended"
        )
    db.execute("DELETE FROM state WHERE key = 'unpurged'")


def _remove(db: Connection, item: Doomed) -> int:
    if item.level == "session":
        return remove_session(db, item.row)
    column = "message" if item.level == "message" else "id"
    rows = db.execute(f"SELECT id FROM history_fts WHERE {column} = ?", (item.row,)).fetchall()
    count = remove_rows(db, [row for (row,) in rows])
    if item.level == "message":
        db.execute("DELETE FROM message WHERE id = ?", (item.row,))
    return count
