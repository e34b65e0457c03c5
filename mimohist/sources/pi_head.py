"""What is to be known of a transcript of pi's shape before its messages: id, place, time, title."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mimohist.records import Session
from mimohist.sources import jsonl
from mimohist.sources.jsonl import record_in, text_in
from mimohist.sources.pi_texts import texts_in, whose
from mimohist.sources.transcript import first_line, last_time, place
from mimohist.text import clean

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

_PROBED = 200
"""How many lines are looked at for the header and the first thing that was said."""

_SHORT = 8192
_NAMING = re.compile(rb'"type":\s*"(?:session_info|title_change|title)"')
_ID = re.compile(r"_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.IGNORECASE)


@dataclass(slots=True)
class Head:
    """The header of one transcript; `state` is what a later reading is to be told."""

    path: Path
    state: dict[str, Any] = field(default_factory=dict)
    updated: int | None = None

    def session(self, seen: int) -> Session:
        """Make it a session; `seen` (epoch ms) is when its file was written."""
        state = self.state
        at = int(state.get("at") or self.updated or seen)
        directory, project = place(state.get("cwd", ""))
        title = state.get("title", "")
        return Session(
            id=state.get("id") or id_in(self.path.name),
            title=title or state.get("said") or state.get("agent_name") or "",
            titled=bool(title),
            directory=directory,
            project_id=project,
            at=at,
            updated=max(at, self.updated or at),
            path=str(self.path),
            parent_id=started_by(self.path) or state.get("parent"),
        )


def learn(head: Head, file: BinaryIO, at: int) -> None:
    """Read a header from byte `at` on; what a session was named last may stand anywhere."""
    state = head.state
    for number, line in enumerate(jsonl.lines(file, at)):
        data = line.data
        if not state and number > _PROBED:
            return
        if data is None:
            continue
        probing = state.get("lines", 0) < _PROBED and not state.get("said")
        if not probing and (len(data) > _SHORT or not _NAMING.search(data)):
            continue
        try:
            record = jsonl.decoded(data)
        except ValueError:
            continue
        if not isinstance(record, dict):
            continue
        _entry(state, record)
        if state and line.whole:
            state["lines"] = state.get("lines", 0) + 1
    if started_by(head.path) and state:
        state.setdefault("agent", f"agent-{head.path.stem}")
        state.setdefault("agent_name", None)
    head.updated = last_time(file)


def _entry(state: dict[str, Any], record: jsonl.Record) -> None:
    """Take what an entry tells of its session."""
    match record.get("type"):
        case "session":
            _header(state, record)
        case "title" | "title_change":
            state["title"] = first_line(text_in(record, "title"))
        case "session_info":  # an empty name takes the earlier one away
            state["title"] = first_line(text_in(record, "name"))
        case "session_init":
            state["agent_name"] = clean(text_in(record, "agent")) or None
        case "message":
            message = record_in(record, "message")
            at = jsonl.epoch_ms(record.get("timestamp"))
            if at:
                state.setdefault("at", at)
            if message.get("role") == "user" and not state.get("said"):
                state["said"] = _opening(message)


def _header(state: dict[str, Any], record: jsonl.Record) -> None:
    if "id" in state:
        return
    state["id"] = clean(text_in(record, "id"))
    state["cwd"] = clean(text_in(record, "cwd"))
    at = jsonl.epoch_ms(record.get("timestamp"))
    if at:
        state["at"] = at
    if title := first_line(text_in(record, "title")):
        state.setdefault("title", title)
    parent = text_in(record, "parentSession") or text_in(record, "branchedFrom")
    if parent:
        name = parent.replace("\\", "/").rpartition("/")[2]
        state["parent"] = clean(id_in(name)) or None


def _opening(message: jsonl.Record) -> str:
    for text in texts_in(message.get("content")):
        said, _, machine = whose(clean(text))
        if machine is None and said.strip():
            return first_line(said)
    return ""


def id_in(name: str) -> str:
    """Give the session's id that a file's name holds, else the name without its endings."""
    found = _ID.search(name)
    return found[1] if found else name.partition(".jsonl")[0]


def started_by(path: Path) -> str | None:
    """Name the session below whose folder a transcript lies (OMP's sub-agents), else None."""
    for folder in path.parents:
        if found := _ID.search(folder.name):
            return found[1]
    return None
