"""One record that is one message, written into the turns piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mimohist.records import Kind, Machine, Part
from mimohist.sources.turns import call_part, part_wrappers
from mimohist.text import clean, split_reminders

if TYPE_CHECKING:
    from mimohist.sources.turns import Draft, Turns

_SECOND = 1000


class Clock:
    """Tells apart the times of messages that came within one second.

    These programs note whole seconds; the n-th message of a second counts as n ms later, so that
    time alone gives their order.  `first` is the time of one that has none (epoch ms).
    """

    def __init__(self, first: int) -> None:
        self.last = first - 1

    def tell(self, at: int | None) -> int:
        """Give the time (epoch ms) of the next message, the last one's where it has none."""
        if at is None or (at <= self.last and at // _SECOND == self.last // _SECOND):
            at = self.last + 1
        self.last = at
        return at


class Writing:
    """The message that is being written.

    `line` is where its record stands, for calls whose results come later; `wrappers` names the
    blocks that the program puts before what its user said; `machine` says why all of it is
    the program's own.
    """

    def __init__(
        self,
        turns: Turns,
        id: str,
        at: int,
        role: str,
        *,
        line: int = 0,
        wrappers: frozenset[str] = frozenset(),
        machine: Machine | None = None,
    ) -> None:
        self.id = id
        self.at = at
        self.role = role
        self.machine = machine
        self._turns = turns
        self._line = line
        self._wrappers = wrappers
        self._draft: Draft | None = None

    @property
    def draft(self) -> Draft:
        """The message, begun with what is first put into it."""
        if self._draft is None:
            self._draft = self._turns.begin(self.id, self.at, self.role)
        return self._draft

    def said(self, number: int, text: str, machine: Machine | None = None) -> None:
        """Put in a text; that of a summary is nobody's words, whoever is named as its author."""
        why = machine or self.machine
        user = self.role == "user" and why is not Machine.SUMMARY
        text, cut = split_reminders(clean(text))
        if user:
            text, wrapped = part_wrappers(text, self._wrappers)
            cut = "\n".join(piece for piece in (wrapped, cut) if piece)
        if not text.strip():
            text, cut, why = cut, "", why or Machine.HARNESS
        kind = Kind.USER_TEXT if user else Kind.ASSISTANT_TEXT
        if text.strip():
            self._add(
                Part(id=self._id(number), kind=kind, at=self.at, body=text, cut=cut, machine=why)
            )

    def thought(self, number: int, text: str) -> None:
        """Put in reasoning; what is encrypted or redacted has no text and is only counted."""
        text = clean(text)
        if text.strip():
            kind = Kind.REASONING
            self._add(
                Part(id=self._id(number), kind=kind, at=self.at, body=text, machine=self.machine)
            )
        else:
            self.silent("reasoning")

    def call(self, number: int, call: str, tool: str, given: str) -> None:
        """Put in a tool's call, to which its result is joined when it comes."""
        part = call_part(self._id(number), tool, given, self.at)
        self._turns.call(call or part.id, part, self.draft, self._line)

    def result(self, number: int, call: str, output: str, *, failed: bool) -> None:
        """Join what a tool gave back to its call; alone where that is lost."""
        if self._turns.result(call, output, failed=failed) or not output.strip():
            return
        self._add(
            Part(
                id=self._id(number),
                kind=Kind.TOOL_ERROR if failed else Kind.TOOL_OUTPUT,
                at=self.at,
                body="",
                output=output,
                status="error" if failed else "completed",
                machine=self.machine,
            )
        )

    def error(self, number: int, name: str, text: str) -> None:
        """Put in what went wrong."""
        name, text = clean(name), clean(text)
        if not (name.strip() or text.strip()):
            return
        self._add(
            Part(
                id=self._id(number),
                kind=Kind.TOOL_ERROR,
                at=self.at,
                body=name or "error",
                output=text or name,
                status="error",
            )
        )

    def silent(self, type: str) -> None:
        """Count a piece without text."""
        self.draft.unindexed.append(clean(type) or "unknown")

    def _id(self, number: int) -> str:
        return f"{self.id}:{number}"

    def _add(self, part: Part) -> None:
        self._turns.add(self.draft, part)
