"""Sessions in the shape in which pi and its kin write them (format 3; OMP 18, OpenClaw)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = datetime(2026, 1, 2, 3, 4, 0, tzinfo=UTC)


def uuid(number: int) -> str:
    return f"019b7a00-0000-7000-8000-{number:012x}"


class PiFile:
    """One session; every entry is a second later than the one before, and its child."""

    def __init__(
        self,
        sessions: Path,
        number: int = 1,
        *,
        folder: str = "--w-x--",
        name: str = "",
        header: bool = True,
        **fields: object,
    ) -> None:
        self.id = uuid(number)
        self.number = number
        self.clock = 0
        self.count = 0
        self.last: str | None = None
        place = sessions / folder
        place.mkdir(parents=True, exist_ok=True)
        self.path = place / (name or f"2026-01-02T03-04-00-000Z_{self.id}.jsonl")
        if header:
            self.header(**fields)

    def line(self, record: object) -> None:
        text = record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)
        with self.path.open("a", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text + "\n")

    def header(self, **fields: object) -> None:
        known = {
            "type": "session",
            "version": 3,
            "id": self.id,
            "timestamp": self.time(),
            "cwd": "/w/x",
        }
        self.line({**known, **fields})

    def time(self) -> str:
        moment = BEGIN + timedelta(seconds=self.clock)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def ms(self) -> int:
        return int((BEGIN + timedelta(seconds=self.clock)).timestamp()) * 1000

    def entry(self, type: str, **fields: object) -> str:
        self.clock += 1
        self.count += 1
        id = f"{self.number:02x}{self.count:06x}"
        made = {"type": type, "id": id, "parentId": self.last, "timestamp": self.time()}
        self.line({**made, **fields})
        self.last = id
        return id

    def message(self, role: str, **fields: object) -> str:
        stamp = self.ms() + 1000
        return self.entry("message", message={"role": role, "timestamp": stamp, **fields})

    def user(self, content: object) -> str:
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return self.message("user", content=blocks)

    def assistant(self, *blocks: dict[str, Any], **fields: object) -> str:
        usage = {"input": 9, "output": 2, "cacheRead": 4, "cacheWrite": 1, "cost": {"total": 0.5}}
        known = {
            "api": "anthropic-messages",
            "provider": "anthropic",
            "model": "claude-opus-4-5",
            "usage": usage,
            "stopReason": "stop",
        }
        return self.message("assistant", content=list(blocks), **{**known, **fields})

    def says(self, text: str) -> str:
        return self.assistant({"type": "text", "text": text})

    def call(self, id: str, name: str = "bash", **given: object) -> str:
        return self.assistant({"type": "toolCall", "id": id, "name": name, "arguments": given})

    def result(self, id: str, text: str, *, failed: bool = False, tool: str = "bash") -> str:
        content = [{"type": "text", "text": text}]
        return self.message(
            "toolResult", toolCallId=id, toolName=tool, content=content, isError=failed
        )
