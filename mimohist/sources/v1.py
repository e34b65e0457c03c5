"""The tables `session`, `message` and `part`, as MiMo Code and opencode (1.2 and later) have them.

Columns are probed, never assumed: they came and went between versions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist.errors import SourceError
from mimohist.records import Machine, Mark, Message, Part, Session, Skipped
from mimohist.sources import sqlite as database
from mimohist.sources.changes import Changes
from mimohist.sources.parts import error_of, own_time, part_of, usage_of
from mimohist.sources.source import Candidate, Reading, Survey
from mimohist.sources.stamps import stamp
from mimohist.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from sqlite3 import Connection

SYSTEM_AGENTS = frozenset({"checkpoint-writer", "dream", "distill"})
"""MiMo Code's own background agents (`src/agent/config.ts`, 0.1.13)."""

SYSTEM_TITLES = ("checkpoint-writer:", "Auto Dream", "Auto Distill", "ask: ")

IMPORTED = {"cc": "claude", "codex": "codex", "opencode": "opencode"}
"""MiMo Code's names for what it imports from (`external_import.source`) and ours."""

_LARGE = 100_000
_DAY_MS = 86_400_000
_HOLLOW = ('{"type":"step-', '{"type":"snapshot"')

_SESSION = (
    "id",
    "project_id",
    "parent_id",
    "directory",
    "title",
    "version",
    "revert",
    "time_created",
    "time_updated",
    "time_archived",
)


class _Row(NamedTuple):
    id: str
    project_id: str | None
    parent_id: str | None
    directory: str | None
    title: str | None
    version: str | None
    revert: str | None
    time_created: int | None
    time_updated: int | None
    time_archived: int | None


@dataclass(frozen=True, slots=True)
class Revert:
    """From which message, or part of it, a session is hidden since somebody went back."""

    message: str
    at: int
    part: str | None

    def hides(self, message: str, at: int) -> bool:
        """Whether a message lies wholly behind the point gone back to."""
        if self.part is not None and message == self.message:
            return False
        return (at, message) >= (self.at, self.message)


