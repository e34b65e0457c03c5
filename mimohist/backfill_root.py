"""One root in one run: what may have changed there, and which deletions are to be believed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mimohist.backfill_events import Began, Ended, Event, Failed, Removed, Vanished
from mimohist.sources.stamps import size
from mimohist.store_rows import SIX
from mimohist.store_work import Known
from mimohist.store_writer import remove_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from sqlite3 import Connection

    from mimohist.errors import SourceError
    from mimohist.records import Kind, Skipped
    from mimohist.sources.source import Candidate, Source, Survey

_COARSE_MS = 2_000
_DAY_MS = 86_400_000
_NANOSECONDS = 19  # digits of an epoch time in nanoseconds, until the year 2286


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run: kinds to store in a new index, when to stop, how sure to be.

    `verify` compares everything with what is stored, `daily` looks at all there is where a day has
    passed since.  `accept_deletions` removes what vanished; `since` (epoch ms) leaves out
    sessions not active after it.  `hurry` gives a session up midway when it is time to stop.
    """

    kinds: frozenset[Kind] = SIX
    stop: Callable[[], bool] = field(default=lambda: False)
    verify: bool = False
    daily: bool = True
    accept_deletions: bool = False
    since: int | None = None
    hurry: bool = False


class Root:
    """One source's root: looked at, then read, then finished."""

    def __init__(
        self, db: Connection, source: Source, options: Options, now: Callable[[], int]
    ) -> None:
        self._db = db
        self.source = source
        self.options = options
        self._now = now
        self._survey: Survey | None = None
        self._stamp = ""
        self._whole = False
        self._fresh: list[str] = []
        self._lessened = 0
        self.id = 0
        self.known: dict[str, Known] = {}
        self.waiting: list[Candidate] = []
        self.forgotten: frozenset[tuple[str, str]] = frozenset()
        self.doubted = False
        self.changed = False
        self.late = False
        self.done = 0
        self.error = ""
        self.skipped: list[Skipped] = []

    @property
    def pending(self) -> int:
        """How many sessions that may have changed were not read."""
        return len(self.waiting) - self.done

    def look(self) -> Event:
        """Look for what changed; `changed` tells whether there is anything to do."""
        options, source = self.options, self.source
        then = self._row()
        sure = options.verify or options.accept_deletions
        self._stamp = source.stamp()
        if self._stamp and self._stamp == then["stamp"] and not then["error"] and not sure:
            (count,) = self._db.execute(
                "SELECT count(*) FROM session WHERE root = ?", (self.id,)
            ).fetchone()
            return Ended(source=source.name, root=str(source.root), unchanged=count, pending=0)
        due = options.daily and self._now() - (then["time_verified"] or 0) > _DAY_MS
        self._whole = sure or due or then["memory"] == ""
        survey = self._survey = source.survey("" if self._whole else then["memory"])
        self.known = self._sessions()
        self.waiting = [one for one in survey.candidates if self._waits(one)]
        self.forgotten = _forgotten(self._db, source.name)
        self._doubt(survey, then["identity"])
        self.changed = True
        return Began(source=source.name, root=str(source.root), sessions=len(self.waiting))

    def _row(self) -> dict[str, Any]:
        names = ("id", "identity", "stamp", "memory", "error", "time_verified")
        key = (self.source.name, str(self.source.root))
        sql = f"SELECT {', '.join(names)} FROM root WHERE source = ? AND path = ?"
        found = self._db.execute(sql, key).fetchone()
        if found is None:
            self._db.execute("INSERT INTO root(source, path) VALUES (?, ?)", key)
            found = self._db.execute(sql, key).fetchone()
        self.id = found[0]
        return dict(zip(names, found, strict=True))

    def _sessions(self) -> dict[str, Known]:
        rows = self._db.execute(
            "SELECT key, id, project, stamp, mark, gone, time_updated FROM session WHERE root = ?",
            (self.id,),
        )
        return {row[0]: Known(*row[1:]) for row in rows}

    def _waits(self, candidate: Candidate) -> bool:
        options, known = self.options, self.known.get(candidate.key)
        if options.since is not None and candidate.at < options.since:
            return False
        if known is None or options.verify or known.stamp != candidate.stamp:
            return True
        return options.accept_deletions and known.gone > 0

    def _doubt(self, survey: Survey, identity: str) -> None:
        """Decide whether what is missing was deleted by somebody.

        Not where the database is another than before (`identity`), has gone back in time, or
        lost over half of its sessions at once.
        """
        if survey.present is not None:
            live = [key for key, known in self.known.items() if known.gone != 1]
            self._fresh = [key for key in live if key not in survey.present]
            many = 2 * len(self._fresh) > len(live)
        else:
            many = False
        replaced = bool(identity) and identity != survey.identity
        back = survey.alive and any(
            (known := self.known.get(one.key)) is not None and one.at < known.updated
            for one in survey.candidates
        )
        self.doubted = (replaced or back or many) and not self.options.accept_deletions

    def doubts(self, known: Known | None) -> bool:
        """Whether what a session lacks beside what is stored of it stays stored."""
        if self.options.accept_deletions:
            return False
        return self.doubted or (known is not None and known.gone > 0)

    def lessened(self) -> None:
        """Count a session of which more is stored than its source now holds."""
        self._lessened += 1

    def finish(self) -> Iterator[Event]:
        """Follow deletions where they can be believed, and note what was read."""
        if self._survey is None:
            return
        if self._survey.present is not None:
            yield from self._deletions(self._survey, self._survey.present)
        self._note(self._survey)
        source = self.source
        read = sum(one.key in self.known for one in self.waiting)
        yield Ended(
            source=source.name,
            root=str(source.root),
            unchanged=max(0, len(self.known) - read - len(self._fresh)),
            pending=self.pending,
        )

    def _deletions(self, survey: Survey, present: frozenset[str]) -> Iterator[Event]:
        db, source = self._db, self.source
        back = [(one.id,) for key, one in self.known.items() if one.gone == 1 and key in present]
        db.executemany("UPDATE session SET gone = 0 WHERE id = ? AND gone = 1", back)
        believed = survey.alive and not self.doubted
        lost = self._fresh
        if survey.alive and self.options.accept_deletions:
            lost = [key for key in self.known if key not in present]
        if not believed:
            ids = [(self.known[key].id,) for key in lost]
            db.executemany("UPDATE session SET gone = 1 WHERE id = ?", ids)
            if lost or self._lessened:
                number = len(lost) + self._lessened
                yield Vanished(source=source.name, root=str(source.root), sessions=number)
            return
        for key in lost:
            (name,) = db.execute(
                "SELECT session_id FROM session WHERE id = ?", (self.known[key].id,)
            ).fetchone()
            db.execute("BEGIN IMMEDIATE")
            parts = remove_session(db, self.known[key].id)
            db.execute("COMMIT")
            yield Removed(source=source.name, session=name, parts=parts)

    def _note(self, survey: Survey) -> None:
        now = self._now()
        whole = not self.late and self.options.since is None
        columns: dict[str, object] = {"error": None, "gone": 0, "time_read": now}
        columns["identity"] = survey.identity
        if whole:
            # A file system's clock may be coarse: a stamp as young as this may hide a change.
            columns["stamp"] = "" if is_young(self._stamp, now) else self._stamp
            columns["memory"] = survey.memory
            columns["bytes"] = size(self.source.root, self._stamp)
            if self._whole:
                columns["time_verified"] = now
        again = "" if self.options.verify and whole else "skipped + "
        sets = ", ".join(f"{column} = :{column}" for column in columns)
        if self.skipped or not again:
            sets += f", skipped = {again}:count, skipped_why = :why"
        last = f"{self.skipped[-1].where}: {self.skipped[-1].why}" if self.skipped else None
        values = {**columns, "count": len(self.skipped), "why": last, "id": self.id}
        self._db.execute(f"UPDATE root SET {sets} WHERE id = :id", values)

    def failed(self, error: SourceError) -> Failed:
        """Note that the source could not be had; its rows stay."""
        self.error = str(error)
        if self.id:
            gone = int(not self.source.root.exists())
            self._db.execute(
                "UPDATE root SET error = ?, gone = ? WHERE id = ?", (self.error, gone, self.id)
            )
        source = self.source
        return Failed(source=source.name, root=str(source.root), why=self.error)


def is_young(stamp: str, now: int) -> bool:
    """Whether one of the times (nanoseconds) in a stamp is less than two seconds old."""
    times = [int(word) for word in stamp.split() if word.isdigit() and len(word) == _NANOSECONDS]
    return any(now - time // 1_000_000 < _COARSE_MS for time in times)


def _forgotten(db: Connection, source: str) -> frozenset[tuple[str, str]]:
    return frozenset(db.execute("SELECT level, id FROM forgotten WHERE source = ?", (source,)))
