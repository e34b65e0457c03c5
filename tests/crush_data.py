"""Crush's database with its triggers, and the Go opencode's, which it grew from."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = 1_760_000_000
"""When the first session began (epoch seconds)."""

_FIRST = """
CREATE TABLE goose_db_version (
    id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL,
    is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')));
INSERT INTO goose_db_version VALUES (1, 0, 1, '2025-01-01'), (2, 20250424200609, 1, '2025-01-02');
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
    message_count INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0, cost REAL NOT NULL DEFAULT 0.0,
    updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL);
CREATE TABLE files (
    id TEXT PRIMARY KEY, session_id TEXT NOT NULL, path TEXT NOT NULL, content TEXT NOT NULL,
    version TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE messages (
    id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
    parts TEXT NOT NULL DEFAULT '[]', model TEXT, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, finished_at INTEGER);
CREATE INDEX idx_messages_session_id ON messages (session_id);
CREATE TRIGGER update_session_message_count_on_insert AFTER INSERT ON messages BEGIN
    UPDATE sessions SET message_count = message_count + 1 WHERE id = new.session_id; END;
CREATE TRIGGER update_session_message_count_on_delete AFTER DELETE ON messages BEGIN
    UPDATE sessions SET message_count = message_count - 1 WHERE id = old.session_id; END;
"""
OPENCODE = _FIRST
CRUSH = f"""{_FIRST}
ALTER TABLE sessions ADD COLUMN summary_message_id TEXT;
ALTER TABLE sessions ADD COLUMN todos TEXT;
ALTER TABLE messages ADD COLUMN provider TEXT;
ALTER TABLE messages ADD COLUMN is_summary_message INTEGER DEFAULT 0 NOT NULL;
"""


def text(said: str) -> dict[str, Any]:
    return part("text", text=said)


def part(type: str, **data: object) -> dict[str, Any]:
    return {"type": type, "data": data}


def call(id: str, name: str, *, finished: bool = True, **given: object) -> dict[str, Any]:
    return part("tool_call", id=id, name=name, input=json.dumps(given), finished=finished)


def result(id: str, content: str, *, failed: bool = False) -> dict[str, Any]:
    return part("tool_result", tool_call_id=id, name="x", content=content, is_error=failed)


def end(reason: str = "end_turn", **more: object) -> dict[str, Any]:
    return part("finish", reason=reason, time=BEGIN, **more)


class CrushDatabase:
    """A database that is open, as Crush keeps it: in WAL mode.

    `unit` is how many of a stored time are a second: the Go opencode wrote milliseconds.
    """

    def __init__(self, path: Path, ddl: str = CRUSH, unit: int = 1) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.unit = unit
        self.clock = BEGIN
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript(ddl)

    def _insert(self, table: str, row: dict[str, object]) -> None:
        marks = ", ".join("?" * len(row))
        self.db.execute(
            f"INSERT INTO {table}({', '.join(row)}) VALUES ({marks})", tuple(row.values())
        )

    def session(self, id: str = "s1", title: str = "A title", **columns: object) -> str:
        now = self.clock * self.unit
        row = {"id": id, "title": title, "created_at": now, "updated_at": now, **columns}
        self._insert("sessions", row)
        return id

    def message(self, session: str, role: str, *parts: object, **columns: object) -> str:
        self.clock += 1
        (count,) = self.db.execute("SELECT count(*) FROM messages").fetchone()
        row = {
            "id": f"m{count + 1}",
            "session_id": session,
            "role": role,
            "parts": json.dumps(parts),
            "created_at": self.clock * self.unit,
            "updated_at": self.clock,
            **columns,
        }
        self._insert("messages", row)
        self.touch(session)
        return str(row["id"])

    def touch(self, session: str) -> None:
        self.db.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (self.clock, session))

    def close(self) -> None:
        self.db.close()
