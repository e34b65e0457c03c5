"""One session read from its source and made into a change of the index."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mimohist.backfill_events import Event, Stored, Unreadable
from mimohist.errors import SourceError
from mimohist.records import PENDING, Mark, Message, Skipped

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from mimohist.backfill_root import Root
    from mimohist.sources.source import Candidate, Reading
    from mimohist.store_work import Work
    from mimohist.store_writer import Writer

BATCH = 12_000_000
"""How many characters of text one transaction holds, about; a short session is never cut."""


class Reader:
    """Reads one session; what is to be told of it is added to `told` for when it is committed."""

    def __init__(self, writer: Writer, root: Root, candidate: Candidate, told: list[Event]) -> None:
        self._writer = writer
        self._root = root
        self._candidate = candidate
        self._told = told
        self._known = root.known.get(candidate.key)
        self._progress = ""
        self._spilled = False
        self._parts: set[str] = set()
        self._messages: set[str] = set()
        self._fates: Counter[str] = Counter()
        self._events: list[Event] = []

    def read(self) -> Generator[Event, None, bool]:
        """Read it; gives events of what had to be committed before, returns whether it is done.

        Raises `SourceError` and `LookupError` when it cannot be had; nothing of it is then written
        but what a mark made safe.
        """
        root, known = self._root, self._known
        anew = known is None or root.options.verify or root.options.accept_deletions
        mark = "" if anew or known is None else known.mark
        reading = root.source.load(self._candidate, mark)
        if ("session", reading.session.id) in root.forgotten:
            return True
        one = self._candidate
        work = self._writer.work(root.id, one.key, one.at, reading.session, known)
        try:
            for item in reading.messages:
                self._take(work, reading, item)
                if root.options.hurry and root.options.stop():
                    self._give_up(work, reading)
                    return False
                if work.change.weight >= BATCH:
                    yield from self._piece(work, reading, item)
        except SourceError:
            if self._spilled:
                self._writer.rollback()
            raise
        self._end(work, reading)
        return True

    def _take(self, work: Work, reading: Reading, item: Message | Skipped | Mark) -> None:
        root = self._root
        if isinstance(item, Message):
            if ("message", f"{reading.session.id}/{item.id}") in root.forgotten:
                return
            row, given = work.message(reading.session, item, root.forgotten)
            if reading.whole:
                self._messages.add(item.id)
                self._parts |= given
            elif reading.entire and not root.doubts(self._known):
                work.keep_only("message", row, given)
            _count(self._fates, item)
        elif isinstance(item, Mark):
            self._progress = item.text
        else:
            root.skipped.append(item)
            self._events.append(Unreadable(source=root.source.name, skipped=item))

    def _replaces(self, reading: Reading) -> bool:
        """Whether the reading replaces stored rows, and so counts only when it is all there."""
        return reading.whole and self._known is not None

    def _piece(
        self, work: Work, reading: Reading, item: Message | Skipped | Mark
    ) -> Iterator[Event]:
        """Write what was read of a long session, so that none is too large for memory."""
        safe = isinstance(item, Mark) and not self._replaces(reading)
        if not (safe or work.change.weight >= 4 * BATCH):
            return
        if not self._spilled:
            self._writer.commit()
            yield from self._told
            self._told.clear()
        self._hand_over(work, "")
        if safe:
            self._writer.commit()
        else:
            self._spilled = True
            self._writer.flush()

    def _give_up(self, work: Work, reading: Reading) -> None:
        """Stop midway; what a mark made safe stays."""
        if self._spilled:
            self._writer.rollback()
        elif self._progress and not self._replaces(reading):
            self._hand_over(work, "")

    def _end(self, work: Work, reading: Reading) -> None:
        root = self._root
        session = reading.session
        if reading.whole:
            title = work.title(session)
            if title:
                self._parts.add(title)
            if not root.doubts(self._known):
                work.keep_only("session", work.id, self._parts)
                work.keep_messages(self._messages)
            elif work.lacks(self._parts):
                work.change.header["gone"] = 2
                root.lessened()
        else:
            work.title(session)
        if root.options.accept_deletions:
            work.change.header["gone"] = 0
        self._hand_over(work, self._candidate.stamp)
        saved = work.saved
        self._told += self._events
        self._told.append(
            Stored(
                source=root.source.name,
                session=session.id,
                new=self._known is None,
                added=saved.added,
                changed=saved.changed,
                removed=saved.removed,
                fates=self._fates,
            )
        )

    def _hand_over(self, work: Work, stamp: str) -> None:
        change = work.split()
        change.header["stamp"] = stamp
        change.header["mark"] = self._progress
        self._writer.add(change)


def _count(fates: Counter[str], message: Message) -> None:
    for part in message.parts:
        if part.status in PENDING:
            fates[f"({part.status} {part.tool})"] += 1
        elif not (part.body or part.output or part.cut):
            fates[f"(empty {part.kind})"] += 1
        else:
            fates[str(part.kind)] += 1
    for type in message.unindexed:
        fates[f"({type})"] += 1
