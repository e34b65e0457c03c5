"""The small backfill that a search does first: what is new, for a moment at most."""

from __future__ import annotations

from sqlite3 import Error
from typing import TYPE_CHECKING, NamedTuple

from mimohist import sources, store
from mimohist.errors import Busy, MimohistError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from sqlite3 import Connection

    from mimohist.backfill import Event
    from mimohist.kinds import Kind


class Places(NamedTuple):
    """Where to look for sources: names in order, environment, home, configured extra roots."""

    names: Sequence[str]
    environ: Mapping[str, str]
    home: Path
    roots: Mapping[str, Sequence[Path]]

    def changed(self, db: Connection) -> bool:
        """Whether a source is not as the index last read it; only files are looked at."""
        known = {
            (source, path): stamp
            for source, path, stamp in db.execute("SELECT source, path, stamp FROM root")
        }
        return any(
            not stamp or known.get((name, str(path))) != stamp
            for name in self.names
            for path, stamp in sources.glance(
                name, self.environ, self.home, self.roots.get(name, ())
            )
        )

    def find(self) -> list[sources.Source]:
        """Give all roots of all sources."""
        return [
            one
            for name in self.names
            for one in sources.find(name, self.environ, self.home, self.roots.get(name, ()))
        ]


class Refreshed(NamedTuple):
    """What a refresh did: whether another run holds the lock, sessions left, complaints."""

    busy: bool = False
    pending: int = 0
    complaints: tuple[str, ...] = ()


def refresh(
    path: Path,
    places: Places,
    kinds: frozenset[Kind],
    clocks: tuple[Callable[[], int], Callable[[], float]],
    seconds: float,
) -> Refreshed:
    """Take in what is new, newest sessions first, for about so many seconds.

    `clocks` give epoch milliseconds and seconds that only grow.  A source that cannot be
    read is a complaint, not an error; another run that holds the lock is left alone.
    """
    now, clock = clocks
    reader = store.open_reader(path)
    try:
        if not places.changed(reader):
            return Refreshed()
    finally:
        reader.close()
    from mimohist import backfill as runs  # a search that finds nothing new does not need it

    end = clock() + seconds
    options = runs.Options(kinds=kinds, stop=lambda: clock() > end, daily=False, hurry=True)
    try:
        with store.lock(path):
            writer = store.open_writer(path)
            try:
                return _run(runs.backfill(writer, places.find(), options, now))
            finally:
                writer.close()
    except Busy:
        return Refreshed(busy=True)
    except (MimohistError, Error, OSError) as error:
        # The index still answers; that it could not be brought up to date is worth a line.
        return Refreshed(complaints=(str(error),))


def _run(events: Iterator[Event]) -> Refreshed:
    from mimohist.backfill import Ended, Failed

    pending = 0
    complaints = []
    for event in events:
        if isinstance(event, Ended):
            pending += event.pending
        elif isinstance(event, Failed):
            complaints.append(event.why)
    return Refreshed(pending=pending, complaints=tuple(complaints))
