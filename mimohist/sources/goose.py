"""goose: `sessions/sessions.db` in its data folder, and the files that it wrote before (to 1.9).

The folder is `$GOOSE_PATH_ROOT/data`, else `$XDG_DATA_HOME/goose`, else `~/.local/share/goose`
(on macOS too); on Windows `%APPDATA%/Block/goose/data`.  The files beside the database
(`sessions/<id>.jsonl`) were taken into it once, under the same ids, and left where they were.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.sources import files
from mimohist.sources.places import shared_data, stamped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mimohist.sources.source import Source

NAME = "goose"

DATABASE = "sessions.db"


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Source]:
    """Give goose's database and its folder of older files, and the configured ones."""
    for path in _paths(environ, home, roots):
        if path.suffix == ".db":
            from mimohist.sources.goose_database import Goose
            from mimohist.sources.tables import Tables

            yield Tables(NAME, path, Goose())
        else:
            from mimohist.sources.goose_files import GooseFiles

            yield GooseFiles(path)


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each root's path with its stamp; those that cannot be looked at have none."""
    for path in _paths(environ, home, roots):
        if path.suffix == ".db":
            yield from stamped([path])
        else:
            from mimohist.sources.goose_files import GooseFiles

            yield from files.glance([GooseFiles(path)])


def _paths(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Path]:
    own = environ.get("GOOSE_PATH_ROOT", "")
    roaming = environ.get("APPDATA", "")
    if own:
        folders = [Path(own) / "data" / "sessions"]
    else:
        folders = [shared_data(environ, home) / NAME / "sessions"]
        if roaming:
            folders.append(Path(roaming) / "Block" / NAME / "data" / "sessions")
    found: dict[Path, None] = {}
    for folder in folders:
        found.update(dict.fromkeys(_inside(folder)))
    for root in roots:
        inner = root / "sessions"
        if root.suffix == ".db" or not root.is_dir():
            found[root] = None
        else:
            folder = inner if inner.is_dir() else root
            found.update(dict.fromkeys([*_inside(folder)] or [folder]))
    yield from found


def _inside(folder: Path) -> Iterator[Path]:
    """Give the database in a folder, and the folder itself if older files are in it."""
    database = folder / DATABASE
    if database.exists():
        yield database
    if any(entry.name.endswith(".jsonl") for entry in files.entries(str(folder))):
        yield folder
