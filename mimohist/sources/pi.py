"""pi (pi-mono's coding agent, versions 0.1 to 0.73): `sessions/--<directory>--/<time>_<id>.jsonl`.

The folder is `$PI_CODING_AGENT_DIR`, else `~/.pi/agent`; `$PI_CODING_AGENT_SESSION_DIR` names one
of sessions by itself.  OMP and OpenClaw write the same shape elsewhere (`omp`, `openclaw`).  A
session is a tree of entries in one file: all branches are read, in the order in which they were
written, the abandoned ones unmarked.  pi deletes nothing by itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.errors import SourceError
from mimohist.sources import files
from mimohist.sources.folder import Folder
from mimohist.sources.stamps import reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import BinaryIO

    from mimohist.sources.files import File
    from mimohist.sources.jsonl import Bookmark
    from mimohist.sources.pi_head import Head
    from mimohist.sources.pi_records import Records
    from mimohist.sources.source import Candidate

NAME = "pi"

_DEPTH = 4
"""How deep transcripts lie: OMP's sub-agents are below the session that started them."""

_RESET = ".jsonl.reset."
"""What OpenClaw puts into the name of a transcript whose conversation was begun anew."""


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Pi]:
    """Give the folders of sessions that there are, and the configured ones."""
    own = environ.get("PI_CODING_AGENT_DIR", "")
    usual = [(named(own, home) if own else home / ".pi" / "agent") / "sessions"]
    if apart := environ.get("PI_CODING_AGENT_SESSION_DIR", ""):
        usual.append(named(apart, home))
    return sessions(NAME, usual, roots)


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each root's path with its stamp; those that cannot be looked at have none."""
    return files.glance(find(environ, home, roots))


def named(path: str, home: Path) -> Path:
    """Read a path out of the environment as pi does: `~` is the home directory."""
    if path == "~" or path.startswith("~/"):
        return home / path[2:]
    return Path(path)


def sessions(name: str, usual: Iterable[Path], roots: Sequence[Path]) -> Iterator[Pi]:
    """Give the folders among `usual` that there are, and the one that each root is or holds."""
    found = dict.fromkeys(usual, False)
    for root in roots:
        inner = (root / "sessions", root / "agent" / "sessions")
        found[next((one for one in inner if one.is_dir()), root)] = True
    for place, asked_for in found.items():
        if asked_for or place.is_dir():
            yield Pi(place, name)


class Pi(Folder["Head"]):
    """One folder of sessions in pi's shape, of the program `name`."""

    def files(self) -> dict[str, File]:
        """Look at every transcript, those of sub-agents with them."""
        root = str(self.root)
        try:
            os.scandir(root).close()
        except OSError as error:
            raise SourceError(f"{root}: {reason(error)}") from error
        found: dict[str, File] = {}
        _collect(root, len(root) + 1, found, _DEPTH)
        return found

    def head(self, file: BinaryIO | None, key: str, path: Path, place: Bookmark | None) -> Head:
        """Read what is to be known before the messages."""
        from mimohist.sources import pi_head

        head = pi_head.Head(path, dict(place.state.get("head", {})) if place else {})
        if file:
            pi_head.learn(head, file, place.at if place else 0)
            if not head.state:
                raise LookupError(key)
        return head

    def reader(
        self,
        file: BinaryIO,
        candidate: Candidate,
        head: Head,
        place: Bookmark | None,
    ) -> Records:
        """Give what makes entries into messages."""
        from mimohist.sources import entries
        from mimohist.sources.pi_records import Records

        begun = head.session(candidate.at).at
        return entries.reader(Records, file, candidate, begun, head.state, place)


def _collect(place: str, start: int, found: dict[str, File], depth: int) -> None:
    for entry in files.entries(place):
        name, _, reset = entry.name.partition(_RESET)
        if reset or name.endswith(".jsonl"):
            file = files.seen(entry)
            if file:
                key = file.path[start:].partition(_RESET)[0] + (".jsonl" if reset else "")
                if not reset or key not in found:
                    found[key] = file
        elif depth and entry.is_dir():
            _collect(entry.path, start, found, depth - 1)
