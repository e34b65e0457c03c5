"""Folders of transcripts, looked at with one `stat` a file.

Every search does that before anything else, so nothing here imports what is slow to import.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from mimohist.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from mimohist.sources.source import Candidate, Source, Survey


def entries(folder: str) -> list[os.DirEntry[str]]:
    """List a folder; what cannot be listed, or is not there any more, has nothing in it."""
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


class File(NamedTuple):
    """A file as it was seen: where, how long (bytes), when written (epoch ns), its inode."""

    path: str
    size: int
    written: int
    inode: int

    @property
    def stamp(self) -> str:
        """Tell what the file looks like from outside."""
        return f"{self.size} {self.written} {self.inode}"


def seen(entry: os.DirEntry[str]) -> File | None:
    """Look at a file; None when it is none, or has gone, or its name is no text."""
    try:
        found = entry.stat()
        entry.path.encode()
    except (OSError, UnicodeEncodeError):
        return None
    if not entry.is_file():
        return None
    return File(entry.path, found.st_size, found.st_mtime_ns, found.st_ino)


def stamp(files: dict[str, File], extra: str = "") -> str:
    """Tell what a folder looks like: equal stamps, no file came, went or changed.

    Its words: how many files, how many bytes, the latest change (epoch ns), a sum of all.
    """
    sum = crc32(extra.encode())
    latest = size = 0
    for key in sorted(files):
        file = files[key]
        sum = crc32(f"{key} {file.size} {file.written} {file.inode}\n".encode(), sum)
        latest = max(latest, file.written)
        size += file.size
    return f"{len(files)} {size} {latest} {sum:08x}"


def survey(found: dict[str, File], memory: str, stamps: Mapping[str, str] | None = None) -> Survey:
    """Compare files with what is remembered of them; that one is gone proves no deletion.

    `stamps` are those by which to compare, where they are not the files' own; a file that has
    none is there and is not read.
    """
    from mimohist.sources.source import Survey

    stamps = {key: file.stamp for key, file in found.items()} if stamps is None else stamps
    timed = {key: (stamp, found[key].written // 1_000_000) for key, stamp in stamps.items()}
    candidates, memory = changed(timed, memory)
    return Survey(
        candidates=tuple(candidates),
        present=frozenset(found),
        memory=memory,
        identity="",
        alive=False,
    )


def changed(stamps: dict[str, tuple[str, int]], memory: str) -> tuple[list[Candidate], str]:
    """Give the files whose stamps differ from those in `memory`, newest first, and a new memory.

    `stamps` holds by key a stamp and a time (epoch ms).
    """
    import json

    from mimohist.sources.source import Candidate

    try:
        known = json.loads(memory) if memory else {}
    except ValueError:
        known = {}
    found = [
        Candidate(key, stamp, at)
        for key, (stamp, at) in stamps.items()
        if not isinstance(known, dict) or known.get(key) != stamp
    ]
    found.sort(key=lambda one: (-one.at, one.key))
    return found, json.dumps({key: stamp for key, (stamp, _) in stamps.items()})


def glance(sources: Iterable[Source]) -> Iterator[tuple[Path, str]]:
    """Give each root's path with its stamp; those that cannot be looked at have none."""
    for source in sources:
        try:
            yield source.root, source.stamp()
        except SourceError:
            yield source.root, ""
