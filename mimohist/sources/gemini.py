"""Gemini CLI (0.1 to 0.4x): `tmp/<project>/chats/session-*.json`, since 0.39 `.jsonl`.

The folder is `$GEMINI_CLI_HOME/.gemini`, else `~/.gemini`.  A project's folder is named by the
SHA-256 of its directory, later by a word that `projects.json` explains.  Sub-agents' sessions lie
in a folder named by the session that started them.  One that was begun as `.json` and gone on
with is written as `.jsonl` beside it, which then counts.  Gemini CLI deletes sessions after 30
days by itself, so one that is gone was deleted by nobody.  Qwen Code wrote the same at first.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.errors import SourceError
from mimohist.sources import files
from mimohist.sources.stamps import reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mimohist.records import Mark, Message, Session, Skipped
    from mimohist.sources.files import File
    from mimohist.sources.gemini_log import Log
    from mimohist.sources.source import Candidate, Reading, Survey

NAME = "gemini"

_ENDINGS = (".jsonl", ".json")
"""Of two files of one session the earlier ending is the one to read."""


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Chats]:
    """Give the folder of projects if there is one, and the configured ones."""
    own = environ.get("GEMINI_CLI_HOME", "")
    yield from chats(NAME, (Path(own) if own else home) / ".gemini", roots)


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each root's path with its stamp; those that cannot be looked at have none."""
    return files.glance(find(environ, home, roots))


def chats(name: str, usual: Path, roots: Sequence[Path]) -> Iterator[Chats]:
    """Give the `tmp` of a program's folder if there is one, and those of configured folders."""
    found = {usual / "tmp": False}
    for root in roots:
        inner = (root / ".gemini" / "tmp", root / "tmp")
        found[next((one for one in inner if one.is_dir()), root)] = True
    for place, asked_for in found.items():
        if asked_for or place.is_dir():
            yield Chats(place, name)


class Chats:
    """One folder of projects, each with a folder of sessions, of the program `name`."""

    def __init__(self, root: Path, name: str = NAME) -> None:
        self.root = root
        self.name = name
        self._known: dict[str, File] = {}

    def stamp(self) -> str:
        """Tell by `stat` alone what the sessions look like."""
        found = self._known = self._files()
        return files.stamp(found)

    def survey(self, memory: str) -> Survey:
        """Look at every session once."""
        self._known = self._files()
        return files.survey(self._known, memory)

    def load(self, candidate: Candidate, mark: str) -> Reading:
        """Read a session, all of it whatever `mark` says: what is appended may take back."""
        del mark
        from mimohist.sources import gemini_log, transcript
        from mimohist.sources.source import Reading

        # A path is never made from a key, which may come from an index that somebody else wrote.
        known = self._known.get(candidate.key) or self._files().get(candidate.key)
        if known is None:
            raise LookupError(candidate.key)
        path = Path(known.path)
        try:
            log = gemini_log.read(path)
        except FileNotFoundError as error:
            raise LookupError(candidate.key) from error
        except OSError as error:
            session = self._session(path, gemini_log.Log(), candidate)
            return transcript.unreadable(session, candidate.key, error)
        return Reading(
            session=self._session(path, log, candidate),
            messages=transcript.guarded(self._messages(path, log, candidate), candidate.key),
            whole=not log.broken,
            entire=False,
        )

    def peek(self, session: str, messages: Sequence[str]) -> Iterator[Message]:
        """Give nothing: a session would have to be read whole."""
        del session, messages
        return iter(())

    def _session(self, path: Path, log: Log, candidate: Candidate) -> Session:
        from mimohist.sources import gemini_head

        return gemini_head.session(path, self.root, log, candidate.at)

    def _messages(
        self, path: Path, log: Log, candidate: Candidate
    ) -> Iterator[Message | Skipped | Mark]:
        from hashlib import blake2b

        from mimohist.sources.gemini_records import Records
        from mimohist.sources.jsonl import epoch_ms

        yield from log.skipped(candidate.key)
        reader = Records(
            prefix=blake2b(candidate.key.encode(), digest_size=5).hexdigest(),
            time=epoch_ms(log.meta.get("startTime")) or candidate.at,
            spawned=path.parent.name != "chats",
        )
        for id, record in log.messages(path):
            yield reader.message(id, record)

    def _files(self) -> dict[str, File]:
        root = str(self.root)
        try:
            os.scandir(root).close()
        except OSError as error:
            raise SourceError(f"{root}: {reason(error)}") from error
        found: dict[str, tuple[int, File]] = {}
        for project in files.entries(root):
            folder = os.path.join(project.path, "chats")  # noqa: PTH118
            for entry in files.entries(folder):
                if entry.name.endswith(_ENDINGS):
                    _note(entry, len(root) + 1, found)
                elif entry.is_dir():
                    for inner in files.entries(entry.path):
                        _note(inner, len(root) + 1, found)
        return {key: file for key, (_, file) in found.items()}


def _note(entry: os.DirEntry[str], start: int, found: dict[str, tuple[int, File]]) -> None:
    for rank, ending in enumerate(_ENDINGS):
        if entry.name.endswith(ending):
            key = entry.path[start:].removesuffix(ending)
            file = files.seen(entry)
            if file and (key not in found or rank < found[key][0]):
                found[key] = (rank, file)
            return
