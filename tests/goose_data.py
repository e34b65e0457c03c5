"""goose's database as its schema version 8 makes it, and the files of before, in their shapes."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = 1_760_000_000
"""When the first session began (epoch seconds): 2025-10-09 08:53:20 UTC."""

DDL = """
CREATE TABLE schema_version (
    version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
INSERT INTO schema_version VALUES (8, '2025-10-01 00:00:00');
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
    user_set_name BOOLEAN DEFAULT FALSE, session_type TEXT NOT NULL DEFAULT 'user',
    working_dir TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, extension_data TEXT DEFAULT '{}',
    total_tokens INTEGER, provider_name TEXT, model_config_json TEXT, goose_mode TEXT,
    archived_at TIMESTAMP, project_id TEXT, parent_session_id TEXT);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT,
    session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
    content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
    timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);
CREATE INDEX idx_messages_session ON messages(session_id);
CREATE INDEX idx_messages_timestamp ON messages(timestamp);
CREATE INDEX idx_sessions_updated ON sessions(updated_at DESC);
CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY, session_id TEXT, secret TEXT);
"""


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def request(id: str, name: str, **arguments: object) -> dict[str, Any]:
    value = {"name": name, "arguments": arguments}
    return {"type": "toolRequest", "id": id, "toolCall": {"status": "success", "value": value}}


def response(id: str, value: object, status: str = "success") -> dict[str, Any]:
    result = {"status": status, ("value" if status == "success" else "error"): value}
    return {"type": "toolResponse", "id": id, "toolResult": result}


def moment(seconds: int) -> str:
    """Write a time as SQLite's CURRENT_TIMESTAMP does."""
    db = sqlite3.connect(":memory:")
    (found,) = db.execute("SELECT datetime(?, 'unixepoch')", (seconds,)).fetchone()
    db.close()
    return str(found)


class GooseDatabase:
    """A database that is open, as goose keeps it: in WAL mode."""

    def __init__(self, path: Path, ddl: str = DDL) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.clock = BEGIN
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript(ddl)

    def session(self, id: str = "20251009_1", **columns: object) -> str:
        now = moment(self.clock)
        row = {"id": id, "working_dir": "/w/shop", "created_at": now, "updated_at": now, **columns}
        marks = ", ".join("?" * len(row))
        self.db.execute(
            f"INSERT INTO sessions({', '.join(row)}) VALUES ({marks})", tuple(row.values())
        )
        return id

    def message(self, session: str, role: str, *content: object, **columns: object) -> None:
        self.clock += 1
        row = {
            "session_id": session,
            "role": role,
            "content_json": json.dumps(content),
            "created_timestamp": self.clock,
            "metadata_json": '{"userVisible":true,"agentVisible":true}',
            **columns,
        }
        marks = ", ".join("?" * len(row))
        self.db.execute(
            f"INSERT INTO messages({', '.join(row)}) VALUES ({marks})", tuple(row.values())
        )
        self.touch(session)

    def touch(self, session: str) -> None:
        now = moment(self.clock)
        self.db.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (now, session))

    def close(self) -> None:
        self.db.close()


class GooseFile:
    """One session in a file of its own."""

    def __init__(self, folder: Path, id: str = "20250724_101112", **header: object) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{id}.jsonl"
        self.clock = BEGIN
        known = {"description": "Old times", "working_dir": "/w/old", "message_count": 2}
        self.line({**known, **header})

    def line(self, record: object) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write((record if isinstance(record, str) else json.dumps(record)) + "\n")

    def message(self, role: str, *content: object) -> None:
        self.clock += 1
        self.line({"id": None, "role": role, "created": self.clock, "content": content})
