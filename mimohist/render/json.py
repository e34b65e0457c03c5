"""JSON Lines: one object a hit, a message, a row.  Fields are added, never renamed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mimohist.render.moments import utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mimohist.answers import Answer, Hit
    from mimohist.contexts import Context, ShownMessage

_UNSAFE = {point: f"\\u{point:04x}" for point in (0x7F, *range(0x80, 0xA0), 0x2028, 0x2029)}
_UNSAFE |= {
    point: f"\\u{point:04x}"
    for point in (0x061C, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2060, 0x2070))
}
_UNSAFE |= {0xFEFF: "\\ufeff"} | {point: f"\\u{point:04x}" for point in range(0xD800, 0xE000)}


def line(value: object) -> str:
    """Write a value on one line; what could drive a terminal is escaped, as JSON allows."""
    return json.dumps(value, ensure_ascii=False).translate(_UNSAFE)


def hits(answer: Answer) -> Iterator[str]:
    """Write each hit."""
    for hit in answer.hits:
        yield line(_hit(hit))


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "ref": hit.ref,
        "source": hit.source,
        "project_id": hit.project_id,
        "project": hit.project,
        "session_id": hit.session_id,
        "title": hit.title,
        "message_id": hit.message_id,
        "part_id": hit.part_id,
        "agent": hit.agent,
        "agent_name": hit.agent_name,
        "ordinal": hit.ordinal,
        "kind": hit.kind,
        "tool": hit.tool,
        "at": utc(hit.at),
        "score": None if hit.score is None else round(hit.score, 6),
        "snippet": hit.snippet,
        "matches": [list(span) for span in hit.matches],
        "copies": [{"ref": copy.ref, "part_id": copy.part_id} for copy in hit.copies],
        "widened": hit.widened,
        "machine": hit.machine,
        "path": hit.path,
        "gone": hit.gone,
    }


def context(one: Context) -> Iterator[str]:
    """Write each message of a window."""
    resume = list(one.resume) if one.resume else None
    for message in one.messages:
        yield line(_message(one, message, resume))


def _message(one: Context, message: ShownMessage, resume: list[str] | None) -> dict[str, Any]:
    return {
        "ref": message.ref,
        "session_id": one.session_id,
        "message_id": message.message_id,
        "agent": message.agent,
        "agent_name": message.agent_name,
        "ordinal": message.ordinal,
        "anchor": message.anchor,
        "role": message.role,
        "at": utc(message.at),
        "resume": resume,
        "parts": [
            {
                "part_id": part.part_id,
                "kind": part.kind,
                "tool": part.tool,
                "status": part.status,
                "machine": part.machine,
                "text": part.text,
            }
            for part in message.parts
        ],
        "machine": message.machine,
        "project": one.project,
        "gone": one.gone,
    }


def rows(columns: Sequence[str], found: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Write each row as an object."""
    for row in found:
        yield line(dict(zip(columns, map(_plain, row), strict=True)))


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value
