"""Where programs of MiMo Code's family keep their databases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.errors import SourceError
from mimohist.sources.stamps import stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


def shared_data(environ: Mapping[str, str], home: Path) -> Path:
    """Give `$XDG_DATA_HOME`, else `~/.local/share`: these programs use it on every system."""
    named = environ.get("XDG_DATA_HOME", "")
    return Path(named) if named and Path(named).is_absolute() else home / ".local" / "share"


def databases(folder: Path, program: str, named: str, roots: Sequence[Path]) -> Iterator[Path]:
    """Give the databases there are: the one in use, those of other channels, configured ones.

    `named` is what the program's own variable says: a path, relative to `folder`, or "".
    One that is named, there or configured, is given even when it is missing.
    """
    own = named if named and named != ":memory:" else ""
    found = {folder / (own or f"{program}.db"): bool(own)}
    for place in (folder, *roots):
        if place.is_dir():
            found.update(dict.fromkeys(sorted(place.glob(f"{program}*.db")), False))
        elif place in roots:
            found[place] = True
    for path, asked_for in found.items():
        if asked_for or path.exists():
            yield path


def stamped(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Give each database's path with its stamp; those that cannot be looked at have none."""
    for path in paths:
        try:
            yield path, stamp(path)
        except SourceError:
            yield path, ""
