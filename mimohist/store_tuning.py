"""How the full-text table is written: in large pieces while an index is built, small ones after.

While it is built, each transaction leaves one segment, and sixteen of them are merged at once: no
word is written more than twice, and the room of merged segments is used again by what
follows.  That a build is under way is kept in the index, so that a run that goes on after
a kill does so too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite3 import Connection

_BUILDING = {"hashsize": 64 << 20, "automerge": 0, "crisismerge": 16}
_USUAL = {"hashsize": 1 << 20, "automerge": 4, "crisismerge": 16}
"""FTS5's own values (SQLite 3.40)."""


def begin(db: Connection) -> None:
    """Prepare for many rows where the index was never whole."""
    if _is_building(db):
        _set(db, _BUILDING)


def end(db: Connection) -> None:
    """Note that the index is whole, and write in small pieces from now on."""
    if _is_building(db):
        _set(db, _USUAL)
        db.execute("INSERT INTO state(key, value) VALUES ('built', '1')")


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
