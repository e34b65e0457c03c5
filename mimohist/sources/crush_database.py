"""Crush's database (0.1 to 0.4x, and the Go opencode's): its columns, and parts made of its parts.

Times are seconds in Crush, whatever its schema says; the Go opencode wrote milliseconds, and
its triggers seconds.  The table `files` holds whole files and is never read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mimohist.records import Machine, Session
from mimohist.sources.jsonl import Record, decoded, epoch_ms, record_in, text_in
from mimohist.sources.tables import updated
from mimohist.sources.turns import Turns
from mimohist.sources.writing import Clock, Writing
from mimohist.text import clean, strings

if TYPE_CHECKING:
    from pathlib import Path

    from mimohist.sources.tables import Row

_TITLES = "title-"
"""What the ids of the sessions begin with in which Crush thinks of a title."""


class Crush:
    """What `tables.Tables` needs to know of Crush; `directory` is the project's."""

    text = "parts"
    columns: tuple[str, ...] = (
        "id",
        "role",
        "model",
        "provider",
        "created_at",
        "updated_at",
        "finished_at",
        "is_summary_message",
    )
    order = "created_at"
    header: tuple[str, ...] = (
        "id",
        "parent_session_id",
        "title",
        "message_count",
        "created_at",
        "updated_at",
        "summary_message_id",
    )
    birth = (
        "goose_db_version",
        "SELECT min(tstamp) FROM goose_db_version WHERE version_id > 0",
    )

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def session(self, row: Row, root: Path) -> Session:
        """Make a session's header."""
        touched = updated(row["updated_at"])
        title, parent = row["title"], row["parent_session_id"]
        return Session(
            id=row["id"],
            title=clean(title) if isinstance(title, str) else "",
            directory=self.directory,
            at=epoch_ms(row["created_at"]) or touched,
            updated=touched,
            path=str(root),
            parent_id=parent if isinstance(parent, str) and parent else None,
            machine=Machine.SYSTEM_AGENT if row["id"].startswith(_TITLES) else None,
        )

    def reader(self, row: Row) -> Records:
        """Give what reads a session's messages."""
        return Records(row)


class Records:
    """Makes the messages of one session, whose row this is."""

    def __init__(self, session: Row) -> None:
        self.turns = Turns(lambda _line, _id, _at, _call: None)
        self._summary = session["summary_message_id"]
        self._spawned = bool(session["parent_session_id"])
        self._clock = Clock(epoch_ms(session["created_at"]) or 0)

    def take(self, row: Row, parts: list[Record], line: int) -> None:
        """Put in one row of the table `messages`."""
        id = row["id"] if isinstance(row["id"], str) and row["id"] else f"message-{line:08d}"
        role = "user" if row["role"] == "user" else "assistant"
        machine = Machine.SPAWN if self._spawned and role == "user" else None
        if row["is_summary_message"] or id == self._summary:
            machine = Machine.SUMMARY
        elif row["role"] == "system":
            machine = Machine.HARNESS
        at = self._clock.tell(epoch_ms(row["created_at"]))
        writing = Writing(self.turns, clean(id), at, role, line=line, machine=machine)
        for number, part in enumerate(parts):
            _part(writing, number, text_in(part, "type"), record_in(part, "data"))
        if role == "assistant" and row["role"] != "tool" and parts:
            writing.draft.model = _name(row["model"])
            writing.draft.provider = _name(row["provider"])


def _name(value: object) -> str | None:
    return clean(value) if isinstance(value, str) and value else None


def _part(writing: Writing, number: int, type: str, data: Record) -> None:
    match type:
        case "text":
            writing.said(number, text_in(data, "text"))
        case "reasoning":
            writing.thought(number, text_in(data, "thinking"))
        case "tool_call":
            given = _decoded(data.get("input"))
            writing.call(number, text_in(data, "id"), text_in(data, "name"), given)
        case "tool_result":
            failed = data.get("is_error") is True
            output = strings(data.get("content"))
            writing.result(number, text_in(data, "tool_call_id"), output, failed=failed)
        case "finish":
            _finish(writing, number, data)
        case "binary":
            _named(writing, number, [data.get("Path"), data.get("MIMEType")])
        case "image_url":
            _named(writing, number, [data.get("url")])
        case "shell_command":
            _shell(writing, number, data)
        case _:
            writing.silent(type)


def _named(writing: Writing, number: int, names: list[object]) -> None:
    """Put in what a file is called; never what is in it."""
    text = strings([name for name in names if name])
    if text:
        writing.said(number, text)
    else:
        writing.silent("file")


def _finish(writing: Writing, number: int, data: Record) -> None:
    """Say why an answer ended where that is an error."""
    if text_in(data, "reason") == "error":
        writing.error(number, text_in(data, "message"), text_in(data, "details"))
    else:
        writing.silent("finish")


def _shell(writing: Writing, number: int, data: Record) -> None:
    """Put in a command that the user ran, and what came of it."""
    code = data.get("exit_code")
    call = f"{writing.id}:{number}"
    writing.call(number, call, "shell", strings(data.get("command")))
    output = strings([data.get(key) for key in ("output", "stdout", "stderr", "error")])
    writing.result(number, call, output, failed=isinstance(code, int) and code != 0)


def _decoded(value: Any) -> str:  # noqa: ANN401 - whatever the JSON holds
    """Give the strings of a call's input: JSON in a string, which may be cut short."""
    if isinstance(value, str):
        try:
            value = decoded(value.encode("utf-8", "replace"))
        except ValueError:
            return clean(value)
    return strings(value)
