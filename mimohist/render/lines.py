"""Lines of a terminal, drawn with Rich: wrapped by cells, cut, hung under what leads them.

No line ends in a blank.  No meaning is carried by colour alone.
"""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from mimohist.alphabet import UNSPACED
from mimohist.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

STYLES = {
    "ref": "bold green",
    "project": "cyan",
    "dim": "dim",
    "match": "bold yellow",
    "who": "bold",
    "tool": "cyan",
    "error": "red",
    "machine": "dim italic",
}

NARROWEST = 40
"""No terminal is taken to have fewer cells."""

_OPENING = "（「『《【〈“‘"
_CLOSING = "，。、；：？！”’）」』》】〉…"
_WIDE = rf"{UNSPACED}\uff01-\uff60"
_WORD = re.compile(
    rf"[{_OPENING}]*(?:[{_WIDE}]|[^\s{_WIDE}]+)"
    rf"(?:[*_`'\")\]}}]{{0,3}}[{_CLOSING}])*[,.;:!?)\]}}%]*\s*"
)
_LEAST_ROOM = 8


def console(stream: IO[str], *, color: bool, width: int) -> Console:
    """Make what is drawn on: `width` in cells; without `color` no escape is written at all."""
    return Console(
        file=stream,
        width=max(width, NARROWEST),
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )


def put(paper: Console, line: Text) -> None:
    """Print one line as it is."""
    paper.print(line, soft_wrap=True, no_wrap=True)


def flat(text: str) -> str:
    """Make a text printable and one line."""
    return " ".join(printable(text).split())


def wrap(text: Text, width: int) -> list[Text]:
    """Split into lines of at most `width` cells, at blanks or between characters without spaces.

    Marks stay with what they open or close; a word wider than the line is left whole.
    """
    breaks: list[int] = []
    column = 0
    for word in _WORD.finditer(text.plain):
        cells = cell_len(word[0].rstrip())
        if column and column + cells > width:
            breaks.append(word.start())
            column = 0
        column += cell_len(word[0])
    lines = list(text.divide(breaks))
    for line in lines:
        line.rstrip()
    return lines or [Text()]


def chop(line: Text, width: int) -> list[Text]:
    """Split a line every `width` cells, wherever that is."""
    breaks, column = [], 0
    for place, character in enumerate(line.plain):
        cells = cell_len(character)
        if column + cells > width:
            breaks.append(place)
            column = 0
        column += cells
    return list(line.divide(breaks))


def cut(text: Text, width: int) -> None:
    """Shorten to `width` cells, with an ellipsis for what is left out."""
    if cell_len(text.plain) > width:
        text.truncate(max(width, 1), overflow="ellipsis")
    text.rstrip()


def room_beside(paper: Console, lead: Text) -> int:
    """Give how many cells a text has beside `lead`."""
    return max(paper.width - cell_len(lead.plain), _LEAST_ROOM)


def hang(paper: Console, lead: Text, lines: Iterable[Text]) -> None:
    """Print lines behind `lead`, the further ones under the first."""
    indent = cell_len(lead.plain)
    for number, line in enumerate(lines):
        whole = Text.assemble(lead if number == 0 else " " * indent, line)
        whole.rstrip()
        put(paper, whole)


def short(
    text: Text, room: int, most: int, *, focus: tuple[int, int] = (0, 0), tail: Text | None = None
) -> list[Text]:
    """Fit a text into `most` lines of `room` cells, so that the stretch `focus` of it shows.

    Of a text that does not fit the beginning is left out where that would not show.  The
    `tail` stands after the text whatever is left out.
    """
    left = room - (cell_len(tail.plain) if tail else 0)
    if left < _LEAST_ROOM:
        tail, left = None, room
    lines, shown = _fitted(text, room, most, left)
    if focus[1] > shown:
        lines, _ = _fitted(_from_near(text, focus[0], room), room, most, left)
    if tail:
        lines[-1].append_text(tail)
    return lines


def _fitted(text: Text, room: int, most: int, left: int) -> tuple[list[Text], int]:
    """Give the lines, of which the last has `left` cells, and how much of the text they show."""
    lines = wrap(text, room)
    if len(lines) <= most and cell_len(lines[-1].plain) <= left:
        return lines, len(text.plain)
    if len(lines) < most:
        return [*lines, Text()], len(text.plain)
    lines = lines[:most]
    last = lines[-1]
    cut(last, left - 1)
    if last.plain.endswith("…"):
        last.right_crop(1)
        last.rstrip()
    shown = end_of(text.plain, lines)
    last.append("…")
    return lines, shown


def end_of(plain: str, lines: list[Text]) -> int:
    """Give where in a text its first lines end, which have lost the blanks between them."""
    at = 0
    for line in lines:
        at = plain.find(line.plain, at) + len(line.plain)
    return at


def _from_near(text: Text, focus: int, room: int) -> Text:
    """Leave out the beginning, so that what stands at `focus` is in the first half of a line."""
    start = focus
    for word in _WORD.finditer(text.plain, 0, focus):
        if cell_len(text.plain[word.start() : focus]) <= room // 2:
            start = word.start()
            break
    kept = text.divide([start])[-1]
    return kept if kept.plain.startswith("…") else Text.assemble("…", kept)
