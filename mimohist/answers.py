"""What a search takes and gives: a `Query` in, an `Answer` out.

Plain values; all times are epoch milliseconds, all offsets are code points.  Named tuples,
not dataclasses, because every search makes these classes anew and that is ten times faster.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mimohist.kinds import Kind


class Mode(StrEnum):
    """How the words of a query are read."""

    WORDS = "words"
    FTS = "fts"
    REGEX = "regex"
    FIXED = "fixed"


class Sort(StrEnum):
    """The order of the hits."""

    RANK = "rank"
    NEWEST = "newest"
    OLDEST = "oldest"


class Query(NamedTuple):
    """Everything `search` may be asked; an unset field does not narrow.

    `words` are the arguments as typed.  `kinds` empty means the default kinds,
    which widen when they give nothing.  `here` is the current directory, from which the
    default scope is taken, `home` the home directory, which is never one; `everywhere`,
    `projects` and `sessions` override it.
    `since` is inclusive, `until` exclusive.  `limit` 0 means all.
    """

    words: tuple[str, ...]
    mode: Mode = Mode.WORDS
    any_word: bool = False
    without: tuple[str, ...] = ()
    ignore_case: bool = False
    kinds: tuple[Kind, ...] = ()
    default_kinds: tuple[Kind, ...] = ()
    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    here: str | None = None
    home: str | None = None
    everywhere: bool = False
    machine: bool = False
    sort: Sort = Sort.RANK
    limit: int = 10
    strict: bool = False
    exact: bool = False
    seconds: float = 10.0
    """How long a literal or regular-expression scan may take before it is cut off."""


class Copy(NamedTuple):
    """Another place where the same text stands, said at the same time."""

    ref: str
    part_id: str


class Hit(NamedTuple):
    """One matching part, with what is needed to name and show it.

    `kind` is `tool_input` when all words are in a tool's input.  `score` grows with
    relevance, None when unranked.  `matches` are half-open ranges of `snippet`.
    `message_id`, `ordinal` and the agents are None for a session's title.  `gone` says
    that the source no longer holds it.
    """

    ref: str
    source: str
    project_id: str
    project: str
    session_id: str
    title: str
    message_id: str | None
    part_id: str
    agent: str | None
    agent_name: str | None
    ordinal: int | None
    kind: Kind
    tool: str | None
    at: int
    score: float | None
    snippet: str
    matches: tuple[tuple[int, int], ...]
    copies: tuple[Copy, ...]
    widened: str | None
    machine: str | None
    path: str
    role: str | None
    gone: bool


class Step(NamedTuple):
    """One thing that a search tried, for `--explain`: what, how many, how long (seconds)."""

    name: str
    detail: str
    found: int | None
    seconds: float


class Answer(NamedTuple):
    """The hits of a search and everything that must be said about them.

    `total` is the number of matches after folding copies, None when only a lower bound
    (`known`) is known.  `scope` is the project directory that the search was confined to by
    default, None when it was not; `sessions` is how many sessions were searched.
    `widened` is "kinds", "any" or None.  `machine_hits` counts hits that only `-a` shows,
    looked for when there is no other; `elsewhere` those in other projects, likewise.
    `cut_off` says that the time limit ended a scan.  `fresh` is when the sources were last
    read.  `other_kinds` says that the index was built for other kinds than the config's.
    """

    hits: tuple[Hit, ...]
    total: int | None
    known: int
    scope: str | None
    sessions: int
    widened: str | None = None
    machine_hits: int = 0
    elsewhere: int = 0
    cut_off: bool = False
    fresh: int | None = None
    steps: tuple[Step, ...] = ()
