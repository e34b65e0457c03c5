"""Rows made into hits: everything that is needed to name one and to show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mimohist import refs
from mimohist.answers import Copy, Hit, Mode, Sort
from mimohist.columns import sides
from mimohist.kinds import Kind
from mimohist.snippets import Finder, Snippet, Spans, snippet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection

    from mimohist.candidates import Row
    from mimohist.run import Run

_HIT = """
SELECT h.id, r.source, p.project_id, p.directory, s.session_id, s.title, m.message_id, h.part_id,
       a.text, n.text, h.kind, l.text, h.time_created, h.machine, s.path, m.role,
       s.gone OR r.gone, h.copy, m.session, m.time_created
FROM history_fts h JOIN session s ON s.id = h.session JOIN project p ON p.id = h.project
JOIN root r ON r.id = h.root LEFT JOIN message m ON m.id = h.message
LEFT JOIN name a ON a.id = m.agent LEFT JOIN name n ON n.id = m.agent_name
LEFT JOIN name l ON l.id = h.tool WHERE h.id = ?
"""

_COPIES = """
SELECT r.source, s.session_id, m.message_id, h.part_id FROM history_fts h
JOIN session s ON s.id = h.session JOIN root r ON r.id = h.root
LEFT JOIN message m ON m.id = h.message
WHERE h.copy = ? AND h.id <> ? ORDER BY h.time_created, h.id
"""

_ORDINAL = """
SELECT count(*) FROM message WHERE session = ? AND (time_created, message_id) <= (?, ?)
"""


class _Known(NamedTuple):
    id: int
    source: str
    project_id: str
    project: str
    session_id: str
    title: str
    message_id: str | None
    part_id: str
    agent: str | None
    agent_name: str | None
    kind: str
    tool: str | None
    at: int
    machine: str | None
    path: str
    role: str | None
    gone: int
    copy: int
    session: int | None
    message_at: int | None


def build(
    run: Run, rows: Sequence[Row], kinds: tuple[Kind, ...], widened: str | None
) -> tuple[Hit, ...]:
    """Make the hits of some rows, in their order."""
    finder = _finder(run)
    return tuple(_hit(run, row, kinds, widened, finder) for row in rows)


def _finder(run: Run) -> Spans:
    if run.query.mode is Mode.WORDS:
        return Finder(run.terms)
    from mimohist import scan

    if run.query.mode is Mode.FTS:
        return scan.expression_finder(run.query)
    return scan.line_finder(run)


def _hit(run: Run, row: Row, kinds: tuple[Kind, ...], widened: str | None, finder: Spans) -> Hit:
    known = _Known(*run.db.execute(_HIT, (row.id,)).fetchone())
    kind, shown = _shown(run, row, kinds, finder)
    ranked = run.query.sort is Sort.RANK and run.query.mode in (Mode.WORDS, Mode.FTS)
    return Hit(
        ref=refs.format(known.source, known.session_id, known.message_id),
        source=known.source,
        project_id=known.project_id,
        project=known.project,
        session_id=known.session_id,
        title=run.veil(known.title) if run.veil else known.title,
        message_id=known.message_id,
        part_id=known.part_id,
        agent=known.agent,
        agent_name=known.agent_name,
        ordinal=_ordinal(run.db, known),
        kind=kind,
        tool=known.tool,
        at=known.at,
        score=row.score if ranked else None,
        snippet=shown.text,
        matches=shown.matches,
        copies=tuple(
            Copy(refs.format(source, session, message), part)
            for source, session, message, part in run.db.execute(_COPIES, (known.copy, known.id))
        ),
        widened=widened,
        machine=known.machine,
        path=known.path,
        role=known.role,
        gone=bool(known.gone),
    )


def _ordinal(db: Connection, known: _Known) -> int | None:
    if known.session is None:
        return None
    values = (known.session, known.message_at, known.message_id)
    return int(db.execute(_ORDINAL, values).fetchone()[0])


def _shown(run: Run, row: Row, kinds: tuple[Kind, ...], finder: Spans) -> tuple[Kind, Snippet]:
    """Choose the side of a row that shows the most terms, and the kind that it makes the hit."""
    body, output, cut = run.texts.of(row.id)
    in_body, in_output = sides(Kind(row.kind), kinds)
    kind = Kind(row.kind)
    tool = kind in (Kind.TOOL_OUTPUT, Kind.TOOL_ERROR)
    choices = []
    if in_body:
        choices.append((Kind.TOOL_INPUT if tool else kind, body))
    if in_output and output:
        choices.append((kind, output))
    if run.query.machine and cut:
        choices.append((kind, cut))
    best: tuple[Kind, Snippet] | None = None
    for side, text in choices:
        made = snippet(run.veil(text) if run.veil else text, finder)
        if best is None or made.terms > best[1].terms:
            best = (side, made)
    if best is None:
        return kind, snippet(run.veil(body) if run.veil else body, finder)
    if best[0] is Kind.TOOL_INPUT and not _all_in(finder, body):
        return kind, best[1]
    return best


def _all_in(finder: Spans, text: str) -> bool:
    found = {number for _, number in finder.spans(text)}
    return len(found) == finder.wanted
