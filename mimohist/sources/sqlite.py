"""Other programs' SQLite databases, opened so that nothing is written, locked or left behind.

How a database in WAL mode is opened depends on what lies beside it:

- no `-wal`, or an empty one: `immutable=1`, which needs no other file (`mode=ro` would leave
  a `-wal` and a `-shm`); the file is looked at again afterwards, since it promises to stand still;
- a `-wal` and a `-shm`: a program has it open, or was killed; `mode=ro` reads beside it;
- a `-wal` alone: nobody has it open; read without locks and with the index of the `-wal` in
  memory (`vfs=unix-none`), which also works in a folder that cannot be written.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.errors import SourceError
from mimohist.sources.stamps import beside, reason, size_and_time, stamp

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY_MS = 5_000
"""How long to wait for another program that holds a lock, as MiMo Code itself does."""


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading; what goes wrong with it becomes `SourceError`.

    What is read from a database that changed although nobody seemed to have it open is
    not to be trusted: that too is a `SourceError`, and the next run reads it.
    """
    before = stamp(path)
    _refuse_what_is_none(path)
    how = _how(path)
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)
        try:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            if "unix-none" in how:
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA query_only = ON")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise SourceError(f"{path}: {_explained(error)}") from error
    if how != "mode=ro" and stamp(path) != before:
        raise SourceError(f"{path}: it changed while it was read; the next run reads it again")


def _how(path: Path) -> str:
    if not size_and_time(beside(path, "-wal")):
        return "mode=ro&immutable=1"
    if Path(beside(path, "-shm")).exists() or os.name != "posix":
        return "mode=ro"
    return "mode=ro&vfs=unix-none"


def _refuse_what_is_none(path: Path) -> None:
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise SourceError(f"{path}: {reason(error)}") from error
    if not head:
        if not size_and_time(beside(path, "-wal")):
            raise SourceError(f"{path}: the file is empty")
    elif head != b"SQLite format 3\0":
        raise SourceError(f"{path}: not an SQLite database")


def _explained(error: sqlite3.Error) -> str:
    text = str(error)
    if "locked" in text or "busy" in text:
        return "locked by another program; the next run reads it"
    if "malformed" in text or "not a database" in text or "corrupt" in text:
        return f"the database is damaged ({text}); its own program may be able to repair it"
    if "unable to open" in text:
        return "cannot be opened; is its folder readable?"
    return text


lenient = partial(str, encoding="utf-8", errors="replace")
"""Reads a text that may not be UTF-8: a `text_factory`, made in C, for it reads every text."""


def columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """Give a table's columns, empty when there is no such table."""
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return frozenset(name for (name,) in rows)


def tables(connection: sqlite3.Connection) -> frozenset[str]:
    """Give the names of a database's tables."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return frozenset(name for (name,) in rows)


def selection(have: frozenset[str], wanted: tuple[str, ...]) -> str:
    """Write a list of columns in which those that are missing read as NULL."""
    return ", ".join(name if name in have else f"NULL AS {name}" for name in wanted)
