"""opencode's sessions as files of JSON (2025-06 to 1.1, before SQLite): a file a part.

`storage/session/<project>/<session>.json`, `storage/message/<session>/<message>.json` and
`storage/part/<message>/<part>.json` lie in the data folder; before that (2025-06) all lay in
`project/<name>/storage/session/{info,message,part}`.  Ids are taken from the paths: files
were moved without being rewritten.  The move to SQLite (1.2) left the files where they were,
so a session that a database beside them holds is not read from them.

A session changed when its file did or a message came or went.  Parts are written in place, and
to look at each costs a `stat`, so that is done for the sessions touched last; what slips
through is found once a day, as with databases.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from mimohist.errors import SourceError
from mimohist.sources import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mimohist.records import Mark, Message, Session, Skipped
    from mimohist.sources.files import File
    from mimohist.sources.source import Candidate, Reading, Survey
    from mimohist.sources.v1_messages import Revert

NAME = "opencode"

FILE_LIMIT = 64 << 20
"""How many bytes of one file are read; what is longer is left out."""

_RECENT_NS = 2 * 86_400 * 10**9
_MOST_RECENT = 20
_OLD = os.path.join("storage", "session", "info")  # noqa: PTH118 - a part of a path


class Place(NamedTuple):
    """Where one session lies: its file, the folder of its messages, that of a message's parts."""

    file: File
    messages: str
    parts: str
    project: str
    header: str
    """The project's own file, "" where there is none."""


