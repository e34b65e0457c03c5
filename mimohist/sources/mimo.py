"""MiMo Code: `mimocode.db`, and the databases of its other channels.

Where it lies (MiMo Code 0.1.13, `src/storage/db.ts`, `packages/shared/src/global.ts`):
`MIMOCODE_DB` when set, a relative one inside the data folder; that is `$MIMOCODE_HOME/data`,
else `$XDG_DATA_HOME/mimocode`, else `~/.local/share/mimocode` on every system.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.sources.places import databases, shared_data, stamped

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
    """Give each database's path with its stamp."""
    return stamped(_paths(environ, home, roots))


def _paths(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Path]:
    own = environ.get("MIMOCODE_HOME", "")
    data = Path(own) / "data" if own and Path(own).is_absolute() else None
    folder = data or shared_data(environ, home) / "mimocode"
    return databases(folder, "mimocode", environ.get("MIMOCODE_DB", ""), roots)
