"""What is new in the sources, brought into the index.

A run is a row of short transactions, the newest sessions of all sources first; each stores rows
and progress together, so a run may be ended anywhere, and the next goes on there.  What a
source remembers of a look is kept only when all that the look found is stored.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from heapq import merge
from typing import TYPE_CHECKING

from mimohist import forgetting, store, store_tuning
from mimohist.backfill_events import (
    Began,
    Ended,
    Event,
    Failed,
    Removed,
    Stored,
    Unreadable,
    Vanished,
)
from mimohist.backfill_root import Options, Root
from mimohist.backfill_session import BATCH, Reader
from mimohist.errors import Busy, SourceError
from mimohist.store_rows import RULES, SIX, TEXT_LIMIT
from mimohist.store_writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from sqlite3 import Connection

    from mimohist.records import Kind
    from mimohist.sources.source import Candidate, Source

__all__ = (
    "BATCH",
    "SIX",
    "Began",
    "Ended",
    "Event",
    "Failed",
    "Options",
    "Removed",
    "Stored",
    "Unreadable",
    "Vanished",
    "backfill",
)


def backfill(
    db: Connection, sources: Sequence[Source], options: Options, now: Callable[[], int]
) -> Iterator[Event]:
    """Bring the index up to date with its sources.

    `db` comes from `store.open_writer` and is held under `store.lock`; `now` gives epoch
    milliseconds.  What cannot be read of a source is an event, not an error.  Raises
    `IndexUnusable` when the index cannot be written (a full disk); what is stored stays usable.
    """
    try:
        yield from _backfill(db, sources, options, now)
    except sqlite3.DatabaseError as error:
        raise store.unwritable(db, error) from error


def _backfill(
    db: Connection, sources: Sequence[Source], options: Options, now: Callable[[], int]
) -> Iterator[Event]:
    kinds = _remember(db, options)
    if not options.hurry:
        with suppress(Busy):  # a reader that stays; the next run tries again
            forgetting.purge(db)
    _mark_lost(db, sources)
    roots = []
    for source in sources:
        root = Root(db, source, options, now)
        try:
            yield root.look()
        except SourceError as error:
            yield root.failed(error)
        else:
            if root.changed:
                roots.append(root)
    if roots:
        store_tuning.begin(db, hurry=options.hurry)
        yield from _sessions(Writer(db, kinds), roots, options)
        for root in roots:
            if not root.error:
                yield from root.finish()
    if not (options.hurry or any(root.late for root in roots)):
        store_tuning.end(db, options.stop)


def _remember(db: Connection, options: Options) -> frozenset[Kind]:
    """Note what a new index is built for, and give the kinds that this one was built for."""
    kinds = ",".join(sorted(options.kinds))
    values = {"index_kinds": kinds, "rules": str(RULES), "text_limit": str(TEXT_LIMIT)}
    known = dict(db.execute("SELECT key, value FROM state").fetchall())
    for key, value in values.items():
        if key not in known:
            db.execute("INSERT INTO state(key, value) VALUES (?, ?)", (key, value))
    # Other kinds than those of the rows that are there would make searches see half of them.
    wanted = known.get("index_kinds", kinds).split(",")
    return frozenset(kind for kind in SIX if kind in wanted)


def _mark_lost(db: Connection, sources: Sequence[Source]) -> None:
    """Mark the roots that nobody asks for any more because their files are gone."""
    asked = {(source.name, str(source.root)) for source in sources}
    for id, name, path in db.execute("SELECT id, source, path FROM root WHERE NOT gone").fetchall():
        if (name, path) not in asked and not os.path.lexists(path):
            db.execute("UPDATE root SET gone = 1, stamp = '' WHERE id = ?", (id,))


def _sessions(writer: Writer, roots: Sequence[Root], options: Options) -> Iterator[Event]:
    """Store sessions, the newest of all sources first, several to a transaction."""
    told: list[Event] = []
    for root, candidate in _by_age(roots):
        if root.error:
            continue
        if options.stop():
            root.late = True
            break
        reader = Reader(writer, root, candidate, told)
        try:
            done = yield from reader.read()
        except LookupError:
            root.done += 1  # deleted since the look at its source; the next look tells
            continue
        except SourceError as error:
            yield from _write(writer, told)
            yield root.failed(error)
            continue
        if not done:
            root.late = True
            break
        root.done += 1
        if writer.weight >= BATCH:
            yield from _write(writer, told)
    yield from _write(writer, told)
    for root in roots:
        root.late = root.late or root.pending > 0


def _by_age(roots: Sequence[Root]) -> Iterator[tuple[Root, Candidate]]:
    queues = [
        [(-candidate.at, number, at) for at, candidate in enumerate(root.waiting)]
        for number, root in enumerate(roots)
    ]
    for _, number, at in merge(*map(sorted, queues)):
        yield roots[number], roots[number].waiting[at]


def _write(writer: Writer, told: list[Event]) -> Iterator[Event]:
    """Commit what was read, and only then tell of it."""
    writer.commit()
    yield from told
    told.clear()