@dataclass(frozen=True, slots=True)
class V1:
    """One database with these tables.

    `name` is the source's; `trusts_part_times` tells whether `part.time_created` is when
    a part was made (opencode's migration wrote its own day).
    """

    name: str
    root: Path
    trusts_part_times: bool = True

    def stamp(self) -> str:
        """Tell by `stat` what the database and its `-wal` look like."""
        return stamp(self.root)

    def survey(self, memory: str) -> Survey:
        """Look for sessions that changed; see `changes.Changes` for how and how surely."""
        with self._open() as db:
            changes = Changes(db, memory)
            candidates = changes.candidates()
            return Survey(
                candidates=candidates,
                present=changes.present,
                memory=changes.memory(),
                identity=_identity(self.root, db),
                alive=True,
            )

    def load(self, candidate: Candidate, mark: str) -> Reading:
        """Read a session, only what is new or rewritten where `mark` allows it."""
        with self._open() as db:
            row = _session_row(db, candidate.key)
            session = self._session(db, row)
            revert = _revert(db, row)
            whole, condition = _since(db, candidate, mark)
        return Reading(
            session=session,
            messages=self._messages(candidate, revert, condition),
            whole=whole,
        )

    def peek(self, session: str, messages: Sequence[str]) -> Iterator[Message]:
        """Give messages as they are now."""
        with self._open() as db:
            revert = _revert(db, _session_row(db, session))
            for id in messages:
                for item in self._read(db, "m.id = :id", {"id": id}, revert, None):
                    if isinstance(item, Message):
                        yield item

    def _open(self) -> Any:  # noqa: ANN401 - a context manager of this module's own
        return _checked(self.root)

    def _session(self, db: Connection, row: _Row) -> Session:
        worktree = db.execute(
            "SELECT worktree FROM project WHERE id = ?", (row.project_id,)
        ).fetchone()
        title = clean(row.title or "")
        created = row.time_created or 0
        return Session(
            id=row.id,
            title=title,
            directory=row.directory or "",
            at=created,
            updated=row.time_updated or created,
            project_id=row.project_id or "",
            worktree=(worktree[0] if worktree else "") or "",
            path=str(self.root),
            parent_id=row.parent_id,
            version=row.version,
            archived=row.time_archived,
            machine=Machine.SYSTEM_AGENT if _is_system(db, row, title) else None,
            mirrors=_mirrors(db, row.id),
        )

    def _messages(
        self, candidate: Candidate, revert: Revert | None, condition: str
    ) -> Iterator[Message | Skipped | Mark]:
        with self._open() as db:
            values = {"session": candidate.key}
            where = f"m.session_id = :session{condition}"
            yield from self._read(db, where, values, revert, condition)
        yield Mark(candidate.stamp)

    def _read(
        self,
        db: Connection,
        where: str,
        values: dict[str, str],
        revert: Revert | None,
        condition: str | None,
    ) -> Iterator[Message | Skipped]:
        agent = "agent_id" if "agent_id" in database.columns(db, "message") else "NULL"
        # User messages may carry the diffs of a whole session (136 MB were seen) and a system
        # prompt each time.
        data = (
            f"CASE WHEN length(m.data) > {_LARGE} AND json_valid(m.data)"
            " THEN json_remove(m.data, '$.summary.diffs', '$.system') ELSE m.data END"
        )
        rows = db.execute(
            f"SELECT m.id, {agent}, m.time_created, {data} FROM message m"
            f" WHERE {where} ORDER BY m.time_created, m.id",
            values,
        )
        part = (
            "SELECT id, time_created, data FROM part WHERE message_id = ?"
            f"{(condition or '').replace('m.', '')} ORDER BY id"
        )
        if condition:
            part = "SELECT id, time_created, data FROM part WHERE message_id = ? ORDER BY id"
        for id, slice_, at, text in rows:
            try:
                info = json.loads(text)
            except (ValueError, RecursionError) as error:
                yield Skipped(f"{self.root.name} message {id}", f"not JSON: {error}")
                continue
            if not isinstance(info, dict):
                yield Skipped(f"{self.root.name} message {id}", "not an object")
                continue
            skipped: list[Skipped] = []
            parts = db.execute(part, (id,))
            yield self._message(id, slice_, at, info, parts, revert, skipped)
            yield from skipped

    def _message(
        self,
        id: str,
        slice_: str | None,
        at: int,
        info: dict[str, Any],
        rows: Iterator[tuple[str, int, str]],
        revert: Revert | None,
        skipped: list[Skipped],
    ) -> Message:
        role = "user" if info.get("role") == "user" else "assistant"
        parts: list[Part] = []
        unindexed: list[str] = []
        hidden = False
        for part_id, part_at, text in rows:
            if text.startswith(_HOLLOW):
                unindexed.append(text[9 : text.index('"', 9)])
                continue
            data = self._part_data(part_id, text, skipped)
            if data is None:
                continue
            if revert and revert.part == part_id and revert.message == id:
                hidden = True
            moment = self._part_time(part_at, at, data)
            summary = info.get("summary") is True
            made = part_of(part_id, data, role=role, at=moment, summary=summary)
            if made is None:
                unindexed.append(clean(str(data.get("type"))))
            else:
                parts.append(replace(made, machine=Machine.REVERTED) if hidden else made)
        if error := error_of(id, info, at):
            parts.append(error)
        agent_name = info.get("agent")
        return Message(
            id=id,
            at=at,
            role=role,
            parts=tuple(parts),
            agent=slice_ or "main",
            agent_name=clean(agent_name) if isinstance(agent_name, str) else None,
            machine=_machine(id, at, slice_ or "main", info, revert),
            model=_model(info, "modelID"),
            provider=_model(info, "providerID"),
            usage=usage_of(info) if role == "assistant" else None,
            unindexed=tuple(unindexed),
        )

    def _part_data(self, id: str, text: str, skipped: list[Skipped]) -> dict[str, Any] | None:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            skipped.append(Skipped(f"{self.root.name} part {id}", f"not JSON: {error}"))
            return None
        if not isinstance(data, dict):
            skipped.append(Skipped(f"{self.root.name} part {id}", "not an object"))
            return None
        return data

    def _part_time(self, part_at: int, message_at: int, data: dict[str, Any]) -> int:
        if self.trusts_part_times:
            return part_at
        own = own_time(data) or message_at
        return own if part_at - own > _DAY_MS else part_at


def _checked(root: Path) -> Any:  # noqa: ANN401 - a context manager
    from contextlib import contextmanager

    @contextmanager
    def opened() -> Iterator[Connection]:
        with database.reading(root) as db:
            db.text_factory = _decoded
            tables = database.tables(db)
            missing = {"session", "message", "part", "project"} - tables
            if missing:
                seen = ", ".join(sorted(tables)[:8]) or "none"
                raise SourceError(
                    f"{root}: unsupported layout: no table {min(missing)} (there are: {seen})"
                )
            yield db

    return opened()


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _identity(root: Path, db: Connection) -> str:
    """Name the database itself: its file, and when its first project was entered."""
    (first,) = db.execute("SELECT min(time_created) FROM project").fetchone()
    found = root.stat()
    return f"{found.st_dev}:{found.st_ino}:{first}"


