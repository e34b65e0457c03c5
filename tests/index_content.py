"""What an index holds, without the numbers that differ from build to build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mimohist import reindexing

if TYPE_CHECKING:
    from sqlite3 import Connection

_QUERIES = (
    "SELECT * FROM sessions ORDER BY source, session_id",
    "SELECT * FROM messages ORDER BY source, session_id, message_id",
    "SELECT * FROM parts ORDER BY source, session_id, part_id",
    "SELECT source, project_id, worktree, directory, sessions FROM projects ORDER BY 1, 2, 3, 4",
)


def content(db: Connection) -> list[tuple[Any, ...]]:
    """Give every session, message, part and project as the public views show them."""
    return [row for query in _QUERIES for row in db.execute(query)]


def found(db: Connection, word: str) -> set[str]:
    """Give the ids of the parts in which the full-text table finds a word."""
    rows = db.execute(
        "SELECT part_id FROM history_fts WHERE id IN"
        " (SELECT rowid FROM history_fts_idx WHERE history_fts_idx MATCH ?)",
        (word,),
    )
    return {id for (id,) in rows}


def assert_sound(db: Connection) -> None:
    """Hold the full-text table against the rows, and the rows against each other."""
    assert list(reindexing.check(db)) == []
