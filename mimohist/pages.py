"""The whole text of a part, wherever it stands, in pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mimohist import refs
from mimohist.errors import BadInput, NotFound, SourceError
from mimohist.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from sqlite3 import Connection

    from mimohist.contexts import Context

    Windows = Callable[[str], Iterable[Context]]


class Whole(NamedTuple):
    """A part's text, and what it is of.  A call's input and what it gave back are one text."""

    ref: str
    kind: Kind
    tool: str | None
    text: str


class Page(NamedTuple):
    """A stretch of a part's text; offsets are code points.

    `text` begins at `offset`; `next_offset` is where the rest begins, None at the end; `total` is
    the length of the whole.  A call's input and what it gave back are one text.
    """

    part_id: str
    ref: str
    kind: Kind
    tool: str | None
    text: str
    offset: int
    next_offset: int | None
    total: int


def page(part_id: str, whole: Whole, offset: int, length: int) -> Page:
    """Cut a page; raises `BadInput` for one that cannot be."""
    ref, kind, tool, text = whole
    if offset < 0 or length < 1:
        raise BadInput("offset counts characters from 0, length from 1")
    if offset > len(text):
        raise BadInput(f"offset {offset} is behind the end: {part_id} has {len(text)}")
    end = offset + length
    rest = end if end < len(text) else None
    return Page(part_id, ref, kind, tool, text[offset:end], offset, rest, len(text))


def whole(db: Connection, part_id: str, windows: Windows) -> Whole:
    """Find a part's text; `windows` gives the message of a ref, completed from its source.

    Raises `NotFound` for a part that is neither indexed nor in a database that is.
    """
    found = db.execute(
        "SELECT r.source, s.session_id, m.message_id, s.title FROM history_fts h"
        " JOIN session s ON s.id = h.session JOIN root r ON r.id = s.root"
        " LEFT JOIN message m ON m.id = h.message"
        " WHERE h.root IN (SELECT id FROM root) AND h.part_id = ? ORDER BY h.id",
        (part_id,),
    ).fetchone()
    if found and found[2] is None:
        return Whole(refs.format(found[0], found[1]), Kind.TITLE, None, found[3])
    ref = refs.format(*found[:3]) if found else _unindexed(db, part_id)
    for context in windows(ref):
        for message in context.messages:
            sides = [side for side in message.parts if side.part_id == part_id]
            if sides:
                text = "\n".join(side.text for side in sides)
                return Whole(message.ref, sides[-1].kind, sides[0].tool, text)
    raise NotFound(f"part {part_id!r} holds no text")


def _unindexed(db: Connection, part_id: str) -> str:
    """Look into the databases for a part that is not indexed (yet): the message it is of."""
    from mimohist.sources import v1_rows

    for source, path in db.execute("SELECT source, path FROM root WHERE NOT gone").fetchall():
        if not v1_rows.is_database(Path(path)):
            continue
        try:
            with v1_rows.opened(Path(path)) as rows:
                found = rows.message_with(part_id) if rows else None
        except SourceError:
            continue
        if found:
            return refs.format(source, *found)
    raise NotFound(f"no part {part_id!r}; search and around print part ids")
