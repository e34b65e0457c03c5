"""One record a line, tab-separated, for pipelines.  Fields are added at the end, never moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mimohist.render.moments import utc
from mimohist.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mimohist.answers import Answer
    from mimohist.contexts import Context


def cell(text: str) -> str:
    """Make a text one field: printable, its tabs and newlines blanks."""
    return printable(text).replace("\t", " ").replace("\n", " ")


def hits(answer: Answer) -> Iterator[str]:
    """Write REF, TIME, PROJECT, KIND[:TOOL] and SNIPPET of each hit."""
    for hit in answer.hits:
        kind = f"{hit.kind}:{cell(hit.tool)}" if hit.tool else str(hit.kind)
        yield "\t".join((hit.ref, utc(hit.at), cell(hit.project), kind, cell(hit.snippet)))


def context(one: Context) -> Iterator[str]:
    """Write REF, TIME, ROLE, KIND[:TOOL] and TEXT of each part."""
    for message in one.messages:
        head = (message.ref, utc(message.at), message.role)
        for part in message.parts:
            kind = f"{part.kind}:{cell(part.tool)}" if part.tool else str(part.kind)
            yield "\t".join((*head, kind, cell(part.text)))
        if not message.parts:
            yield "\t".join((*head, "", ""))


def rows(columns: Sequence[str], found: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Write each row, without a header."""
    del columns
    for row in found:
        yield "\t".join(map(text_of, row))


def text_of(value: object) -> str:
    """Write one SQL value as a field."""
    if value is None:
        return ""
    return value.hex() if isinstance(value, bytes) else cell(str(value))
