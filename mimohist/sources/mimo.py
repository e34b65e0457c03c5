"""MiMo Code: `mimocode.db`, and the databases of its other channels.

Where it lies (MiMo Code 0.1.13, `src/storage/db.ts`, `packages/shared/src/global.ts`):
`MIMOCODE_DB` when set, a relative one inside the data folder; the data folder is `$MIMOCODE_HOME/data`, else
`$XDG_DATA_HOME/mimocode`, else `~/.local/share/mimocode` on every system.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.sources.v1 import V1

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NAME = "mimo"


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[V1]:
    """Give the databases there are: the one in use, other channels', configured ones."""
    data = _data_folder(environ, home)
    named = environ.get("MIMOCODE_DB", "")
    found: dict[Path, None] = {}
    if named and named != ":memory:":
        found[data / named] = None
    else:
        found[data / "mimocode.db"] = None
    for folder in (data, *roots):
        if folder.is_dir():
            found.update(dict.fromkeys(sorted(folder.glob("mimocode*.db"))))
        elif folder in roots:
            found[folder] = None
    for path in found:
        if path.exists() or path in roots or (named and path == data / named):
            yield V1(NAME, path)


def _data_folder(environ: Mapping[str, str], home: Path) -> Path:
    own = environ.get("MIMOCODE_HOME", "")
    if own and Path(own).is_absolute():
        return Path(own) / "data"
    shared = environ.get("XDG_DATA_HOME", "")
    base = Path(shared) if shared and Path(shared).is_absolute() else home / ".local" / "share"
    return base / "mimocode"
