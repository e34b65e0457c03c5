"""The index's file: opened to read, opened to write, made, migrated, locked."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from mimohist import schema
from mimohist.errors import Busy, IndexUnusable, NoIndex

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BUSY_MS = 30_000
_CACHE_KIB = 64 * 1024

NO_FTS5 = (
    f"the SQLite {sqlite3.sqlite_version} of this Python has no FTS5, which the index needs;"
    " install mimohist with another Python"
)


def open_reader(path: Path) -> sqlite3.Connection:
    """Open the index for reading; nothing is written, nobody is waited for.

    Raises `NoIndex` when there is none and `IndexUnusable` for one that is damaged, not
    ours, or made by a newer program.
    """
    if not path.exists():
        raise NoIndex(f"no index at {path}; run `mimohist backfill` first")
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise IndexUnusable(f"{path}: {error}") from error
    try:
        db.execute("PRAGMA query_only = ON")
        version = _version(db, path)
    except BaseException:
        db.close()
        raise
    if version == 0:
        db.close()
        raise NoIndex(f"the index at {path} is empty; run `mimohist backfill` first")
    if version < schema.VERSION:
        db.close()
        raise NoIndex(f"the index at {path} is of an older version; run `mimohist backfill` first")
    return db


def open_writer(path: Path) -> sqlite3.Connection:
    """Open the index for writing, made or brought up to date where needed.

    The folder is the user's alone (0700), and so is the file (0600).  Transactions are the
    caller's.  Raises as `open_reader` does, but for a missing index.
    """
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise IndexUnusable(f"{path}: {(error.strerror or str(error)).lower()}") from error
    try:
        db = sqlite3.connect(path, isolation_level=None)
        db.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        version = _version(db, path)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA secure_delete = OFF")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        db.execute("PRAGMA journal_size_limit = 4194304")
        if version < schema.VERSION:
            migrate(db, version)
    except sqlite3.Error as error:
        raise _unwritable(path, error) from error
    return db


def unwritable(db: sqlite3.Connection, error: sqlite3.Error) -> IndexUnusable:
    """Explain why the index that `db` has open could not be written."""
    path = db.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()[0]
    return _unwritable(path, error)


def _unwritable(path: Path | str, error: sqlite3.Error) -> IndexUnusable:
    text = str(error)
    if "no such module" in text:
        return IndexUnusable(NO_FTS5)
    if "malformed" in text or "not a database" in text:
        return IndexUnusable(
            f"{path} is damaged ({text}); move it away and run `mimohist backfill`"
        )
    return IndexUnusable(
        f"{path} cannot be written ({text}); what was stored before is all there:"
        " make room on the disk and run this again"
    )


def _version(db: sqlite3.Connection, path: Path) -> int:
    try:
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    except sqlite3.DatabaseError as error:
        raise IndexUnusable(
            f"{path} is damaged or not an index ({error}); move it away and run `mimohist backfill`"
        ) from error
    if version > schema.VERSION:
        raise IndexUnusable(
            f"{path} was made by a newer mimohist (index version {version}, this one reads"
            f" {schema.VERSION}); update mimohist, or name another index with --db"
        )
    if tables and "history_fts" not in tables:
        raise IndexUnusable(f"{path} is a database of something else; name another with --db")
    return version if tables else 0


def migrate(db: sqlite3.Connection, version: int) -> None:
    """Bring an index from `version` to the present one, each step in one transaction."""
    import sqlite_utils  # it costs more than a search: only whoever makes or changes tables pays

    tables = sqlite_utils.Database(db, execute_plugins=False)
    steps = [*enumerate(MIGRATIONS[version:], version + 1)]
    if version == 0:
        steps = [(schema.VERSION, MIGRATIONS[0])]
    for number, script in steps:
        with tables.atomic():
            for statement in statements(script):
                tables.execute(statement)
            tables.execute(f"PRAGMA user_version = {number}")


MIGRATIONS = (
    schema.TABLES + schema.ROW_VIEW + schema.FTS_TABLE + schema.VIEWS,
    schema.FROM_1,
)
"""What makes a new index; then what brings one from each version to the next, only added to."""


def statements(script: str) -> Iterator[str]:
    """Split a script into its statements."""
    waiting = ""
    for line in script.splitlines(keepends=True):
        waiting += line
        if sqlite3.complete_statement(waiting):
            yield waiting.strip()
            waiting = ""


# One writer at a time


@contextmanager
def lock(path: Path, wait: float = 0.0) -> Iterator[None]:
    """Hold the index at `path` against other writing processes.

    The kernel lets go of it when the process dies, so there is never a stale lock.  Raises `Busy`
    when another process still holds it after `wait` seconds.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise IndexUnusable(f"{path}.lock: {(error.strerror or str(error)).lower()}") from error
    try:
        end = time.monotonic() + wait
        while not _try_lock(file):
            if time.monotonic() >= end:
                raise Busy(
                    f"another run is writing the index{_holder(file)}; --wait 60 waits for it"
                )
            time.sleep(0.05)
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()} {int(time.time())}".encode(), 0)
        yield
    finally:
        os.close(file)


def _try_lock(file: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(file: int) -> str:
    try:
        pid, since = os.pread(file, 64, 0).split()
        at = datetime.fromtimestamp(int(since)).astimezone()
    except (OSError, ValueError):
        return ""
    return f" (pid {int(pid)}, since {at:%H:%M})"


def default_kinds_of(db: sqlite3.Connection) -> str:
    """Give the kinds that the index was built for, as its writer remembered them; "" for all."""
    row = db.execute("SELECT value FROM state WHERE key = 'index_kinds'").fetchone()
    return str(row[0]) if row else ""
