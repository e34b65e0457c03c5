"""What a backfill tells: frozen values, in the order in which things happen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter

    from mimohist.records import Skipped


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
    """Sessions, or messages of them, are gone in a way that proves no deletion: they stay."""

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
