"""Sessions made into rows of the index, and rows changed and removed.

Every change to a row that the full-text table holds goes in three steps: taken out of that table
as it is, changed, put in again.  Rows that did not change are left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist import schema
from mimohist.records import PENDING, Kind, Machine, Part
from mimohist.text import fold, folded, pieces, said, segment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from sqlite3 import Connection

    from mimohist.records import Message, Session

BASE = 1 << 31
"""Where the row ids of a new index begin; a first build goes down from here, all else up."""

TEXT_LIMIT = 1_000_000
"""How many characters of each side of a part are kept and indexed."""

RULES = 1
"""The version of how texts become rows; a new one makes `reindex` read everything again."""

_ECHO_TOOLS = frozenset({"history", "memory"})
_ECHO_CALL = re.compile(r"\bmimohist\s+(?:search|around|sql|export)\b")

_FTS_COLUMNS = (
    "id",
    "root",
    "part_id",
    "session",
    "project",
    "message",
    "kind",
    "tool",
    "status",
    "machine",
    "time_created",
    "copy",
    "echo",
    "lost",
    "compacted",
)
_TEXT_COLUMNS = (
    "id",
    "body",
    "output",
    "cut",
    "pieces",
    "output_pieces",
    "folded_body",
    "folded_output",
    "folded_cut",
)


def _insert(table: str, columns: tuple[str, ...]) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table}({', '.join(columns)}) VALUES ({marks})"


_INSERT_FTS = _insert("history_fts", _FTS_COLUMNS)
_INSERT_TEXT = _insert("history_text", _TEXT_COLUMNS)
_REPLACE_FTS = _INSERT_FTS.replace("INSERT", "INSERT OR REPLACE", 1)
_REPLACE_TEXT = _INSERT_TEXT.replace("INSERT", "INSERT OR REPLACE", 1)


class Row(NamedTuple):
    """One part as it is stored, but for its id."""

    part_id: str
    session: int
    project: int
    message: int | None
    kind: str
    tool: int | None
    status: str | None
    machine: str | None
    at: int
    copy: int
    echo: int
    lost: int
    compacted: int
    texts: tuple[str, str | None, str | None]


@dataclass(slots=True)
class Saved:
    """What storing one session did, in numbers of parts."""

    added: int = 0
    changed: int = 0
    removed: int = 0


@dataclass(slots=True)
class Writer:
    """Writes one root's sessions; the transaction around it is the caller's.

    `kinds` are those to store.  `descending` gives new rows ids below all others, as a
    first build does, which reads the newest sessions first.
    """

    db: Connection
    root: int
    source: str
    kinds: frozenset[Kind]
    descending: bool = False
    _names: dict[str, int] = field(default_factory=dict)
    _waiting: list[Row] = field(default_factory=list)
    _size: int = 0

    @property
    def weight(self) -> int:
        """How many characters wait to be written."""
        return self._size

    # A session

    def session(self, session: Session, key: str) -> int:
        """Store a session's header, its rows' tags with it, and give its row."""
        project = self._id(
            "project",
            root=self.root,
            project_id=session.project_id,
            worktree=session.worktree,
            directory=session.directory,
        )
        mirror = session.mirrors or (None, None)
        values = {
            "session_id": session.id,
            "project": project,
            "parent_id": session.parent_id,
            "title": session.title,
            "path": session.path,
            "version": session.version,
            "machine": session.machine,
            "mirror_source": mirror[0],
            "mirror_id": mirror[1],
            "time_created": session.at,
            "time_updated": session.updated,
            "time_archived": session.archived,
            "gone": 0,
        }
        found = self.db.execute(
            "SELECT id, project FROM session WHERE root = ? AND key = ?", (self.root, key)
        ).fetchone()
        if found is None:
            columns = {"root": self.root, "key": key, "stamp": "", **values}
            marks = ", ".join(f":{column}" for column in columns)
            sql = f"INSERT INTO session({', '.join(columns)}) VALUES ({marks})"
            row = self.db.execute(sql, columns).lastrowid or 0
        else:
            row = found[0]
            if found[1] != project:
                self._move(row, project)
            assignments = ", ".join(f"{column} = :{column}" for column in values)
            self.db.execute(
                f"UPDATE session SET {assignments} WHERE id = :id", {**values, "id": row}
            )
        return row

    def _move(self, session: int, project: int) -> None:
        where = f"id IN (SELECT id FROM history_fts WHERE session = {session})"
        self.db.execute(schema.UNINDEX_ROWS + where)
        self.db.execute("UPDATE history_fts SET project = ? WHERE session = ?", (project, session))
        self.db.execute(schema.INDEX_ROWS + where)

    def title(self, session: Session, row: int) -> Row | None:
        """Make the row of a session's title."""
        if not (session.title and session.titled):
            return None
        part = Part(
            id=f"title:{session.id}",
            kind=Kind.TITLE,
            at=session.at,
            body=session.title,
            machine=session.machine,
        )
        return self._row(part, row, self._project(row), None, session.at, session.title)

    def _project(self, session: int) -> int:
        (project,) = self.db.execute(
            "SELECT project FROM session WHERE id = ?", (session,)
        ).fetchone()
        return int(project)

    # Its messages

    def message(self, message: Message, session: int) -> int:
        """Store a message's header and give its row."""
        usage = message.usage
        values = {
            "role": message.role,
            "agent": self._name(message.agent),
            "agent_name": self._name(message.agent_name) if message.agent_name else None,
            "machine": message.machine,
            "time_created": message.at,
            "provider": message.provider,
            "model": message.model,
            "cost": usage.cost if usage else None,
            "tokens_input": usage.input if usage else None,
            "tokens_output": usage.output if usage else None,
            "tokens_reasoning": usage.reasoning if usage else None,
            "tokens_cache_read": usage.cache_read if usage else None,
            "tokens_cache_write": usage.cache_write if usage else None,
        }
        found = self.db.execute(
            "SELECT id, agent, agent_name FROM message WHERE session = ? AND message_id = ?",
            (session, message.id),
        ).fetchone()
        if found is None:
            columns = {"session": session, "message_id": message.id, **values}
            marks = ", ".join(f":{column}" for column in columns)
            sql = f"INSERT INTO message({', '.join(columns)}) VALUES ({marks})"
            return self.db.execute(sql, columns).lastrowid or 0
        row, agent, agent_name = found
        where = f"id IN (SELECT id FROM history_fts WHERE message = {row})"
        tagged = (agent, agent_name) != (values["agent"], values["agent_name"])
        if tagged:
            self.db.execute(schema.UNINDEX_ROWS + where)
        assignments = ", ".join(f"{column} = :{column}" for column in values)
        self.db.execute(f"UPDATE message SET {assignments} WHERE id = :id", {**values, "id": row})
        if tagged:
            self.db.execute(schema.INDEX_ROWS + where)
        return int(row)

    def rows(self, message: Message, session: Session, row: int, message_row: int) -> list[Row]:
        """Make the rows of a message's parts, those that are to be stored."""
        project = self._project(row)
        found = []
        for part in message.parts:
            kept = self._kept(part)
            if kept is None:
                continue
            machine = kept.machine or message.machine or session.machine
            if kept.machine is Machine.SUMMARY and (message.machine or session.machine):
                machine = message.machine or session.machine
            kept = replace(kept, machine=machine)
            found.append(self._row(kept, row, project, message_row, message.at, part.body))
        return found

    def _kept(self, part: Part) -> Part | None:
        """Leave of a part what the kinds to store allow, None when that is nothing."""
        if part.status in PENDING:
            return None
        kinds = self.kinds
        match part.kind:
            case Kind.TOOL_OUTPUT:
                body, output = Kind.TOOL_INPUT in kinds, Kind.TOOL_OUTPUT in kinds
            case Kind.TOOL_ERROR:
                output = Kind.TOOL_ERROR in kinds
                body = output or Kind.TOOL_INPUT in kinds
            case kind:
                body = output = kind in kinds
        if not body and not (output and part.output):
            return None
        return replace(part, body=part.body if body else "", output=part.output if output else "")

    def _row(
        self, part: Part, session: int, project: int, message: int | None, said_at: int, call: str
    ) -> Row:
        body, output, cut = part.body, part.output, part.cut
        lost = sum(max(0, len(text) - TEXT_LIMIT) for text in (body, output, cut))
        body, output, cut = body[:TEXT_LIMIT], output[:TEXT_LIMIT], cut[:TEXT_LIMIT]
        return Row(
            part_id=part.id,
            session=session,
            project=project,
            message=message,
            kind=str(part.kind),
            tool=self._name(part.tool) if part.tool else None,
            status=part.status,
            machine=str(part.machine) if part.machine else None,
            at=part.at,
            copy=_copy(part, said_at),
            echo=int(part.tool is not None and _is_echo(part.tool, call)),
            lost=lost,
            compacted=int(part.compacted),
            texts=(body, output or None, cut or None),
        )

    # Rows written

    def put(self, rows: Iterable[Row], saved: Saved) -> None:
        """Store rows: new ones wait for `flush`, changed ones are changed at once."""
        for row in rows:
            found = self.db.execute(
                f"SELECT {', '.join(_FTS_COLUMNS)} FROM history_fts WHERE root = ? AND part_id = ?",
                (self.root, row.part_id),
            ).fetchone()
            if found is None:
                if any(row.texts):
                    self._waiting.append(row)
                    self._size += sum(len(text or "") for text in row.texts)
                    saved.added += 1
            elif self._change(found, row):
                saved.changed += 1

    def _change(self, found: tuple[Any, ...], row: Row) -> bool:
        id = found[0]
        old = self.db.execute(
            "SELECT body, output, cut FROM history_text WHERE id = ?", (id,)
        ).fetchone()
        body, output, cut = old
        texts = (said(body), output and said(output), cut and said(cut))
        if row.compacted and _length(row.texts) < _length(texts):
            # The source itself trimmed or blanked it; what is here is fuller.
            row = row._replace(texts=texts, copy=found[11], lost=found[13])
        new = _fts_values(id, self.root, row)
        if new == tuple(found) and texts == row.texts:
            return False
        self.db.execute(f"{schema.UNINDEX_ROWS} id = {id}")
        self.db.execute(_REPLACE_FTS, new)
        self.db.execute(_REPLACE_TEXT, _text_values(id, row))
        self.db.execute(f"{schema.INDEX_ROWS} id = {id}")
        self.db.execute(schema.WIDEN_ZONES, {"first": id, "last": id})
        return True

    def flush(self) -> None:
        """Write the rows that wait, in the order of their times, as one block of ids."""
        if not self._waiting:
            return
        rows = sorted(self._waiting, key=lambda row: row.at)
        first = self._first(len(rows))
        self.db.executemany(
            _INSERT_FTS, (_fts_values(id, self.root, row) for id, row in enumerate(rows, first))
        )
        self.db.executemany(
            _INSERT_TEXT, (_text_values(id, row) for id, row in enumerate(rows, first))
        )
        last = first + len(rows) - 1
        self.db.execute(f"{schema.INDEX_ROWS} id BETWEEN {first} AND {last}")
        self.db.execute(schema.WIDEN_ZONES, {"first": first, "last": last})
        self._waiting.clear()
        self._size = 0

    def _first(self, count: int) -> int:
        low, high = self.db.execute("SELECT min(id), max(id) FROM history_fts").fetchone()
        if low is None:
            return BASE
        return int(low - count if self.descending else high + 1)

    # Rows removed

    def remove(self, ids: Iterable[int]) -> int:
        """Remove rows by id, and say how many."""
        count = 0
        for id in ids:
            self.db.execute(f"{schema.UNINDEX_ROWS} id = {id}")
            self.db.execute("DELETE FROM history_fts WHERE id = ?", (id,))
            self.db.execute("DELETE FROM history_text WHERE id = ?", (id,))
            count += 1
        return count

    def remove_missing(
        self, column: str, owner: int, present: Collection[str], saved: Saved
    ) -> None:
        """Remove the rows of a session or a message (`column`) that are not among `present`."""
        rows = self.db.execute(
            f"SELECT id, part_id FROM history_fts WHERE {column} = ?", (owner,)
        ).fetchall()
        saved.removed += self.remove(id for id, part_id in rows if part_id not in present)

    def remove_messages(self, session: int, present: Collection[str]) -> None:
        """Remove the messages of a session that are not among `present`; their rows are gone."""
        rows = self.db.execute(
            "SELECT id, message_id FROM message WHERE session = ?", (session,)
        ).fetchall()
        gone = [(id,) for id, message_id in rows if message_id not in present]
        self.db.executemany("DELETE FROM message WHERE id = ?", gone)

    def remove_session(self, session: int) -> int:
        """Remove a session and all that it holds, and say how many parts that were."""
        rows = self.db.execute("SELECT id FROM history_fts WHERE session = ?", (session,))
        count = self.remove([id for (id,) in rows.fetchall()])
        self.db.execute("DELETE FROM message WHERE session = ?", (session,))
        self.db.execute("DELETE FROM session WHERE id = ?", (session,))
        return count

    # Names

    def _name(self, text: str) -> int:
        found = self._names.get(text)
        if found is None:
            found = self._names[text] = self._id("name", text=text)
        return found

    def _id(self, table: str, **columns: object) -> int:
        where = " AND ".join(f"{column} = :{column}" for column in columns)
        found = self.db.execute(f"SELECT id FROM {table} WHERE {where}", columns).fetchone()
        if found:
            return int(found[0])
        marks = ", ".join(f":{column}" for column in columns)
        sql = f"INSERT INTO {table}({', '.join(columns)}) VALUES ({marks})"
        return self.db.execute(sql, columns).lastrowid or 0


def _length(texts: Iterable[str | None]) -> int:
    return sum(len(text or "") for text in texts)


def _fts_values(id: int, root: int, row: Row) -> tuple[Any, ...]:
    return (id, root, *row[:-1])


def _text_values(id: int, row: Row) -> tuple[Any, ...]:
    body, output, cut = row.texts
    return (
        id,
        segment(body),
        segment(output) if output else None,
        segment(cut) if cut else None,
        pieces(body),
        pieces(output) if output else None,
        folded(body),
        folded(output) if output else None,
        folded(cut) if cut else None,
    )


def _copy(part: Part, said_at: int) -> int:
    """Give the number that copies of a part share: same kind, tool, time and folded text."""
    digest = blake2b(f"{part.kind}\0{part.tool}\0{said_at}\0".encode(), digest_size=8)
    digest.update(fold(part.body).encode())
    digest.update(b"\0")
    digest.update(fold(part.output).encode())
    return int.from_bytes(digest.digest(), signed=True)


def _is_echo(tool: str, call: str) -> bool:
    return tool.lower() in _ECHO_TOOLS or bool(_ECHO_CALL.search(call))
