"""One history of aider: its sessions found, and one of them read from where one left off.

aider only appends.  A session is known by when it began, which stands in its first line, and a
message by its distance from there: whoever cuts old sessions away changes nothing of the
others.  What stands before the first such line is a session too.
"""

from __future__ import annotations

import json
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, BinaryIO, NamedTuple
from zlib import crc32

from mimohist.errors import SourceError
from mimohist.records import Mark, Session, Skipped
from mimohist.sources import jsonl, transcript
from mimohist.sources.aider import HISTORY, NAME
from mimohist.sources.aider_lines import Lines, header
from mimohist.sources.source import Candidate, Reading, Survey
from mimohist.sources.stamps import reason, stamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mimohist.records import Message
    from mimohist.sources.jsonl import Bookmark

_BEFORE = "start"
"""The key of what stands before the first session."""

_STRIDE = 4 << 20
_HEAD = 64 << 10
_LIMIT = jsonl.LINE_LIMIT >> 20


class _Found(NamedTuple):
    """A session in the file: key, first byte, number of bytes and their checksum, time."""

    key: str
    start: int
    length: int
    sum: int
    at: int


class Aider:
    """One file."""

    name = NAME

    def __init__(self, root: Path) -> None:
        self.root = root
        self._found: dict[str, _Found] = {}
        self._id = blake2b(str(root).encode("utf-8", "replace"), digest_size=4).hexdigest()

    def stamp(self) -> str:
        """Tell by `stat` alone what the file looks like."""
        return stamp(self.root)

    def survey(self, memory: str) -> Survey:
        """Find the sessions; of a file that only grew, from the last one on."""
        try:
            with self.root.open("rb") as file:
                known = _remembered(file, memory)
                found = _scan(file, known, self._written())
                start = found[-1].start if found else 0
                kept = json.dumps(
                    {"mark": jsonl.bookmark(file, start, {}), "sessions": found},
                    separators=(",", ":"),
                )
        except OSError as error:
            raise SourceError(f"{self.root}: {reason(error)}") from error
        self._found = {one.key: one for one in found}
        seen = set(known)
        new = [one for one in found if one not in seen]
        return Survey(
            candidates=tuple(
                Candidate(one.key, f"{one.length} {one.sum:08x}", one.at) for one in reversed(new)
            ),
            present=frozenset(self._found),
            memory=kept,
            identity="",
            alive=False,
        )

    def load(self, candidate: Candidate, mark: str) -> Reading:
        """Read one session, from `mark` on if it only grew since."""
        key = candidate.key
        if key not in self._found:
            self.survey("")
        found = self._found.get(key)
        if found is None:
            raise LookupError(key)
        try:
            with self.root.open("rb") as file:
                if not _begins(file, found):
                    raise LookupError(key)
                place = jsonl.find(file, mark) if mark else None
                if place and place.at < found.start:
                    place = None
                title = (place.state.get("title") if place else None) or _title(file, found.start)
        except OSError as error:
            session = self._session(found, "")
            return transcript.unreadable(session, key, error)
        return Reading(
            session=self._session(found, title),
            messages=transcript.guarded(self._messages(found, place), key),
            whole=place is None,
        )

    def peek(self, session: str, messages: Sequence[str]) -> Iterator[Message]:
        """Give nothing: all states are indexed."""
        del session, messages
        return iter(())

    def _written(self) -> int:
        return self.root.stat().st_mtime_ns // 1_000_000

    def _session(self, found: _Found, title: str) -> Session:
        # A file of another name may be one for many repositories.
        directory = str(self.root.parent) if self.root.name == HISTORY else ""
        return Session(
            id=f"{self._id}-{found.key}",
            title=title,
            directory=directory,
            at=found.at,
            updated=found.at,
            path=str(self.root),
            titled=False,
        )

    def _messages(
        self, found: _Found, place: Bookmark | None
    ) -> Iterator[Message | Skipped | Mark]:
        prefix = f"{self._id}-{found.key}"
        with self.root.open("rb") as file:
            at = last = place.at if place else found.start
            reader = Lines(prefix, found.start, found.at, place.state if place else {})
            safe = (at, dict(reader.state))
            for line in _lines(file, at, found.start):
                if line.data is None:
                    size = line.end - line.at
                    why = f"a line of {size} bytes, more than {_LIMIT} MiB of text"
                    yield Skipped(f"{self.root.name} byte {line.at}", why)
                    continue
                text = line.data.decode("utf-8", "replace")
                yield from reader.take(text, line.at, whole=line.whole)
                if line.whole:
                    safe = reader.safe or safe
                if safe[0] - last >= _STRIDE:
                    last = safe[0]
                    yield Mark(jsonl.bookmark(file, *safe))
            yield from reader.end()
            yield Mark(jsonl.bookmark(file, *safe))


