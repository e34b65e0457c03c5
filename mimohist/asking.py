"""SQL asked of the index: read only for certain, ended after a time, its errors explained."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from mimohist.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

VIEWS = {
    "sources": "one row a root: a database or folder of a program's sessions",
    "projects": "one row a directory that sessions ran in",
    "sessions": "one row a session",
    "messages": "one row a message; times are epoch milliseconds, cost is US dollars",
    "parts": "one row a part; input and output of a tool call apart, text otherwise",
}

COLUMNS = {
    "agent": "the agent's slice: main, or a sub-agent's",
    "agent_name": "the agent that the message names",
    "bytes": "how large it was on disk",
    "cost": "US dollars",
    "cut_parts": "parts longer than what is kept",
    "directory": "where sessions ran",
    "error": "why it could not be read the last time",
    "gone": "1 when the source no longer holds it",
    "gone_sessions": "sessions that it no longer holds",
    "input": "of a call: the tool's name and what it was given",
    "kind": "user_text, reasoning, tool_output ... and title",
    "lost": "characters beyond what is kept",
    "machine": "why it is nobody's words: synthetic, hook, reverted ...",
    "machine_text": "what a harness put into it",
    "message_id": "the source's id; around takes it",
    "messages": "how many",
    "mirrors": "SOURCE/SESSION that it is an import of",
    "model": "which answered",
    "output": "of a call: its result, or its error",
    "parent_id": "the session that it is a child of",
    "part_id": "the source's id",
    "parts": "how many are indexed",
    "path": "the database or file",
    "project": "the directory that the session ran in",
    "project_id": "the source's id of the project",
    "provider": "whose model answered",
    "role": "user or assistant",
    "session_id": "the source's id",
    "sessions": "how many",
    "skipped": "records that could not be read",
    "skipped_why": "why the first of them",
    "source": "mimo, opencode, claude, codex ...",
    "status": "of a call: completed, error",
    "text": "what was said; empty for calls",
    "time_archived": "epoch milliseconds",
    "time_created": "epoch milliseconds",
    "time_first": "of the oldest session, epoch milliseconds",
    "time_last": "of the newest change, epoch milliseconds",
    "time_read": "when it was last read, epoch milliseconds",
    "time_updated": "epoch milliseconds",
    "title": "of the session",
    "tokens_cache_read": "as the source counts them",
    "tokens_cache_write": "as the source counts them",
    "tokens_input": "as the source counts them",
    "tokens_output": "as the source counts them",
    "tokens_reasoning": "as the source counts them",
    "tool": "which was called",
    "version": "of the program that wrote it",
    "worktree": "the checkout that the directory belongs to",
}
"""What the views' columns hold; one name means the same in each."""

_REFUSED = frozenset(
    {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_CREATE_TEMP_TABLE}
)
_STEPS = 10_000


@dataclass(frozen=True, slots=True)
class Result:
    """The columns of an answer and its rows, which are read as they are taken."""

    columns: Sequence[str]
    rows: Iterator[tuple[Any, ...]]


def ask(
    db: sqlite3.Connection, sql: str, values: Mapping[str, str], late: Callable[[], bool]
) -> Result:
    """Run one statement that only reads.

    `late` is asked now and then and ends the query.  Raises `BadInput` for SQL that cannot
    be run, that writes, or that takes too long.
    """
    db.set_authorizer(_authorize)
    db.set_progress_handler(lambda: int(late()), _STEPS)
    try:
        cursor = db.execute(sql, dict(values))
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise BadInput(_explained(error)) from error
    columns = [column[0] for column in cursor.description or ()]
    return Result(columns, _rows(cursor))


def _rows(cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    try:
        yield from cursor
    except sqlite3.Error as error:
        raise BadInput(_explained(error)) from error


def _authorize(action: int, first: str | None, second: str | None, *_others: str | None) -> int:
    if action in _REFUSED:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA and second is not None and not _harmless(first):
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and second in ("load_extension", "fts3_tokenizer"):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _harmless(pragma: str | None) -> bool:
    return pragma is not None and pragma.lower() in {
        "table_info",
        "table_xinfo",
        "index_list",
        "index_info",
        "data_version",
    }


def _explained(error: Exception) -> str:
    text = str(error)
    if text == "interrupted":
        return "the query took too long; narrow it, or give it more with --timeout SECONDS"
    if "readonly" in text or "not authorized" in text or "denied" in text:
        return f"only reading is allowed here ({text})"
    if "You did not supply a value for binding" in text:
        name = text.rsplit(":", 1)[-1].strip().rstrip(".")
        return f"the query needs a value: -P {name}=VALUE"
    if "no such table" in text or "no such column" in text:
        return f"{text}; `mimohist sql` lists the views and their columns"
    return f"cannot run this SQL: {text}"


def columns_of(db: sqlite3.Connection, view: str) -> list[str]:
    """Give the names of a view's columns."""
    return [name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (view,))]


def named_queries(folder: Path) -> dict[str, tuple[str, str]]:
    """Give the named queries, (what it answers, its SQL); those in `folder` shadow ours."""
    found: dict[str, tuple[str, str]] = {}
    ours = resources.files("mimohist") / "queries"
    for file in sorted(ours.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".sql"):
            found[file.name.removesuffix(".sql")] = _described(file.read_text("utf-8"))
    if folder.is_dir():
        for path in sorted(folder.glob("*.sql")):
            if path.is_file():
                found[path.stem] = _described(path.read_text("utf-8", "replace"))
    return found


def _described(sql: str) -> tuple[str, str]:
    first = next((line for line in sql.splitlines() if line.startswith("--")), "")
    return first.lstrip("- ").strip(), sql
