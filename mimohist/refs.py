"""How a session or a message is named on the command line and in output.

    SOURCE/SESSION/MESSAGE_ID    as the program prints it
    SOURCE/SESSION               a session
    SOURCE/SESSION/N             its N-th message, from 1
    SESSION/N  SESSION/MESSAGE_ID  SESSION  MESSAGE_ID

Ids are other programs' and may hold anything.  Inside a component `/`, `%`, blanks
and whatever does not print are percent-encoded as UTF-8, so that a ref is one word
and splits at its slashes.  A SESSION may be part of an id; what it names is the
index's to say, not this module's.
"""

from __future__ import annotations

from typing import NamedTuple

from mimohist.errors import BadInput

_RESERVED = frozenset("/% ")
_LONGEST_ORDINAL = 9


class Ref(NamedTuple):
    """One reading of a reference; what is None was not said.

    `session` is an id, or a beginning or an end of one.  `ordinal` counts messages
    from 1; never set together with `message`.
    """

    source: str | None = None
    session: str | None = None
    message: str | None = None
    ordinal: int | None = None


def parse(text: str) -> tuple[Ref, ...]:
    """Give every reading of `text`, to be tried in this order.

    What `format` has written is always read first as it was meant: a message whose id
    is a number comes before the message with that ordinal.  Raises `BadInput` when
    there is no reading.
    """
    match text.strip().split("/"):
        case [alone] if alone:
            name = _decode(alone)
            return (Ref(message=name), Ref(session=name))
        case [first, second] if first and second:
            outer, inner = _decode(first), _decode(second)
            return (Ref(source=outer, session=inner), *_inside(None, outer, inner))
        case [first, second, third] if first and second and third:
            return _inside(_decode(first), _decode(second), _decode(third))
    hint = "try SOURCE/SESSION/MESSAGE_ID, SESSION/3 or a message's id"
    raise BadInput(f"not a reference: {text!r} ({hint})")


def format(source: str, session: str, message: str | None = None) -> str:
    """Write the ref of a message, or of a session; no component may be empty."""
    components = (source, session) if message is None else (source, session, message)
    return "/".join(map(_encode, components))


def _inside(source: str | None, session: str, name: str) -> tuple[Ref, ...]:
    by_id = Ref(source, session, message=name)
    if name.isascii() and name.isdigit() and len(name) <= _LONGEST_ORDINAL and int(name) > 0:
        return (by_id, Ref(source, session, ordinal=int(name)))
    return (by_id,)


def _encode(component: str) -> str:
    if component.isprintable() and _RESERVED.isdisjoint(component):
        return component
    return "".join(
        character
        if character.isprintable() and character not in _RESERVED
        else "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
        for character in component
    )


def _decode(component: str) -> str:
    """Undo `_encode`; a `%` that begins no encoded character stands for itself."""
    if "%" not in component:
        return component
    from urllib.parse import unquote  # most refs hold no escape

    try:
        return unquote(component, errors="surrogatepass")
    except UnicodeDecodeError:
        return component
