r"""Files of JSON lines that other programs write on to: read as bytes, from where one left off.

Lines end at `\n` and nowhere else (U+2028 and U+0085 may stand in a JSON string as they are).  A
file is never held whole: a line is, up to `LINE_LIMIT` bytes, and what is longer is brought below
that, where it can be, by leaving out the base64 payloads that made it long.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


LINE_LIMIT = 16 << 20
"""How many bytes of a line are read, its payloads left out."""

_PIECE = 1 << 20
_PAYLOAD = 4096
_RUN = re.compile(rb"[A-Za-z0-9+/]{%d,}={0,2}" % _PAYLOAD)
_SIGNS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_STUB = b"AAAAAAAA"
"""What is left of a payload: enough for `text.clean` to know the URL around it for what it is."""

_BARE = b"[data-url:application/octet-stream]"
_PROOF = 4096

Record = dict[str, Any]


class Line(NamedTuple):
    r"""One line: where it begins and ends in the file, and its bytes.

    `data` is None for a line that is too long; `whole` is False for a last line without its
    `\n`, which may be one that is just being written.
    """

    at: int
    end: int
    data: bytes | None
    whole: bool = True


def lines(file: BinaryIO, at: int = 0) -> Iterator[Line]:
    """Give the lines of a file from byte `at` on, up to where it ended when this began.

    One that cannot be sought in is read from the start.
    """
    stop = None
    if file.seekable():
        stop = file.seek(0, os.SEEK_END)
        file.seek(at)
    while stop is None or at < stop:
        data: bytes | None = file.readline(_PIECE)
        if not data:
            return
        end, whole = at + len(data), data.endswith(b"\n")
        if not whole and len(data) == _PIECE:
            data, end, whole = _long_line(file, data, at)
        yield Line(at, end, data, whole)
        at = end


def _long_line(file: BinaryIO, first: bytes, at: int) -> tuple[bytes | None, int, bool]:
    """Read the rest of a line without its payloads, in pieces; give data, end and wholeness."""
    kept: list[bytes] = []
    size, end, rest, piece = 0, at, b"", first
    inside = False
    while piece:
        end += len(piece)
        text = piece.lstrip(_SIGNS) if inside else rest + piece
        rest = b""
        if text:  # else the payload that the last piece ended in is not at its end yet
            cut = len(text.rstrip(_SIGNS))
            inside = len(text) - cut >= _PAYLOAD
            head, rest = text[:cut], text[cut:]
            if inside:
                head, rest = head + _left_of(head, rest), b""
            head = _RUN.sub(_leave_out, head)
            size += len(head)
            kept.append(head)
        if size > LINE_LIMIT:
            kept.clear()
        if piece.endswith(b"\n"):
            break
        piece = file.readline(_PIECE)
    kept.append(rest)
    return (b"".join(kept) if size <= LINE_LIMIT else None), end, piece.endswith(b"\n")


def _left_of(before: bytes, payload: bytes) -> bytes:
    # A run may begin with the letters of an escape: `\n`, `\u00e9`.
    start = payload[:5] if before.endswith(b"\\") else b""
    return start + (_STUB if before.endswith(b"base64,") else _BARE)


def _leave_out(run: re.Match[bytes]) -> bytes:
    return _left_of(run.string[max(0, run.start() - 8) : run.start()], run[0])


def decoded(data: bytes) -> Any:  # noqa: ANN401 - whatever the JSON holds
    """Decode one line; bytes that are not UTF-8 cost a character each, not the line.

    Raises `ValueError` for what is no JSON.
    """
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def text_in(data: Record, key: str) -> str:
    """Give the string that a record holds under a key, "" where it holds none."""
    value = data.get(key)
    return value if isinstance(value, str) else ""


def record_in(data: Record, key: str) -> Record:
    """Give the object that a record holds under a key, an empty one where it holds none."""
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def records_in(value: object) -> list[Record]:
    """Give the objects of an array, none where it is none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def blocks_in(content: object) -> Iterator[Record]:
    """Give the blocks of a message's content, which may be a text alone, or hold texts alone."""
    items = [content] if isinstance(content, str) else content
    for item in items if isinstance(items, list) else ():
        if isinstance(item, str):
            yield {"type": "text", "text": item}
        elif isinstance(item, dict):
            yield item


def whole_in(data: Mapping[str, Any], key: str) -> int | None:
    """Give the count that a record holds under a key, None where it holds none."""
    value = data.get(key)
    return int(value) if isinstance(value, int | float) and 0 <= value < _LARGEST else None


def number_in(data: Mapping[str, Any], key: str) -> float | None:
    """Give the number that a record holds under a key, None where it holds none."""
    value = data.get(key)
    return float(value) if isinstance(value, int | float) and abs(value) < _LARGEST else None


_LARGEST = 1 << 62
_LATEST = 253_402_300_800_000
_ISO = re.compile(r"\s*(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s*(.*)")


def epoch_ms(value: object) -> int | None:
    """Read a time as these programs write it: ISO 8601 or a number of seconds or milliseconds.

    Gives epoch milliseconds; without an offset the time counts as UTC; None for no time, also for
    a number that is none (before 1970, after 9999, not finite).
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        given = value if value > 100_000_000_000 else value * 1000  # noqa: PLR2004
        return int(given) if 0 < given < _LATEST else None
    found = _ISO.fullmatch(value) if isinstance(value, str) else None
    if not found:
        return None
    day, clock, fraction, zone = found.groups()
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{zone.strip() or 'Z'}")
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1000 + int((fraction or "0").ljust(3, "0")[:3])


# Where one left off


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A place in a file, proof of what stood before it, and what the reader knew there."""

    at: int
    state: Record


def bookmark(file: BinaryIO, at: int, state: Record) -> str:
    """Write down a place: all before byte `at` was read."""
    return json.dumps({"at": at, "proof": _proof(file, at), **state}, separators=(",", ":"))


def find(file: BinaryIO, mark: str) -> Bookmark | None:
    """Find the place that `bookmark` wrote down; None when the file was rewritten since.

    The first 4 KiB and the 4 KiB before the place are compared, so that a file that was cut and
    grew again is not taken for one that only grew.
    """
    try:
        state = json.loads(mark)
        at, proof = int(state.pop("at")), state.pop("proof")
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return Bookmark(at, state) if _proof(file, at) == proof else None


def _proof(file: BinaryIO, at: int) -> str:
    length = min(at, _PROOF)
    digest = blake2b(digest_size=8)
    with kept_place(file):
        for start in (0, at - length):
            file.seek(start)
            digest.update(file.read(length))
    return digest.hexdigest()


@contextmanager
def kept_place(file: BinaryIO) -> Iterator[None]:
    """Look elsewhere in a file that somebody is reading."""
    place = file.tell()
    try:
        yield
    finally:
        file.seek(place)
