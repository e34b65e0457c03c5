"""goose's older files: `<id>.jsonl`, a header line and then a message a line.

goose 1.10 took them into its database under the same ids.  Those that are there are not read
here; whoever deletes one of them in goose has still the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mimohist.errors import SourceError
from mimohist.records import Session
from mimohist.sources import files
from mimohist.sources.goose import DATABASE, NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any, BinaryIO

    from mimohist.records import Mark, Message, Skipped
    from mimohist.sources.files import File
    from mimohist.sources.goose_records import Records
    from mimohist.sources.jsonl import Bookmark, Record
    from mimohist.sources.source import Candidate, Reading, Survey

_ENDING = ".jsonl"


class _Lines:
    """What `transcript.messages` calls a reader."""

    def __init__(self, records: Records) -> None:
        self.turns = records.turns
        self.take = records.record
        self.saved = records.saved


class GooseFiles:
    """One folder of sessions."""

    name = NAME

    def __init__(self, root: Path) -> None:
        self.root = root

    def stamp(self) -> str:
        """Tell by `stat` alone what the files look like, and whether a database is beside them."""
        return files.stamp(self._files(), "database" if self._database.exists() else "")

    def survey(self, memory: str) -> Survey:
        """Look at every file once."""
        found = self._files()
        moved = self._moved()
        stamps = {key: file.stamp for key, file in found.items() if key not in moved}
        return files.survey(found, memory, stamps)

    def load(self, candidate: Candidate, mark: str) -> Reading:
        """Read one session, from `mark` on if its file only grew since."""
        from mimohist.sources import jsonl, transcript
        from mimohist.sources.source import Reading

        path = self._path(candidate.key)
        place: Bookmark | None = None
        head: Record = {}
        try:
            with path.open("rb") as file:
                place = jsonl.find(file, mark) if mark else None
                head = _header(file)
        except FileNotFoundError as error:
            raise LookupError(candidate.key) from error
        except OSError as error:
            session = self._session(candidate, head, path)
            return transcript.unreadable(session, candidate.key, error)
        session = self._session(candidate, head, path)
        return Reading(
            session=session,
            messages=transcript.guarded(
                self._messages(path, candidate.key, place, session.at), candidate.key
            ),
            whole=place is None,
            entire=False,
        )

    def peek(self, session: str, messages: Sequence[str]) -> Iterator[Message]:
        """Give nothing: a message's place in its file is not known."""
        del session, messages
        return iter(())

    def _session(self, candidate: Candidate, head: Record, path: Path) -> Session:
        from mimohist.sources.jsonl import epoch_ms, text_in
        from mimohist.sources.transcript import place
        from mimohist.text import clean

        directory, project = place(clean(text_in(head, "working_dir")))
        return Session(
            id=candidate.key,
            title=clean(text_in(head, "description")),
            directory=directory,
            project_id=project,
            at=_begun(candidate.key) or epoch_ms(head.get("created_at")) or candidate.at,
            updated=candidate.at,
            path=str(path),
        )

    def _messages(
        self, path: Path, key: str, place: Bookmark | None, begun: int
    ) -> Iterator[Message | Skipped | Mark]:
        from mimohist.sources import transcript
        from mimohist.sources.goose_records import Records

        with path.open("rb") as file:
            records = Records(
                key,
                begun,
                read=lambda at: transcript.record_at(file, at),
                state=place.state if place else None,
            )
            at = place.at if place else 0
            yield from transcript.messages(file, at, _Lines(records), key)

    def _path(self, key: str) -> Path:
        known = self._files().get(key)
        if known is None:
            raise LookupError(key)
        return self.root / f"{key}{_ENDING}"

    @property
    def _database(self) -> Path:
        return self.root / DATABASE

    def _moved(self) -> list[str]:
        """Give the ids of the sessions that the database beside the files holds."""
        if not self._database.exists():
            return []
        from mimohist.sources import sqlite

        try:
            with sqlite.reading(self._database) as db:
                if "id" not in sqlite.columns(db, "sessions"):
                    return []
                return [id for (id,) in db.execute("SELECT id FROM sessions")]
        except SourceError:
            return []  # it is told of where it is read; the files are better than nothing

    def _files(self) -> dict[str, File]:
        if not self.root.is_dir():
            raise SourceError(f"{self.root}: no such folder")
        found: dict[str, File] = {}
        for entry in files.entries(str(self.root)):
            if entry.name.endswith(_ENDING):
                file = files.seen(entry)
                if file:
                    found[entry.name.removesuffix(_ENDING)] = file
        return found


def _header(file: BinaryIO) -> Record:
    """Read the first line, which tells of the session; empty where it does not."""
    from mimohist.sources.transcript import record_at

    head: dict[str, Any] = record_at(file, 0) or {}
    return {} if "content" in head else head


def _begun(key: str) -> int | None:
    """Read when a session began from its name: `20250724_101112`, in local time (epoch ms)."""
    from datetime import datetime

    try:
        return int(datetime.strptime(key, "%Y%m%d_%H%M%S").timestamp()) * 1000  # noqa: DTZ007
    except (ValueError, OverflowError, OSError):
        return None