class Storage:
    """One such folder, `storage` or the older `project`.

    `databases` gives the databases beside it, which hold what was moved into them.
    """

    name = NAME

    def __init__(self, root: Path, databases: Callable[[], Iterable[Path]]) -> None:
        self.root = root
        self._databases = databases
        self._known: dict[str, Place] = {}

    def stamp(self) -> str:
        """Tell by `stat` alone what the sessions look like.

        Beside a database nothing is written here any more but by an older opencode, so only the
        folders are looked at: that sees new sessions, and a backfill looks closely once a day.
        """
        beside = [str(path) for path in self._databases() if path.exists()]
        if beside:
            return f"{crc32(' '.join([*beside, *_folders(str(self.root))]).encode()):08x}"
        found = self._places()
        stamps = [f"{id} {place.file.stamp} {_written(place)}" for id, place in found.items()]
        latest = max((_written(place) for place in found.values()), default=0)
        return f"{len(found)} {latest} {crc32(chr(10).join(sorted(stamps)).encode()):08x}"

    def survey(self, memory: str) -> Survey:
        """Look at every session's file, and closely at those of the last."""
        from mimohist.sources.source import Survey

        found = self._known = self._places()
        held = self._held()
        times = {id: max(place.file.written, _written(place)) for id, place in found.items()}
        newest = max(times.values(), default=0)
        recent = sorted(times, key=lambda id: -times[id])[:_MOST_RECENT] if memory else [*times]
        close = {id for id in recent if not memory or times[id] >= newest - _RECENT_NS}
        stamps = {
            id: (_stamp(place, close=id in close), times[id] // 1_000_000)
            for id, place in found.items()
            if id not in held
        }
        candidates, memory = _changed(stamps, memory, close)
        about = self.root.stat()
        return Survey(
            candidates=tuple(candidates),
            present=frozenset(found),
            memory=memory,
            identity=f"{about.st_dev}:{about.st_ino}",
            alive=True,
        )

    def load(self, candidate: Candidate, mark: str) -> Reading:
        """Read a session, all of it whatever `mark` says."""
        del mark
        from mimohist.sources.source import Reading

        place = self._place(candidate.key)
        header = _decoded(place.file.path)
        if isinstance(header, str):
            from mimohist.records import Skipped

            session = self._session(candidate.key, place, {}, None)
            where = f"{self.root.name} session {candidate.key}"
            return Reading(session=session, messages=iter([Skipped(where, header)]), whole=False)
        infos, skipped = self._infos(place)
        return Reading(
            session=self._session(candidate.key, place, header, infos),
            messages=self._messages(place, infos, skipped, _revert(header, infos)),
        )

    def peek(self, session: str, messages: Sequence[str]) -> Iterator[Message]:
        """Give messages as they are now."""
        from mimohist.records import Message

        place = self._place(session)
        header = _decoded(place.file.path)
        infos, _ = self._infos(place)
        revert = _revert(header, infos) if isinstance(header, dict) else None
        wanted = [one for one in infos if one.id in messages]
        for item in self._messages(place, wanted, [], revert):
            if isinstance(item, Message):
                yield item

    def _session(
        self, id: str, place: Place, header: dict[str, Any], infos: list[_Info] | None
    ) -> Session:
        from mimohist.records import Session
        from mimohist.sources.jsonl import record_in, text_in
        from mimohist.text import clean

        time = record_in(header, "time")
        created = _number(time.get("created")) or place.file.written // 1_000_000
        directory = text_in(header, "directory")
        if not directory:
            ran = (text_in(record_in(one.data, "path"), "cwd") for one in infos or ())
            directory = next(filter(None, ran), "")
        project = _decoded(place.header) if place.header else {}
        return Session(
            id=id,
            title=clean(text_in(header, "title")),
            directory=clean(directory),
            at=created,
            updated=_number(time.get("updated")) or created,
            project_id=place.project,
            worktree=clean(text_in(project, "worktree")) if isinstance(project, dict) else "",
            path=place.file.path,
            parent_id=text_in(header, "parentID") or None,
            version=text_in(header, "version") or None,
            archived=_number(time.get("archived")),
        )

    def _infos(self, place: Place) -> tuple[list[_Info], list[Skipped]]:
        """Read what is told of a session's messages, in the order of their times."""
        from mimohist.records import Skipped
        from mimohist.sources.jsonl import record_in

        found, skipped = [], []
        for entry in files.entries(place.messages):
            id = _id(entry.name)
            if id is None:
                continue
            data = _decoded(entry.path)
            if isinstance(data, str):
                skipped.append(Skipped(f"{self.root.name} message {id}", data))
                continue
            # The diffs of a whole session may stand here, and a system prompt each time.
            record_in(data, "summary").pop("diffs", None)
            data.pop("system", None)
            at = _number(record_in(data, "time").get("created"))
            found.append(_Info(at or place.file.written // 1_000_000, id, data))
        return sorted(found, key=lambda one: one[:2]), skipped

    def _messages(
        self, place: Place, infos: list[_Info], skipped: list[Skipped], revert: Revert | None
    ) -> Iterator[Message | Skipped | Mark]:
        from mimohist.sources.v1_messages import Messages

        maker = Messages(self.root.name, trusts_part_times=False)
        yield from skipped
        for at, id, data in infos:
            bad: list[Skipped] = []
            parts = _parts(os.path.join(place.parts, id))  # noqa: PTH118
            yield maker.message(id, None, at, data, parts, revert, bad)
            yield from bad

    def _place(self, key: str) -> Place:
        place = self._known.get(key) or self._places().get(key)
        if place is None or not Path(place.file.path).is_file():
            raise LookupError(key)
        return place

    def _held(self) -> set[str]:
        """Give the sessions that a database beside the files holds."""
        from mimohist.sources import sqlite as database

        held: set[str] = set()
        for path in self._databases():
            # One that cannot be read says so as a source of its own.
            with suppress(SourceError), database.reading(path) as db:
                if "session" in database.tables(db):
                    held.update(str(id) for (id,) in db.execute("SELECT id FROM session"))
        return held

    def _places(self) -> dict[str, Place]:
        root = str(self.root)
        if not os.path.isdir(root):  # noqa: PTH112
            raise SourceError(f"{root}: no such folder")
        found = {}
        for place in (*_of_storage(root), *_of_projects(root)):
            id = _id(os.path.basename(place.file.path))  # noqa: PTH119
            if id is not None:
                found[id] = place
        return found


def _folders(root: str) -> Iterator[str]:
    """Tell when the folders last changed that sessions' files lie in.

    Raises `SourceError` when there are none.
    """
    join = os.path.join
    inner = [join(root, "session"), *(join(one.path, _OLD) for one in files.entries(root))]
    folders = [join(root, "message"), *inner]
    folders += [entry.path for folder in inner[:1] for entry in files.entries(folder)]
    found = [(folder, _changed_at(folder)) for folder in folders]
    if not os.path.isdir(root):  # noqa: PTH112
        raise SourceError(f"{root}: no such folder")
    yield from (f"{folder} {at}" for folder, at in found if at)


class _Info(NamedTuple):
    at: int
    id: str
    data: dict[str, Any]


def _of_storage(root: str) -> Iterator[Place]:
    join = os.path.join
    for project in files.entries(join(root, "session")):
        header = join(root, "project", f"{project.name}.json")
        for entry in files.entries(project.path):
            file = files.seen(entry)
            id = _id(entry.name)
            if file and id:
                messages = join(root, "message", id)
                yield Place(file, messages, join(root, "part"), project.name, header)


def _of_projects(root: str) -> Iterator[Place]:
    join = os.path.join
    for project in files.entries(root):
        for entry in files.entries(join(project.path, _OLD)):
            file = files.seen(entry)
            id = _id(entry.name)
            if file and id:
                base = join(project.path, "storage", "session")
                messages, parts = join(base, "message", id), join(base, "part", id)
                yield Place(file, messages, parts, project.name, "")


def _id(name: str) -> str | None:
    return name[:-5] if name.endswith(".json") and len(name) > len(".json") else None


def _written(place: Place) -> int:
    """Say when a message of a session came or went last (epoch ns)."""
    return _changed_at(place.messages)


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116
    except OSError:
        return 0


def _stamp(place: Place, *, close: bool) -> str:
    """Tell what a session's files look like, those of its parts only where it pays."""
    seen = f"{place.file.stamp} {_written(place)}"
    if not close:
        return seen
    sum = 0
    for message in sorted(files.entries(place.messages), key=lambda entry: entry.name):
        parts = os.path.join(place.parts, _id(message.name) or "")  # noqa: PTH118
        for entry in (message, *sorted(files.entries(parts), key=lambda entry: entry.name)):
            if file := files.seen(entry):
                sum = crc32(f"{entry.name} {file.size} {file.written}\n".encode(), sum)
    return f"{seen} {sum:08x}"


def _changed(
    stamps: dict[str, tuple[str, int]], memory: str, close: set[str]
) -> tuple[list[Candidate], str]:
    """Compare stamps; of a session that was not looked at closely its parts' stay as they were."""
    try:
        known = json.loads(memory) if memory else {}
    except ValueError:
        known = {}
    if isinstance(known, dict):
        for id, (stamp, at) in stamps.items():
            before = known.get(id)
            if id not in close and isinstance(before, str) and before.startswith(f"{stamp} "):
                stamps[id] = (before, at)
    return files.changed(stamps, memory)


def _parts(folder: str) -> Iterator[tuple[str, None, str]]:
    for entry in sorted(files.entries(folder), key=lambda entry: entry.name):
        id = _id(entry.name)
        text = _read(entry.path) if id else None
        if id and text is not None:
            yield id, None, text


def _read(path: str) -> str | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read(FILE_LIMIT + 1)
    except OSError:
        return None
    return data.decode("utf-8", "replace") if len(data) <= FILE_LIMIT else ""


def _decoded(path: str) -> dict[str, Any] | str:
    """Read a file's object, or say why there is none."""
    text = _read(path)
    if text is None:
        return "cannot be read"
    if not text:
        return f"empty, or more than {FILE_LIMIT >> 20} MiB"
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    return data if isinstance(data, dict) else "not an object"


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _revert(header: dict[str, Any], infos: list[_Info]) -> Revert | None:
    from mimohist.sources.jsonl import record_in, text_in
    from mimohist.sources.v1_messages import Revert

    revert = record_in(header, "revert")
    message = text_in(revert, "messageID")
    at = next((one.at for one in infos if one.id == message), None)
    return Revert(message, at, text_in(revert, "partID") or None) if at is not None else None