def _lines(file: BinaryIO, at: int, start: int) -> Iterator[jsonl.Line]:
    """Give the lines of the session that begins at byte `start`, without its first."""
    for line in jsonl.lines(file, at):
        if header(line.data or b"") is None:
            yield line
        elif line.at != start:
            return


def _scan(file: BinaryIO, known: list[_Found], written: int) -> list[_Found]:
    """Find the sessions of a file; `known` are those that need not be looked for again."""
    at = known[-1].start if known else 0
    found = known[:-1]
    keys = {one.key for one in found}
    key, start, sum, begun = _BEFORE, at, 0, 0
    end = at  # of the last line with something in it: each session begins with a blank one
    for line in jsonl.lines(file, at):
        said = header(line.data or b"")
        if said is not None:
            if end > start:
                found.append(_Found(key, start, end - start, sum, begun))
            begun = _epoch(said, written)
            key = _unused(_short(said), keys)
            start, sum = line.at, 0
        if line.data is None or not line.data.isspace():
            sum = crc32(line.data or b"%d" % (line.end - line.at), sum)
            end = line.end
    if end > start:
        found.append(_Found(key, start, end - start, sum, begun))
    if found and found[0].key == _BEFORE:
        found[0] = found[0]._replace(at=found[1].at if len(found) > 1 else written)
    return found


def _unused(key: str, keys: set[str]) -> str:
    """Tell apart sessions that began in one second."""
    made, number = key, 1
    while made in keys:
        number += 1
        made = f"{key}.{number}"
    keys.add(made)
    return made


def _short(said: str) -> str:
    return said.replace("-", "").replace(":", "").replace(" ", "T")


def _begins(file: BinaryIO, one: _Found) -> bool:
    """Whether a session still begins where it was found."""
    said = next((header(line.data or b"") for line in jsonl.lines(file, one.start)), None)
    return (said is None) == (one.key == _BEFORE) and (
        said is None or one.key.partition(".")[0] == _short(said)
    )


def _title(file: BinaryIO, start: int) -> str:
    """Give the first line of what was asked first, where it stands near the beginning."""
    reader = Lines("", start, 0, {})
    for line in _lines(file, start, start):
        for _ in reader.take((line.data or b"").decode("utf-8", "replace"), line.at):
            if reader.state["title"]:
                return str(reader.state["title"])
        if line.end - start > _HEAD:
            break
    for _ in reader.end():
        pass
    return str(reader.state["title"] or "")


def _epoch(said: str, otherwise: int) -> int:
    """Read a time of this machine (epoch ms); else when the file was written."""
    try:
        return int(datetime.strptime(said, "%Y-%m-%d %H:%M:%S").timestamp()) * 1000  # noqa: DTZ007
    except (ValueError, OverflowError, OSError):
        return otherwise


def _remembered(file: BinaryIO, memory: str) -> list[_Found]:
    """Give the sessions of an earlier look, none when the file was rewritten since."""
    try:
        kept = json.loads(memory) if memory else {}
        known = [_Found(*one) for one in kept["sessions"]]
        return known if jsonl.find(file, kept["mark"]) else []
    except (ValueError, TypeError, KeyError):
        return []
