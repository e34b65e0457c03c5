"""A message with its neighbours: the window that a reference opens on a session."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mimohist import refs
from mimohist.contexts import Context, ShownMessage, ShownPart
from mimohist.errors import BadInput
from mimohist.naming import Named, resolve
from mimohist.records import PENDING, Kind, Machine, Message, Part
from mimohist.sources import resume
from mimohist.text import said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from sqlite3 import Connection

    Peek = Callable[[str, str, str, Sequence[str]], Iterable[Message]]

ALL_AGENTS = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How much of a session to show.

    `before` and `after` count messages of the slice; `whole` shows the session.  `agent` is
    a slice or an agent's name, "all" for every slice, None for the anchor's own.
    `kinds` empty shows every kind of part.
    """

    before: int = 5
    after: int = 5
    whole: bool = False
    agent: str | None = None
    kinds: tuple[Kind, ...] = ()


def around(
    db: Connection, texts: Iterable[str], view: View, peek: Peek | None = None
) -> Iterator[Context]:
    """Give the windows that references open; those that overlap in a session are one.

    `peek(source, root path, session id, message ids)` reads from the source what the index
    lacks.  Raises `NotFound` or `BadInput` for a reference that names nothing or too much.
    """
    named = [resolve(db, text) for text in texts]
    sessions: dict[tuple[int, str | None], list[Named]] = {}
    opened = {one.session for one in named if one.message is not None}
    for one in named:
        # A title that was found beside messages has no window of its own to show.
        if one.message is None and one.session in opened:
            continue
        sessions.setdefault((one.session, _slice(db, one, view)), []).append(one)
    reader = _Reader(db, view, peek)
    for (session, agent), anchors in sessions.items():
        yield from _session(reader, session, agent, anchors)


def _slice(db: Connection, named: Named, view: View) -> str | None:
    """Give the slice to show, None for all."""
    if view.agent == ALL_AGENTS:
        return None
    if view.agent:
        return view.agent
    if named.message is None:
        return None
    (agent,) = db.execute(
        "SELECT a.text FROM message m JOIN name a ON a.id = m.agent WHERE m.id = ?",
        (named.message,),
    ).fetchone()
    return str(agent)


@dataclass(frozen=True, slots=True)
class _Reader:
    db: Connection
    view: View
    peek: Peek | None


def _session(
    reader: _Reader, session: int, agent: str | None, anchors: list[Named]
) -> Iterator[Context]:
    ids = _messages(reader.db, session, agent)
    marked = {one.message for one in anchors if one.message is not None}
    if agent is not None and not ids:
        raise BadInput(f"no agent {agent!r} in this session; --agent all shows every slice")
    for first, last in _windows(ids, marked, reader.view):
        context = _context(reader, session, ids[first:last], marked)
        yield replace(context, earlier=first, later=len(ids) - last)


def _messages(db: Connection, session: int, agent: str | None) -> list[int]:
    """Give the rows of a slice's messages in order; anchors of other slices are not among them."""
    sql = "SELECT m.id FROM message m WHERE m.session = :session"
    if agent is not None:
        sql += (
            " AND (m.agent IN (SELECT id FROM name WHERE text = :agent)"
            " OR m.agent_name IN (SELECT id FROM name WHERE text = :agent))"
        )
        own = f"{sql} AND m.agent IN (SELECT id FROM name WHERE text = :agent)"
        order = " ORDER BY m.time_created, m.message_id"
        values = {"session": session, "agent": agent}
        rows = db.execute(own + order, values).fetchall()
        return [row for (row,) in rows or db.execute(sql + order, values)]
    sql += " ORDER BY m.time_created, m.message_id"
    return [row for (row,) in db.execute(sql, {"session": session})]


def _windows(ids: list[int], marked: set[int], view: View) -> list[tuple[int, int]]:
    """Give the half-open stretches of `ids` to show, joined where they touch."""
    if view.whole:
        return [(0, len(ids))]
    places = [place for place, row in enumerate(ids) if row in marked]
    if not places:
        return [(0, min(len(ids), view.before + view.after + 1))]
    windows: list[tuple[int, int]] = []
    for place in places:
        first, last = max(0, place - view.before), min(len(ids), place + view.after + 1)
        if windows and first <= windows[-1][1]:
            windows[-1] = (windows[-1][0], max(last, windows[-1][1]))
        else:
            windows.append((first, last))
    return windows


