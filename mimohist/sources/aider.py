"""aider: `.aider.chat.history.md` in each repository where it ran; a file's sessions follow it.

Nothing lists these files.  Read are the one that `AIDER_CHAT_HISTORY_FILE` names, the one in the
home directory, and those in configured roots: a file, a repository, or a folder of
repositories (its own and those one level below; where the variable holds a relative path, under
that name too).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.sources.files import entries
from mimohist.sources.places import stamped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mimohist.sources.aider_file import Aider

NAME = "aider"

HISTORY = ".aider.chat.history.md"


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Aider]:
    """Give the histories that there are, and the configured ones."""
    for path in _paths(environ, home, roots):
        from mimohist.sources.aider_file import Aider

        yield Aider(path)


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each history's path with its stamp."""
    return stamped(_paths(environ, home, roots))


def _paths(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> list[Path]:
    own = environ.get("AIDER_CHAT_HISTORY_FILE", "")
    absolute = bool(own) and Path(own).is_absolute()
    names = [HISTORY] if absolute or not own else [HISTORY, own]
    usual = [home / HISTORY, *([Path(own)] if absolute else [])]
    found = dict.fromkeys(path for path in usual if path.is_file())
    for root in roots:
        if not root.is_dir():
            found[root] = None
            continue
        folders = [str(root)]
        folders += sorted(entry.path for entry in entries(str(root)) if _is_folder(entry))
        for folder in folders:
            for name in names:
                path = os.path.join(folder, name)  # noqa: PTH118 - a Path costs more than a stat
                if os.path.isfile(path):  # noqa: PTH113
                    found[Path(path)] = None
    return [*found]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
