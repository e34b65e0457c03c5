"""Transcripts in the shape in which Claude Code writes them (2.1)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = datetime(2026, 1, 2, 3, 4, 0, 123_000, tzinfo=UTC)


class ClaudeFile:
    """One transcript; every line is a second later than the one before."""

    def __init__(
        self, path: Path, cwd: str = "/w/x", *, session: str = "", **fields: object
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.session = session or path.stem
        self.fields = {"cwd": cwd, "version": "2.1.30", "gitBranch": "main", **fields}
        self.clock = 0
        self.count = 0
        self.last: str | None = None

    def line(self, record: object) -> None:
        """Write one record, or one line as it is."""
        text = record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)
        with self.path.open("a", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text + "\n")

    def record(self, type: str, **fields: object) -> dict[str, Any]:
        self.clock += 1
        self.count += 1
        uuid = f"{self.session}-{self.count:04d}"
        moment = BEGIN + timedelta(seconds=self.clock)
        made = {
            "parentUuid": self.last,
            "isSidechain": False,
            "userType": "external",
            "sessionId": self.session,
            **self.fields,
            "type": type,
            "uuid": uuid,
            "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            **fields,
        }
        self.last = str(made["uuid"])
        return made

    def user(self, content: object, **fields: object) -> str:
        made = self.record("user", message={"role": "user", "content": content}, **fields)
        self.line(made)
        return str(made["uuid"])

    def assistant(self, *blocks: dict[str, Any], id: str = "", **fields: object) -> str:
        message = {
            "id": id or f"msg_{self.session}_{self.count}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-5",
            "content": list(blocks),
            "stop_reason": None,
            "usage": {"input_tokens": 10, "output_tokens": 3, "cache_read_input_tokens": 7},
        }
        made = self.record("assistant", message=message, requestId="req_1", **fields)
        self.line(made)
        return str(made["uuid"])

    def call(self, id: str, name: str = "Bash", message: str = "", **given: object) -> str:
        block = {"type": "tool_use", "id": id, "name": name, "input": given}
        return self.assistant(block, id=message)

    def result(self, id: str, content: object, *, failed: bool = False, **fields: object) -> str:
        block = {"type": "tool_result", "tool_use_id": id, "content": content}
        if failed:
            block["is_error"] = True
        return self.user([block], toolUseResult={"stdout": content}, **fields)

    def size(self) -> int:
        return self.path.stat().st_size


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def thinking(thought: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": thought, "signature": "c2lnbmF0dXJl"}
