"""Records of a transcript made into messages, however many lines each is spread over.

Programs write one answer of a model as several lines, and what a tool gave back as a line of its
own, later.  A message waits here until nothing is to be added to it; a call whose
result has not come is given as running, and what is needed to join it later goes to the mark.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mimohist.records import Kind, Machine, Message, Part
from mimohist.text import clean, split_reminders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mimohist.records import Usage

_RECENT = 4
_CALLS = 256
_WAITING = 32
_CHARACTERS = 4_000_000


@dataclass(slots=True)
class Draft:
    """A message in the making."""

    id: str
    at: int
    role: str = "assistant"
    agent: str = "main"
    agent_name: str | None = None
    machine: Machine | None = None
    model: str | None = None
    provider: str | None = None
    usage: Usage | None = None
    parts: list[Part] = field(default_factory=list)
    unindexed: list[str] = field(default_factory=list)
    open: int = 0

    def take(self) -> Message | None:
        """Give what there is of the message, which from then on is no longer in the draft."""
        if not self.parts and not self.unindexed:
            return None
        message = Message(
            id=self.id,
            at=self.at,
            role=self.role,
            parts=tuple(self.parts),
            agent=self.agent,
            agent_name=self.agent_name,
            machine=self.machine,
            model=self.model,
            provider=self.provider,
            usage=self.usage,
            unindexed=tuple(self.unindexed),
        )
        self.parts.clear()
        self.unindexed.clear()
        return message


@dataclass(slots=True)
class Call:
    """A tool's call that waits for its result: the part without it, and where its line begins."""

    part: Part
    draft: Draft
    line: int


@dataclass(slots=True)
class Turns:
    """The messages that are not given yet.

    `fetch(line, draft id, draft time, call)` reads a call again from the line that an earlier
    reading saw it in; None when it is not there.
    """

    fetch: Callable[[int, str, int, str], Call | None]
    state: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    _recent: dict[str, Draft] = field(default_factory=dict)
    _waiting: dict[str, Draft] = field(default_factory=dict)
    _left: dict[str, tuple[int, str, int]] = field(default_factory=dict)
    _size: int = 0

    def __post_init__(self) -> None:
        for key, id, at in self.state.get("recent", ()):
            self._recent[key] = Draft(id, at)
        for call, (line, id, at) in self.state.get("calls", {}).items():
            self._left[call] = (line, id, at)

    def saved(self) -> dict[str, Any]:
        """Give what another reading needs in order to go on: JSON."""
        calls = {**self._left}
        for key, call in self.calls.items():
            calls[key] = (call.line, call.draft.id, call.draft.at)
        kept = dict([*calls.items()][-_CALLS:])
        recent = [(key, draft.id, draft.at) for key, draft in self._recent.items()]
        return {"recent": recent, "calls": kept}

    def begin(self, id: str, at: int, role: str) -> Draft:
        """Begin a message that one record makes up."""
        draft = self._waiting[id] = Draft(id, at, role)
        return draft

    def draft(self, key: str, id: str, at: int) -> Draft:
        """Give the message that a record belongs to, begun with it unless `key` is known."""
        found = self._recent.pop(key, None) or Draft(id, at)
        found = self._recent[key] = self._waiting.setdefault(found.id, found)
        if len(self._recent) > _RECENT:
            del self._recent[next(iter(self._recent))]
        return found

    def add(self, draft: Draft, part: Part) -> None:
        """Put a part into a message."""
        draft.parts.append(part)
        self._size += len(part.body) + len(part.output)

    def call(self, call: str, part: Part, draft: Draft, line: int) -> None:
        """Note a tool's call, to be joined with its result."""
        if call in self.calls:
            return
        self.calls[call] = Call(part, draft, line)
        draft.open += 1
        if len(self.calls) > _CALLS:
            oldest = self.calls.pop(next(iter(self.calls)))
            oldest.draft.open -= 1

    def result(self, call: str, output: str, *, failed: bool, compacted: bool = False) -> bool:
        """Join a result with its call; False when nobody knows that call."""
        found = self.calls.pop(call, None)
        if found is None:
            left = self._left.pop(call, None)
            found = self.fetch(*left, call) if left else None
            if found is None:
                return False
        else:
            found.draft.open -= 1
        part = replace(
            found.part,
            kind=Kind.TOOL_ERROR if failed else Kind.TOOL_OUTPUT,
            status="error" if failed else "completed",
            output=output,
            compacted=compacted,
        )
        self._waiting.setdefault(found.draft.id, found.draft)
        self.add(self._waiting[found.draft.id], part)
        return True

    def done(self) -> Iterator[Message]:
        """Give the messages that nothing is to be added to."""
        if len(self._waiting) > _WAITING or self._size > _CHARACTERS:
            yield from self.flush()
        elif len(self._waiting) > 1:
            *early, _ = self._waiting.values()
            for draft in early:
                if not draft.open:
                    yield from self._give(draft)

    def flush(self) -> Iterator[Message]:
        """Give all that there is but for calls without a result."""
        for draft in [*self._waiting.values()]:
            yield from self._give(draft)
        self._size = 0

    def end(self) -> Iterator[Message]:
        """Give all that there is, calls without a result as running."""
        for call in self.calls.values():
            self._waiting.setdefault(call.draft.id, call.draft).parts.append(call.part)
        yield from self.flush()

    def _give(self, draft: Draft) -> Iterator[Message]:
        del self._waiting[draft.id]
        self._size -= sum(len(part.body) + len(part.output) for part in draft.parts)
        message = draft.take()
        if message:
            yield message


def call_part(id: str, tool: str, given: str, at: int) -> Part:
    """Make the part of a tool's call that has no result yet; `given` are its input's strings."""
    tool = clean(tool) or "unknown"
    body = f"{tool}\n{given}".rstrip("\n")
    return Part(id=id, kind=Kind.TOOL_INPUT, at=at, body=body, tool=tool, status="running")


def own_words(
    text: str, wrappers: frozenset[str], before: str = ""
) -> tuple[str, str, Machine | None]:
    """Tell what of a user's text was said, what the harness put in, and why, if all is its.

    `wrappers` names the blocks that it puts before what is said; `before` is what was taken off
    already.
    """
    said, wrapped = part_wrappers(text, wrappers)
    said, reminded = split_reminders(said)
    cut = "\n".join(piece for piece in (before, wrapped, reminded) if piece)
    if not said.strip():
        return cut, "", Machine.HARNESS if cut else None
    return said, cut, None


def part_wrappers(text: str, names: frozenset[str]) -> tuple[str, str]:
    """Part a text into what was said and the `<name>...</name>` blocks at its start.

    Only blocks of these names count; one that is never closed takes all.
    """
    at = 0
    while True:
        start = at
        while start < len(text) and text[start].isspace():
            start += 1
        name = _name_at(text, start)
        if name not in names:
            break
        end = text.find(f"</{name}>", start)
        at = len(text) if end < 0 else end + len(name) + 3
    return (text[at:].strip(), text[:at].strip()) if at else (text, "")


def _name_at(text: str, start: int) -> str:
    if text[start : start + 1] != "<":
        return ""
    end = start + 1
    while end < len(text) and (text[end].isalnum() or text[end] in "-_"):
        end += 1
    return text[start + 1 : end]
