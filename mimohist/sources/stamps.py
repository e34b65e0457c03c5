"""What a file looks like from outside; equal stamps mean that nothing was written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mimohist.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path


def stamp(path: Path) -> str:
    """Tell by `stat` what a database looks like; any commit or checkpoint changes it.

    An empty `-wal` counts as none.  Raises `SourceError` when the file cannot be looked at.
    """
    try:
        main = path.stat()
    except OSError as error:
        raise SourceError(f"{path}: {reason(error)}") from error
    parts = [main.st_dev, main.st_ino, main.st_size, main.st_mtime_ns]
    wal = size_and_time(beside(path, "-wal"))
    return " ".join(map(str, [*parts, *(wal or ())]))


def size_and_time(path: str) -> tuple[int, int, int] | None:
    """Give inode, size and time (ns) of a file that has something in it, else None."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path costs more than the call
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if found.st_size else None


def beside(path: Path, suffix: str) -> str:
    """Name the file that SQLite keeps beside a database."""
    return f"{path}{suffix}"


def reason(error: OSError) -> str:
    """Say what the system said, in lower case."""
    return (error.strerror or str(error)).lower()
