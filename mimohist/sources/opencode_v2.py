"""opencode 2.x: a session's messages as rows of `session_message`, whole and in one JSON each.

The tables stand in the database of 1.x, whose `session`, `message` and `part` stay as they were.
1.17 has `session_message` already, with a few rows that say nothing, so a session is read
from the side that has text.  Where there is a `session_v2`, a session that it lacks was deleted.

Which sessions changed: those whose header did, that have rows beyond the last row id, and of
the sessions active in the two days before the newest change the 20 last that are not as they
were.  What slips through is found once a day, as with 1.x (`changes`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist.records import Kind, Machine, Mark, Message, Part, Session, Skipped, Usage
from mimohist.sources import sqlite as database
from mimohist.sources.jsonl import epoch_ms, record_in, records_in, text_in
from mimohist.sources.source import Candidate, Reading, Survey
from mimohist.sources.v1 import V1
from mimohist.text import clean, split_reminders, strings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from sqlite3 import Connection

_TOLD = ("user", "assistant", "shell", "synthetic", "system", "compaction")
"""The types of rows that hold text."""

_RECENT_MS = 2 * 86_400_000
_MOST_RECENT = 20
_HEADER = (
    "id",
    "project_id",
    "parent_id",
    "directory",
    "title",
    "version",
    "time_created",
    "time_updated",
    "time_archived",
)
_SIDE = "v2 "
"""What the stamp of a session begins with that is read from `session_message`."""


class _Row(NamedTuple):
    id: str
    project_id: str | None
    parent_id: str | None
    directory: str | None
    title: str | None
    version: str | None
    time_created: int | None
    time_updated: int | None
    time_archived: int | None


@dataclass(frozen=True, slots=True)
class Database:
    """One database of opencode, whichever of its tables hold a session."""

    name: str
    root: Path

    def stamp(self) -> str:
        """Tell by `stat` what the database and its `-wal` look like."""
        return self._first.stamp()

    @property
    def _first(self) -> V1:
        return V1(self.name, self.root, trusts_part_times=False)

    def survey(self, memory: str) -> Survey:
        """Look for sessions that changed, in both sets of tables."""
        before, seen = _remembered(memory)
        with database.reading(self.root) as db:
            db.text_factory = database.lenient
            present = _living(db)
            look = _Look(db, seen) if has_text(db) else None
        if look is None and present is None:
            return self._first.survey(before)
        first = self._first.survey(before)
        ours = look.now if look else {}
        living = (first.present or frozenset()) | ours.keys()
        living = living & present if present is not None else living
        found = [one for one in first.candidates if one.key in living and one.key not in ours]
        found += [one for one in (look.candidates() if look else ()) if one.key in living]
        return Survey(
            candidates=tuple(sorted(found, key=lambda one: (-one.at, one.key))),
            present=living,
            memory=json.dumps({"v1": first.memory, "v2": ours, "last": look.last if look else 0}),
            identity=first.identity,
            alive=True,
        )

    def load(self, candidate: Candidate, mark: str) -> Reading:
        """Read a session: all of it where it is one of 2.x."""
        with database.reading(self.root) as db:
            db.text_factory = database.lenient
            ours = has_text(db, candidate.key)
            session = self._session(db, _header(db, candidate.key)) if ours else None
        if session is None:
            return self._first.load(candidate, mark)
        return Reading(session=session, messages=self._messages(candidate))

    def peek(self, session: str, messages: Sequence[str]) -> Iterator[Message]:
        """Give messages as they are now."""
        with database.reading(self.root) as db:
            db.text_factory = database.lenient
            ours = has_text(db, session)
            found = [row for id in messages for row in (_rows(db, "id = ?", id) if ours else ())]
        if not ours:
            yield from self._first.peek(session, messages)
        for id, type, at, text in found:
            made = _message(id, type, at, text, self.root.name)
            if isinstance(made, Message):
                yield made

    def _session(self, db: Connection, row: _Row) -> Session:
        worktree = None
        if row.project_id and database.columns(db, "project"):
            worktree = db.execute(
                "SELECT worktree FROM project WHERE id = ?", (row.project_id,)
            ).fetchone()
        created = epoch_ms(row.time_created) or 0
        return Session(
            id=row.id,
            title=clean(_text(row.title)),
            directory=clean(_text(row.directory)),
            at=created,
            updated=epoch_ms(row.time_updated) or created,
            project_id=_text(row.project_id),
            worktree=_text(worktree[0]) if worktree else "",
            path=str(self.root),
            parent_id=row.parent_id,
            version=row.version,
            archived=row.time_archived,
        )

    def _messages(self, candidate: Candidate) -> Iterator[Message | Skipped | Mark]:
        with database.reading(self.root) as db:
            db.text_factory = database.lenient
            for id, type, at, text in _rows(db, "session_id = ?", candidate.key):
                yield _message(id, type, at, text, self.root.name)
        yield Mark(candidate.stamp)


class _Look:
    """One look at `session_message`: what each session's rows look like, and what changed."""

    def __init__(self, db: Connection, before: dict[str, Any]) -> None:
        self._db = db
        self._before: dict[str, list[Any]] = before.get("v2", {})
        row = db.execute("SELECT max(rowid) FROM session_message").fetchone()
        self.last: int = row[0] or 0
        self.now = self._look(int(before.get("last", 0)))

    def candidates(self) -> list[Candidate]:
        """Give the sessions that are not as they were."""
        return [
            Candidate(id, f"{_SIDE}{stamp}", at)
            for id, (stamp, at) in self.now.items()
            if self._before.get(id) != [stamp, at]
        ]

    def _look(self, last: int) -> dict[str, list[Any]]:
        headers = _headers(self._db)
        before = self._before
        if not before or self.last < last:
            looked = {id for (id,) in self._db.execute("SELECT session_id FROM session_message")}
        else:
            sql = "SELECT session_id FROM session_message NOT INDEXED WHERE rowid > ?"
            looked = {id for (id,) in self._db.execute(sql, (last,))}
            looked |= {id for id in before if before[id][0].split()[0] != headers.get(id, ("",))[0]}
            recent = sorted(before, key=lambda id: -before[id][1])[:_MOST_RECENT]
            newest = before[recent[0]][1]
            looked |= {id for id in recent if before[id][1] >= newest - _RECENT_MS}
        now = {id: seen for id, seen in before.items() if id not in looked and id in headers}
        for id in looked & headers.keys():
            if seen := self._rows(id, headers[id]):
                now[id] = seen
        return now

    def _rows(self, session: str, header: tuple[str, int]) -> list[Any] | None:
        count, last, at, told = self._db.execute(
            "SELECT count(*), max(seq), max(time_updated), max(type IN"
            f" ({', '.join(map(repr, _TOLD))})) FROM session_message WHERE session_id = ?",
            (session,),
        ).fetchone()
        if not told:
            return None
        return [f"{header[0]} {count} {last} {at}", max(header[1], epoch_ms(at) or 0)]


