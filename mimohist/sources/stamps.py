"""What a file looks like from outside; equal stamps mean that nothing was written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mimohist.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path


_OF_FOLDER = 4
"""How many words the stamp of a folder of transcripts has (`files.stamp`): the second is bytes."""


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


def size(root: Path, stamp: str) -> int | None:
    """Give the bytes of a root: of a database with its `-wal`, or as a folder's stamp says.

    None where neither tells.
    """
    if root.is_file():
        wal = size_and_time(beside(root, "-wal"))
        return root.stat().st_size + (wal[1] if wal else 0)
    words = stamp.split()
    return int(words[1]) if len(words) == _OF_FOLDER and words[1].isdigit() else None


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
