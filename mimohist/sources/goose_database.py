"""goose's database: the columns that it has (schema versions 1 to 8) and what a session is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mimohist.records import Machine, Session
from mimohist.sources.goose_records import Records
from mimohist.sources.jsonl import epoch_ms
from mimohist.sources.tables import updated
from mimohist.sources.transcript import place
from mimohist.text import clean

if TYPE_CHECKING:
    from pathlib import Path


class Goose:
    """What `tables.Tables` needs to know of goose."""

    text = "content_json"
    columns: tuple[str, ...] = ("role", "created_timestamp", "message_id", "metadata_json")
    order = "created_timestamp"
    header: tuple[str, ...] = (
        "id",
        "name",
        "description",
        "session_type",
        "working_dir",
        "created_at",
        "updated_at",
        "archived_at",
        "parent_session_id",
    )
    birth = (
        "schema_version",
        "SELECT min(applied_at) FROM schema_version",
    )

    def session(self, row: dict[str, Any], root: Path) -> Session:
        """Make a session's header; `hidden` ones are goose's own work."""
        text = {key: clean(value) for key, value in row.items() if isinstance(value, str)}
        directory, project = place(text.get("working_dir", ""))
        touched = updated(row["updated_at"])
        name = text.get("name", "")
        return Session(
            id=row["id"],
            title=text.get("description", "") if name in ("", row["id"]) else name,
            directory=directory,
            project_id=project,
            at=epoch_ms(row["created_at"]) or touched,
            updated=touched,
            path=str(root),
            parent_id=text.get("parent_session_id") or None,
            archived=epoch_ms(row["archived_at"]),
            machine=Machine.SYSTEM_AGENT if row["session_type"] == "hidden" else None,
        )

    def reader(self, row: dict[str, Any]) -> Records:
        """Give what reads a session's messages."""
        spawned = row["session_type"] == "sub_agent"
        return Records(row["id"], epoch_ms(row["created_at"]) or 0, spawned=spawned)
