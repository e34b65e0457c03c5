"""The original design of MiMo Code's history index, to measure against.

    python -m tests.bench.original SOURCE.db INDEX.db

Built from its description (as of August 2026): a text primary key, three plain indexes, an
external-content `unicode61` table kept in step by triggers, sessions newest first in pages of
500 parts by id, one transaction a page; inputs and outputs as JSON.  All six kinds are on.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE history_fts(
  part_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, message_id TEXT NOT NULL,
  project_id TEXT NOT NULL, kind TEXT NOT NULL, tool_name TEXT, body TEXT NOT NULL,
  time_created INTEGER NOT NULL);
CREATE INDEX history_fts_session ON history_fts(session_id, time_created);
CREATE INDEX history_fts_project ON history_fts(project_id, time_created);
CREATE INDEX history_fts_message ON history_fts(message_id);
CREATE VIRTUAL TABLE history_fts_idx USING fts5(
  body, content='history_fts', content_rowid='rowid', tokenize='unicode61 remove_diacritics 1');
CREATE TRIGGER history_ai AFTER INSERT ON history_fts BEGIN
  INSERT INTO history_fts_idx(rowid, body) VALUES (new.rowid, new.body);
END;
CREATE TRIGGER history_ad AFTER DELETE ON history_fts BEGIN
  INSERT INTO history_fts_idx(history_fts_idx, rowid, body) VALUES ('delete', old.rowid, old.body);
END;
CREATE TRIGGER history_au AFTER UPDATE ON history_fts BEGIN
  INSERT INTO history_fts_idx(history_fts_idx, rowid, body) VALUES ('delete', old.rowid, old.body);
  INSERT INTO history_fts_idx(rowid, body) VALUES (new.rowid, new.body);
END;
"""

SEARCH = """
SELECT h.part_id, bm25(history_fts_idx) AS score,
  snippet(history_fts_idx, 0, '<<', '>>', '...', 32) AS snippet
FROM history_fts_idx JOIN history_fts h ON h.rowid = history_fts_idx.rowid
WHERE history_fts_idx MATCH :match {filter} ORDER BY score LIMIT 10
"""

FILTERS = {
    "": "",
    "project": "AND h.project_id = 'p3'",
    "kind": "AND h.kind = 'user_text'",
    "time": "AND h.time_created >= :since",
}

PAGE = 500
_UPSERT = """
INSERT INTO history_fts VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT(part_id) DO UPDATE SET body = excluded.body, kind = excluded.kind,
  time_created = excluded.time_created
"""


def extract(role: str, part: dict[str, Any]) -> tuple[str, str | None, str] | None:
    """Give a part's kind, tool and text, None when it is not indexed."""
    match part.get("type"):
        case "text":
            found = (f"{role}_text", None, part["text"])
        case "reasoning":
            found = ("reasoning", None, part["text"])
        case "tool":
            state, tool = part["state"], part["tool"]
            call = f"{tool} {_dump(state.get('input') or {})}"
            if state["status"] == "error":
                return "tool_error", tool, f"{call} {state['error']}"
            if state["status"] != "completed":
                return None
            return "tool_output", tool, f"{call} {_dump(state.get('output', ''))}"
        case _:
            return None
    return found if found[2].strip() else None


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def build(source: Path, index: Path) -> None:
    """Build the index of one source."""
    db = sqlite3.connect(index, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA cache_size = -64000")
    db.executescript(SCHEMA)
    db.execute("ATTACH ? AS source", (f"file:{source}?mode=ro",))
    sessions = db.execute(
        "SELECT id, project_id FROM source.session ORDER BY time_created DESC"
    ).fetchall()
    for session, project in sessions:
        last = ""
        while page := _page(db, session, last):
            last = page[-1][0]
            db.execute("BEGIN")
            for id, message, time, role, data in page:
                found = extract(role, json.loads(data))
                if found:
                    kind, tool, body = found
                    row = (id, session, message, project, kind, tool, body, time)
                    db.execute(_UPSERT, row)
            db.execute("COMMIT")
    db.close()


def _page(db: sqlite3.Connection, session: str, last: str) -> list[tuple[str, str, int, str, str]]:
    return db.execute(
        "SELECT p.id, p.message_id, p.time_created, m.data ->> 'role', p.data"
        " FROM source.part p JOIN source.message m ON m.id = p.message_id"
        " WHERE p.session_id = ? AND p.id > ?"
        " AND NOT EXISTS (SELECT 1 FROM history_fts h WHERE h.part_id = p.id)"
        " ORDER BY p.id LIMIT ?",
        (session, last, PAGE),
    ).fetchall()


def main() -> None:
    """Build as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("index", type=Path)
    given = parser.parse_args()
    build(given.source, given.index)


if __name__ == "__main__":
    main()
