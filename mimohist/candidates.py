"""Rows that may match, from the full-text table, in bounded windows.

bm25 costs time for every match scored, and once for every row that holds a word, in scope
or not.  So the newest `WINDOW` matches are ranked, fewer of them when the words are very
common; ids follow time, so the newest come first without sorting.
"""

from __future__ import annotations

from sqlite3 import OperationalError
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist.columns import BM25, Target
from mimohist.errors import BadInput, IndexUnusable
from mimohist.schema import ZONE_BITS
from mimohist.scope import Scope
from mimohist.store import NO_FTS5

if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from mimohist.query import Term


WINDOW = 8_000
"""How many of the newest matches of one expression are ranked."""

NARROW = 1_000
"""How many are where the words stand in more than `COMMON` rows."""

COMMON = 100_000

_SAMPLE = 500
"""How many of a word's newest rows tell how common it is."""

_BATCH = 100


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


SCORED = f"""
SELECT id, score
FROM (SELECT rowid AS id, {BM25} AS score FROM history_fts_idx
      WHERE history_fts_idx MATCH :match AND rowid BETWEEN :low AND :high
      ORDER BY rowid DESC LIMIT :window)
ORDER BY score, id DESC
"""

_PLAIN = """
SELECT f.id, 0.0, h.echo, h.copy, h.time_created, h.kind, h.machine
FROM (SELECT rowid AS id FROM history_fts_idx
      WHERE history_fts_idx MATCH :match AND rowid BETWEEN :low AND :high
      ORDER BY rowid {order} LIMIT :window) AS f
JOIN history_fts h ON h.id = f.id
"""


class Window(NamedTuple):
    """Some matches, the best first: their ids, and their rows as they are read.

    `full` says that more may lie beyond it.
    """

    ids: tuple[int, ...]
    rows: Iterator[Row]
    full: bool


def width(db: Connection, terms: tuple[Term, ...]) -> int:
    """Say how many matches of these words are worth ranking, by how common they are of late."""
    first, last = span(db, Scope())
    if last - first < COMMON:
        return WINDOW
    sql = (
        "SELECT rowid FROM history_fts_idx WHERE history_fts_idx MATCH :match"
        " ORDER BY rowid DESC LIMIT 1 OFFSET :sample"
    )
    holding = 0.0
    for term in terms:
        if term.tokens:
            for (id,) in run(db, sql, {"match": term.match, "sample": _SAMPLE}):
                holding += _SAMPLE / (last - id + 1) * (last - first + 1)
    return WINDOW if holding < COMMON else NARROW


def ranked(db: Connection, lookup: Lookup, window: int) -> Iterator[Window]:
    """Give the matches, best first inside each window, the newest window first.

    `window` is how many matches one may hold, -1 for all.
    """
    low, high = lookup.scope.low, lookup.scope.high
    while low <= high:
        values = {"match": lookup.match, "low": low, "high": high, "window": window}
        found = run(db, SCORED, values)
        full = len(found) == window
        ids = tuple(id for id, _ in found)
        if ids or not full:
            yield Window(ids, _in_order(db, lookup.scope, found), full)
        if not full:
            return
        high = min(ids) - 1


def _in_order(db: Connection, scope: Scope, found: list[tuple[int, float]]) -> Iterator[Row]:
    """Read rows in the order of their scores (the lower the better), echoes after all others."""
    echoes: list[Row] = []
    for start in range(0, len(found), _BATCH):
        scores = dict(found[start : start + _BATCH])
        rows = [
            Row(id, -scores[id], *rest)
            for id, *rest in db.execute(
                "SELECT id, echo, copy, time_created, kind, machine FROM history_fts"
                f" WHERE id IN ({','.join(map(str, scores))})"
            )
        ]
        for row in sorted(_timely(rows, scope), key=by_rank):
            if row.echo:
                echoes.append(row)
            else:
                yield row
    yield from sorted(echoes, key=by_rank)


def distinct(db: Connection, scope: Scope, ids: list[int]) -> int:
    """Count rows, copies of one text once."""
    if not ids:
        return 0
    sql = f"SELECT count(DISTINCT copy) FROM history_fts WHERE id IN ({','.join(map(str, ids))})"
    if scope.timed:
        sql += " AND time_created >= ? AND time_created < ?"
    values = bounds(scope) if scope.timed else ()
    return int(db.execute(sql, values).fetchone()[0])


