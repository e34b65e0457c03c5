"""For a terminal, drawn with Rich: hits under their sessions, windows of messages, tables.

Texts are shown as they were said (no Markdown rendering), made printable, wrapped by cells,
without blanks at the ends of lines.  No meaning is carried by colour alone.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from mimohist.alphabet import UNSPACED
from mimohist.kinds import Kind
from mimohist.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mimohist.answers import Answer, Hit
    from mimohist.contexts import Context, ShownMessage, ShownPart

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

_CLOSING = "，。、；：？！”’）」』》】〉…"
_WORD = re.compile(rf"(?:[{UNSPACED}\uff01-\uff60]|[^\s{UNSPACED}\uff01-\uff60]+)[{_CLOSING}]*\s*")
_NARROWEST = 40
_MOST_LINES = 2
_FOLDED = 6
_MARKS = {
    Kind.REASONING: "~ ",
    Kind.TOOL_INPUT: "$ ",
    Kind.TOOL_OUTPUT: "= ",
    Kind.TOOL_ERROR: "! ",
}


def console(stream: IO[str], *, color: bool, width: int) -> Console:
    """Make what is drawn on: `width` in cells; without `color` no escape is written at all."""
    return Console(
        file=stream,
        width=max(width, _NARROWEST),
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )


# Hits


def hits(paper: Console, answer: Answer, short: Mapping[str, str]) -> None:
    """Draw hits under their sessions, sessions and hits in the order of the answer.

    `short` gives for each session id the least of it that names it.
    """
    grouped: dict[tuple[str, str], list[Hit]] = {}
    for hit in answer.hits:
        grouped.setdefault((hit.source, hit.session_id), []).append(hit)
    numbers = max((len(str(hit.ordinal or "")) for hit in answer.hits), default=1)
    who = min(max((cell_len(_who(hit)) for hit in answer.hits), default=1), 20)
    for place, group in enumerate(grouped.values()):
        if place:
            _print(paper, Text())
        first = group[0]
        _heading(
            paper,
            f"{first.source}/{short.get(first.session_id, first.session_id)}",
            (first.project, first.at, first.title, first.path),
            gone=first.gone,
        )
        for hit in group:
            lead = Text.assemble(
                "  ",
                (str(hit.ordinal or "").rjust(numbers), "green"),
                "  ",
                (_padded(_who(hit), who), STYLES["dim"]),
                "  ",
            )
            _block(paper, lead, _marked(hit), most=_MOST_LINES)


def _padded(text: str, width: int) -> str:
    short = text
    while cell_len(short) > width:
        short = short[:-1]
    return short + " " * (width - cell_len(short))


def _who(hit: Hit) -> str:
    match hit.kind:
        case Kind.USER_TEXT:
            who = "you"
        case Kind.ASSISTANT_TEXT:
            who = "assistant"
        case Kind.TOOL_ERROR:
            who = f"{hit.tool or 'error'} !"
        case Kind.TOOL_OUTPUT:
            who = f"{hit.tool or 'output'} ="
        case Kind.TOOL_INPUT:
            who = hit.tool or "tool"
        case kind:
            who = str(kind)
    if hit.agent not in (None, "main"):
        who = f"{who} @{hit.agent}"
    return printable(f"{who} ({hit.machine})" if hit.machine else who).replace("\n", " ")


def _marked(hit: Hit) -> Text:
    text = Text(hit.snippet)
    for start, end in hit.matches:
        text.stylize(STYLES["match"], start, end)
    if hit.copies:
        also = ", ".join(sorted({copy.ref.split("/")[1][-8:] for copy in hit.copies})[:3])
        text.append(f"  (also in …{also})", STYLES["dim"])
    return text


def _heading(paper: Console, ref: str, about: tuple[str, int, str, str], *, gone: bool) -> None:
    project, at, title, path = about
    name = PurePath(project).name or project
    line = Text.assemble(
        (printable(ref), STYLES["ref"]),
        "  ",
        (_flat(name), STYLES["project"]),
        "  ",
        (f"{_local(at):%Y-%m-%d}", STYLES["dim"]),
        "  ",
        ("source gone  " if gone else "", STYLES["dim"]),
        _flat(title),
    )
    if paper.color_system and path:
        line.stylize(f"link file://{quote(path, errors='surrogateescape')}", 0, len(ref))
    _cut(line, paper.width)
    _print(paper, line)


def _flat(text: str) -> str:
    return " ".join(printable(text).split())


def _local(at: int) -> datetime:
    return datetime.fromtimestamp(at / 1000).astimezone()


# A window of messages


def context(paper: Console, one: Context, short: str, *, full: bool) -> None:
    """Draw a window: `>` the anchor, `~` reasoning, `$` a call, `=` its result, `!` its error.

    Long reasoning and results are folded to their first lines unless `full`.
    """
    ref = f"{one.source}/{short}"
    _heading(paper, ref, (one.project, one.at, one.title, one.path), gone=one.gone)
    if one.earlier:
        _print(paper, Text(f"  … {one.earlier} earlier", STYLES["dim"]))
    for message in one.messages:
        _print(paper, Text())
        _message(paper, message, several=len(one.slices) > 1, full=full)
    if one.later:
        _print(paper, Text())
        _print(paper, Text(f"  … {one.later} later", STYLES["dim"]))


def _message(paper: Console, message: ShownMessage, *, several: bool, full: bool) -> None:
    who = "you" if message.role == "user" else "assistant"
    if several or message.agent != "main":
        who += f" @{printable(message.agent)}"
    if message.machine:
        who += f" ({message.machine})"
    line = Text.assemble(
        "> " if message.anchor else "  ",
        (str(message.ordinal), STYLES["ref"]),
        "  ",
        (who, STYLES["machine"] if message.machine else STYLES["who"]),
        "  ",
        (f"{_local(message.at):%H:%M}", STYLES["dim"]),
    )
    _print(paper, line)
    for part in message.parts:
        _part(paper, part, full=full, dim=bool(message.machine))


def _part(paper: Console, part: ShownPart, *, full: bool, dim: bool) -> None:
    text = printable(part.text)
    mark = _MARKS.get(part.kind, "")
    style = _style(part, dim=dim)
    if part.machine and part.machine != "summary" and not dim:
        mark = f"({part.machine}) "
    if part.machine == "summary":
        mark = "(summary) "
    if part.kind is Kind.TOOL_INPUT:
        name, _, rest = text.partition("\n")
        text = f"{name}  {rest}" if rest else name
        if part.status in ("pending", "running"):
            text += f"  ({part.status})"
    lines = text.strip("\n").split("\n")
    folds = part.kind in _MARKS or part.machine
    hidden = 0
    if folds and not full and len(lines) > _FOLDED:
        hidden = len(lines) - _FOLDED + 1
        lines = lines[: _FOLDED - 1]
    for number, line in enumerate(lines):
        lead = Text("    " + (mark if number == 0 else " " * len(mark)), style)
        most = None if full or not folds else _FOLDED
        _block(paper, lead, Text(line, style), most=most)
    if hidden:
        _print(paper, Text(f"    … {hidden} more lines (--full shows them)", STYLES["dim"]))


def _style(part: ShownPart, *, dim: bool) -> str:
    if dim or part.machine:
        return STYLES["machine"]
    match part.kind:
        case Kind.REASONING:
            return "dim italic"
        case Kind.TOOL_INPUT:
            return STYLES["tool"]
        case Kind.TOOL_OUTPUT:
            return STYLES["dim"]
        case Kind.TOOL_ERROR:
            return STYLES["error"]
    return ""


# Tables


def rows(paper: Console, columns: Sequence[str], found: Iterable[Sequence[Any]]) -> None:
    """Draw rows under their columns' names; the last column takes what width is left."""
    cells = [[_cell(value) for value in row] for row in found]
    widths = [
        max([cell_len(name), *(cell_len(row[place]) for row in cells)])
        for place, name in enumerate(columns)
    ]
    numeric = [
        all(re.fullmatch(r"-?[\d.]*", row[place]) for row in cells) for place in range(len(columns))
    ]
    _fit(widths, paper.width - 2 * (len(widths) - 1))
    lines = [(columns, STYLES["who"]), *((row, "") for row in cells)]
    for values, style in lines:
        line = Text()
        for place, value in enumerate(values):
            cell = Text(value, style)
            _cut(cell, widths[place])
            room = widths[place] - cell_len(cell.plain)
            if place:
                line.append("  ")
            if numeric[place]:
                line.append(" " * room)
            line.append_text(cell)
            if not numeric[place]:
                line.append(" " * room)
        line.rstrip()
        _print(paper, line)


