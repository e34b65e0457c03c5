"""The library: one index and the sources behind it, opened with one call.

    from mimohist import History

    with History.open() as history:
        history.refresh()
        for hit in history.search("retry", "backoff", limit=5).hits:
            print(hit.ref, hit.snippet)

Everything is given as plain values (`answers`, `contexts`, `backfill`); all times are epoch
milliseconds, all lengths and offsets code points.  Errors are `errors.MimohistError`s.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from mimohist import config, sources, store
from mimohist.answers import Mode, Query, Sort
from mimohist.directories import meant
from mimohist.errors import BadInput, MimohistError, SourceError
from mimohist.kinds import Kind, kinds_named
from mimohist.refreshing import Places, Refreshed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from sqlite3 import Connection
    from types import TracebackType

    from mimohist.answers import Answer
    from mimohist.around import View
    from mimohist.backfill import Event, Options
    from mimohist.config import Config
    from mimohist.contexts import Context
    from mimohist.exporting import Trajectory
    from mimohist.pages import Page
    from mimohist.records import Message
    from mimohist.sources import Source

    Moment = int | str | None

REFRESH_SECONDS = 0.3
"""How long a refresh takes in what is new before a search answers."""

PAGE = 4_000
"""How many characters `get` gives, if not said."""


class History:
    """Every conversation that is indexed, and the sources that it came from.

    Made by `open`; a context manager.  The index is opened when it is first read.  One
    object belongs to one thread.
    """

    def __init__(self, settings: Config, places: Places) -> None:
        self.config = settings
        self.places = places
        self._reader: Connection | None = None

    @classmethod
    def open(
        cls,
        db: str | Path | None = None,
        environ: Mapping[str, str] | None = None,
        sources: Sequence[str] | None = None,
    ) -> Self:
        """Find the index and the sources as the command line does.

        `db` is the index's path, else the configuration's.  `environ` (else the process's)
        says where the home, the configuration and other programs' files are; `sources`
        which of them are read when something is taken in, else the configured ones.
        Raises `BadInput` for a configuration that cannot be understood or an unknown source.
        """
        environ = os.environ if environ is None else environ
        known = _known_sources()
        found = config.load(environ, known)
        if db is not None:
            found = found._replace(db=Path(db))
        return cls(found, places(found, environ, sources or ()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the index; a later call opens it again."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    @property
    def reader(self) -> Connection:
        """The index, open for reading; raises `NoIndex` or `IndexUnusable`."""
        if self._reader is None:
            self._reader = store.open_reader(self.config.db)
        return self._reader

    # Taking in

    def refresh(self, seconds: float = REFRESH_SECONDS) -> Refreshed:
        """Take in what is new, the newest sessions first, for about so many seconds.

        A source that cannot be read is a complaint in what is given back; so is whether
        another process is writing (`busy`) and how many sessions are left (`pending`).
        Raises `NoIndex` when there is none yet: `backfill` makes it.
        """
        from mimohist.refreshing import refresh

        kinds = frozenset(self.config.index_kinds)
        return refresh(self.config.db, self.places, kinds, (_now, time.monotonic), seconds)

    def backfill(
        self,
        *,
        since: Moment = None,
        verify: bool = False,
        accept_deletions: bool = False,
        max_seconds: float | None = None,
        wait: float = 0.0,
    ) -> Iterator[Event]:
        """Bring the index up to date, made where there is none; gives what happens as it does.

        The run goes on as its events are taken, and may be left at any: the next one goes on
        there.  `since` leaves out sessions not active after it; `verify` compares everything;
        `accept_deletions` removes what vanished from its source; `max_seconds` ends it
        after that time; `wait` is how many seconds to wait for another process.
        Raises `SourceError` when there is nothing to read, `Busy` when another process writes.
        """
        from mimohist.backfill import Options

        end = None if max_seconds is None else time.monotonic() + max_seconds
        options = Options(
            kinds=frozenset(self.config.index_kinds),
            stop=lambda: end is not None and time.monotonic() > end,
            verify=verify,
            accept_deletions=accept_deletions,
            since=_moment(since, end=False),
        )
        return self.run(options, wait)

    def run(self, options: Options, wait: float = 0.0) -> Generator[Event]:
        """Do as `backfill` does with options of one's own."""
        from mimohist.backfill import backfill

        found = self.places.find()
        if not found:
            raise SourceError(
                f"no sessions found ({', '.join(self.places.names)}); set the programs' own"
                " variables, or [roots] in the configuration"
            )
        with store.lock(self.config.db, wait):
            writer = store.open_writer(self.config.db)
            try:
                yield from backfill(writer, found, options, _now)
            finally:
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
                writer.close()

    # Asking

    def search(  # noqa: PLR0913 - a search may be asked much
        self,
        *words: str,
        mode: Mode | str = Mode.WORDS,
        any_word: bool = False,
        without: Sequence[str] = (),
        ignore_case: bool = False,
        kinds: Iterable[Kind | str] = (),
        sources: Sequence[str] = (),
        projects: Sequence[str | Path] = (),
        sessions: Sequence[str] = (),
        tools: Sequence[str] = (),
        agents: Sequence[str] = (),
        since: Moment = None,
        until: Moment = None,
        here: str | Path | None = None,
        machine: bool = False,
        sort: Sort | str = Sort.RANK,
        limit: int | None = None,
        strict: bool = False,
        exact: bool = False,
    ) -> Answer:
        """Find parts by their words, best first; everything is searched unless narrowed.

        `mode` says how the words are read (`words`, `fts`, `regex`, `fixed`), `kinds` where to
        look (else at the configured kinds, and further when that gives nothing, unless
        `strict`), `since` and `until` when: epoch milliseconds, or a text as
        `--since` takes (`3d`, `2026-11`); both inclusive.  `here` confines the search to the
        known project that this directory is in, `projects` to sessions in directories or below.
        `machine` adds what harnesses put in.  `limit` 0 is all, None the configured one.
        `exact` counts and ranks all matches.  Raises `BadInput` for what cannot be
        understood, `NoIndex` or `IndexUnusable` when there is nothing to ask.
        """
        if limit is not None and limit < 0:
            raise BadInput(f"limit {limit} is negative; 0 gives all")
        query = Query(
            words=words,
            mode=_mode(mode),
            any_word=any_word,
            without=tuple(without),
            ignore_case=ignore_case,
            kinds=kinds_named(kinds),
            sources=tuple(sources),
            projects=tuple(meant(os.fspath(one)) for one in projects),
            sessions=tuple(sessions),
            tools=tuple(tools),
            agents=tuple(agents),
            since=_moment(since, end=False),
            until=_moment(until, end=True),
            here=None if here is None else os.fspath(here),
            machine=machine,
            sort=_sort(sort),
            limit=self.config.limit if limit is None else limit,
            strict=strict,
            exact=exact,
        )
        return self.answer(query)

    def answer(self, query: Query) -> Answer:
        """Answer a `Query`, secrets redacted where the configuration says so."""
        from mimohist.search import search

        home = query.home or str(self.places.home.resolve())
        query = query._replace(home=home, default_kinds=query.default_kinds or self.config.kinds)
        return search(self.reader, query, time.monotonic, self._veil())

    def around(
        self,
        *refs: str,
        before: int = 5,
        after: int = 5,
        whole: bool = False,
        agent: str | None = None,
        kinds: Iterable[Kind | str] = (),
    ) -> tuple[Context, ...]:
        """Give messages with so many neighbours of their slice before and after, oldest first.

        A ref is what a hit has, a message's id, `SESSION/N`, or a session.  `whole` gives the
        session; `agent` a slice or an agent by name, `all` every slice, None the message's own.
        Raises `NotFound` for a ref that names nothing, `BadInput` for one that names too much.
        """
        from mimohist.around import View

        if before < 0 or after < 0:
            raise BadInput("before and after count messages; they cannot be negative")
        view = View(before=before, after=after, whole=whole, agent=agent, kinds=kinds_named(kinds))
        return tuple(self.windows(refs, view))

    def windows(self, refs: Iterable[str], view: View) -> Iterator[Context]:
        """Give what `around` gives for a `View`, one after the other."""
        from mimohist.around import around

        for context in around(self.reader, refs, view, self._peek):
            if self.config.redact:
                from mimohist.redact import redacted_context

                yield redacted_context(context)
            else:
                yield context

    def get(self, part_id: str, offset: int = 0, length: int = PAGE) -> Page:
        """Give a stretch of the whole text of a part: `length` characters from `offset` on.

        What the index had to cut, or does not hold yet, is read from the source where that can
        be.  Raises `NotFound` for an unknown part, `BadInput` for an `offset` that is negative
        or behind the end and a `length` below 1.
        """
        from mimohist.pages import page, whole

        def windows(ref: str) -> tuple[Context, ...]:
            return self.around(ref, before=0, after=0, agent="all")

        found = whole(self.reader, part_id, windows)
        if self.config.redact and found.kind is Kind.TITLE:
            from mimohist.redact import redact

            found = found._replace(text=redact(found.text))
        return page(part_id, found, offset, length)

    def export(
        self,
        *refs: str,
        agent: str | None = None,
        compacted: bool = False,
        step: int | None = None,
        redact: bool | None = None,
    ) -> Iterator[Trajectory]:
        """Give whole sessions in MiMo Code's trajectory format, each read as it is taken.

        `agent`, `compacted` and `step` choose messages: see `trajectory.Cut`.  `redact` (None:
        as configured) replaces secrets.  Raises `NotFound` or `BadInput` for a ref, agent or
        step that names nothing, `SourceError` when a source fails while it is read.
        """
        from mimohist.exporting import redacted, trajectories
        from mimohist.trajectory import Cut

        cut = Cut(agent=agent, compacted=compacted, step=step)
        veiled = self.config.redact if redact is None else redact
        for one in trajectories(self.reader, refs, cut, self._find):
            yield redacted(one) if veiled else one

    # Behind them

    def _veil(self) -> Callable[[str], str] | None:
        if not self.config.redact:
            return None
        from mimohist.redact import redact

        return redact

    def _find(self, source: str, root: str) -> Source | None:
        """Give the source that reads a root, None when there is none such any more."""
        if source not in sources.ALL:
            return None
        for one in sources.find(source, self.places.environ, self.places.home, (Path(root),)):
            if str(one.root) == root:
                return one
        return None

    def _peek(self, source: str, root: str, session: str, messages: Sequence[str]) -> list[Message]:
        """Read messages from their source, where it is there and can do so; else nothing."""
        try:
            one = self._find(source, root)
            return list(one.peek(session, messages)) if one else []
        except (MimohistError, LookupError, OSError):
            return []


def places(found: Config, environ: Mapping[str, str], names: Sequence[str] = ()) -> Places:
    """Give where to look for sources; `names` are those asked for, else the configured ones.

    Raises `BadInput` for a name that is none.
    """
    known = _known_sources()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BadInput(f"no source {unknown[0]!r}; there are: {', '.join(known)}")
    chosen = tuple(names) or found.sources
    return Places(chosen, environ, config.home(environ), found.roots, found.db)


def moment(text: str, *, end: bool) -> int:
    """Read a time as typed: the start of the span it names, or its end."""
    from datetime import datetime

    from mimohist import when

    span = when.parse(text, datetime.now().astimezone())
    return when.millis(span.end if end else span.start)


def _moment(given: Moment, *, end: bool) -> int | None:
    if isinstance(given, str):
        return moment(given, end=end)
    return given if given is None or not end else given + 1


def _mode(name: str) -> Mode:
    try:
        return Mode(name)
    except ValueError as error:
        raise BadInput(f"no mode {name!r}; there are: {', '.join(Mode)}") from error


def _sort(name: str) -> Sort:
    try:
        return Sort(name)
    except ValueError as error:
        raise BadInput(f"no sort {name!r}; there are: {', '.join(Sort)}") from error


def _known_sources() -> tuple[str, ...]:
    return sources.ALL


def _now() -> int:
    return int(time.time() * 1000)
