"""MiMo Code: `mimocode.db`, and the databases of its other channels.

Where it lies (MiMo Code 0.1.13, `src/storage/db.ts`, `packages/shared/src/global.ts`):
`MIMOCODE_DB` when set, a relative one inside the data folder; that is `$MIMOCODE_HOME/data`,
else `$XDG_DATA_HOME/mimocode`, else `~/.local/share/mimocode` on every system.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.errors import SourceError
from mimohist.sources.stamps import stamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mimohist.sources.v1 import V1

NAME = "mimo"


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[V1]:
    """Give the databases there are: the one in use, other channels', configured ones."""
    from mimohist.sources.v1 import V1  # a search that finds nothing new does not need it

    for path in _paths(environ, home, roots):
        yield V1(NAME, path)


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each database's path with its stamp; those that cannot be looked at have none."""
    for path in _paths(environ, home, roots):
        try:
            yield path, stamp(path)
        except SourceError:
            yield path, ""


def _paths(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Path]:
    data = _data_folder(environ, home)
    named = environ.get("MIMOCODE_DB", "")
    used = data / (named if named and named != ":memory:" else "mimocode.db")
    found: dict[Path, bool] = {used: bool(named)}
    for folder in (data, *roots):
        if folder.is_dir():
            found.update(dict.fromkeys(sorted(folder.glob("mimocode*.db")), False))
        elif folder in roots:
            found[folder] = True
    for path, asked_for in found.items():
        if asked_for or path.exists():
            yield path


def _data_folder(environ: Mapping[str, str], home: Path) -> Path:
    own = environ.get("MIMOCODE_HOME", "")
    if own and Path(own).is_absolute():
        return Path(own) / "data"
    shared = environ.get("XDG_DATA_HOME", "")
    base = Path(shared) if shared and Path(shared).is_absolute() else home / ".local" / "share"
    return base / "mimocode"
