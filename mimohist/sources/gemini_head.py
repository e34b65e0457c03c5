"""What is to be known of a session of Gemini CLI before its messages: place, time, title."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from mimohist.records import Machine, Session
from mimohist.sources import jsonl
from mimohist.sources.gemini_records import said_in, texts_in
from mimohist.sources.jsonl import epoch_ms, record_in, text_in
from mimohist.sources.transcript import first_line
from mimohist.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mimohist.sources.gemini_log import Log

_SHARED = "a2a-server"
"""The id that every session of its server for editors has."""

_BACKGROUND = "skill-extraction-"

_LIST_LIMIT = 4 << 20
_DIRECTORIES = re.compile(r"Workspace Directories:\**\s*\n((?:\s*-\s+\S.*\n?)+)")


def session(path: Path, root: Path, log: Log, seen: int) -> Session:
    """Make the session of a file below `root`; `seen` (epoch ms) is when it was written."""
    meta = log.meta
    id = clean(text_in(meta, "sessionId"))
    at = epoch_ms(meta.get("startTime")) or seen
    opening = "" if log.broken else _opening(log, path)
    title = first_line(text_in(meta, "summary"))
    parent = path.parent.name
    below = parent != "chats"
    return Session(
        id=id if id and id != _SHARED else path.name.partition(".json")[0],
        title=title or first_line(said_in(opening)[0]),
        titled=bool(title),
        directory=clean(_directory(path, root, log, opening)),
        at=at,
        updated=max(at, epoch_ms(meta.get("lastUpdated")) or seen),
        path=str(path),
        parent_id=clean(parent) if below and not parent.startswith(_BACKGROUND) else None,
        machine=Machine.SYSTEM_AGENT if parent.startswith(_BACKGROUND) else None,
    )


def _opening(log: Log, path: Path) -> str:
    """Give a user's texts up to the first that is said, with what the program put before it."""
    texts: list[str] = []
    try:
        for record in log.opening(path):
            if record.get("type") == "user":
                texts.append("\n".join(texts_in(record.get("content"))))
                if said_in(texts[-1])[0].strip():
                    break
    except OSError:
        pass  # the session goes without a title
    return "\n".join(texts)


def _directory(path: Path, root: Path, log: Log, opening: str) -> str:
    """Say where a session ran: by the list of projects, else as its own texts tell."""
    folder = path.relative_to(root).parts[0]
    for directory, name in _projects(root):
        if folder in (name, sha256(directory.encode("utf-8", "replace")).hexdigest()):
            return directory
    told = _told(log, opening)
    hashed = [one for one in told if sha256(one.encode("utf-8", "replace")).hexdigest() == folder]
    return next(iter(hashed or told), "")


def _projects(root: Path) -> Iterator[tuple[str, str]]:
    """Give the directories that the program lists, with the names of their folders."""
    try:
        with (root.parent / "projects.json").open("rb") as file:
            listed = jsonl.decoded(file.read(_LIST_LIMIT))
    except (OSError, ValueError):
        return
    if isinstance(listed, dict):
        for directory, name in record_in(listed, "projects").items():
            yield directory, name if isinstance(name, str) else ""


def _told(log: Log, opening: str) -> list[str]:
    listed = log.meta.get("directories")
    told = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    if found := _DIRECTORIES.search(opening):
        told += [line.strip().removeprefix("-").strip() for line in found[1].splitlines()]
    return [one for one in told if one]
