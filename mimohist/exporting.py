"""Whole sessions in the trajectory format: from their source, else from what the index kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist import refs
from mimohist.errors import SourceError
from mimohist.naming import resolve
from mimohist.records import Kind, Machine, Message, Part, Skipped, Usage
from mimohist.redact import redact, redacted_value
from mimohist.sources.source import Candidate
from mimohist.text import said
from mimohist.trajectory import ALL_AGENTS, Cut, Head, TrajectoryMessage, head_of, inherited
from mimohist.trajectory import of_record as trajectory_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from sqlite3 import Connection

    from mimohist.sources.source import Source

    Find = Callable[[str, str], Source | None]
    Messages = Iterator[TrajectoryMessage | Skipped]
    Forgotten = frozenset[tuple[str, str]]


class Origin(StrEnum):
    """Where an exported session was read."""

    ROWS = "rows"
    """In its database, row by row: nothing is missing."""
    READ = "read"
    """In its source, by the reader that also fills the index."""
    INDEX = "index"
    """In the index only: tools' inputs are their values, step marks and the like are missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One session to be exported; times are epoch milliseconds.

    `messages` are read as they are taken, once; a record that is unreadable comes as
    `Skipped`.  `agent` is the slice they are of, "all" for every one.  `why` says why the index
    was read and not the source.
    """

    ref: str
    source: str
    session_id: str
    title: str
    project: str
    path: str
    version: str | None
    at: int
    updated: int
    agent: str
    origin: Origin
    why: str | None
    messages: Messages


class _Session(NamedTuple):
    row: int
    key: str
    source: str
    root: str
    session_id: str
    title: str
    project: str
    path: str
    version: str | None
    at: int
    updated: int
    gone: int


_SESSION = """
SELECT s.id, s.key, r.source, r.path, s.session_id, s.title, p.directory, s.path, s.version,
       s.time_created, s.time_updated, s.gone OR r.gone
FROM session s JOIN root r ON r.id = s.root JOIN project p ON p.id = s.project WHERE s.id = ?
"""


def trajectories(
    db: Connection, texts: Iterable[str], cut: Cut, find: Find
) -> Iterator[Trajectory]:
    """Give the sessions that references name, each once; a message's ref names its session.

    `find(source, root)` gives the source that is read, None when it is no longer there.
    Raises `NotFound` or `BadInput` for a reference, agent or step that names nothing.
    """
    rows = dict.fromkeys(resolve(db, text).session for text in texts)
    for row in rows:
        session = _Session(*db.execute(_SESSION, (row,)).fetchone())
        yield _trajectory(db, session, cut, find)


def _trajectory(db: Connection, session: _Session, cut: Cut, find: Find) -> Trajectory:
    forgotten = _forgotten(db, session.source)
    why = None
    if session.gone:
        why = "it is gone from its source"
    else:
        try:
            found = _from_rows(session, cut, forgotten) or _from_source(
                session, cut, forgotten, find
            )
        except (SourceError, LookupError, OSError) as error:
            found, why = None, str(error) or "its source cannot be read"
        if found:
            return found
    messages = list(_indexed(db, session.row))
    return _made(session, Origin.INDEX, why or "its source is gone", *_cut(messages, session, cut))


def _made(
    session: _Session, origin: Origin, why: str | None, agent: str, messages: Messages
) -> Trajectory:
    return Trajectory(
        ref=refs.format(session.source, session.session_id),
        source=session.source,
        session_id=session.session_id,
        title=session.title,
        project=session.project,
        path=session.path,
        version=session.version,
        at=session.at,
        updated=session.updated,
        agent=agent,
        origin=origin,
        why=why,
        messages=messages,
    )


def _forgotten(db: Connection, source: str) -> Forgotten:
    """Give the messages and parts that are to be nowhere, though their source has them still."""
    sql = "SELECT level, id FROM forgotten WHERE source = ?"
    return frozenset(db.execute(sql, (source,)))


def _agent(chosen: Sequence[Head], cut: Cut) -> str:
    if cut.agent == ALL_AGENTS or not chosen:
        return cut.agent or ALL_AGENTS
    return cut.agent or chosen[0].agent


def redacted(one: Trajectory) -> Trajectory:
    """Give a session without secrets."""
    messages = (
        item if isinstance(item, Skipped) else redacted_value(item) for item in one.messages
    )
    return replace(one, title=redact(one.title), messages=messages)


# From the rows of a database


def _from_rows(session: _Session, cut: Cut, forgotten: Forgotten) -> Trajectory | None:
    """Read a database that has these tables and this session's messages, else give None."""
    from mimohist.sources import v1_rows

    path = Path(session.path)
    if not v1_rows.is_database(path):
        return None
    with v1_rows.opened(path) as rows:
        if rows is None or not (heads := rows.heads(session.session_id)):
            return None
        chosen = cut.of(heads)
        ids = [(session.session_id, head.id) for head in chosen]
        origin = rows.origin(session.session_id)
        if cut.narrows and origin and origin.session:
            before = inherited(rows.heads(origin.session), origin.watermark)
            ids = [*((origin.session, head.id) for head in before), *ids]
    wanted = [(owner, id) for owner, id in ids if ("message", id) not in forgotten]
    messages = _read_rows(path, wanted, forgotten)
    return _made(session, Origin.ROWS, None, _agent(chosen, cut), messages)


