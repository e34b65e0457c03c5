"""Sessions as Gemini CLI and Qwen Code write them, for tests."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

DIRECTORY = "/home/dev/shop"
SESSION = "6f1c2a3b-0000-4000-8000-000000000001"
NAME = "session-2026-05-01T10-11-6f1c2a3b"
DAY = "2026-05-01T10:11"
CONTEXT = (
    "<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n"
    f"  - {DIRECTORY}\n</session_context>"
)


def moment(count: int) -> str:
    """Give the time of the n-th record."""
    return f"{DAY}:{count // 1000 % 60:02}.{count % 1000:03}Z"


class GeminiFile:
    """One session of Gemini CLI: a log of lines, or a document with `document`.

    `project` names the project's folder, else it is the directory's SHA-256.
    """

    def __init__(
        self, home: Path, *, document: bool = False, project: str = "", below: str = ""
    ) -> None:
        folder = project or sha256(DIRECTORY.encode()).hexdigest()
        place = home / ".gemini/tmp" / folder / "chats" / below
        place.mkdir(parents=True, exist_ok=True)
        self.path = place / f"{NAME}{'.json' if document else '.jsonl'}"
        self.count = 0
        self.meta = {"sessionId": SESSION, "projectHash": folder, "startTime": moment(0)}
        self.messages: list[dict[str, Any]] = []
        self.path.touch()
        if not document:
            self.line({**self.meta, "lastUpdated": moment(0), "kind": "main"})

    def line(self, record: object) -> None:
        """Write one line as it is."""
        with self.path.open("a") as out:
            out.write(json.dumps(record) + "\n")

    def message(self, type: str, content: object, **more: Any) -> str:  # noqa: ANN401
        """Write a message and give its id; `id` in `more` writes that one again."""
        self.count += 1
        id = more.pop("id", f"g-{self.count}")
        record = {"id": id, "timestamp": moment(self.count), "type": type, "content": content}
        record |= more
        if self.path.suffix == ".json":
            self.messages.append(record)
            told = {**self.meta, "lastUpdated": moment(self.count), "messages": self.messages}
            self.path.write_text(json.dumps(told, indent=2))
        else:
            self.line(record)
        return str(id)

    def user(self, text: str) -> str:
        """Write a prompt, as pieces as the program does."""
        return self.message("user", [{"text": text}])

    def says(self, text: str, **more: Any) -> str:  # noqa: ANN401
        """Write an answer."""
        return self.message("gemini", text, model="gemini-3-pro", **more)


def call(name: str, status: str = "success", output: object = None, **args: object) -> object:
    """Make a tool's call as an answer holds it."""
    key = "error" if status == "error" else "output"
    response = {"functionResponse": {"id": "c", "name": name, "response": {key: output}}}
    result = [response] if output is not None else None
    return {"id": "c", "name": name, "args": args, "status": status, "result": result}


class QwenFile:
    """One session of Qwen Code."""

    def __init__(self, home: Path) -> None:
        folder = home / ".qwen/projects/-home-dev-shop/chats"
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{SESSION}.jsonl"
        self.count = 0

    def line(self, type: str, *parts: object, **more: object) -> str:
        """Write one line and give its id."""
        self.count += 1
        id = f"q-{self.count}"
        record = {
            "uuid": id,
            "parentUuid": f"q-{self.count - 1}" if self.count > 1 else None,
            "sessionId": SESSION,
            "timestamp": moment(self.count),
            "type": type,
            "cwd": DIRECTORY,
            "version": "0.9.0",
            "message": {"role": type, "parts": list(parts)},
            **more,
        }
        with self.path.open("a") as out:
            out.write(json.dumps(record) + "\n")
        return id

    def user(self, text: str) -> str:
        """Write a prompt."""
        return self.line("user", {"text": text})

    def says(self, text: str) -> str:
        """Write an answer."""
        return self.line("assistant", {"text": text}, model="qwen3-coder")

    def call(self, id: str, name: str, **args: object) -> str:
        """Write a tool's call."""
        return self.line("assistant", {"functionCall": {"id": id, "name": name, "args": args}})

    def result(self, id: str, output: str, status: str = "success") -> str:
        """Write what a tool gave back."""
        response = {"id": id, "name": "run_shell_command", "response": {"output": output}}
        told = {"callId": id, "status": status, "resultDisplay": output}
        return self.line("tool_result", {"functionResponse": response}, toolCallResult=told)
