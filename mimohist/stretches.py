"""Rows found by reading texts, in the order of their times.

The index is read in stretches of ids, which follow time: the newest first, each longer than the
one before, so that the newest matches come at once and all of them soon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mimohist import candidates
from mimohist.answers import Sort
from mimohist.candidates import Row
from mimohist.columns import sides
from mimohist.kinds import Kind
from mimohist.text import said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mimohist.patterns import Test
    from mimohist.run import Run

_WITH_OUTPUT = (Kind.TOOL_OUTPUT, Kind.TOOL_ERROR)

_FIRST, _MOST = 1 << 13, 1 << 17
"""How many ids the first stretch has, and the longest."""


class Narrowed(NamedTuple):
    """What rows are narrowed by before their texts are read: FTS5's expression, or "", a test."""

    match: str
    test: Test | None = None


def rows(
    run: Run, kinds: tuple[Kind, ...], by: Narrowed, accepts: Callable[[list[str]], bool]
) -> Iterator[Row]:
    """Give the rows in scope whose texts are accepted: those in which these kinds may match."""
    newest = run.query.sort is not Sort.OLDEST
    yield from candidates.in_time(run.db, _stretches(run, kinds, by, accepts), newest=newest)


def _stretches(
    run: Run, kinds: tuple[Kind, ...], by: Narrowed, accepts: Callable[[list[str]], bool]
) -> Iterator[tuple[list[Row], int | None]]:
    """Give the accepted rows of each stretch, and the id that ends it (None: the last one)."""
    newest = run.query.sort is not Sort.OLDEST
    low, high = candidates.span(run.db, run.scope)
    sql, values = _sql(run, kinds, by)
    length = _FIRST
    while low <= high:
        first, last = (max(low, high - length + 1), high) if newest else (low, low + length - 1)
        found: list[Row] = []
        for id, echo, copy, at, kind, machine, *texts in candidates.read(
            run.db, sql, {**values, "low": first, "high": min(last, high)}
        ):
            try:
                accepted = not run.late and accepts([said(text) for text in texts if text])
            except TimeoutError:
                accepted = False
            if accepted:
                found.append(Row(id, 0.0, echo, copy, at, kind, machine))
            elif run.late:
                run.cut_off = True
                yield found, None
                return
        low, high = (low, first - 1) if newest else (last + 1, high)
        yield found, (first if newest else last) if low <= high else None
        length = min(2 * length, _MOST)


def _sql(run: Run, kinds: tuple[Kind, ...], by: Narrowed) -> tuple[str, dict[str, object]]:
    """Write the query for one stretch: its columns are a row's, then the texts to be read."""
    bodies = [kind for kind in Kind if sides(kind, kinds)[0]]
    outputs = [kind for kind in _WITH_OUTPUT if sides(kind, kinds)[1]]
    texts = [_when(bodies, "t.body"), _when(outputs, "t.output")]
    where = ["h.time_created >= :since AND h.time_created < :until"]
    where.append(f"h.kind IN ({_listed({*bodies, *outputs})})")
    if run.query.machine:
        texts.append("t.cut")
    else:
        where.append("(h.machine IS NULL OR h.machine = 'summary')")
    since, until = candidates.bounds(run.scope)
    values: dict[str, object] = {"since": since, "until": until, "match": by.match}
    if by.test:
        values["pattern"] = by.test.pattern
        where.insert(0, _passes(by.test, outputs, machine=run.query.machine))
    order = "ASC" if run.query.sort is Sort.OLDEST else "DESC"
    if by.match:
        # The limit keeps SQLite from sorting the texts instead of the ids.
        ids = (
            "(SELECT rowid AS id FROM history_fts_idx WHERE history_fts_idx MATCH :match"
            f" AND rowid BETWEEN :low AND :high ORDER BY rowid {order} LIMIT -1) f"
        )
        among, end = f"{ids} CROSS JOIN history_text t ON t.id = f.id", ""
    else:
        among, end = "history_text t", f" ORDER BY t.id {order}"
        where.insert(0, "t.id BETWEEN :low AND :high")
    sql = (
        f"SELECT h.id, h.echo, h.copy, h.time_created, h.kind, h.machine, {', '.join(texts)}"
        f" FROM {among} CROSS JOIN history_fts h ON h.id = t.id WHERE {' AND '.join(where)}{end}"
    )
    return sql, values


def _passes(test: Test, outputs: list[Kind], *, machine: bool) -> str:
    """Write the test of a row's texts, that of outputs only where they are looked at."""
    output = test.of("t.output")
    if len(outputs) < len(_WITH_OUTPUT):
        output = f"h.kind IN ({_listed(outputs)}) AND {output}"
    cut = f" OR {test.of('t.cut')}" if machine else ""
    return f"({test.of('t.body')} OR {output}{cut})"


def _when(kinds: list[Kind], column: str) -> str:
    """Write a column's text where a row is of these kinds."""
    return f"CASE WHEN h.kind IN ({_listed(kinds)}) THEN {column} END" if kinds else "NULL"


def _listed(kinds: Iterable[Kind]) -> str:
    return ", ".join(f"'{kind}'" for kind in kinds)
