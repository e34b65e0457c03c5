"""Rows that may match, from the full-text table, in bounded windows.

Ranking costs time for every match scored, so a common word is ranked over its newest
`window` matches; ids follow time, so the newest come first without sorting.
"""

from __future__ import annotations

from sqlite3 import OperationalError
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist.columns import BM25, Target
from mimohist.errors import BadInput, IndexUnusable
from mimohist.schema import ZONE_BITS
from mimohist.store import NO_FTS5

if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from mimohist.query import Term
    from mimohist.scope import Scope


class Row(NamedTuple):
    """A match: row id, score (higher is better, 0.0 when unranked), and what ranks it further."""

    id: int
    score: float
    echo: int
    copy: int
    at: int
    kind: str
    machine: str | None


class Lookup(NamedTuple):
    """One expression for FTS5 with the scope that it is confined to."""

    match: str
    scope: Scope


def expression(
    terms: tuple[Term, ...],
    targets: tuple[Target, ...],
    scope: Scope,
    *,
    without: tuple[Term, ...] = (),
    any_word: bool = False,
) -> str:
    """Write terms, filters and exclusions as one FTS5 expression.

    Terms without tokens are left out (one would make the whole match nothing), and so are
    exclusions that the tokens alone do not decide.
    """
    parts = []
    for target in targets:
        columns = " ".join(target.columns)
        found = [
            f"{{{columns}{_and_pieces(term, target)}}} : {term.match}"
            for term in terms
            if term.tokens
        ]
        words = (" OR " if any_word else " AND ").join(found)
        for term in without:
            if term.exact:
                words = f"({words}) NOT ({{{columns}{_and_pieces(term, target)}}} : {term.match})"
        parts.append(target.within(words))
    every = " OR ".join(parts)
    return f"({every}) AND {scope.match}" if scope.match else every


def _and_pieces(term: Term, target: Target) -> str:
    return " " + " ".join(target.pieces) if len(term.tokens) == 1 else ""


_RANKED = f"""
SELECT f.id, -f.score, h.echo, h.copy, h.time_created, h.kind, h.machine
FROM (SELECT rowid AS id, {BM25} AS score FROM history_fts_idx
      WHERE history_fts_idx MATCH :match AND rowid BETWEEN :low AND :high
      ORDER BY rowid DESC LIMIT :window) AS f
JOIN history_fts h ON h.id = f.id
"""

_PLAIN = """
SELECT f.id, 0.0, h.echo, h.copy, h.time_created, h.kind, h.machine
FROM (SELECT rowid AS id FROM history_fts_idx
      WHERE history_fts_idx MATCH :match AND rowid BETWEEN :low AND :high
      ORDER BY rowid {order} LIMIT :window) AS f
JOIN history_fts h ON h.id = f.id
"""


class Window(NamedTuple):
    """Some matches, and whether more lie beyond it."""

    rows: tuple[Row, ...]
    full: bool


def ranked(db: Connection, lookup: Lookup, window: int) -> Iterator[Window]:
    """Give the matches, best first inside each window, the newest window first.

    `window` is how many matches one may hold, -1 for all.
    """
    for rows, full in _windows(db, _RANKED, lookup, window, newest=True):
        yield Window(tuple(sorted(rows, key=by_rank)), full)


def by_rank(row: Row) -> tuple[int, float, int, int]:
    """Order rows: words before echoes of earlier searches, then by score, then the newest."""
    return row.echo, -row.score, -row.at, row.id


def by_time(db: Connection, lookup: Lookup, window: int, *, newest: bool) -> Iterator[Row]:
    """Give the matches in the exact order of their times, without reading all of them.

    A row is given once no row with an id still unread can come before it.
    """
    sign = -1 if newest else 1
    waiting: list[Row] = []
    sql = _PLAIN.format(order="DESC" if newest else "ASC")
    for rows, full in _windows(db, sql, lookup, window, newest=newest):
        waiting = sorted([*waiting, *rows], key=lambda row: (sign * row.at, sign * row.id))
        if not full:
            break
        frontier = _frontier(db, rows[-1].id, newest=newest)
        ready = 0
        while ready < len(waiting) and sign * waiting[ready].at < sign * frontier:
            ready += 1
        yield from waiting[:ready]
        waiting = waiting[ready:]
    yield from waiting


def _frontier(db: Connection, last: int, *, newest: bool) -> int:
    """Give the time that no row beyond id `last` can pass."""
    ahead = (
        "max(high) FROM zone WHERE block <= ?" if newest else "min(low) FROM zone WHERE block >= ?"
    )
    (time,) = db.execute(f"SELECT {ahead}", (last >> ZONE_BITS,)).fetchone()
    return int(time or 0)


def _windows(
    db: Connection, sql: str, lookup: Lookup, window: int, *, newest: bool
) -> Iterator[tuple[list[Row], bool]]:
    scope = lookup.scope
    low, high = scope.low, scope.high
    while low <= high:
        values = {"match": lookup.match, "low": low, "high": high, "window": window}
        rows = [Row(*row) for row in run(db, sql, values)]
        full = len(rows) == window
        if full:
            ids = [row.id for row in rows]
            low, high = (low, min(ids) - 1) if newest else (max(ids) + 1, high)
        if scope.timed:
            since, until = scope.since or 0, scope.until if scope.until is not None else 2**62
            rows = [row for row in rows if since <= row.at < until]
        if rows or not full:
            yield rows, full
        if not full:
            return


def run(db: Connection, sql: str, values: dict[str, object]) -> list[tuple[Any, ...]]:
    """Run a query with a MATCH; what FTS5 says about a bad one becomes `BadInput`."""
    try:
        return db.execute(sql, values).fetchall()
    except OperationalError as error:
        text = str(error)
        if "no such module" in text:
            raise IndexUnusable(NO_FTS5) from error
        if "malformed" in text or "corrupt" in text or "vtable" in text:
            raise IndexUnusable(f"the index is damaged ({text}); run `mimohist reindex`") from error
        raise BadInput(
            f"bad FTS5 expression: {text}; drop --fts to search for the words as they are"
        ) from error
