"""A source that is whatever a test says it is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.errors import SourceError
from mimohist.records import Kind, Mark, Message, Part, Session, Skipped
from mimohist.sources.source import Candidate, Reading, Survey

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Item = Message | Skipped | Mark

START = 1_700_000_000_000


def said(id: str, text: str, *, at: int = 0, kind: Kind = Kind.USER_TEXT) -> Part:
    """Make a part of text, `at` milliseconds after the start."""
    return Part(id=id, kind=kind, at=START + at, body=text)


def message(id: str, *parts: Part, at: int = 0, agent: str = "main") -> Message:
    """Make a message, `at` milliseconds after the start."""
    return Message(id=id, at=START + at, role="user", parts=parts, agent=agent)


@dataclass
class FakeSource:
    """Sessions by key; a test changes them and says `touch`.

    `broken` is what looking at it raises, `breaks_after` how many messages of a session
    are read before it breaks; `partial` keys are read as additions only.
    """

    name: str = "fake"
    root: Path = Path("/nowhere/fake")
    sessions: dict[str, tuple[Session, list[Item]]] = field(default_factory=dict)
    stamps: dict[str, str] = field(default_factory=dict)
    identity: str = "one"
    alive: bool = True
    broken: str = ""
    breaks_after: dict[str, int] = field(default_factory=dict)
    partial: set[str] = field(default_factory=set)
    loads: list[tuple[str, str]] = field(default_factory=list)
    surveys: list[str] = field(default_factory=list)
    changes: int = 0

    def put(self, key: str, *items: Item, at: int = 0, **header: object) -> Session:
        """Make or replace a session, last active `at` milliseconds after the start."""
        session = Session(
            id=f"ses_{key}", title="", directory="/w", at=START, updated=START + at, project_id="p"
        )
        session = replace(session, **header)  # type: ignore[arg-type]
        self.sessions[key] = (session, list(items))
        self.touch(key)
        return session

    def touch(self, key: str) -> None:
        """Say that a session changed."""
        self.changes += 1
        self.stamps[key] = f"v{self.changes}"

    def drop(self, *keys: str) -> None:
        """Delete sessions."""
        for key in keys:
            del self.sessions[key]
        self.changes += 1

    def stamp(self) -> str:
        return f"c{self.changes}"

    def survey(self, memory: str) -> Survey:
        self.surveys.append(memory)
        if self.broken:
            raise SourceError(self.broken)
        return Survey(
            candidates=tuple(
                Candidate(key, self.stamps[key], session.updated)
                for key, (session, _) in self.sessions.items()
            ),
            present=frozenset(self.sessions),
            memory=f"m{self.changes}",
            identity=self.identity,
            alive=self.alive,
        )

    def load(self, candidate: Candidate, mark: str) -> Reading:
        self.loads.append((candidate.key, mark))
        session, items = self.sessions[candidate.key]
        partial = candidate.key in self.partial or bool(mark)
        messages = self._read(candidate.key, items)
        return Reading(session=session, messages=messages, whole=not partial)

    def _read(self, key: str, items: list[Item]) -> Iterator[Item]:
        for number, item in enumerate(items):
            if number == self.breaks_after.get(key):
                raise SourceError("it broke")
            yield item

    def peek(self, session: str, messages: Sequence[str]) -> Iterator[Message]:
        del session, messages
        return iter(())
