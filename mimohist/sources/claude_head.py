"""What is to be known of a Claude Code transcript before its messages: where, when, its title."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from mimohist.records import Machine, Session
from mimohist.sources import jsonl
from mimohist.sources.claude_records import user_texts, whose
from mimohist.sources.transcript import first_line, last_time, place
from mimohist.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PROBED = 200
"""How many lines are looked at for the first thing that was said."""

_SHORT = 8192
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_RECENT = 3


@dataclass(slots=True)
class Head:
    """The header of one transcript; `state` is what a later reading is to be told."""

    path: Path
    agent: str = "main"
    agent_name: str | None = None
    state: dict[str, Any] = field(default_factory=dict)
    updated: int | None = None

    def begun(self, seen: int) -> int:
        """Give when the conversation began (epoch ms), `seen` if nothing tells."""
        return int(self.state.get("at") or self.updated or seen)

    def session(self, seen: int) -> Session:
        """Make it a session; `seen` (epoch ms) is when its file was written."""
        state = self.state
        titles = (state.get(key) for key in ("custom-title", "ai-title", "summary"))
        title = next((one for one in titles if one), "")
        at = self.begun(seen)
        directory, project = place(state.get("cwd", ""))
        return Session(
            id=self.path.stem,
            title=title or state.get("said") or self.agent_name or "",
            titled=bool(title),
            directory=directory,
            project_id=project,
            at=at,
            updated=max(at, self.updated or at),
            path=str(self.path),
            parent_id=None
            if self.agent == "main"
            else parent_of(self.path, state.get("session", "")),
            version=state.get("version"),
        )


def head_of(file: BinaryIO, path: Path, known: jsonl.Bookmark | None) -> Head:
    """Read a transcript's header, from where an earlier reading left off."""
    head = Head(path, *agent_of(path), dict(known.state.get("head", {})) if known else {})
    state = head.state
    summaries: list[tuple[str, str]] = []
    for line in jsonl.lines(file, known.at if known else 0):
        data = line.data
        if data is None:
            continue
        probing = state.get("lines", 0) < _PROBED and not (
            state.get("said") and state.get("cwd") and state.get("at")
        )
        if not probing and (
            len(data) > _SHORT or (b'-title"' not in data and b'"summary"' not in data)
        ):
            continue
        try:
            record = jsonl.decoded(data)
        except ValueError:
            continue
        if not isinstance(record, dict):
            continue
        if probing and line.whole:
            state["lines"] = state.get("lines", 0) + 1
        _learn(head, record, summaries)
    _choose_summary(file, state, summaries)
    head.updated = last_time(file)
    return head


def _learn(head: Head, record: jsonl.Record, summaries: list[tuple[str, str]]) -> None:
    state = head.state
    type = jsonl.text_in(record, "type")
    if type in _TITLES:
        text = first_line(jsonl.text_in(record, _TITLES[type]) or jsonl.text_in(record, "title"))
        if type != "summary":
            state[type] = text
        elif text:
            summaries.append((text, jsonl.text_in(record, "leafUuid")))
        return
    for key, name in (("cwd", "cwd"), ("version", "version"), ("session", "sessionId")):
        if key not in state and (value := clean(jsonl.text_in(record, name))):
            state[key] = value
    at = jsonl.epoch_ms(record.get("timestamp"))
    if at and type in ("user", "assistant", "system"):
        state.setdefault("at", at)
    if type == "user" and not state.get("said"):
        state["said"] = next(filter(None, _openings(head, record)), "")


def _openings(head: Head, record: jsonl.Record) -> Iterator[str]:
    """Give the first lines of what was said in a record, a sub-agent's orders included."""
    main = head.agent == "main"
    for text in user_texts(record):
        said, _, machine = whose(record, text, sub_agent=False)
        if machine is None or (machine is Machine.SPAWN and not main):
            yield first_line(said)


def _choose_summary(
    file: BinaryIO, state: dict[str, Any], summaries: list[tuple[str, str]]
) -> None:
    """Take the last summary that is of this conversation.

    Claude Code 1.x wrote those of others of the project too: the last message summed up is not
    in the file then.
    """
    for text, leaf in reversed(summaries[-_RECENT:]):
        needle = f'"uuid":"{leaf}"'.encode("utf-8", "replace")
        if (
            not state.get("at")
            or not leaf
            or any(needle in (line.data or b"") for line in jsonl.lines(file))
        ):
            state["summary"] = text
            return


def agent_of(path: Path) -> tuple[str, str | None]:
    """Give the slice that a file's messages belong to, and the kind of agent if it is told."""
    if not path.name.startswith("agent-"):
        return "main", None
    try:
        with path.with_suffix(".meta.json").open("rb") as file:
            meta = jsonl.decoded(file.read(1 << 16))
    except (OSError, ValueError):
        meta = None
    name = jsonl.text_in(meta, "agentType") if isinstance(meta, dict) else ""
    return path.stem, clean(name) or None


def parent_of(path: Path, session: str) -> str | None:
    """Name the session that started a sub-agent: by the folder, else as its records say."""
    folder = next((one for one in path.parents if one.name == "subagents"), None)
    return folder.parent.name if folder else session or None
