"""The shape of a source: what the index expects of whoever reads a program's sessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mimohist.records import Mark, Message, Session, Skipped


class Candidate(NamedTuple):
    """A session that exists at its source and may have changed.

    `key` names it within its root (a session id, a file's path below the root);
    `stamp` differs when the session does; `at` is its last activity (epoch
    milliseconds), by which the newest is read first.
    """

    key: str
    stamp: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """One cheap look over a root.

    `candidates` are the sessions that may have changed since `memory` was made, all
    of them when it was empty; `present` holds the keys of every session there is, or
    None when nobody looked; `memory` is what to give the next survey once all
    candidates are stored; `identity` differs when the database was replaced;
    `alive` is False when what is there cannot prove a deletion (a file that vanished
    may be retention clean-up).
    """

    candidates: tuple[Candidate, ...]
    present: frozenset[str] | None
    memory: str
    identity: str
    alive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What `load` gives: the session's header and its messages as they are read.

    `whole` says that the parts among `messages` are all that the session has, so
    what is stored beside them is gone from the source; otherwise they are to be
    added or replaced.  `messages` is lazy: a bad record comes as `Skipped`; a `Mark`
    says that everything before it can be committed and need not be read again.
    A part given again replaces the earlier one.  `entire` says that each message comes
    with all of its parts, so that what is stored beside them is gone.
    """

    session: Session
    messages: Iterator[Message | Skipped | Mark]
    whole: bool = True
    entire: bool = True


class Source(Protocol):
    """One root of one program's sessions: a database, or a folder of transcripts.

    Methods raise `SourceError` when the root cannot be had.  Nothing is ever
    written beside or into it.
    """

    @property
    def name(self) -> str:
        """The source's name: the first word of its refs."""

    @property
    def root(self) -> Path:
        """The database or folder that is read."""

    def stamp(self) -> str:
        """Tell, by `stat` alone, what the root looks like; equal stamps: nothing changed."""

    def survey(self, memory: str) -> Survey:
        """Look for what changed since `memory`, the text of an earlier survey or ""."""

    def load(self, candidate: Candidate, mark: str) -> Reading:
        """Read one session, from `mark` on where the source can ("": from the start).

        Raises `LookupError` when the session is gone since the survey.
        """

    def peek(self, session: str, messages: Sequence[str]) -> Iterator[Message]:
        """Give the named messages of a session as they are now, unindexed states included.

        A source that cannot do so cheaply gives nothing.
        """