def _remembered(memory: str) -> tuple[str, dict[str, Any]]:
    """Part a memory into that of 1.x and ours."""
    try:
        kept = json.loads(memory) if memory else {}
    except ValueError:
        return "", {}
    if isinstance(kept, dict) and isinstance(kept.get("v1"), str):
        return kept["v1"], kept
    return memory, {}


def _living(db: Connection) -> frozenset[str] | None:
    """Give the sessions that were not deleted, None where 2.x does not say."""
    if "session_v2" not in database.tables(db):
        return None
    return frozenset(id for (id,) in db.execute("SELECT id FROM session_v2"))


def has_text(db: Connection, session: str | None = None) -> bool:
    """Whether `session_message` holds any text (of one session)."""
    if not database.columns(db, "session_message") >= {"id", "session_id", "type", "seq", "data"}:
        return False
    types = ", ".join(map(repr, _TOLD))
    sql = f"SELECT 1 FROM session_message WHERE type IN ({types})"
    if session is None:
        return db.execute(f"{sql} LIMIT 1").fetchone() is not None
    found = db.execute(f"{sql} AND session_id = ? LIMIT 1", (session,)).fetchone()
    return found is not None


def _table(db: Connection) -> str:
    return "session_v2" if "session_v2" in database.tables(db) else "session"


def _headers(db: Connection) -> dict[str, tuple[str, int]]:
    """Give, for every session, a digest of what is told of it and when it was touched."""
    table = _table(db)
    columns = database.selection(database.columns(db, table), _HEADER)
    return {
        row[0]: (
            blake2b(repr(row).encode(), digest_size=6).hexdigest(),
            epoch_ms(_Row(*row).time_updated) or 0,
        )
        for row in db.execute(f"SELECT {columns} FROM {table}")
        if isinstance(row[0], str)
    }


def _header(db: Connection, key: str) -> _Row:
    table = _table(db)
    columns = database.selection(database.columns(db, table), _HEADER)
    row = db.execute(f"SELECT {columns} FROM {table} WHERE id = ?", (key,)).fetchone()
    if row is None:
        raise LookupError(key)
    return _Row(*row)


