"""Codex (CLI, IDE, Desktop): `sessions/YYYY/MM/DD/rollout-*.jsonl`, and the archived ones.

The folder is `$CODEX_HOME`, else `~/.codex`.  Archiving moves a rollout to `archived_sessions/`,
and cold ones are compressed (`.jsonl.zst`): a rollout is known by its name, wherever it lies.
The earliest ones (2025) are bare items without an envelope, or one JSON document.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.errors import SourceError
from mimohist.sources import files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import BinaryIO

    from mimohist.records import Mark, Message, Skipped
    from mimohist.sources.codex_head import Head
    from mimohist.sources.files import File
    from mimohist.sources.jsonl import Bookmark
    from mimohist.sources.source import Candidate, Reading, Survey

NAME = "codex"

_ENDINGS = (".jsonl", ".json", ".jsonl.zst")
"""What a rollout's name ends with; of two files the earlier ending is the one to read."""

_FOLDERS = ("sessions", "archived_sessions")
_DEPTH = 4


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Codex]:
    """Give the folder of Codex if there is one, and the configured ones."""
    own = environ.get("CODEX_HOME", "")
    found = {Path(own) if own else home / ".codex": False}
    found.update(dict.fromkeys(roots, True))
    for folder, asked_for in found.items():
        if asked_for or any((folder / name).is_dir() for name in _FOLDERS):
            yield Codex(folder)


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each root's path with its stamp; those that cannot be looked at have none."""
    return files.glance(find(environ, home, roots))


class Codex:
    """One folder of rollouts."""

    name = NAME

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, File] = {}
        self._names: tuple[str, dict[str, str]] = ("", {})

    def stamp(self) -> str:
        """Tell by `stat` alone what the rollouts look like."""
        found = {file.path: file for file in self._files().values()}
        packed = any(path.endswith(".zst") for path in found)
        return files.stamp(found, _unpacking() if packed else "")

    def survey(self, memory: str) -> Survey:
        """Look at every rollout once."""
        found = self._known = self._files()
        return files.survey(found, memory, {key: self._stamp(one) for key, one in found.items()})

    def load(self, candidate: Candidate, mark: str) -> Reading:
        """Read one rollout, from `mark` on if it only grew since."""
        from mimohist.sources import codex_head, jsonl, transcript
        from mimohist.sources.codex_files import opened, records
        from mimohist.sources.source import Reading

        path = self._path(candidate.key)
        head = codex_head.Head(path)
        place: Bookmark | None = None
        archived = f"{os.sep}archived_sessions{os.sep}" in str(path)
        try:
            with opened(path) as file:
                if file.seekable():
                    place = jsonl.find(file, mark) if mark else None
                    head.updated = transcript.last_time(file)
                if place:
                    head.state = dict(place.state.get("head", {}))
                codex_head.learn(head, records(file, path, place.at if place else 0))
        except FileNotFoundError as error:
            raise LookupError(candidate.key) from error
        except OSError as error:
            session = head.session(candidate.at, "", archived=archived)
            return transcript.unreadable(session, candidate.key, error)
        name = self._thread_names().get(head.id, "")
        return Reading(
            session=head.session(candidate.at, transcript.first_line(name), archived=archived),
            messages=transcript.guarded(
                self._messages(path, candidate, place, head), candidate.key
            ),
            whole=place is None,
            entire=False,
        )

    def peek(self, session: str, messages: Sequence[str]) -> Iterator[Message]:
        """Give nothing: what was read before a message would have to be read again."""
        del session, messages
        return iter(())

    def _messages(
        self, path: Path, candidate: Candidate, place: Bookmark | None, head: Head
    ) -> Iterator[Message | Skipped | Mark]:
        from mimohist.sources import transcript
        from mimohist.sources.codex_copies import Copies
        from mimohist.sources.codex_files import opened, records
        from mimohist.sources.codex_records import Records

        def copies(parent: str, taken: int) -> Copies:
            return Copies(self._rollout_of, parent, taken, frozenset({head.id}))

        with opened(path) as file:
            reader = Records(
                prefix=head.prefix,
                head=head.state,
                read=lambda at: transcript.record_at(file, at),
                copies=copies,
                state=place.state if place else {"time": head.begun(candidate.at)},
            )
            if path.name.endswith(".json"):
                for number, record in enumerate(records(file, path, 0)):
                    reader.take(record, number)
                    yield from reader.turns.done()
                yield from reader.turns.end()
            else:
                at = place.at if place else 0
                marks = file.seekable()
                yield from transcript.messages(file, at, reader, candidate.key, marks=marks)

    def _rollout_of(self, id: str) -> BinaryIO | None:
        """Open the rollout of a thread, None when it is not here any more."""
        from mimohist.sources.codex_files import opened

        self._known = self._known or self._files()
        for key, file in self._known.items():
            if key.endswith(id):
                try:
                    return opened(Path(file.path))
                except OSError:
                    return None
        return None

    def _path(self, key: str) -> Path:
        known = self._known.get(key) or self._files().get(key)
        if known is None:
            raise LookupError(key)
        return Path(known.path)

    def _stamp(self, file: File) -> str:
        folder = file.path[len(str(self.root)) + 1 :].partition(os.sep)[0]
        packed = f" {_unpacking()}" if file.path.endswith(".zst") else ""
        return f"{file.stamp} {folder}{packed}"

    def _thread_names(self) -> dict[str, str]:
        """Read what threads were named, from a list that Codex keeps; the last name counts."""
        from mimohist.sources.codex_files import records
        from mimohist.sources.jsonl import text_in

        path = self.root / "session_index.jsonl"
        try:
            found = path.stat()
            stamp = f"{found.st_size} {found.st_mtime_ns}"
            if self._names[0] != stamp:
                with path.open("rb") as file:
                    names = {
                        text_in(one, "id"): text_in(one, "thread_name")
                        for one in records(file, path, 0)
                    }
                self._names = (stamp, names)
        except OSError:
            return {}
        return self._names[1]

    def _files(self) -> dict[str, File]:
        root = str(self.root)
        folders = [os.path.join(root, name) for name in _FOLDERS]  # noqa: PTH118
        folders = [folder for folder in folders if os.path.isdir(folder)] or [root]  # noqa: PTH112
        if folders == [root] and not os.path.isdir(root):  # noqa: PTH112
            raise SourceError(f"{root}: no such folder")
        found: dict[str, tuple[int, File]] = {}
        for folder in folders:
            _collect(folder, found, _DEPTH)
        return {key: file for key, (_, file) in found.items()}


def _collect(folder: str, found: dict[str, tuple[int, File]], depth: int) -> None:
    for entry in files.entries(folder):
        name = entry.name
        if name.startswith("rollout-"):
            for rank, ending in enumerate(_ENDINGS):
                key = name.removesuffix(ending)
                if key == name or (key in found and found[key][0] <= rank):
                    continue
                file = files.seen(entry)
                if file:
                    found[key] = (rank, file)
        elif depth and entry.is_dir():
            _collect(entry.path, found, depth - 1)


def _unpacking() -> str:
    from mimohist.sources.zstd import READERS, reader

    return "packed" if reader() is None else READERS
