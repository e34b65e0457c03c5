"""When the records that a forked rollout begins with were first written.

A fork's file starts with its parent's records, written anew with the fork's own time.  The
parent's file, where it still is, has the same payloads in the same order: they are walked side by
side, so that a copied text keeps its time and is folded with the first one.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from mimohist.sources import jsonl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    Opener = Callable[[str], BinaryIO | None]

_AHEAD = 64
_MISSES = 3
_COPIED = ("response_item", "event_msg", "compacted")


class Copies:
    """The records of a parent, looked up in order; `taken` of them are behind."""

    def __init__(self, opened: Opener, parent: str, taken: int, below: frozenset[str]) -> None:
        self.taken = 0
        self.over = False
        self._misses = 0
        self._ahead: deque[tuple[int, int | None]] = deque()
        self._rest = _times(opened, parent, below | {parent})
        for _ in range(taken):
            if next(self._rest, None) is not None:
                self.taken += 1

    def time_of(self, payload: jsonl.Record) -> int | None:
        """Give when a payload was first written (epoch ms); None where the parent has none such."""
        while len(self._ahead) < _AHEAD and (one := next(self._rest, None)) is not None:
            self._ahead.append(one)
        wanted = digest(payload)
        for place, (known, at) in enumerate(self._ahead):
            if known == wanted:
                for _ in range(place + 1):
                    self._ahead.popleft()
                self.taken += place + 1
                self._misses = 0
                return at
        self._misses += 1
        self.over = not self._ahead or self._misses >= _MISSES
        return None


def digest(payload: jsonl.Record) -> int:
    """Give a number that equal payloads share within one run."""
    return hash(repr(payload))


def _times(opened: Opener, id: str, below: frozenset[str]) -> Iterator[tuple[int, int | None]]:
    """Give payloads of a rollout with their times, those that it copied with the first ones'."""
    file = opened(id)
    if file is None:
        return
    copies: Copies | None = None
    with file:
        for line in jsonl.lines(file):
            try:
                record = jsonl.decoded(line.data or b"")
            except ValueError:
                continue
            payload = record.get("payload") if isinstance(record, dict) else None
            if not isinstance(payload, dict):
                continue
            if record.get("type") == "session_meta":
                parent = jsonl.text_in(payload, "id")
                if copies is None and parent and parent not in below:
                    copies = Copies(opened, parent, 0, below)
            elif record.get("type") in _COPIED:
                at = copies.time_of(payload) if copies and not copies.over else None
                yield digest(payload), at or jsonl.epoch_ms(record.get("timestamp"))
