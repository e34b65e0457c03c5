"""Sessions in the shapes in which kimi-cli (1.52) and Kimi Code write them."""

from __future__ import annotations

import json
from hashlib import md5
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = 1_767_323_040


def uuid(number: int) -> str:
    return f"7b1f0a52-0000-4000-8000-{number:012x}"


class KimiFile:
    """One session of kimi-cli with a log; every line is a second later than the one before."""

    def __init__(
        self, home: Path, number: int = 1, *, cwd: str = "/w/x", agent: str = "", log: bool = True
    ) -> None:
        self.id = uuid(number)
        self.clock = BEGIN + number * 1000
        digest = md5(cwd.encode(), usedforsecurity=False).hexdigest()
        self.folder = home / "sessions" / digest / self.id
        if agent:
            self.folder = self.folder / "subagents" / agent
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / ("wire.jsonl" if log else "context.jsonl")
        known(home, cwd)
        if log:
            self.line({"type": "metadata", "protocol_version": "1.3"})

    def line(self, record: object) -> None:
        text = record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)
        with self.path.open("a", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text + "\n")

    def event(self, type: str, /, **payload: object) -> None:
        self.clock += 1
        self.line({"timestamp": self.clock + 0.5, "message": {"type": type, "payload": payload}})

    def inner(self, type: str, /, *, agent: str = "", call: str = "t1", **payload: object) -> None:
        """Write what a sub-agent did into the log of who started it."""
        event = {"type": type, "payload": payload}
        who = {"agent_id": agent} if agent else {}
        self.event("SubagentEvent", parent_tool_call_id=call, **who, event=event)

    def user(self, content: object) -> None:
        self.event("TurnBegin", user_input=content)

    def step(self) -> None:
        self.event("StepBegin", n=1)

    def says(self, text: str) -> None:
        self.event("ContentPart", type="text", text=text)

    def thinks(self, text: str) -> None:
        self.event("ContentPart", type="think", think=text, encrypted="SECRET")

    def call(self, id: str, arguments: str | None, name: str = "Shell") -> None:
        self.event(
            "ToolCall", type="function", id=id, function={"name": name, "arguments": arguments}
        )

    def result(self, id: str, output: object, *, failed: bool = False, message: str = "") -> None:
        value = {"is_error": failed, "output": output, "message": message, "display": []}
        self.event("ToolResult", tool_call_id=id, return_value=value)

    def state(self, **fields: object) -> None:
        (self.folder / "state.json").write_text(json.dumps({"version": 1, **fields}))


class KimiCodeFile:
    """One log of Kimi Code."""

    def __init__(self, home: Path, number: int = 1, *, agent: str = "main") -> None:
        self.id = f"session_{uuid(number)}"
        self.clock = (BEGIN + number * 1000) * 1000
        self.folder = home / "sessions" / "wd_x_0123456789ab" / self.id
        place = self.folder / "agents" / agent
        place.mkdir(parents=True, exist_ok=True)
        self.path = place / "wire.jsonl"
        self.record("metadata", protocol_version="2", app_version="0.1.0")
        self.record("config.update", systemPrompt="SYSTEMPROMPT", modelAlias="kimi-code/k2.6")
        with (home / "session_index.jsonl").open("a") as file:
            file.write(json.dumps({"sessionId": self.id, "workDir": "/w/code"}) + "\n")

    def record(self, type: str, **fields: object) -> None:
        self.clock += 1000
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"type": type, "time": self.clock, **fields}) + "\n")

    def event(self, type: str, **fields: object) -> None:
        self.record("context.append_loop_event", event={"type": type, **fields})


def known(home: Path, cwd: str) -> None:
    """Note a directory where kimi-cli does."""
    path = home / "kimi.json"
    told: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"work_dirs": []}
    if all(one["path"] != cwd for one in told["work_dirs"]):
        told["work_dirs"].append({"path": cwd, "kaos": "local", "last_session_id": None})
        path.write_text(json.dumps(told))
