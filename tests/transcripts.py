"""What tests of transcript files share: a source indexed, searched, and looked into."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist import reindexing, store
from mimohist.answers import Query
from mimohist.backfill import Options, Stored, Unreadable, backfill
from mimohist.records import Mark, Message, Skipped
from mimohist.search import search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mimohist.answers import Hit
    from mimohist.backfill import Event
    from mimohist.records import Part, Session
    from mimohist.sources.source import Source

LATER = 1_900_000_000_000
"""A time at which every stamp of a test is old enough to be trusted (epoch ms)."""


class Read(NamedTuple):
    """What one reading of one session gave."""

    session: Session
    messages: list[Message]
    skipped: list[Skipped]
    mark: str
    whole: bool

    @property
    def parts(self) -> list[Part]:
        return [part for message in self.messages for part in message.parts]

    @property
    def said(self) -> list[tuple[str, str, str | None]]:
        """Kind, body and machine of every part."""
        return [(str(part.kind), part.body, part.machine) for part in self.parts]


def read(source: Source, key: str = "", mark: str = "") -> Read:
    """Read the one session whose key ends with `key`."""
    found = [one for one in source.survey("").candidates if one.key.endswith(key)]
    assert len(found) == 1, found
    reading = source.load(found[0], mark)
    items = list(reading.messages)
    marks = [one.text for one in items if isinstance(one, Mark)]
    return Read(
        reading.session,
        [one for one in items if isinstance(one, Message)],
        [one for one in items if isinstance(one, Skipped)],
        marks[-1] if marks else "",
        reading.whole,
    )


def by_message(found: Iterable[Message]) -> dict[str, tuple[int, dict[str, Part]]]:
    """Put together what several readings gave, the last part of an id counting."""
    made: dict[str, tuple[int, dict[str, Part]]] = {}
    for message in found:
        at, parts = made.setdefault(message.id, (message.at, {}))
        assert at == message.at
        parts.update({part.id: part for part in message.parts})
    return made


class Index:
    """An index in a folder, and the sources that it is filled from."""

    def __init__(self, folder: Path, *sources: Callable[[], Source]) -> None:
        self.db = store.open_writer(folder / "index" / "index.db")
        self.sources = sources

    def run(self, **options: Any) -> list[Event]:  # noqa: ANN401
        made = [source() for source in self.sources]
        events = list(backfill(self.db, made, Options(**options), lambda: LATER))
        assert list(reindexing.check(self.db)) == []
        return events

    def hits(self, *words: str, **fields: Any) -> list[Hit]:  # noqa: ANN401
        query = Query(words=words, strict=True)._replace(**fields)
        return list(search(self.db, query, time.monotonic).hits)

    def sessions(self, *words: str, **fields: Any) -> list[str]:  # noqa: ANN401
        return [hit.session_id for hit in self.hits(*words, **fields)]


def stored(events: list[Event]) -> list[tuple[int, int, int]]:
    """Parts added, changed and removed, by session."""
    return [(one.added, one.changed, one.removed) for one in events if isinstance(one, Stored)]


def unreadable(events: list[Event]) -> list[str]:
    """Where the records lie that could not be read."""
    return [one.skipped.where for one in events if isinstance(one, Unreadable)]
