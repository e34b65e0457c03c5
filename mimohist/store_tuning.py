"""How the full-text table is written: in large pieces while an index is built, small ones after.

While it is built, each transaction leaves one segment and none are merged; at the end all are,
step by step, so that the room of what is merged is used again by what follows: no word is
written more than twice, and the file does not grow.  Indexes in whose order nothing comes are
made at the end too.  That a build is under way is kept in the index, so that a run that
goes on after a kill does so too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mimohist import schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

_BUILDING = {"hashsize": 64 << 20, "automerge": 0, "crisismerge": 1999}
_UNFINISHED = {"hashsize": 1 << 20, "automerge": 4, "crisismerge": 1999}
"""For a moment's work on an index that was never whole: its segments are left to a later run."""

_USUAL = {"hashsize": 1 << 20, "automerge": 4, "crisismerge": 16}
"""FTS5's own values (SQLite 3.40)."""

_STEP = 250
"""How many pages of segments are merged in one transaction."""


def begin(db: Connection, *, hurry: bool) -> None:
    """Prepare for many rows where the index was never whole; for few in a `hurry`."""
    if not _is_building(db):
        return
    _set(db, _UNFINISHED if hurry else _BUILDING)
    if not hurry:
        for name in schema.LATE_INDEXES:
            db.execute(f"DROP INDEX IF EXISTS {name}")


def end(db: Connection, stop: Callable[[], bool] = lambda: False) -> None:
    """Note that the index is whole, and write in small pieces from now on.

    When it is time to `stop` between two steps, a later run goes on with them.
    """
    if not _is_building(db):
        return
    for name, on in schema.LATE_INDEXES.items():
        db.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {on}")
    more = _merge(db, -_STEP)
    while more:
        if stop():
            return
        more = _merge(db, _STEP)
    _set(db, _USUAL)
    db.execute("INSERT INTO state(key, value) VALUES ('built', '1')")


def _merge(db: Connection, pages: int) -> bool:
    """Merge segments for about so many pages; a negative number begins with all of them.

    Gives whether anything was left to do (https://sqlite.org/fts5.html#the_merge_command).
    """
    before = db.total_changes
    db.execute("INSERT INTO history_fts_idx(history_fts_idx, rank) VALUES ('merge', ?)", (pages,))
    return db.total_changes - before > 1


def rebuilding(db: Connection) -> None:
    """Prepare for a rebuild of the whole table; `end` ends it."""
    db.execute("DELETE FROM state WHERE key = 'built'")
    _set(db, _BUILDING)


def _is_building(db: Connection) -> bool:
    return db.execute("SELECT 1 FROM state WHERE key = 'built'").fetchone() is None


def _set(db: Connection, values: dict[str, int]) -> None:
    stored = dict(db.execute("SELECT k, v FROM history_fts_idx_config").fetchall())
    for name, value in values.items():
        if stored.get(name) != value:
            db.execute(
                "INSERT INTO history_fts_idx(history_fts_idx, rank) VALUES (?, ?)", (name, value)
            )
