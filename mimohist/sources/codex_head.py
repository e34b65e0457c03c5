"""What is to be known of a Codex rollout before its messages: thread, place, time, title."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mimohist.records import Session
from mimohist.sources import jsonl
from mimohist.sources.codex_texts import whose
from mimohist.sources.transcript import first_line, place
from mimohist.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_PROBED = 200
"""How many records are looked at for the first thing that was said."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NAME = re.compile(r"rollout-(\d{4}-\d\d-\d\d)(?:T(\d\d)-(\d\d)-(\d\d))?")
_CWD = re.compile(r"<cwd>([^<\n]+)</cwd>|Current working directory: ([^\n]+)")


@dataclass(slots=True)
class Head:
    """The header of one rollout; `state` is what a later reading is to be told."""

    path: Path
    state: dict[str, Any] = field(default_factory=dict)
    updated: int | None = None

    @property
    def id(self) -> str:
        """The thread's id: what its first record says, else its file's name."""
        return str(self.state.get("id") or id_in(self.path.name))

    @property
    def prefix(self) -> str:
        """What the ids of its messages begin with: the random end of the thread's id."""
        from hashlib import blake2b

        named = self.id.replace("-", "")
        if _UUID.fullmatch(self.id):
            return named[-12:]
        return blake2b(self.path.name.encode(), digest_size=6).hexdigest()

    def begun(self, seen: int) -> int:
        """Give when the conversation began (epoch ms), `seen` if nothing tells."""
        return int(self.state.get("at") or _named_time(self.path.name) or self.updated or seen)

    def session(self, seen: int, title: str, *, archived: bool) -> Session:
        """Make it a session; `seen` (epoch ms) is when its file was written."""
        at = self.begun(seen)
        directory, project = place(self.state.get("cwd", ""))
        return Session(
            id=self.id,
            titled=bool(title),
            title=title or self.state.get("said", "") or self.state.get("agent_name") or "",
            directory=directory,
            project_id=project,
            at=at,
            updated=max(at, self.updated or at),
            path=str(self.path),
            parent_id=self.state.get("parent"),
            version=self.state.get("version"),
            archived=seen if archived else None,
        )


def learn(head: Head, records: Iterable[jsonl.Record]) -> None:
    """Read records into a header until it says all that it can."""
    state = head.state
    for record in records:
        if state.get("lines", 0) >= _PROBED or state.get("said"):
            return
        state["lines"] = state.get("lines", 0) + 1
        payload = record.get("payload")
        type = record.get("type")
        if type == "session_meta" and isinstance(payload, dict):
            if "id" not in state:
                _meta(state, payload, record)
        elif type == "turn_context" and isinstance(payload, dict):
            state.setdefault("cwd", clean(jsonl.text_in(payload, "cwd")))
        elif isinstance(payload, dict):
            _said(state, payload)
        elif "id" in record and "timestamp" in record and type is None:
            _meta(state, record, record)
        else:
            _said(state, record)


def _meta(state: dict[str, Any], meta: jsonl.Record, record: jsonl.Record) -> None:
    state["id"] = clean(jsonl.text_in(meta, "id"))
    at = jsonl.epoch_ms(meta.get("timestamp")) or jsonl.epoch_ms(record.get("timestamp"))
    texts = {
        "cwd": jsonl.text_in(meta, "cwd"),
        "version": jsonl.text_in(meta, "cli_version"),
        "provider": jsonl.text_in(meta, "model_provider"),
    }
    state.update({key: clean(text) for key, text in texts.items() if text})
    if at:
        state["at"] = at
    source = jsonl.record_in(meta, "source").get("subagent")
    spawn = jsonl.record_in(source, "thread_spawn") if isinstance(source, dict) else {}
    parent = jsonl.text_in(meta, "parent_thread_id") or jsonl.text_in(spawn, "parent_thread_id")
    if source or parent:
        role = source if isinstance(source, str) else jsonl.text_in(spawn, "agent_role")
        state["agent_name"] = clean(role or jsonl.text_in(spawn, "agent_nickname")) or None
        state["agent"] = f"agent-{state['id'][-12:]}"
        state["parent"] = clean(parent) or None


def _said(state: dict[str, Any], item: jsonl.Record) -> None:
    if item.get("type") == "user_message":
        texts = [jsonl.text_in(item, "message")]
    elif item.get("type") == "message" and item.get("role") == "user":
        content = item.get("content")
        blocks = jsonl.records_in(content)
        texts = (
            [content]
            if isinstance(content, str)
            else [jsonl.text_in(block, "text") for block in blocks]
        )
    else:
        return
    for text in texts:
        said, _, machine = whose(clean(text))
        if machine is None and said.strip():
            state.setdefault("said", first_line(said))
        elif not state.get("cwd") and (found := _CWD.search(text)):
            state["cwd"] = clean((found[1] or found[2]).strip())


def id_in(name: str) -> str:
    """Give the thread's id that a file's name holds, else the name without its endings."""
    found = _UUID.search(name)
    return found[0] if found else name.partition(".")[0]


def _named_time(name: str) -> int | None:
    """Read the time in a file's name; it is the local one, and counts as UTC here."""
    found = _NAME.match(name)
    if not found:
        return None
    day, hour, minute, second = found.groups()
    return jsonl.epoch_ms(f"{day}T{hour or '00'}:{minute or '00'}:{second or '00'}Z")
