"""For a terminal, drawn with Rich: hits under their sessions, windows of messages.

Texts are shown as they were said (no Markdown rendering), made printable, wrapped by cells.
No meaning is carried by colour alone.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import quote

from rich.cells import cell_len
from rich.text import Text

from mimohist.kinds import Kind
from mimohist.render.lines import (
    STYLES,
    chop,
    console,
    cut,
    end_of,
    flat,
    hang,
    put,
    room_beside,
    short,
    wrap,
)
from mimohist.render.tables import rows
from mimohist.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from mimohist.answers import Answer, Hit
    from mimohist.contexts import Context, ShownMessage, ShownPart

__all__ = ["console", "context", "footer", "heading", "hits", "rows"]

_MOST_LINES = 2
_FOLDED = 6
_WHOLE = 2
_ROOMY = 40
_MARKS = {
    Kind.REASONING: "~ ",
    Kind.TOOL_INPUT: "$ ",
    Kind.TOOL_OUTPUT: "= ",
    Kind.TOOL_ERROR: "! ",
}
_RESULTS = (Kind.TOOL_OUTPUT, Kind.TOOL_ERROR)
_CALLS = (Kind.TOOL_INPUT, *_RESULTS)


# Hits


def hits(paper: Console, answer: Answer, names: Mapping[str, str]) -> None:
    """Draw hits under their sessions, sessions and hits in the order of the answer.

    `names` gives for each session id the least of it that names it.
    """
    grouped: dict[tuple[str, str], list[Hit]] = {}
    for hit in answer.hits:
        grouped.setdefault((hit.source, hit.session_id), []).append(hit)
    numbers = max((len(str(hit.ordinal or "")) for hit in answer.hits), default=1)
    widest = max((cell_len(_who(hit)) for hit in answer.hits), default=1)
    who = min(widest, max(paper.width // 4, 10))
    for place, group in enumerate(grouped.values()):
        if place:
            put(paper, Text())
        first = group[0]
        about = (first.project, first.at, first.title, first.path)
        heading(paper, _ref(first, names), about, gone=first.gone)
        for hit in group:
            lead = Text.assemble(
                "  ",
                (str(hit.ordinal or "").rjust(numbers), "green"),
                "  ",
                (_padded(_who(hit), who), STYLES["dim"]),
                "  ",
            )
            room = room_beside(paper, lead)
            text, focus = _marked(hit)
            hang(paper, lead, short(text, room, _MOST_LINES, focus=focus, tail=_also(hit, room)))


def footer(answer: Answer, names: Mapping[str, str]) -> str:
    """Say how many hits are shown of how many, from where, and how to see the first of them."""
    shown = len(answer.hits)
    total = f"more than {answer.known - 1}" if answer.total is None else str(answer.total)
    count = (
        f"{shown} of {total} hits" if total != str(shown) else f"{shown} hit{'s' * (shown != 1)}"
    )
    where = f" in {flat(answer.scope)} (-g for all)" if answer.scope else ""
    first = answer.hits[0]
    number = f"/{first.ordinal}" if first.ordinal else ""
    return f"{count}{where}; mimohist around {_ref(first, names)}{number}"


def heading(
    paper: Console, ref: str, about: tuple[str, int, str, str], *, gone: bool = False
) -> None:
    """Draw the line of a session; `about` is its project, time (epoch ms), title and path."""
    project, at, title, path = about
    name = PurePath(project).name or project
    line = Text.assemble(
        (printable(ref), STYLES["ref"]),
        "  ",
        (flat(name), STYLES["project"]),
        "  ",
        (f"{_local(at):%Y-%m-%d}", STYLES["dim"]),
        "  ",
        ("source gone  " if gone else "", STYLES["dim"]),
        flat(title),
    )
    if paper.color_system and path:
        line.stylize(f"link file://{quote(path, errors='surrogateescape')}", 0, len(ref))
    cut(line, paper.width)
    put(paper, line)


def _ref(hit: Hit, names: Mapping[str, str]) -> str:
    return f"{hit.source}/{names.get(hit.session_id, hit.session_id)}"


def _padded(text: str, width: int) -> str:
    line = Text(text)
    cut(line, width)
    return line.plain + " " * (width - cell_len(line.plain))


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
    return flat(f"{who} ({hit.machine})" if hit.machine else who)


def _marked(hit: Hit) -> tuple[Text, tuple[int, int]]:
    """Give the snippet with its matches marked, and where the first of them is."""
    text = Text(hit.snippet)
    for place in hit.matches:
        text.stylize(STYLES["match"], *place)
    start, end = min(hit.matches, default=(0, 0))
    # The call's text begins with the tool's name, which already stands before it.
    name = f"{hit.tool} "
    if hit.kind in _CALLS and hit.snippet.startswith(name) and start >= len(name):
        return text.divide([len(name)])[1], (start - len(name), end - len(name))
    return text, (start, end)


def _also(hit: Hit, room: int) -> Text | None:
    """Name the sessions of the hit's copies, or count them where there is no room."""
    if not hit.copies:
        return None
    ends = sorted({copy.ref.split("/")[1][-8:] for copy in hit.copies})
    more = f" and {len(ends) - 2} more" if len(ends) > 2 else ""  # noqa: PLR2004
    names = "also in " + ", ".join(f"…{end}" for end in ends[:2]) + more
    return Text(f"  ({names})" if room >= _ROOMY else f"  (+{len(hit.copies)})", STYLES["dim"])


