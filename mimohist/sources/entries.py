"""Transcripts in which each line is a message of its own, and a tool's result one more."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from mimohist.sources import transcript
from mimohist.sources.turns import Call, Turns

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from mimohist.sources.jsonl import Bookmark, Record
    from mimohist.sources.source import Candidate


class Entries:
    """Makes the lines of one session into messages.

    `prefix` begins every part's id, which differ so from those of the same line's copy in a fork;
    `head` is the state of the session's header; `read` gives the record at a byte of the file.
    """

    def __init__(
        self, prefix: str, head: Record, read: Callable[[int], Record | None], state: Record
    ) -> None:
        self.prefix = prefix
        self.head = head
        self.read = read
        self.turns = Turns(self._fetch, state)
        self.at: int = state.get("time", 0)

    def take(self, record: Record, at: int) -> None:
        """Put one line into the turns."""
        raise NotImplementedError

    def saved(self) -> dict[str, Any]:
        """Give what a later reading needs."""
        return {**self.turns.saved(), "time": self.at, "head": self.head}

    def _fetch(self, line: int, id: str, at: int, call: str) -> Call | None:
        record = self.read(line)
        if record is None:
            return None
        fresh = type(self)(self.prefix, self.head, lambda _: None, {"time": at})
        fresh.take(record, line)
        found = fresh.turns.calls.get(call)
        return found if found and found.draft.id == id else None


E = TypeVar("E", bound=Entries)


def reader(
    make: type[E],
    file: BinaryIO,
    candidate: Candidate,
    begun: int,
    head: Record,
    place: Bookmark | None,
) -> E:
    """Begin to read a transcript, or go on from `place`; it was begun at `begun` (epoch ms)."""
    return make(
        prefix=blake2b(candidate.key.encode(), digest_size=5).hexdigest(),
        head=head,
        read=lambda at: transcript.record_at(file, at),
        state=place.state if place else {"time": begun},
    )
