"""The shared vocabulary: a session holds messages, a message holds parts.

Plain values without behaviour.  Sources make them, the store keeps them, the
query core gives them back.  All times are epoch milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from mimohist.kinds import PENDING, Kind, Machine

__all__ = ("PENDING", "Kind", "Machine", "Mark", "Message", "Part", "Session", "Skipped", "Usage")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One piece of a message, cleaned by `text.clean`.

    `kind` is the kind of the row: a tool call is `tool_output` when it completed
    and `tool_error` when it failed (pending and running ones are `tool_input`);
    `tool_input` as a search kind means the `body` side of any of these.
    `body` is the text as said, or the tool's input as its string values, one a
    line; `output` is what the tool gave back, or its error text.  `cut` is
    machine text that stood inside `body` and was taken out of it.
    `at` is when the part was made (epoch milliseconds).
    `compacted` says that the source itself has trimmed or blanked this text: what was
    stored before is fuller and stays; a blank one that was never stored is not.
    """

    id: str
    kind: Kind
    at: int
    body: str
    output: str = ""
    cut: str = ""
    tool: str | None = None
    status: str | None = None
    machine: Machine | None = None
    compacted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one message cost: money in US dollars, tokens as the source counts them."""

    cost: float | None = None
    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn; `id` is the source's own and survives a reindex.

    `agent` is the slice of the conversation (`main`, `explore-1`), `agent_name`
    the kind of agent that wrote it (`build`, `explore`).  `unindexed` names the
    types of the parts that hold no text, for counting (`step-start`).
    """

    id: str
    at: int
    role: str
    parts: tuple[Part, ...]
    agent: str = "main"
    agent_name: str | None = None
    machine: Machine | None = None
    model: str | None = None
    provider: str | None = None
    usage: Usage | None = None
    unindexed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation's header as its source tells it.

    `directory` is where it ran, `worktree` the checkout that it belongs to ("" or
    "/" when there is none), `path` the file that holds it.  `mirrors` is
    (source, session id) of the conversation that this one was imported from.  `titled` is
    False when the title is but the beginning of what was said, which is found by itself.
    """

    id: str
    title: str
    directory: str
    at: int
    updated: int
    project_id: str = ""
    worktree: str = ""
    path: str = ""
    parent_id: str | None = None
    version: str | None = None
    archived: int | None = None
    machine: Machine | None = None
    mirrors: tuple[str, str] | None = None
    titled: bool = True


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that could not be read: where it stands and why, in words."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Mark:
    """All that came before it is whole: what to give `load` to go on from here."""

    text: str