def _local(at: int) -> datetime:
    return datetime.fromtimestamp(at / 1000).astimezone()


# A window of messages


def context(paper: Console, one: Context, name: str, *, full: bool) -> None:
    """Draw a window: `>` the anchor, `~` reasoning, `$` a call, `=` its result, `!` its error.

    `name` is the least of the session's id that names it.  Long reasoning and results are
    folded to their first lines unless `full`.
    """
    about = (one.project, one.at, one.title, one.path)
    heading(paper, f"{one.source}/{name}", about, gone=one.gone)
    if one.earlier:
        put(paper, Text(f"  … {one.earlier} earlier", STYLES["dim"]))
    day = _local(one.at).date()
    for message in one.messages:
        at = _local(message.at)
        put(paper, Text())
        clock = f"{at:%H:%M}" if at.date() == day else f"{at:%Y-%m-%d %H:%M}"
        day = at.date()
        _message(paper, message, clock, several=len(one.slices) > 1, full=full)
    if one.later:
        put(paper, Text())
        put(paper, Text(f"  … {one.later} later", STYLES["dim"]))


def _message(
    paper: Console, message: ShownMessage, clock: str, *, several: bool, full: bool
) -> None:
    who = "you" if message.role == "user" else "assistant"
    if several or message.agent != "main":
        who += f" @{flat(message.agent)}"
    if message.machine:
        who += f" ({message.machine})"
    line = Text.assemble(
        "> " if message.anchor else "  ",
        (str(message.ordinal), STYLES["ref"]),
        "  ",
        (who, STYLES["machine"] if message.machine else STYLES["who"]),
        "  ",
        (clock, STYLES["dim"]),
    )
    put(paper, line)
    calls = {part.part_id for part in message.parts if part.kind is Kind.TOOL_INPUT}
    for part in message.parts:
        _part(paper, part, full=full, dim=bool(message.machine), alone=part.part_id not in calls)


def _part(paper: Console, part: ShownPart, *, full: bool, dim: bool, alone: bool) -> None:
    mark, text = _said(part, dim=dim, alone=alone)
    style = _style(part, dim=dim)
    folds = part.kind in _MARKS or part.machine
    room = paper.width - 4 - (2 if mark else 0)
    lines = text.strip("\n").split("\n")
    rows, hidden = _folded(lines, room - max(cell_len(mark) - 2, 0), whole=full or not folds)
    for number, row in enumerate(rows):
        row.stylize(style)
        lead = "      " if number and mark else f"    {mark}"
        whole = Text.assemble((lead, style), row)
        whole.rstrip()
        put(paper, whole)
    if hidden:
        note = f"    … {hidden} (--full shows them)"
        note = note if len(note) <= paper.width else f"    … {hidden} (--full)"
        put(paper, Text(note, STYLES["dim"]))


def _said(part: ShownPart, *, dim: bool, alone: bool) -> tuple[str, str]:
    """Give a part's mark and its text; a result that stands `alone` names its tool."""
    text = printable(part.text)
    mark = _MARKS.get(part.kind, "")
    if part.machine and (part.machine == "summary" or not dim):
        mark = f"({part.machine}) "
    if part.kind is Kind.TOOL_INPUT:
        name, _, rest = text.partition("\n")
        text = f"{name}  {rest}" if rest else name
        if part.status in ("pending", "running"):
            text += f"  ({part.status})"
    elif part.kind in _RESULTS and not text:
        text = "ok (0 lines)"
    elif part.kind in _RESULTS and part.tool and alone:
        text = f"{flat(part.tool)}  {text}"
    return mark, text


def _folded(lines: list[str], room: int, *, whole: bool) -> tuple[list[Text], str]:
    """Wrap lines; unless the `whole` is wanted, only the first few, and say what is left out."""
    rows: list[tuple[int, Text]] = []
    for number, line in enumerate(lines):
        # What lies far beyond the fold need not be wrapped to be left out.
        near = line if whole else line[: room * _FOLDED * 4]
        for row in wrap(Text(near), room):
            # A path is left whole, not an endless word of which nothing can be folded.
            endless = not whole and len(row) > _WHOLE * room
            rows += [(number, piece) for piece in (chop(row, room) if endless else (row,))]
        if not whole and len(rows) > _FOLDED:
            break
    if whole or len(rows) <= _FOLDED:
        return [row for _, row in rows], ""
    kept, (following, _) = rows[: _FOLDED - 1], rows[_FOLDED - 1]
    last = kept[-1][0]
    after = len(lines) - 1 - last
    hidden = f"{after} more line{'s' * (after != 1)}"
    broken = following == last
    if broken:
        kept[-1][1].truncate(room - 1, overflow="crop")
        kept[-1][1].rstrip()
    if not after:
        shown = end_of(lines[last], [row for number, row in kept if number == last])
        hidden = f"{len(lines[last]) - shown} more characters"
    if broken:
        kept[-1][1].append("…")
    return [row for _, row in kept], hidden


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
