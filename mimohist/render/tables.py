"""Rows of SQL as a table on a terminal, or as records where it is too narrow for a table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from mimohist.render.lines import STYLES, cut, flat, hang, put, room_beside, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

_GAP = 2
_NUMBER = re.compile(r"-?[\d.]*(?:e[+-]?\d+)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[ T][\d:.]+Z?)?|")
_ID = re.compile(r"[a-z]{3}_\S+|")
_PATH = re.compile(r"[/~]\S*|")
_DATE = 10
_END_OF_ID = 9
_LEAST = 8


def rows(paper: Console, columns: Sequence[str], found: Iterable[Sequence[Any]]) -> None:
    """Draw rows under their columns' names.

    Where they do not fit, texts are cut, times to their day, ids and paths at their beginnings,
    which many share; numbers never.  Where that is not enough each row is a record, one line
    a value.
    """
    cells = [[_cell(value) for value in row] for row in found]
    table = [_Column(name, [row[place] for row in cells]) for place, name in enumerate(columns)]
    if _fit(table, paper.width - _GAP * (len(table) - 1)):
        _table(paper, table, len(cells))
    else:
        _records(paper, columns, cells)


class _Column:
    def __init__(self, name: str, cells: list[str]) -> None:
        self.name = name
        self.cells = cells
        self.numeric = all(_NUMBER.fullmatch(cell) for cell in cells)
        self.timed = not self.numeric and all(_TIME.fullmatch(cell) for cell in cells)
        self.id = not self.numeric and all(_ID.fullmatch(cell) for cell in cells)
        self.path = not self.numeric and all(_PATH.fullmatch(cell) for cell in cells)
        self.width = max([cell_len(name), *map(cell_len, cells)])
        least = (
            self.width
            if self.numeric
            else _DATE
            if self.timed
            else _END_OF_ID
            if self.id
            else _LEAST
        )
        self.least = min(self.width, max(least, min(cell_len(name), _LEAST)))

    def fitted(self, value: str, style: str, *, head: bool) -> Text:
        """Give a cell of the column, as wide as the column is."""
        text = Text(value, style)
        if cell_len(value) > self.width:
            if self.timed and not head:
                text = Text(value[:_DATE], style)
            elif (self.id or self.path) and not head:
                text = Text("…" + _last_cells(value, self.width - 1), style)
            else:
                cut(text, self.width)
        blank = " " * (self.width - cell_len(text.plain))
        return Text.assemble(blank, text) if self.numeric else Text.assemble(text, blank)


def _last_cells(value: str, width: int) -> str:
    while cell_len(value) > width:
        value = value[1:]
    return value


def _fit(table: list[_Column], room: int) -> bool:
    """Narrow times and ids first, then the widest columns until all fit; say whether they do."""
    if sum(column.least for column in table) > room:
        return False
    over = sum(column.width for column in table) - room
    for column in table:
        if over > 0 and (column.timed or column.id):
            over -= column.width - column.least
            column.width = column.least
    while over > 0:
        widest = max(
            (column for column in table if column.width > column.least), key=lambda one: one.width
        )
        widest.width -= 1
        over -= 1
    return True


def _table(paper: Console, table: list[_Column], count: int) -> None:
    _line(paper, [column.fitted(column.name, STYLES["who"], head=True) for column in table])
    for number in range(count):
        _line(paper, [column.fitted(column.cells[number], "", head=False) for column in table])


def _line(paper: Console, cells: list[Text]) -> None:
    line = Text(" " * _GAP).join(cells)
    line.rstrip()
    put(paper, line)


def _records(paper: Console, columns: Sequence[str], cells: list[list[str]]) -> None:
    wide = max(map(cell_len, columns), default=0)
    for number, row in enumerate(cells):
        if number:
            put(paper, Text())
        for name, value in zip(columns, row, strict=True):
            lead = Text(name + " " * (wide - cell_len(name) + _GAP), STYLES["who"])
            hang(paper, lead, wrap(Text(value), room_beside(paper, lead)))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.hex()
    return f"{value:g}" if isinstance(value, float) else flat(str(value))
