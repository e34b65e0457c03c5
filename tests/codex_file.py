"""Rollouts in the shapes in which versions of Codex write them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = datetime(2026, 1, 2, 3, 4, 0, tzinfo=UTC)


def thread(number: int) -> str:
    return f"019b7a00-0000-7000-8000-{number:012x}"


class CodexFile:
    """One rollout; every line is a second later than the one before.

    `double` writes texts as most versions do, twice.
    """

    def __init__(
        self, home: Path, number: int = 1, *, double: bool = True, folder: str = "", **meta: object
    ) -> None:
        self.id = thread(number)
        self.double = double
        self.clock = number * 1000
        place = home / (folder or "sessions/2026/01/02")
        place.mkdir(parents=True, exist_ok=True)
        self.path = place / f"rollout-2026-01-02T03-04-00-{self.id}.jsonl"
        self.meta(self.id, **meta)

    def line(self, record: object) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write((record if isinstance(record, str) else json.dumps(record)) + "\n")

    def time(self) -> str:
        moment = BEGIN + timedelta(seconds=self.clock)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def envelope(self, type: str, payload: dict[str, Any]) -> None:
        self.clock += 1
        self.line({"timestamp": self.time(), "type": type, "payload": payload})

    def meta(self, id: str, **fields: object) -> None:
        known = {
            "id": id,
            "timestamp": self.time(),
            "cwd": "/w/x",
            "originator": "codex_cli_rs",
            "cli_version": "0.98.0",
            "source": "cli",
            "model_provider": "openai",
            "base_instructions": {"text": "You are Codex SYSTEMPROMPT"},
        }
        self.envelope("session_meta", {**known, **fields})

    def item(self, type: str, **fields: object) -> None:
        self.envelope("response_item", {"type": type, **fields})

    def event(self, type: str, **fields: object) -> None:
        self.envelope("event_msg", {"type": type, **fields})

    def user(self, said: str) -> None:
        self.item("message", role="user", content=[{"type": "input_text", "text": said}])
        if self.double:
            self.event("user_message", message=said, images=[], kind="plain")

    def agent(self, said: str) -> None:
        if self.double:
            self.event("agent_message", message=said)
        self.item("message", role="assistant", content=[{"type": "output_text", "text": said}])

    def call(self, id: str, arguments: object, name: str = "shell") -> None:
        self.item("function_call", name=name, arguments=json.dumps(arguments), call_id=id)

    def result(self, id: str, output: object) -> None:
        self.item("function_call_output", call_id=id, output=output)