def _session_row(db: Connection, key: str) -> _Row:
    columns = database.selection(database.columns(db, "session"), _SESSION)
    row = db.execute(f"SELECT {columns} FROM session WHERE id = ?", (key,)).fetchone()
    if row is None:
        raise LookupError(key)
    return _Row(*row)


def _is_system(db: Connection, row: _Row, title: str) -> bool:
    if title.startswith(SYSTEM_TITLES):
        return True
    if row.parent_id is None or not database.columns(db, "actor_registry"):
        return False
    actors = db.execute(
        "SELECT mode, agent FROM actor_registry WHERE session_id = ?", (row.id,)
    ).fetchall()
    return any(agent in SYSTEM_AGENTS for _, agent in actors) and not any(
        mode == "peer" for mode, _ in actors
    )


def _mirrors(db: Connection, session: str) -> tuple[str, str] | None:
    if database.columns(db, "external_import"):
        row = db.execute(
            "SELECT source, source_key FROM external_import WHERE session_id = ?", (session,)
        ).fetchone()
        if row:
            return IMPORTED.get(row[0], row[0]), row[1]
    if database.columns(db, "claude_import"):
        row = db.execute(
            "SELECT source_uuid FROM claude_import WHERE session_id = ?", (session,)
        ).fetchone()
        if row:
            return "claude", row[0]
    return None


def _revert(db: Connection, row: _Row) -> Revert | None:
    if not row.revert:
        return None
    try:
        data = json.loads(row.revert)
    except ValueError:
        return None
    message = data.get("messageID") if isinstance(data, dict) else None
    if not isinstance(message, str):
        return None
    found = db.execute("SELECT time_created FROM message WHERE id = ?", (message,)).fetchone()
    if not found:
        return None
    part = data.get("partID")
    return Revert(message, found[0], part if isinstance(part, str) else None)


def _machine(
    id: str, at: int, slice_: str, info: dict[str, Any], revert: Revert | None
) -> Machine | None:
    if revert and revert.hides(id, at):
        return Machine.REVERTED
    agent = info.get("agent")
    if isinstance(agent, str) and agent in SYSTEM_AGENTS:
        return Machine.SYSTEM_AGENT
    if slice_.rsplit("-", 1)[0] in SYSTEM_AGENTS:
        return Machine.SYSTEM_AGENT
    match info.get("source"):
        case "hook":
            return Machine.HOOK
        case "spawn":
            return Machine.SPAWN
    return None


def _model(info: dict[str, Any], key: str) -> str | None:
    """Give the model or its provider: on the message itself, or (user) under `model`."""
    nested = info.get("model")
    value = info.get(key) or (nested.get(key) if isinstance(nested, dict) else None)
    return clean(value) if isinstance(value, str) else None


def _since(db: Connection, candidate: Candidate, mark: str) -> tuple[bool, str]:
    """Decide whether a session must be read whole, and which of its messages to read.

    `mark` is the stamp of the last reading.  Where nothing was removed since, and the
    header is the same, only messages that were touched, or that have touched parts, are read.
    """
    now = _stamp(candidate.stamp)
    then = _stamp(mark)
    if now is None or then is None or now[0] != then[0]:
        return True, ""
    del now
    rows = {"session": candidate.key, "part": then[1], "message": then[2], "at": then[3]}
    kept_parts, kept_messages = db.execute(
        "SELECT (SELECT count(*) FROM part WHERE session_id = :session AND rowid <= :part),"
        " (SELECT count(*) FROM message WHERE session_id = :session AND rowid <= :message)",
        rows,
    ).fetchone()
    if (kept_parts, kept_messages) != (then[4], then[5]):
        return True, ""
    return False, (
        f" AND (m.rowid > {then[2]} OR m.time_updated >= {then[3]}"
        " OR m.id IN (SELECT p.message_id FROM part p WHERE p.session_id = :session"
        f" AND (p.rowid > {then[1]} OR p.time_updated >= {then[3]})))"
    )


def _stamp(text: str) -> tuple[str, int, int, int, int, int] | None:
    """Read a candidate's stamp: header, last part row, last message row, last change, counts."""
    try:
        header, *numbers = json.loads(text)
        part, message, at, parts, messages = (int(number) for number in numbers)
    except (ValueError, TypeError):
        return None
    return str(header), part, message, at, parts, messages