def _read_rows(path: Path, ids: Sequence[tuple[str, str]], forgotten: Forgotten) -> Messages:
    from mimohist.sources import v1_rows

    with v1_rows.opened(path) as rows:
        if rows is not None:
            for owner, pairs in groupby(ids, key=itemgetter(0)):
                for item in rows.messages(owner, (id for _, id in pairs)):
                    if not isinstance(item, Skipped):
                        parts = item["parts"]
                        item["parts"] = [p for p in parts if ("part", p["id"]) not in forgotten]
                    yield item


# From what a source's reader gives


def _from_source(
    session: _Session, cut: Cut, forgotten: Forgotten, find: Find
) -> Trajectory | None:
    source = find(session.source, session.root)
    if source is None:
        return None
    reading = source.load(Candidate(session.key, "", session.at), "")
    found: dict[str, Message] = {}
    skipped: list[Skipped] = []
    for item in reading.messages:
        if isinstance(item, Message):
            if ("message", item.id) not in forgotten:
                parts = tuple(p for p in item.parts if ("part", p.id) not in forgotten)
                found[item.id] = _joined(found.get(item.id), replace(item, parts=parts))
        elif isinstance(item, Skipped):
            skipped.append(item)
    messages = sorted(found.values(), key=lambda one: (one.at, one.id))
    agent, made = _cut(messages, session, cut)
    return _made(session, Origin.READ, None, agent, _after(made, skipped))


def _joined(before: Message | None, message: Message) -> Message:
    """Join what was given of a message earlier; a part given again replaces the earlier one."""
    if before is None:
        return message
    parts = {part.id: part for part in (*before.parts, *message.parts)}
    return replace(message, parts=tuple(parts.values()), usage=message.usage or before.usage)


def _after(messages: Messages, skipped: Iterable[Skipped]) -> Messages:
    yield from messages
    yield from skipped


def _cut(messages: Sequence[Message], session: _Session, cut: Cut) -> tuple[str, Messages]:
    chosen = cut.of([head_of(message) for message in messages])
    wanted = {head.id for head in chosen}
    made = (
        trajectory_of(message, session.session_id) for message in messages if message.id in wanted
    )
    return _agent(chosen, cut), made


# From the index

_MESSAGES = """
SELECT m.id, m.message_id, m.time_created, m.role, a.text, n.text, m.machine, m.model, m.provider,
       m.cost, m.tokens_input, m.tokens_output, m.tokens_reasoning, m.tokens_cache_read,
       m.tokens_cache_write
FROM message m JOIN name a ON a.id = m.agent LEFT JOIN name n ON n.id = m.agent_name
WHERE m.session = ? ORDER BY m.time_created, m.message_id
"""

_PARTS = """
SELECT h.part_id, h.kind, h.time_created, t.body, t.output, t.cut, l.text, h.status, h.machine
FROM history_fts h JOIN history_text t ON t.id = h.id LEFT JOIN name l ON l.id = h.tool
WHERE h.message = ? ORDER BY h.time_created, h.part_id
"""


def _indexed(db: Connection, session: int) -> Iterator[Message]:
    for row, id, at, role, agent, name, machine, model, provider, cost, *tokens in db.execute(
        _MESSAGES, (session,)
    ).fetchall():
        usage = Usage(cost=cost, **dict(zip(_TOKENS, tokens, strict=True)))
        yield Message(
            id=id,
            at=at,
            role=role,
            parts=tuple(_part(*values) for values in db.execute(_PARTS, (row,))),
            agent=agent,
            agent_name=name,
            machine=Machine(machine) if machine else None,
            model=model,
            provider=provider,
            usage=usage if usage != Usage() else None,
        )


_TOKENS = ("input", "output", "reasoning", "cache_read", "cache_write")


def _part(id: str, kind: str, at: int, body: str, output: str | None, *rest: Any) -> Part:  # noqa: ANN401 - columns
    cut, tool, status, machine = rest
    return Part(
        id=id,
        kind=Kind(kind),
        at=at,
        body=said(body),
        output=said(output or ""),
        cut=said(cut or ""),
        tool=tool,
        status=status,
        machine=Machine(machine) if machine else None,
    )
