"""What a session's file of Gemini CLI says in the end: a document, or a log that is replayed.

A line of the log is a message, which replaces an earlier one of the same id; what is told of the
session; `$set`, which changes that, or all messages; or `$rewindTo`, which drops a message and
all after it (all, when it is not known).  Where the messages that are left stand is noted, and
they are read again one by one, so that a long session is never held whole.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mimohist.records import Skipped
from mimohist.sources import jsonl
from mimohist.sources.jsonl import Record, record_in, records_in, text_in
from mimohist.sources.transcript import record_at
from mimohist.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCUMENT_LIMIT = 512 << 20
"""How many bytes a document may have: it has to be decoded whole."""

_TYPES = frozenset({"user", "gemini", "qwen", "assistant", "info", "error", "warning"})


@dataclass(slots=True)
class Log:
    """One session in the end: `meta` is what is told of it.

    `broken` says why the file could not be read, "" if it could.
    """

    meta: Record = field(default_factory=dict)
    broken: str = ""
    _places: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    _whole: dict[str, Record] = field(default_factory=dict)
    _bad: list[tuple[int, str]] = field(default_factory=list)

    def skipped(self, name: str) -> Iterator[Skipped]:
        """Give what could not be read; `name` is the session's."""
        if self.broken:
            yield Skipped(name, self.broken)
        for at, why in self._bad:
            yield Skipped(f"{name} byte {at}", why)

    def messages(self, path: Path) -> Iterator[tuple[str, Record]]:
        """Give the messages that are left with their ids."""
        yield from self._whole.items()
        if not self._places:
            return
        with path.open("rb") as file:
            last, record = -1, None
            for id, (at, number) in self._places.items():
                if at != last:
                    last, record = at, record_at(file, at)
                if record is not None:
                    yield id, record if number is None else _listed(record)[number]

    def opening(self, path: Path) -> Iterator[Record]:
        """Give the first few messages."""
        for count, (_, record) in enumerate(self.messages(path)):
            if count == _OPENING:
                return
            yield record

    def take(self, record: Record, at: int) -> None:
        """Replay one line that begins at byte `at`."""
        if "$rewindTo" in record:
            self._rewind(record["$rewindTo"])
        elif "$set" in record:
            change = record_in(record, "$set")
            if "messages" in change:
                self._places = {}
                for number, message in enumerate(_listed(record)):
                    self._places[_id(message, at, number)] = (at, number)
            self.meta |= {key: value for key, value in change.items() if key != "messages"}
        elif text_in(record, "type") in _TYPES:
            self._places[_id(record, at, 0)] = (at, None)
        else:
            self.meta |= record

    def _rewind(self, id: object) -> None:
        ids = [*self._places]
        start = ids.index(id) if isinstance(id, str) and id in self._places else 0
        for gone in ids[start:]:
            del self._places[gone]

    def document(self, value: object) -> None:
        """Take a whole document."""
        if not isinstance(value, dict):
            self.broken = "not an object"
            return
        for number, message in enumerate(records_in(value.pop("messages", None))):
            self._whole[_id(message, 0, number)] = message
        self.meta = value

    def bad(self, at: int, why: str) -> None:
        """Note a line that could not be read."""
        self._bad.append((at, why))


_OPENING = 20


def _listed(record: Record) -> list[Record]:
    return records_in(record_in(record, "$set").get("messages"))


def _id(message: Record, at: int, number: int) -> str:
    return clean(text_in(message, "id")) or f"{at:08x}-{number}"


def read(path: Path) -> Log:
    """Read what a session's file says; raises `OSError` when it cannot be opened."""
    log = Log()
    with path.open("rb") as file:
        if path.suffix == ".json":
            data = file.read(DOCUMENT_LIMIT + 1)
            if len(data) > DOCUMENT_LIMIT:
                log.broken = f"more than {DOCUMENT_LIMIT >> 20} MiB"
                return log
            try:
                log.document(jsonl.decoded(data))
            except ValueError as error:
                log.broken = f"not JSON: {error}"
            return log
        for line in jsonl.lines(file, 0):
            _line(log, line)
    return log


def _line(log: Log, line: jsonl.Line) -> None:
    if line.data is None:
        log.bad(line.at, f"a line of {line.end - line.at} bytes, too long")
        return
    if line.data.isspace():
        return
    try:
        record = json.loads(line.data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        if line.whole:  # else it is being written
            log.bad(line.at, f"not JSON: {error}")
        return
    if isinstance(record, dict):
        log.take(record, line.at)
    elif line.whole:
        log.bad(line.at, "not an object")
