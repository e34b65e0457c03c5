"""Qwen Code: `projects/<directory>/chats/<session>.jsonl`, at first as Gemini CLI in `tmp`.

The folder is `$QWEN_RUNTIME_DIR`, else `~/.qwen`.  A session's file only grows; going back to an
earlier prompt begins another branch in it, and all branches are read, in the order in which they
were written, the abandoned ones unmarked.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.errors import SourceError
from mimohist.sources import files
from mimohist.sources.folder import Folder
from mimohist.sources.gemini import Chats
from mimohist.sources.stamps import reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import BinaryIO

    from mimohist.sources.files import File
    from mimohist.sources.jsonl import Bookmark
    from mimohist.sources.qwen_records import Head, Records
    from mimohist.sources.source import Candidate, Source

NAME = "qwen"


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Source]:
    """Give the folders of sessions that there are, and the configured ones."""
    own = environ.get("QWEN_RUNTIME_DIR", "")
    usual = _named(own, home) if own else home / ".qwen"
    found = dict.fromkeys(_folders(usual), False)
    for root in roots:
        found.update(dict.fromkeys(_folders(root) or _folders(root / ".qwen") or [root], True))
    for folder, asked_for in found.items():
        if asked_for or folder.is_dir():
            yield Chats(folder, NAME) if folder.name == "tmp" else Qwen(folder)


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each root's path with its stamp; those that cannot be looked at have none."""
    return files.glance(find(environ, home, roots))


def _named(path: str, home: Path) -> Path:
    return home / path[2:] if path.startswith("~/") else Path(path)


def _folders(place: Path) -> list[Path]:
    """Give those of the program's folders with sessions that are in a place."""
    return [folder for name in ("projects", "tmp") if (folder := place / name).is_dir()]


class Qwen(Folder["Head"]):
    """One folder of projects."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, NAME)

    def files(self) -> dict[str, File]:
        """Look at every session's file, those of sub-agents with them."""
        root = str(self.root)
        try:
            os.scandir(root).close()
        except OSError as error:
            raise SourceError(f"{root}: {reason(error)}") from error
        found: dict[str, File] = {}
        for project in files.entries(root):
            _collect(os.path.join(project.path, "chats"), len(root) + 1, found, 2)  # noqa: PTH118
        return found

    def head(self, file: BinaryIO | None, key: str, path: Path, place: Bookmark | None) -> Head:
        """Read what is to be known before the messages."""
        from mimohist.sources import qwen_records

        del key
        head = qwen_records.Head(path, dict(place.state.get("head", {})) if place else {})
        if file:
            qwen_records.learn(head, file, place.at if place else 0)
        return head

    def reader(
        self, file: BinaryIO, candidate: Candidate, head: Head, place: Bookmark | None
    ) -> Records:
        """Give what makes lines into messages."""
        from mimohist.sources import entries
        from mimohist.sources.qwen_records import Records

        begun = head.session(candidate.at).at
        return entries.reader(Records, file, candidate, begun, head.state, place)


def _collect(folder: str, start: int, found: dict[str, File], depth: int) -> None:
    for entry in files.entries(folder):
        if entry.name.endswith(".jsonl"):
            file = files.seen(entry)
            if file:
                found[file.path[start:]] = file
        elif depth and entry.is_dir():
            _collect(entry.path, start, found, depth - 1)
