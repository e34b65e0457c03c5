"""opencode's sessions as files of JSON, as its versions before SQLite wrote them.

`Folder(data)` writes `data/storage` as of 1.1, `Folder(data, old=True)` `data/project/shop` as of
June 2025.  Times are epoch milliseconds.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

START = 1_760_000_000_000
PROJECT = "ce67fa00be70c0b0e4212adaccc810b81c802e79"


class Folder:
    """One data folder in the making."""

    def __init__(self, data: Path, *, old: bool = False) -> None:
        self.old = old
        self.root = data / ("project" if old else "storage")
        self.count = 0

    def session(self, id: str = "ses_1", at: int = START, **header: Any) -> str:  # noqa: ANN401
        """Write a session's file and its project's."""
        told: dict[str, Any] = {"id": id, "version": "1.1.65", "title": "Cart total drifts"}
        told |= {"time": {"created": at, "updated": at + 5_000}}
        if not self.old:
            told |= {"projectID": PROJECT, "directory": "/home/dev/shop"}
            project = {"id": PROJECT, "worktree": "/home/dev/shop", "vcs": "git"}
            self._write(self.root / "project" / f"{PROJECT}.json", project)
        self._write(self.session_path(id), told | header)
        return id

    def session_path(self, id: str) -> Path:
        """Give where a session's file lies."""
        if self.old:
            return self.root / "shop" / "storage" / "session" / "info" / f"{id}.json"
        return self.root / "session" / PROJECT / f"{id}.json"

    def message(self, session: str, role: str = "user", at: int | None = None, **info: Any) -> str:  # noqa: ANN401
        """Write a message's file."""
        self.count += 1
        at = START + self.count * 1_000 if at is None else at
        id = f"msg_{self.count:04}"
        told: dict[str, Any] = {"id": id, "sessionID": session, "role": role}
        told["time"] = {"created": at}
        if role == "assistant":
            told |= {"modelID": "fake-1", "providerID": "fake", "path": {"cwd": "/home/dev/shop"}}
        self._write(self.message_path(session, id), told | info)
        return id

    def message_path(self, session: str, id: str) -> Path:
        """Give where a message's file lies."""
        base = self.root / "shop" / "storage" / "session" if self.old else self.root
        return base / "message" / session / f"{id}.json"

    def part(self, session: str, message: str, data: dict[str, Any]) -> Path:
        """Write a part's file and give its path."""
        self.count += 1
        id = f"prt_{self.count:04}"
        base = self.root / "shop" / "storage" / "session" if self.old else self.root
        folder = base / "part" / session / message if self.old else base / "part" / message
        self._write(folder / f"{id}.json", {"id": id, "messageID": message, **data})
        return folder / f"{id}.json"

    def say(self, session: str, text: str, role: str = "user") -> Path:
        """Write a message with one text and give the part's path."""
        return self.part(session, self.message(session, role), {"type": "text", "text": text})

    def _write(self, path: Path, value: dict[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=2))
