"""The small backfill that a search does first: what is new, for a moment at most."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path
from sqlite3 import Error
from typing import TYPE_CHECKING, NamedTuple

from mimohist import sources, store
from mimohist.errors import Busy, MimohistError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from sqlite3 import Connection

    from mimohist.backfill import Event
    from mimohist.kinds import Kind

_FOUND = "SELECT path FROM root WHERE source = ?"
_DIRECTORIES = """
SELECT folder FROM (
  SELECT id, directory AS folder FROM project UNION ALL SELECT id, worktree FROM project
) GROUP BY folder ORDER BY max(id) DESC LIMIT ?
"""
_MOST = 300
"""In how many of the directories that were seen last is looked: a `stat` for each name in each."""

_SHARES = ("//", "\\\\")  # what a transcript names makes no connection to another machine


def _is_file(path: str) -> bool:
    try:
        return os.path.isfile(path)  # noqa: PTH113
    except ValueError:  # NUL
        return False


class Places(NamedTuple):
    """Where to look for sources: names in order, environment, home, configured extra roots.

    `index_db` tells of the directories in which sessions ran; some programs keep theirs there.
    """

    names: Sequence[str]
    environ: Mapping[str, str]
    home: Path
    roots: Mapping[str, Sequence[Path]]
    index_db: Path | None = None

    def changed(self, db: Connection) -> bool:
        """Whether a source is not as the index last read it; only files are looked at."""
        known = {
            (source, path): stamp
            for source, path, stamp in db.execute("SELECT source, path, stamp FROM root")
        }
        roots = self._roots(db)
        return any(
            not stamp or known.get((name, str(path))) != stamp
            for name in self.names
            for path, stamp in sources.glance(name, self.environ, self.home, roots.get(name, ()))
        )

    def find(self) -> list[sources.Source]:
        """Give all roots of all sources."""
        roots = self.roots
        with suppress(MimohistError, Error):  # without an index it tells of nothing
            if self.index_db and not sources.KEPT.keys().isdisjoint(self.names):
                with closing(store.open_reader(self.index_db)) as db:
                    roots = self._roots(db)
        return [
            one
            for name in self.names
            for one in sources.find(name, self.environ, self.home, roots.get(name, ()))
        ]

    def _roots(self, db: Connection) -> Mapping[str, Sequence[Path]]:
        """Give the configured roots, and what was found before or lies where sessions ran."""
        roots = dict(self.roots)
        kept = sources.KEPT.keys() & self.names
        if not kept:
            return roots
        folders = [
            folder
            for (folder,) in db.execute(_DIRECTORIES, (_MOST,))
            if os.path.isabs(folder) and not folder.startswith(_SHARES)  # noqa: PTH117
        ]
        for name in kept:
            known = [path for (path,) in db.execute(_FOUND, (name,))]
            known += [
                os.path.join(folder, file)  # noqa: PTH118 - a Path costs more than a stat
                for folder in folders
                for file in sources.KEPT[name]
            ]
            there = [Path(path) for path in dict.fromkeys(known) if _is_file(path)]
            roots[name] = (*roots.get(name, ()), *there)
        return roots


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
