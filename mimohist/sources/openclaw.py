"""OpenClaw: sessions of pi's shape, `agents/<agent>/sessions/<id>.jsonl` in its folder.

That is `$OPENCLAW_STATE_DIR`, else `~/.openclaw`, or what it was called before.  A conversation
that was begun anew leaves `<id>.jsonl.reset.<time>`, which is read as the session that it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mimohist.sources import files
from mimohist.sources.pi import named, sessions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mimohist.sources.pi import Pi

NAME = "openclaw"

_FOLDERS = (".openclaw", ".clawdbot", ".moltbot")


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Pi]:
    """Give each agent's folder of sessions that there is, and the configured ones."""
    own = environ.get("OPENCLAW_STATE_DIR", "")
    states = [named(own, home)] if own else [home / name for name in _FOLDERS]
    usual = [one for state in states for one in _agents(state)]
    asked = [one for root in roots for one in (_agents(root) or [root])]
    return sessions(NAME, usual, asked)


def _agents(state: Path) -> list[Path]:
    return sorted((state / "agents").glob("*/sessions")) if state.is_dir() else []


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each root's path with its stamp; those that cannot be looked at have none."""
    return files.glance(find(environ, home, roots))
