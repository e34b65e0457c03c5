"""OMP (oh-my-pi): sessions of pi's shape below `~/.omp/agent/sessions`, a profile's in its folder.

The first line holds a title, and is written over when that changes; a sub-agent's session lies
in a folder named after the session that started it (OMP 18).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mimohist.sources import files
from mimohist.sources.pi import sessions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mimohist.sources.pi import Pi

NAME = "omp"


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Pi]:
    """Give the folders of sessions that there are, and the configured ones.

    `$PI_CODING_AGENT_DIR`, which OMP obeys too, is looked at by `pi`.
    """
    del environ
    own = home / ".omp"
    usual = [own / "agent" / "sessions"]
    if own.is_dir():
        usual += sorted(own.glob("profiles/*/agent/sessions"))
    return sessions(NAME, usual, roots)


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each root's path with its stamp; those that cannot be looked at have none."""
    return files.glance(find(environ, home, roots))
