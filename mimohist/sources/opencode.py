"""opencode: its databases (1.2 to 2.x; `opencode.db` and other channels'), and files of before.

Where they lie (run with opencode 1.18.33): `OPENCODE_DB` when set, a relative one inside the data
folder; that is `$XDG_DATA_HOME/opencode`, else `~/.local/share/opencode`.  The files of JSON
(`opencode_files`) lie in its `storage` and `project`.  A database's `event` log, which holds
every state that a part ever had, is never touched.  2.x has tables of its own in the same
database (`opencode_v2`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mimohist.sources import files
from mimohist.sources.places import databases, shared_data, stamped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mimohist.sources.opencode_files import Storage
    from mimohist.sources.source import Source

NAME = "opencode"


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Source]:
    """Give the databases there are and the folders of files: in use, left over, configured."""
    # A search that finds nothing new does not need it.
    from mimohist.sources.opencode_v2 import Database

    for path in _paths(environ, home, roots):
        yield Database(NAME, path)
    yield from _storages(environ, home, roots)


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each root's path with its stamp."""
    yield from stamped(_paths(environ, home, roots))
    yield from files.glance(_storages(environ, home, roots))


def _paths(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Path]:
    folder = shared_data(environ, home) / "opencode"
    return databases(folder, "opencode", environ.get("OPENCODE_DB", ""), roots)


def _storages(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Storage]:
    own = shared_data(environ, home) / "opencode"
    for place in (own, *roots):
        for folder in _folders(place):
            from mimohist.sources.opencode_files import Storage

            def beside(place: Path = place) -> Iterator[Path]:
                return _paths(environ, home, () if place == own else (place,))

            yield Storage(folder, beside)


def _folders(place: Path) -> list[Path]:
    """Give the folders of files in a data folder, or the folder itself if it is one."""
    if (place / "session").is_dir() and (place / "message").is_dir():
        return [place]
    found = []
    if (place / "storage" / "session").is_dir():
        found.append(place / "storage")
    if (place / "project").is_dir():
        found.append(place / "project")
    return found