def _fit(widths: list[int], room: int) -> None:
    """Narrow the widest columns until all fit, none below eight cells."""
    while sum(widths) > room and max(widths, default=0) > 8:  # noqa: PLR2004
        widths[widths.index(max(widths))] -= 1


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.hex()
    return f"{value:g}" if isinstance(value, float) else _flat(str(value))


# Lines


def _block(paper: Console, lead: Text, text: Text, *, most: int | None) -> None:
    """Print a text behind `lead`, its further lines under its first."""
    indent = cell_len(lead.plain)
    room = max(paper.width - indent, 8)
    lines = wrap(text, room)
    if most and len(lines) > most:
        lines = lines[:most]
        _cut(lines[-1], room - 1)
        lines[-1].rstrip()
        if not lines[-1].plain.endswith("…"):
            lines[-1].append("…")
    for number, line in enumerate(lines):
        whole = Text.assemble(lead if number == 0 else " " * indent, line)
        whole.rstrip()
        _print(paper, whole)


def wrap(text: Text, width: int) -> list[Text]:
    """Split into lines of at most `width` cells, at blanks or between characters without spaces.

    Closing marks stay with what they close; a word wider than the line is left whole.
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


def _cut(text: Text, width: int) -> None:
    if cell_len(text.plain) > width:
        text.truncate(max(width, 1), overflow="ellipsis")
    text.rstrip()


def _print(paper: Console, line: Text) -> None:
    paper.print(line, soft_wrap=True, no_wrap=True)
