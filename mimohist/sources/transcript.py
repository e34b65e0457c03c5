"""One transcript of JSON lines read from a mark on, whichever program wrote it."""

from __future__ import annotations

import os
import re
from contextlib import closing
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from mimohist.directories import has_drive, key
from mimohist.records import Mark, Message, Skipped
from mimohist.sources import jsonl
from mimohist.sources.source import Reading
from mimohist.sources.stamps import reason
from mimohist.text import clean

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from mimohist.records import Session
    from mimohist.sources.turns import Turns

_TITLE_LENGTH = 100
_STRIDE = 4 << 20
"""How many bytes are read between two marks, about."""


class Reader(Protocol):
    """Makes one program's records into messages."""

    turns: Turns

    def take(self, record: jsonl.Record, at: int) -> None:
        """Put one record, whose line begins at byte `at`, into `turns`."""

    def saved(self) -> dict[str, Any]:
        """Give what a later reading needs in order to go on after this record."""


def messages(
    file: BinaryIO, at: int, reader: Reader, name: str, *, marks: bool = True
) -> Iterator[Message | Skipped | Mark]:
    """Read a file from byte `at` to its end.

    A last line without its end is read too if it is whole JSON, but the last mark lies before it.
    """
    last = at
    turns = reader.turns
    mark: str | None = None
    for line in jsonl.lines(file, at):
        if line.whole:
            at = line.end
        elif marks:
            mark = jsonl.bookmark(file, line.at, reader.saved())
        yield from _line(line, reader, name)
        yield from turns.done()
        if marks and at - last >= _STRIDE:
            last = at
            yield from turns.flush()
            yield Mark(jsonl.bookmark(file, at, reader.saved()))
    if marks and mark is None:
        mark = jsonl.bookmark(file, at, reader.saved())
    yield from turns.end()
    if mark is not None:
        yield Mark(mark)


def _line(line: jsonl.Line, reader: Reader, name: str) -> Iterator[Skipped]:
    where = f"{name} byte {line.at}"
    if line.data is None:
        limit = jsonl.LINE_LIMIT >> 20
        yield Skipped(where, f"a line of {line.end - line.at} bytes, more than {limit} MiB of text")
        return
    if line.data.isspace():
        return
    try:
        record = jsonl.decoded(line.data)
    except ValueError as error:
        if line.whole:  # else it is being written
            yield Skipped(where, f"not JSON: {error}")
        return
    if isinstance(record, dict):
        reader.take(record, line.at)
    elif line.whole:
        yield Skipped(where, "not an object")


def guarded(
    items: Iterator[Message | Skipped | Mark], name: str
) -> Iterator[Message | Skipped | Mark]:
    """Keep one file that fails while it is read from costing the others.

    Raises `LookupError` then, after saying why: what was read is not all, and nothing that is
    stored may go for it.
    """
    try:
        yield from items
    except OSError as error:
        yield Skipped(name, reason(error))
        raise LookupError(name) from error


def unreadable(session: Session, name: str, error: OSError) -> Reading:
    """Say of a file that cannot be opened why that is; what is stored of it stays."""
    return Reading(session=session, messages=iter([Skipped(name, reason(error))]), whole=False)


def records_from(file: BinaryIO, at: int) -> Generator[jsonl.Record, None, None]:
    """Read records again from a byte on, up to the first line that is none; to be closed."""
    with jsonl.kept_place(file):
        for line in jsonl.lines(file, at):
            try:
                record = jsonl.decoded(line.data or b"")
            except ValueError:
                return
            if not isinstance(record, dict):
                return
            yield record


def record_at(file: BinaryIO, at: int) -> jsonl.Record | None:
    """Read one record again."""
    with closing(records_from(file, at)) as records:
        return next(records, None)


_TIME = re.compile(rb'"timestamp":\s*"([^"]{10,40})"')


def last_time(file: BinaryIO, told: re.Pattern[bytes] = _TIME) -> int | None:
    """Give the latest time (epoch ms) that is told in the last 64 KiB, by what `told` matches."""
    with jsonl.kept_place(file):
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - (64 << 10)))
        found = told.findall(file.read(64 << 10))
    times = (_time(one.decode("ascii", "replace")) for one in found)
    return max((time for time in times if time is not None), default=None)


def _time(text: str) -> int | None:
    try:
        return jsonl.epoch_ms(float(text))
    except ValueError:
        return jsonl.epoch_ms(text)


def first_line(text: str) -> str:
    """Make a title of a text: its first line, at most 100 characters of it."""
    lines = clean(text).strip().splitlines()
    return lines[0].strip()[:_TITLE_LENGTH] if lines else ""


def place(cwd: str) -> tuple[str, str]:
    r"""Give the directory of a session and its project's id.

    On Windows one directory is written in several ways: `C:\x`, `c:\x`.
    """
    if not has_drive(cwd):
        return cwd, ""
    return cwd[0].upper() + cwd[1:], key(cwd)