def bounds(scope: Scope) -> tuple[int, int]:
    """Give the times (epoch ms) in scope, the second exclusive."""
    return scope.since or 0, scope.until if scope.until is not None else 2**62


def _timely(rows: list[Row], scope: Scope) -> list[Row]:
    if not scope.timed:
        return rows
    since, until = bounds(scope)
    return [row for row in rows if since <= row.at < until]


def by_rank(row: Row) -> tuple[int, float, int, int]:
    """Order rows: words before echoes of earlier searches, then by score, then the newest."""
    return row.echo, -row.score, -row.at, row.id


def by_time(db: Connection, lookup: Lookup, window: int, *, newest: bool) -> Iterator[Row]:
    """Give the matches in the exact order of their times, without reading all of them."""
    yield from in_time(db, _windows(db, lookup, window, newest=newest), newest=newest)


def in_time(
    db: Connection, stretches: Iterator[tuple[list[Row], int | None]], *, newest: bool
) -> Iterator[Row]:
    """Put rows in the exact order of their times that come in stretches of ids.

    With each stretch comes the id that ends it, None for the last one.  A row is given once no
    row with an id still unread can come before it.
    """
    sign = -1 if newest else 1
    waiting: list[Row] = []
    for rows, end in stretches:
        waiting = sorted([*waiting, *rows], key=lambda row: (sign * row.at, sign * row.id))
        if end is None:
            break
        frontier = _frontier(db, end, newest=newest)
        ready = 0
        while ready < len(waiting) and sign * waiting[ready].at < sign * frontier:
            ready += 1
        yield from waiting[:ready]
        waiting = waiting[ready:]
    yield from waiting


def span(db: Connection, scope: Scope) -> tuple[int, int]:
    """Give the lowest and the highest id in scope; the first is the higher where there is none."""
    low, high = db.execute(
        "SELECT (SELECT min(id) FROM history_fts), (SELECT max(id) FROM history_fts)"
    ).fetchone()
    return (1, 0) if low is None else (max(low, scope.low), min(high, scope.high))


def _frontier(db: Connection, last: int, *, newest: bool) -> int:
    """Give the time that no row beyond id `last` can pass."""
    ahead = (
        "max(high) FROM zone WHERE block <= ?" if newest else "min(low) FROM zone WHERE block >= ?"
    )
    (time,) = db.execute(f"SELECT {ahead}", (last >> ZONE_BITS,)).fetchone()
    return int(time or 0)


def _windows(
    db: Connection, lookup: Lookup, window: int, *, newest: bool
) -> Iterator[tuple[list[Row], int | None]]:
    sql = _PLAIN.format(order="DESC" if newest else "ASC")
    scope = lookup.scope
    low, high = scope.low, scope.high
    while low <= high:
        values = {"match": lookup.match, "low": low, "high": high, "window": window}
        rows = [Row(*row) for row in run(db, sql, values)]
        if len(rows) != window:
            yield _timely(rows, scope), None
            return
        ids = [row.id for row in rows]
        end = min(ids) if newest else max(ids)
        low, high = (low, end - 1) if newest else (end + 1, high)
        yield _timely(rows, scope), end


def run(db: Connection, sql: str, values: dict[str, object]) -> list[tuple[Any, ...]]:
    """Run a query with a MATCH; what FTS5 says about a bad one becomes `BadInput`."""
    return list(read(db, sql, values))


def read(db: Connection, sql: str, values: dict[str, object]) -> Iterator[tuple[Any, ...]]:
    """Run a query with a MATCH, and give its rows as they are found."""
    try:
        yield from db.execute(sql, values)
    except OperationalError as error:
        text = str(error)
        if "no such module" in text:
            raise IndexUnusable(NO_FTS5) from error
        if "malformed" in text or "corrupt" in text or "vtable" in text:
            raise IndexUnusable(f"the index is damaged ({text}); run `mimohist reindex`") from error
        raise BadInput(
            f"bad FTS5 expression: {text}; drop --fts to search for the words as they are"
        ) from error
