"""The tables `session`, `message` and `part`, as MiMo Code and opencode (1.2 and later) have them.

Columns are probed, never assumed: they came and went between versions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist.errors import SourceError
from mimohist.records import Machine, Mark, Message, Session, Skipped
from mimohist.sources import sqlite as database
from mimohist.sources.changes import Changes
from mimohist.sources.source import Candidate, Reading, Survey
from mimohist.sources.stamps import stamp
from mimohist.sources.v1_messages import SYSTEM_AGENTS, Messages, Revert
from mimohist.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from sqlite3 import Connection

SYSTEM_TITLES = ("checkpoint-writer:", "Auto Dream", "Auto Distill", "ask: ")

IMPORTED = {"cc": "claude", "codex": "codex", "opencode": "opencode"}
"""MiMo Code's names for what it imports from (`external_import.source`) and ours."""

_LARGE = 100_000

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
        maker = Messages(self.root.name, self.trusts_part_times)
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
            yield maker.message(id, slice_, at, info, parts, revert, skipped)
            yield from skipped


def _checked(root: Path) -> Any:  # noqa: ANN401 - a context manager
    from contextlib import contextmanager

    @contextmanager
    def opened() -> Iterator[Connection]:
        with database.reading(root) as db:
            db.text_factory = database.lenient
            tables = database.tables(db)
            missing = {"session", "message", "part", "project"} - tables
            if missing:
                seen = ", ".join(sorted(tables)[:8]) or "none"
                raise SourceError(
                    f"{root}: unsupported layout: no table {min(missing)} (there are: {seen})"
                )
            yield db

    return opened()


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
