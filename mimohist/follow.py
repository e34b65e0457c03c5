"""A backfill that stays: changes are taken in as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mimohist import sources, store
from mimohist.backfill import Event, Failed, backfill
from mimohist.backfill_root import is_young
from mimohist.errors import Busy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from mimohist.backfill import Options
    from mimohist.refreshing import Places

PAUSE = 0.5
"""Seconds between two looks at the files, at the least."""

_LONGEST = 1.5
"""And at the most, so that a change is searchable within two seconds."""

_SHARE = 50
"""How many times as long as a look took the pause after it is: two per cent of a processor."""

_REST = 30.0
"""Seconds after which sources are searched for anew: one may have been installed."""

_RETRY = 5.0
"""Seconds after which a source that could not be read is tried again, changed or not."""


class Clockwork(NamedTuple):
    """What time is, and how it passes: epoch ms, seconds that only grow, and a sleep."""

    now: Callable[[], int]
    clock: Callable[[], float]
    sleep: Callable[[float], None]


def follow(path: Path, places: Places, options: Options, clockwork: Clockwork) -> Iterator[Event]:
    """Take in what changes until `options.stop` says so.

    A look is a `stat` a file; the index is opened and locked only for as long as something
    is read.  A source that cannot be read is told of once for each reason, and tried again.
    """
    watch = _Watch(clockwork)
    found: Sequence[sources.Source] = ()
    next_search = began = clockwork.clock()
    while not options.stop():
        if began >= next_search:
            found = places.find()
            next_search = began + _REST
        changed = watch.changed(found, began)
        if changed:
            for event in _run(path, [*changed.values()], options, clockwork):
                if not isinstance(event, Failed) or watch.is_new(event):
                    yield event
            watch.read(changed)
        if options.stop():
            return
        took = clockwork.clock() - began
        clockwork.sleep(min(_LONGEST, max(PAUSE, _SHARE * took)))
        began = clockwork.clock()


class _Watch:
    """What each source looked like when it was last read, and which could not be."""

    def __init__(self, clockwork: Clockwork) -> None:
        self._clockwork = clockwork
        self._seen: dict[tuple[str, str], str] = {}
        self._looks: dict[tuple[str, str], str] = {}
        self._failed: dict[tuple[str, str], tuple[str, float]] = {}
        self._why: dict[tuple[str, str], str] = {}

    def changed(
        self, found: Sequence[sources.Source], now: float
    ) -> dict[tuple[str, str], sources.Source]:
        """Look at the files of all sources, and give those that must be read."""
        self._why.clear()
        self._looks = {(one.name, str(one.root)): _look(one) for one in found}
        return {
            key: one
            for one in found
            if self._looks[key := (one.name, str(one.root))] != self._seen.get(key)
            or (key in self._failed and now >= self._failed[key][1])
        }

    def is_new(self, event: Failed) -> bool:
        """Note that a source could not be read; tells whether it was for another reason before."""
        key = (event.source, event.root)
        self._why[key] = event.why
        return key not in self._failed or self._failed[key][0] != event.why

    def read(self, changed: Iterable[tuple[str, str]]) -> None:
        """Note that these were read as far as could be."""
        now = self._clockwork.now()
        for key in changed:
            self._failed.pop(key, None)
            if key in self._why:
                self._failed[key] = (self._why[key], self._clockwork.clock() + _RETRY)
            # A stamp as young as this may hide a change: look once more.
            self._seen[key] = "" if is_young(self._looks[key], now) else self._looks[key]


def _look(one: sources.Source) -> str:
    try:
        return one.stamp()
    except Exception as error:  # noqa: BLE001 - what cannot be looked at now may be later
        return str(error)


def _run(
    path: Path, changed: Sequence[sources.Source], options: Options, clockwork: Clockwork
) -> Iterator[Event]:
    while not options.stop():
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
            clockwork.sleep(PAUSE)
        else:
            return
