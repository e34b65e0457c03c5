"""A folder of transcripts that only grow: what such sources have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from mimohist.sources import files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    from mimohist.records import Mark, Message, Session, Skipped
    from mimohist.sources.files import File
    from mimohist.sources.jsonl import Bookmark
    from mimohist.sources.source import Candidate, Reading, Survey
    from mimohist.sources.transcript import Reader


class Head(Protocol):
    """What is known of a transcript before its messages; `state` goes to the next reading."""

    state: dict[str, Any]

    def session(self, seen: int) -> Session:
        """Make it a session; `seen` (epoch ms) is when its file was written."""


H = TypeVar("H", bound=Head)


class Folder(Generic[H]):
    """A source whose sessions are files of JSON lines, each read on from where it was left.

    A subclass says which files there are (by key), and how one is read.
    """

    def __init__(self, root: Path, name: str) -> None:
        self.root = root
        self.name = name
        self._known: dict[str, File] = {}

    def files(self) -> dict[str, File]:
        """Look at every transcript; raises `SourceError` when the folder cannot be listed."""
        raise NotImplementedError

    def beside(self, key: str) -> str:
        """Tell what a session's stamp depends on beside its file."""
        del key
        return ""

    def head(self, file: BinaryIO | None, key: str, path: Path, place: Bookmark | None) -> H:
        """Read a transcript's header, from where an earlier reading left off.

        `file` is None when it cannot be opened.  Raises `LookupError` when it holds no session.
        """
        raise NotImplementedError

    def reader(
        self, file: BinaryIO, candidate: Candidate, head: H, place: Bookmark | None
    ) -> Reader:
        """Give what makes the records of a transcript into messages."""
        raise NotImplementedError

    def stamp(self) -> str:
        """Tell by `stat` alone what the transcripts look like."""
        found = self._known = self.files()
        return files.stamp(found, "\n".join(self.beside(key) for key in sorted(found)))

    def survey(self, memory: str) -> Survey:
        """Look at every transcript once."""
        found = self._known = self.files()
        stamps = {key: f"{file.stamp} {self.beside(key)}".rstrip() for key, file in found.items()}
        return files.survey(found, memory, stamps)

    def load(self, candidate: Candidate, mark: str) -> Reading:
        """Read one transcript, from `mark` on if it only grew since."""
        from mimohist.sources import jsonl, transcript
        from mimohist.sources.source import Reading

        # A path is never made from a key, which may come from an index that somebody else wrote.
        known = self._known.get(candidate.key) or self.files().get(candidate.key)
        if known is None:
            raise LookupError(candidate.key)
        path = Path(known.path)
        try:
            with path.open("rb") as file:
                place = jsonl.find(file, mark) if mark else None
                head = self.head(file, candidate.key, path, place)
        except FileNotFoundError as error:
            raise LookupError(candidate.key) from error
        except OSError as error:
            session = self.head(None, candidate.key, path, None).session(candidate.at)
            return transcript.unreadable(session, candidate.key, error)
        return Reading(
            session=head.session(candidate.at),
            messages=transcript.guarded(
                self._messages(path, candidate, head, place), candidate.key
            ),
            whole=place is None,
            entire=False,
        )

    def peek(self, session: str, messages: Sequence[str]) -> Iterator[Message]:
        """Give nothing: a message's place in its file is not known."""
        del session, messages
        return iter(())

    def _messages(
        self, path: Path, candidate: Candidate, head: H, place: Bookmark | None
    ) -> Iterator[Message | Skipped | Mark]:
        from mimohist.sources import transcript

        with path.open("rb") as file:
            reader = self.reader(file, candidate, head, place)
            yield from transcript.messages(file, place.at if place else 0, reader, candidate.key)