def _rows(db: Connection, where: str, value: str) -> Iterator[tuple[str, str, int, str]]:
    yield from db.execute(
        f"SELECT id, type, time_created, data FROM session_message WHERE {where} ORDER BY seq",
        (value,),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# What a row says


def _message(id: str, type: str, at: object, text: str, name: str) -> Message | Skipped:
    """Make a message of a row; `name` is the database's, to complain of what cannot be read."""
    try:
        data = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        return Skipped(f"{name} message {id}", f"not JSON: {error}")
    if not isinstance(data, dict):
        return Skipped(f"{name} message {id}", "not an object")
    made = _Parts(id, epoch_ms(at) or 0)
    made.read(type, data)
    model = record_in(data, "model")
    return Message(
        id=id,
        at=made.at,
        role="assistant" if type in ("assistant", "compaction") else "user",
        parts=tuple(made.parts),
        agent_name=text_in(data, "agent") or None,
        model=text_in(model, "id") or text_in(model, "modelID") or None,
        provider=text_in(model, "providerID") or None,
        usage=_usage(data) if type == "assistant" else None,
        unindexed=() if made.parts else (type,),
    )


class _Parts:
    """The parts of one message, numbered as they stand in it."""

    def __init__(self, id: str, at: int) -> None:
        self.id = id
        self.at = at
        self.parts: list[Part] = []

    def read(self, type: str, data: dict[str, Any]) -> None:
        """Put in what a row of this type says."""
        text = text_in(data, "text")
        match type:
            case "user":
                said, cut = split_reminders(clean(text))
                machine = None if said else Machine.SYNTHETIC
                self._add(Kind.USER_TEXT, said or cut, machine, cut=cut if said else "")
                for file in records_in(data.get("files")):
                    self._add(Kind.USER_TEXT, _file(file))
            case "synthetic":
                self._add(Kind.USER_TEXT, text, Machine.SYNTHETIC)
            case "system":
                self._add(Kind.USER_TEXT, text, Machine.HARNESS)
            case "compaction":
                self._add(Kind.ASSISTANT_TEXT, text_in(data, "summary"), Machine.SUMMARY)
            case "shell":
                state = {"status": "completed", "input": data.get("command")}
                self._tool("shell", {**state, "result": data.get("output")})
            case "assistant":
                for item in records_in(data.get("content")):
                    self._item(item)
                if error := data.get("error"):
                    self._tool("error", {"status": "error", "error": error})

    def _item(self, item: dict[str, Any]) -> None:
        match item.get("type"):
            case "text":
                self._add(Kind.ASSISTANT_TEXT, text_in(item, "text"))
            case "reasoning":
                self._add(Kind.REASONING, text_in(item, "text"))
            case "tool":
                self._tool(text_in(item, "name"), record_in(item, "state"))

    def _tool(self, tool: str, state: dict[str, Any]) -> None:
        tool = clean(tool) or "unknown"
        body = f"{tool}\n{strings(state.get('input'))}".rstrip("\n")
        status, output = text_in(state, "status"), ""
        kind = Kind.TOOL_INPUT
        if status == "completed":
            kind, output = Kind.TOOL_OUTPUT, _output(state)
        elif status == "error":
            kind, output = Kind.TOOL_ERROR, strings(state.get("error"))
        else:
            status = "running" if status == "running" else "pending"
        self.parts.append(
            Part(
                id=f"{self.id}:{len(self.parts)}",
                kind=kind,
                at=self.at,
                body=body,
                output=output,
                tool=tool,
                status=status,
            )
        )

    def _add(self, kind: Kind, text: str, machine: Machine | None = None, *, cut: str = "") -> None:
        text = clean(text)
        if text.strip() or cut:
            id = f"{self.id}:{len(self.parts)}"
            self.parts.append(
                Part(id=id, kind=kind, at=self.at, body=text, cut=cut, machine=machine)
            )


def _output(state: dict[str, Any]) -> str:
    """Give what a tool gave back: texts, files by name, else its result as it is."""
    found = [text_in(item, "text") or _file(item) for item in records_in(state.get("content"))]
    return clean("\n".join(filter(None, found))) or strings(state.get("result"))


def _file(data: dict[str, Any]) -> str:
    """Give a file's name and place; never what is in it."""
    told = [text_in(data, key) for key in ("filename", "name", "mime", "url", "uri", "path")]
    return clean("\n".join(one for one in told if one and not one.lower().startswith("data:")))


def _usage(data: dict[str, Any]) -> Usage | None:
    tokens = record_in(data, "tokens")
    cache = record_in(tokens, "cache")
    cost = data.get("cost")
    if not tokens and not isinstance(cost, int | float):
        return None
    return Usage(
        cost=cost if isinstance(cost, int | float) else None,
        input=_count(tokens.get("input")),
        output=_count(tokens.get("output")),
        reasoning=_count(tokens.get("reasoning")),
        cache_read=_count(cache.get("read")),
        cache_write=_count(cache.get("write")),
    )


def _count(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
