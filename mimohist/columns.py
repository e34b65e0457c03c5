"""How kinds become columns of the full-text table, and what a hit in each is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mimohist.kinds import Kind
from mimohist.schema import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_KINDS = (Kind.USER_TEXT, Kind.ASSISTANT_TEXT, Kind.TOOL_INPUT, Kind.TOOL_ERROR)
"""What MiMo Code's history tool looks at unless told otherwise."""

SIX = (*DEFAULT_KINDS, Kind.REASONING, Kind.TOOL_OUTPUT)

WEIGHTS = {
    "said": 3.0,
    "reply": 2.0,
    "input": 1.2,
    "error": 1.2,
    "output": 0.6,
    "reasoning": 0.8,
    "summary": 0.5,
    "machine": 0.4,
    "pieces": 0.2,
    "more_pieces": 0.1,
    "tags": 0.0,
}
"""bm25 weights: what people said counts more than what tools printed."""

BM25 = f"bm25(history_fts_idx, {', '.join(str(WEIGHTS[column]) for column in COLUMNS)})"


class Target(NamedTuple):
    """Some columns, and the row kinds (empty: all) in which they are looked at."""

    columns: tuple[str, ...]
    pieces: tuple[str, ...]
    kinds: tuple[Kind, ...] = ()

    def within(self, expression: str) -> str:
        """Confine an FTS5 expression over these columns to these kinds."""
        if not self.kinds:
            return expression
        tags = " OR ".join(f'"k{kind.replace("_", "")}"' for kind in self.kinds)
        return f"(({expression}) AND tags : ({tags}))"


def sides(row: Kind, kinds: Iterable[Kind]) -> tuple[bool, bool]:
    """Tell whether the `body` and the `output` of a row of this kind may match.

    `tool_input` is the body of any tool row, `tool_output` a completed row's output, and
    `tool_error` a failed row anywhere.
    """
    asked = set(kinds)
    match row:
        case Kind.TOOL_OUTPUT | Kind.TOOL_INPUT:
            return Kind.TOOL_INPUT in asked, Kind.TOOL_OUTPUT in asked
        case Kind.TOOL_ERROR:
            return bool(asked & {Kind.TOOL_INPUT, Kind.TOOL_ERROR}), Kind.TOOL_ERROR in asked
        case _:
            return row in asked, row in asked


_ROWS = {
    Kind.USER_TEXT: (("said", "summary"), ()),
    Kind.TITLE: (("said",), ()),
    Kind.ASSISTANT_TEXT: (("reply", "summary"), ()),
    Kind.REASONING: (("reasoning",), ()),
    Kind.TOOL_OUTPUT: (("input",), ("output",)),
    Kind.TOOL_ERROR: (("input",), ("error",)),
}


def targets(kinds: tuple[Kind, ...], *, machine: bool) -> tuple[Target, ...]:
    """Give where to look for some kinds; the fewest tags that say so exactly.

    The plain cases need no tag, because each kind has columns of its own.
    """
    asked = set(kinds)
    if not machine and asked == {*DEFAULT_KINDS, Kind.TITLE}:
        return (Target(("said", "reply", "input", "error", "summary"), ("pieces",)),)
    if not machine and asked == {*SIX, Kind.TITLE}:
        every = ("said", "reply", "input", "error", "output", "reasoning", "summary")
        return (Target(every, ("pieces", "more_pieces")),)
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Kind]] = {}
    for row, (body, output) in _ROWS.items():
        in_body, in_output = sides(row, asked)
        columns = (body if in_body else ()) + (output if in_output else ())
        if not columns:
            continue
        pieces = _pieces(row, in_body=in_body, in_output=in_output)
        groups.setdefault((columns + (("machine",) if machine else ()), pieces), []).append(row)
    return tuple(Target(*columns, tuple(rows)) for columns, rows in groups.items())


def _pieces(row: Kind, *, in_body: bool, in_output: bool) -> tuple[str, ...]:
    if row is Kind.REASONING:
        return ("more_pieces",)
    if row is Kind.TOOL_OUTPUT:
        return (("pieces",) if in_body else ()) + (("more_pieces",) if in_output else ())
    return ("pieces",)
