"""Parts made into rows of the index: what of them is kept, and what is worked out from it."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist.records import PENDING, Kind, Machine
from mimohist.text import fold, folded, pieces, said, segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mimohist.records import Message, Part, Session

BASE = 1 << 31
"""Where the row ids of a new index begin; a first build goes down from here, all else up."""

TEXT_LIMIT = 1_000_000
"""How many characters of each side of a part are kept and indexed."""

RULES = 1
"""The version of how texts become rows; a new one makes `reindex` read everything again."""

SIX = frozenset(Kind) - {Kind.TITLE}
"""The kinds that may be kept or left out; titles always are kept."""

Texts = tuple[str, str | None, str | None]
"""What was said or asked, what came back, and what was cut out of the first."""

_ECHO_TOOLS = frozenset({"history", "memory"})
_ECHO_CALL = re.compile(r"\bmimohist\s+(?:search|around|sql|export)\b")


class Row(NamedTuple):
    """One part as it is stored, but for its id; `texts` go to a table of their own."""

    root: int
    part_id: str
    session: int
    project: int
    message: int | None
    kind: str
    tool: int | None
    status: str | None
    machine: str | None
    time_created: int
    copy: int
    echo: int
    lost: int
    compacted: int
    texts: Texts

    def fuller(self, stored: Row) -> Row:
        """Give the row to store where `stored` is: its text stays when the source trimmed it."""
        if not self.compacted or _length(self.texts) >= _length(stored.texts):
            return self
        return self._replace(texts=stored.texts, copy=stored.copy, lost=stored.lost)


FTS_COLUMNS = ("id", *Row._fields[:-1])
TEXT_COLUMNS = (
    "id",
    "body",
    "output",
    "cut",
    "pieces",
    "output_pieces",
    "folded_body",
    "folded_output",
    "folded_cut",
)


class Place(NamedTuple):
    """Where a part stands: rows of its root, session, project and message; the message's time."""

    root: int
    session: int
    project: int
    message: int | None
    at: int


class Maker(NamedTuple):
    """Makes rows of parts: which kinds are kept, and the number of a tool's name."""

    kinds: frozenset[Kind]
    name: Callable[[str], int]

    def rows(self, session: Session, message: Message, place: Place) -> list[Row]:
        """Make the rows of a message's parts; one without any text stands for its removal."""
        found = []
        for part in message.parts:
            row = self.row(part, place, _machine(part, message, session))
            if row:
                found.append(row)
        return found

    def row(self, part: Part, place: Place, machine: str | None) -> Row | None:
        """Make the row of a part, None when nothing of it is kept."""
        body, output = part.body, part.output
        keeps_body, keeps_output = self._sides(part.kind)
        if part.status in PENDING or not (keeps_body or (keeps_output and output)):
            return None
        if not keeps_body:
            body = ""
        if not keeps_output:
            output = ""
        copy = _copy(part, place.at, body, output)
        cut, lost = part.cut, 0
        if len(body) > TEXT_LIMIT or len(output) > TEXT_LIMIT or len(cut) > TEXT_LIMIT:
            lost = sum(max(0, len(text) - TEXT_LIMIT) for text in (body, output, cut))
            body, output, cut = body[:TEXT_LIMIT], output[:TEXT_LIMIT], cut[:TEXT_LIMIT]
        tool = part.tool
        return Row(
            place.root,
            part.id,
            place.session,
            place.project,
            place.message,
            str(part.kind),
            self.name(tool) if tool else None,
            part.status,
            machine,
            part.at,
            copy,
            int(tool is not None and _is_echo(tool, part.body)),
            lost,
            int(part.compacted),
            (body, output or None, cut or None),
        )

    def _sides(self, kind: Kind) -> tuple[bool, bool]:
        kinds = self.kinds
        if kind is Kind.TOOL_OUTPUT:
            return Kind.TOOL_INPUT in kinds, Kind.TOOL_OUTPUT in kinds
        if kind is Kind.TOOL_ERROR:
            output = Kind.TOOL_ERROR in kinds
            return output or Kind.TOOL_INPUT in kinds, output
        keeps = kind in kinds or kind is Kind.TITLE
        return keeps, keeps


def _machine(part: Part, message: Message, session: Session) -> str | None:
    """Give why a part is not somebody's words; that it is a summary hides the least."""
    own = part.machine
    found = message.machine or session.machine
    if own and not (own is Machine.SUMMARY and found):
        found = own
    return str(found) if found else None


def fts_values(id: int, row: Row) -> tuple[Any, ...]:
    """Give a row's values in the order of `FTS_COLUMNS`."""
    return (id, *row[:-1])


def text_values(id: int, row: Row) -> tuple[Any, ...]:
    """Give the values of a row's texts in the order of `TEXT_COLUMNS`."""
    body, output, cut = row.texts
    return (
        id,
        segment(body),
        segment(output) if output else None,
        segment(cut) if cut else None,
        pieces(body),
        pieces(output) if output else None,
        folded(body),
        folded(output) if output else None,
        folded(cut) if cut else None,
    )


def stored_texts(body: str, output: str | None, cut: str | None) -> Texts:
    """Give stored texts as they were said."""
    return said(body), output and said(output), cut and said(cut)


def _length(texts: Iterable[str | None]) -> int:
    return sum(len(text or "") for text in texts)


def _copy(part: Part, said_at: int, body: str, output: str) -> int:
    """Give the number that copies of a part share: same kind, tool, time and folded text."""
    said = fold(f"{part.kind}\0{part.tool}\0{said_at}\0{body}\0{output}")
    digest = blake2b(said.encode(), digest_size=8)
    return int.from_bytes(digest.digest(), signed=True)


def _is_echo(tool: str, call: str) -> bool:
    return tool.lower() in _ECHO_TOOLS or ("mimohist" in call and bool(_ECHO_CALL.search(call)))
