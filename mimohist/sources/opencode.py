"""opencode's SQLite databases of version 1 (1.2 to 1.18): `opencode.db` and other channels'.

Where it lies (run with opencode 1.18.33): `OPENCODE_DB` when set, a relative one inside the data
folder; that is `$XDG_DATA_HOME/opencode`, else `~/.local/share/opencode`.  Its `event` log,
which holds every state that a part ever had, is never touched.  The tables of 2.x
(`session_v2`, `session_message`) and the JSON files before 1.2 are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mimohist.sources.places import databases, shared_data, stamped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mimohist.sources.v1 import V1

NAME = "opencode"


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[V1]:
    """Give the databases there are: the one in use, other channels', configured ones."""
    from mimohist.sources.v1 import V1  # a search that finds nothing new does not need it

    for path in _paths(environ, home, roots):
        yield V1(NAME, path, trusts_part_times=False)


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each database's path with its stamp."""
    return stamped(_paths(environ, home, roots))


def _paths(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Path]:
    folder = shared_data(environ, home) / "opencode"
    return databases(folder, "opencode", environ.get("OPENCODE_DB", ""), roots)
