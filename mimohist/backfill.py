"""What is new in the sources, brought into the index.

A run is a row of short transactions, the newest sessions first; each stores rows and
progress together, so a run may be ended anywhere, and the next goes on there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mimohist.errors import SourceError
from mimohist.records import PENDING, Kind, Mark, Message, Skipped
from mimohist.store_rows import RULES, Saved, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from sqlite3 import Connection

    from mimohist.sources.source import Candidate, Reading, Source, Survey

BATCH = 4_000_000
"""How many characters of text one transaction holds, about; a session is one at the least."""

_COARSE_MS = 2_000
_DAY_MS = 86_400_000
SIX = frozenset(Kind) - {Kind.TITLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """A source is about to be read: how many of its sessions may have changed."""

    source: str
    root: str
    sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One session was read: what that did, in numbers of parts.

    `fates` counts the parts by what became of them: a kind for those that are stored, the
    source's own type in parentheses for those that hold no text.
    """

    source: str
    session: str
    new: bool
    added: int
    changed: int
    removed: int
    fates: Counter[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """One record of a source could not be read; the others were."""

    source: str
    skipped: Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """A session was deleted at its source, and so here."""

    source: str
    session: str
    parts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Vanished:
    """Sessions are no longer at their source in a way that proves no deletion: they stay."""

    source: str
    root: str
    sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A source could not be had; what is stored of it stays."""

    source: str
    root: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A source is done, or the time is up: how many sessions wait for the next run."""

    source: str
    root: str
    unchanged: int
    pending: int


Event = Began | Stored | Unreadable | Removed | Vanished | Failed | Ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run: kinds to store, when to stop, how sure to be.

    `verify` compares everything, `daily` does so where a day has passed since.
    `accept_deletions` removes what vanished; `since` (epoch ms) leaves out sessions not
    active after it.
    """

    kinds: frozenset[Kind] = SIX
    stop: Callable[[], bool] = field(default=lambda: False)
    verify: bool = False
    daily: bool = True
    accept_deletions: bool = False
    since: int | None = None


def backfill(
    db: Connection, sources: Sequence[Source], options: Options, now: Callable[[], int]
) -> Iterator[Event]:
    """Bring the index up to date with its sources.

    `db` comes from `store.open_writer` and is held under `store.lock`; `now` gives epoch
    milliseconds.  What cannot be read is an event, not an error.
    """
    _remember(db, options)
    for source in sources:
        run = _Run(db, source, options, now)
        try:
            yield from run.events()
        except SourceError as error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            run.failed(str(error))
            yield Failed(source=source.name, root=str(source.root), why=str(error))


def _remember(db: Connection, options: Options) -> None:
    """Note what a new index is built for."""
    values = {"index_kinds": ",".join(sorted(options.kinds)), "rules": str(RULES)}
    for key, value in values.items():
        db.execute("INSERT OR IGNORE INTO state(key, value) VALUES (?, ?)", (key, value))


@dataclass(slots=True)
class _Run:
    """One source in one run."""

    db: Connection
    source: Source
    options: Options
    now: Callable[[], int]
    root: int = 0
    skipped: int = 0
    why: str | None = None
    late: bool = False

    def events(self) -> Iterator[Event]:
        db, source = self.db, self.source
        self.root, known = self._row()
        first = known["memory"] == ""
        due = self.now() - (known["verified"] or 0) > _DAY_MS
        verify = first or self.options.verify or (self.options.daily and due)
        stamp = source.stamp()
        if stamp and stamp == known["stamp"] and not self.options.verify and not known["error"]:
            yield Ended(source=source.name, root=str(source.root), unchanged=0, pending=0)
            return
        survey = source.survey("" if verify else known["memory"])
        stored = dict(
            db.execute("SELECT key, stamp FROM session WHERE root = ?", (self.root,)).fetchall()
        )
        waiting = [one for one in survey.candidates if stored.get(one.key) != one.stamp]
        if self.options.since is not None:
            waiting = [one for one in waiting if one.at >= self.options.since]
        yield Began(source=source.name, root=str(source.root), sessions=len(waiting))
        done = 0
        for event in self._sessions(waiting, first=first and not stored):
            done += isinstance(event, Stored)
            yield event
        yield from self._deletions(survey, known["identity"])
        pending = len(waiting) - done if self.late else 0
        self._finish(survey, stamp, whole=not self.late, verified=verify)
        unchanged = len(survey.candidates) - len(waiting)
        yield Ended(source=source.name, root=str(source.root), unchanged=unchanged, pending=pending)

    def _row(self) -> tuple[int, dict[str, Any]]:
        names = ("id", "identity", "stamp", "memory", "time_read", "error", "time_verified")
        key = (self.source.name, str(self.source.root))
        sql = f"SELECT {', '.join(names)} FROM root WHERE source = ? AND path = ?"
        found = self.db.execute(sql, key).fetchone()
        if found is None:
            self.db.execute("INSERT INTO root(source, path) VALUES (?, ?)", key)
            found = self.db.execute(sql, key).fetchone()
        known = dict(zip(names, found, strict=True))
        known["verified"] = known.pop("time_verified")
        return int(found[0]), known

    def _sessions(self, candidates: Sequence[Candidate], *, first: bool) -> Iterator[Event]:
        """Store sessions, several to a transaction while they are short."""
        db = self.db
        writer = Writer(db, self.root, self.source.name, self.options.kinds, descending=first)
        waiting: list[Event] = []
        for candidate in candidates:
            if self.options.stop():
                self.late = True
                break
            if not db.in_transaction:
                db.execute("BEGIN IMMEDIATE")
            try:
                waiting += self._session(writer, candidate)
            except LookupError:
                continue  # deleted since the survey; the next one will not list it
            if writer.weight >= BATCH:
                self._commit(writer)
                yield from waiting
                waiting.clear()
        self._commit(writer)
        yield from waiting

    def _commit(self, writer: Writer) -> None:
        if self.db.in_transaction:
            writer.flush()
            self.db.execute("COMMIT")

    def _session(self, writer: Writer, candidate: Candidate) -> list[Event]:
        mark = self.db.execute(
            "SELECT mark FROM session WHERE root = ? AND key = ?", (self.root, candidate.key)
        ).fetchone()
        reading = self.source.load(candidate, mark[0] if mark else "")
        forgotten = _forgotten(self.db, self.source.name)
        if ("session", reading.session.id) in forgotten:
            return []
        saved, fates = Saved(), Counter[str]()
        events: list[Event] = []
        row = writer.session(reading.session, candidate.key)
        title = writer.title(reading.session, row)
        if title:
            writer.put([title], saved)
        parts = {title.part_id} if title else set()
        messages: set[str] = set()
        progress = ""
        for item in reading.messages:
            match item:
                case Mark(text):
                    progress = text
                    if writer.weight >= BATCH:
                        self._halfway(writer, row, progress, keep=reading.whole and mark)
                case Skipped():
                    self.skipped += 1
                    self.why = f"{item.where}: {item.why}"
                    events.append(Unreadable(source=self.source.name, skipped=item))
                case Message():
                    if ("message", item.id) in forgotten:
                        continue
                    messages.add(item.id)
                    parts |= self._message(writer, reading, row, item, saved, forgotten)
                    _count(fates, item)
        if reading.whole:
            writer.remove_missing("session", row, parts, saved)
            writer.remove_messages(row, messages)
        self._progress(row, candidate.stamp, progress)
        events.append(
            Stored(
                source=self.source.name,
                session=reading.session.id,
                new=mark is None,
                added=saved.added,
                changed=saved.changed,
                removed=saved.removed,
                fates=fates,
            )
        )
        return events

    def _halfway(self, writer: Writer, row: int, progress: str, *, keep: object) -> None:
        """Write what waits in the middle of a session, so that none is too large for memory.

        What replaces stored rows (`keep`) is committed only when it is all there.
        """
        if keep:
            writer.flush()
            return
        self._progress(row, "", progress)
        self._commit(writer)
        self.db.execute("BEGIN IMMEDIATE")

    def _message(
        self,
        writer: Writer,
        reading: Reading,
        row: int,
        message: Message,
        saved: Saved,
        forgotten: frozenset[tuple[str, str]],
    ) -> set[str]:
        message_row = writer.message(message, row)
        rows = [
            one
            for one in writer.rows(message, reading.session, row, message_row)
            if ("part", one.part_id) not in forgotten
        ]
        writer.put(rows, saved)
        given = {one.part_id for one in rows}
        if reading.entire and not reading.whole:
            writer.remove_missing("message", message_row, given, saved)
        return given

    def _progress(self, session: int, stamp: str, mark: str) -> None:
        self.db.execute(
            "UPDATE session SET stamp = ?, mark = ? WHERE id = ?", (stamp, mark, session)
        )

    def _deletions(self, survey: Survey, identity: object) -> Iterator[Event]:
        """Follow deletions, where they can be believed; else mark what is gone."""
        if survey.present is None:
            return
        db, source = self.db, self.source
        rows = db.execute(
            "SELECT id, key, session_id, gone FROM session WHERE root = ?", (self.root,)
        ).fetchall()
        back = [(id,) for id, key, _, gone in rows if gone and key in survey.present]
        db.executemany("UPDATE session SET gone = 0 WHERE id = ?", back)
        gone = [row for row in rows if row[1] not in survey.present]
        if not gone:
            return
        fresh = [row for row in gone if not row[3]]
        replaced = bool(identity) and identity != survey.identity
        believed = survey.alive and not replaced and 2 * len(fresh) <= len(rows)
        if not (self.options.accept_deletions or (believed and fresh)):
            if fresh:
                db.executemany(
                    "UPDATE session SET gone = 1 WHERE id = ?", [row[:1] for row in fresh]
                )
                yield Vanished(source=source.name, root=str(source.root), sessions=len(fresh))
            return
        writer = Writer(db, self.root, source.name, self.options.kinds)
        for id, _, session_id, _ in gone if self.options.accept_deletions else fresh:
            db.execute("BEGIN IMMEDIATE")
            parts = writer.remove_session(id)
            db.execute("COMMIT")
            yield Removed(source=source.name, session=session_id, parts=parts)

    def _finish(self, survey: Survey, stamp: str, *, whole: bool, verified: bool) -> None:
        now = self.now()
        values: dict[str, object] = {"id": self.root, "identity": survey.identity, "now": now}
        # A file system's clock may be coarse: a stamp as young as this may hide a change.
        values["stamp"] = stamp if whole and not _is_young(stamp, now) else ""
        values["memory"] = survey.memory
        values["skipped"], values["why"] = self.skipped, self.why
        sql = "UPDATE root SET identity = :identity, error = NULL, gone = 0, time_read = :now"
        if whole and self.options.since is None:
            sql += ", stamp = :stamp, memory = :memory"
        if whole and verified:
            sql += ", time_verified = :now, skipped = :skipped, skipped_why = :why"
        self.db.execute(f"{sql} WHERE id = :id", values)

    def failed(self, why: str) -> None:
        """Note that the source could not be had; its rows stay."""
        if self.root:
            gone = int(not self.source.root.exists())
            self.db.execute(
                "UPDATE root SET error = ?, gone = ? WHERE id = ?", (why, gone, self.root)
            )


def _is_young(stamp: str, now: int) -> bool:
    """Whether one of the times (nanoseconds) in a stamp is less than two seconds old."""
    times = [int(word) for word in stamp.split() if word.isdigit() and len(word) == 19]  # noqa: PLR2004
    return any(now - time // 1_000_000 < _COARSE_MS for time in times)


def _forgotten(db: Connection, source: str) -> frozenset[tuple[str, str]]:
    return frozenset(db.execute("SELECT level, id FROM forgotten WHERE source = ?", (source,)))


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
