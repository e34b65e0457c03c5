"""Messages as MiMo Code and opencode write them, made of their JSON, wherever that is kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mimohist.records import Machine, Message, Part, Skipped
from mimohist.sources.parts import error_of, own_time, part_of, usage_of
from mimohist.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

SYSTEM_AGENTS = frozenset({"checkpoint-writer", "dream", "distill"})
"""MiMo Code's own background agents (`src/agent/config.ts`, 0.1.13)."""

_DAY_MS = 86_400_000
_HOLLOW = ('{"type":"step-', '{"type":"snapshot"')


@dataclass(frozen=True, slots=True)
class Revert:
    """From which message, or part of it, a session is hidden since somebody went back."""

    message: str
    at: int
    part: str | None

    def hides(self, message: str, at: int) -> bool:
        """Whether a message lies wholly behind the point gone back to."""
        if self.part is not None and message == self.message:
            return False
        return (at, message) >= (self.at, self.message)


@dataclass(frozen=True, slots=True)
class Messages:
    """Makes messages; `name` is the file's or folder's, to complain of what cannot be read.

    `trusts_part_times` tells whether the time that is kept with a part is when it was made.
    """

    name: str
    trusts_part_times: bool = True

    def message(
        self,
        id: str,
        slice_: str | None,
        at: int,
        info: dict[str, Any],
        rows: Iterable[tuple[str, int | None, str]],
        revert: Revert | None,
        skipped: list[Skipped],
    ) -> Message:
        """Make a message of its info and its parts: id, time (epoch ms, if known) and JSON of each.

        What cannot be read is added to `skipped`.
        """
        role = "user" if info.get("role") == "user" else "assistant"
        parts: list[Part] = []
        unindexed: list[str] = []
        hidden = False
        for part_id, part_at, text in rows:
            if text.startswith(_HOLLOW):
                unindexed.append(text[9 : text.index('"', 9)])
                continue
            data = self._part_data(part_id, text, skipped)
            if data is None:
                continue
            if revert and revert.part == part_id and revert.message == id:
                hidden = True
            moment = self._part_time(part_at, at, data)
            summary = info.get("summary") is True
            made = part_of(part_id, data, role=role, at=moment, summary=summary)
            if made is None:
                unindexed.append(clean(str(data.get("type"))))
            else:
                parts.append(replace(made, machine=Machine.REVERTED) if hidden else made)
        if error := error_of(id, info, at):
            parts.append(error)
        agent_name = info.get("agent")
        return Message(
            id=id,
            at=at,
            role=role,
            parts=tuple(parts),
            agent=slice_ or "main",
            agent_name=clean(agent_name) if isinstance(agent_name, str) else None,
            machine=_machine(id, at, slice_ or "main", info, revert),
            model=_model(info, "modelID"),
            provider=_model(info, "providerID"),
            usage=usage_of(info) if role == "assistant" else None,
            unindexed=tuple(unindexed),
        )

    def _part_data(self, id: str, text: str, skipped: list[Skipped]) -> dict[str, Any] | None:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            skipped.append(Skipped(f"{self.name} part {id}", f"not JSON: {error}"))
            return None
        if not isinstance(data, dict):
            skipped.append(Skipped(f"{self.name} part {id}", "not an object"))
            return None
        return data

    def _part_time(self, part_at: int | None, message_at: int, data: dict[str, Any]) -> int:
        if self.trusts_part_times and part_at is not None:
            return part_at
        own = own_time(data) or message_at
        return own if part_at is None or part_at - own > _DAY_MS else part_at


def _machine(
    id: str, at: int, slice_: str, info: dict[str, Any], revert: Revert | None
) -> Machine | None:
    if revert and revert.hides(id, at):
        return Machine.REVERTED
    agent = info.get("agent")
    if isinstance(agent, str) and agent in SYSTEM_AGENTS:
        return Machine.SYSTEM_AGENT
    if slice_.rsplit("-", 1)[0] in SYSTEM_AGENTS:
        return Machine.SYSTEM_AGENT
    match info.get("source"):
        case "hook":
            return Machine.HOOK
        case "spawn":
            return Machine.SPAWN
    return None


def _model(info: dict[str, Any], key: str) -> str | None:
    """Give the model or its provider: on the message itself, or (user) under `model`."""
    nested = info.get("model")
    value = info.get(key) or (nested.get(key) if isinstance(nested, dict) else None)
    return clean(value) if isinstance(value, str) else None
