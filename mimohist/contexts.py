"""What `around` gives: a window of messages with everything that is needed to show it.

Plain values; all times are epoch milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimohist.kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPart:
    """One side of a part as `around` shows it: a call is one, its result another.

    `kind` is `tool_input` for a call.  `text` is as said; `machine` why it is not
    somebody's words.  `indexed` is False for what only the source holds.
    """

    part_id: str
    kind: Kind
    tool: str | None
    status: str | None
    machine: str | None
    text: str
    indexed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMessage:
    """One message of a window; `ordinal` counts from 1 over all slices of its session."""

    ref: str
    message_id: str
    agent: str
    agent_name: str | None
    ordinal: int
    anchor: bool
    role: str
    machine: str | None
    at: int
    parts: tuple[ShownPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A window of messages of one session, oldest first.

    `earlier` and `later` count the messages of the slice before and after the window.
    `slices` names every slice of the session with its number of messages.  `resume` is the
    command that reopens the session in its own program, or None.
    """

    source: str
    session_id: str
    session_ref: str
    title: str
    project: str
    path: str
    at: int
    gone: bool
    resume: tuple[str, ...] | None
    messages: tuple[ShownMessage, ...]
    earlier: int
    later: int
    slices: tuple[tuple[str, int], ...]
