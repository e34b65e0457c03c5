"""A backfill that stays: changes are taken in as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mimohist import sources, store
from mimohist.backfill import Event, Failed, backfill
from mimohist.errors import Busy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mimohist.backfill import Options
    from mimohist.refreshing import Places

PAUSE = 0.5
"""Seconds between two looks at the files; a look is a `stat` a file."""

_REST = 30.0
"""Seconds after which sources are searched for anew: one may have been installed."""


class Clockwork(NamedTuple):
    """What time is, and how it passes: epoch ms, seconds that only grow, and a sleep."""

    now: Callable[[], int]
    clock: Callable[[], float]
    sleep: Callable[[float], None]


def follow(path: Path, places: Places, options: Options, clockwork: Clockwork) -> Iterator[Event]:
    """Take in what changes until `options.stop` says so.

    A look costs a few `stat` calls; the index is opened and locked only for as long as something
    is read.  A source that cannot be read is told of once, and tried again when it changes.
    """
    seen: dict[tuple[str, str], str] = {}
    told: set[str] = set()
    found: list[sources.Source] = []
    next_search = clockwork.clock()
    while not options.stop():
        if clockwork.clock() >= next_search:
            found = places.find()
            next_search = clockwork.clock() + _REST
        changed = [one for one in found if _stamp(one) != seen.get((one.name, str(one.root)))]
        if changed:
            before = {(one.name, str(one.root)): _stamp(one) for one in changed}
            for event in _run(path, changed, options, clockwork):
                if isinstance(event, Failed):
                    if event.why in told:
                        continue
                    told.add(event.why)
                yield event
            seen |= before
        if not options.stop():
            clockwork.sleep(PAUSE)


def _stamp(one: sources.Source) -> str:
    try:
        return one.stamp()
    except Exception as error:  # noqa: BLE001 - what cannot be looked at now may be later
        return str(error)


def _run(
    path: Path, changed: list[sources.Source], options: Options, clockwork: Clockwork
) -> Iterator[Event]:
    while True:
        try:
            with store.lock(path):
                writer = store.open_writer(path)
                try:
                    yield from backfill(writer, changed, options, clockwork.now)
                finally:
                    if writer.in_transaction:
                        writer.execute("ROLLBACK")
                    writer.close()
        except Busy:
            if options.stop():
                return
            clockwork.sleep(PAUSE)
        else:
            return