def _context(reader: _Reader, session: int, ids: list[int], marked: set[int]) -> Context:
    db, peek = reader.db, reader.peek
    source, root, session_id, parent, title, project, path, at, gone = db.execute(
        "SELECT r.source, r.path, s.session_id, s.parent_id, s.title, p.directory, s.path,"
        " s.time_created, s.gone OR r.gone FROM session s JOIN project p ON p.id = s.project"
        " JOIN root r ON r.id = s.root WHERE s.id = ?",
        (session,),
    ).fetchone()
    shown = [_shown(db, row, source, session_id, anchor=row in marked) for row in ids]
    if peek and not gone and shown:
        shown = _completed(shown, peek(source, root, session_id, [m.message_id for m in shown]))
    kept = [_only(message, reader.view.kinds) for message in shown]
    return Context(
        source=source,
        session_id=session_id,
        session_ref=refs.format(source, session_id),
        title=title,
        project=project,
        path=path,
        at=at,
        gone=bool(gone),
        resume=resume(source, session_id, parent),
        messages=tuple(message for message in kept if message.parts or message.anchor),
        earlier=0,
        later=0,
        slices=tuple(
            db.execute(
                "SELECT a.text, count(*) FROM message m JOIN name a ON a.id = m.agent"
                " WHERE m.session = ? GROUP BY 1 ORDER BY min(m.time_created)",
                (session,),
            )
        ),
    )


_MESSAGE = """
SELECT m.message_id, a.text, n.text, m.role, m.machine, m.time_created,
  (SELECT count(*) FROM message o WHERE o.session = m.session
   AND (o.time_created, o.message_id) <= (m.time_created, m.message_id))
FROM message m JOIN name a ON a.id = m.agent LEFT JOIN name n ON n.id = m.agent_name WHERE m.id = ?
"""

_PARTS = """
SELECT h.part_id, h.kind, l.text, h.status, h.machine, t.body, t.output, t.cut, h.lost
FROM history_fts h JOIN history_text t ON t.id = h.id LEFT JOIN name l ON l.id = h.tool
WHERE h.message = ? ORDER BY h.time_created, h.part_id
"""


def _shown(db: Connection, row: int, source: str, session_id: str, *, anchor: bool) -> ShownMessage:
    message_id, agent, agent_name, role, machine, at, ordinal = db.execute(
        _MESSAGE, (row,)
    ).fetchone()
    parts: list[ShownPart] = []
    for part_id, kind, tool, status, why, body, output, cut, _ in db.execute(_PARTS, (row,)):
        part = Part(
            id=part_id,
            kind=Kind(kind),
            at=at,
            body=said(body),
            output=said(output or ""),
            cut=said(cut or ""),
            tool=tool,
            status=status,
            machine=Machine(why) if why else None,
        )
        parts += sides_of(part)
    return ShownMessage(
        ref=refs.format(source, session_id, message_id),
        message_id=message_id,
        agent=agent,
        agent_name=agent_name,
        ordinal=ordinal,
        anchor=anchor,
        role=role,
        machine=machine,
        at=at,
        parts=tuple(parts),
    )


def sides_of(part: Part, *, indexed: bool = True) -> Iterator[ShownPart]:
    """Give what there is to show of a part: a call and its result apart, cut-out text too."""
    machine = str(part.machine) if part.machine else None
    tool = part.kind in (Kind.TOOL_INPUT, Kind.TOOL_OUTPUT, Kind.TOOL_ERROR)

    def side(kind: Kind, text: str, why: str | None = machine) -> ShownPart:
        return ShownPart(
            part_id=part.id,
            kind=kind,
            tool=part.tool,
            status=part.status,
            machine=why,
            text=text,
            indexed=indexed,
        )

    if part.body or not (part.output or part.cut):
        yield side(Kind.TOOL_INPUT if tool else part.kind, part.body)
    if part.output or (tool and part.status == "completed" and not indexed):
        yield side(part.kind, part.output)
    if part.cut:
        yield side(part.kind, part.cut, machine or str(Machine.SYNTHETIC))


def _completed(shown: list[ShownMessage], fresh: Iterable[Message]) -> list[ShownMessage]:
    """Add the parts that only the source holds: calls still running, kinds left out, cut text."""
    now = {message.id: message for message in fresh}
    return [
        replace(message, parts=_with_missing(message.parts, now[message.message_id].parts))
        if message.message_id in now
        else message
        for message in shown
    ]


def _with_missing(have: tuple[ShownPart, ...], parts: tuple[Part, ...]) -> tuple[ShownPart, ...]:
    known: dict[str, list[ShownPart]] = {}
    for side in have:
        known.setdefault(side.part_id, []).append(side)
    out: list[ShownPart] = []
    for part in parts:
        fuller = list(sides_of(part, indexed=False))
        stored = known.pop(part.id, None)
        if stored is None:
            if part.body or part.output or part.status in PENDING:
                out += fuller
        elif _size(stored) < _size(fuller):
            out += fuller
        else:
            out += stored
    return (*(side for sides in known.values() for side in sides), *out) if known else tuple(out)


def _size(sides: list[ShownPart]) -> tuple[int, int]:
    """Tell which of two readings of a part has more: text, then sides."""
    return sum(len(side.text) for side in sides), len(sides)


def _only(message: ShownMessage, kinds: tuple[Kind, ...]) -> ShownMessage:
    if not kinds:
        return message
    return replace(message, parts=tuple(part for part in message.parts if part.kind in kinds))
