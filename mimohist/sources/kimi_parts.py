"""What Kimi's two sorts of records share: messages of users, steps of the model, tools' calls."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from mimohist.records import Kind, Machine, Part
from mimohist.sources.kimi_texts import blocks_of, input_of, whose
from mimohist.sources.turns import Call, Draft, Turns, call_part
from mimohist.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from mimohist.records import Usage
    from mimohist.sources.jsonl import Record

    Rest = Callable[[int], Generator[Record, None, None]]

_PROVIDER = "moonshot"
MAIN = "main"


class Parts:
    """Makes parts of what records say; a subclass reads the records.

    `prefix` begins the ids of messages and parts; `head` is the state of the session's header;
    `rest` gives the records of the file from a byte on.  A step's texts and calls are one message
    of the agent that took it; `self.steps` has the id and time of each agent's.
    """

    def __init__(self, prefix: str, head: Record, rest: Rest, state: Record) -> None:
        self.prefix = prefix
        self.head = head
        self.rest = rest
        self.turns = Turns(self._fetch, state)
        self.at: int = state.get("time", 0)
        self.line = 0
        self.steps: dict[str, tuple[str, int]] = dict(state.get("steps", {}))
        self._arguments: tuple[str, str] = ("", "")
        self._answer: Draft | None = None
        self.again: tuple[str, int] | None = None

    def saved(self) -> dict[str, Any]:
        """Give what a later reading needs."""
        return {**self.turns.saved(), "time": self.at, "steps": self.steps, "head": self.head}

    def take(self, record: Record, at: int) -> None:
        """Put one record into the turns."""
        raise NotImplementedError

    def goes_on(self, record: Record) -> bool:
        """Whether a record is but more of the call before it."""
        del record
        return False

    def _fetch(self, line: int, id: str, at: int, call: str) -> Call | None:
        fresh = type(self)(self.prefix, self.head, self.rest, {"time": at})
        fresh.again = (id, at)
        with closing(self.rest(line)) as records:
            for number, record in enumerate(records):
                if number and not self.goes_on(record):
                    break
                fresh.take(record, line)
        return fresh.turns.calls.get(call)

    # Messages

    def id(self) -> str:
        """Name a message after the place of the record that is being read."""
        return f"{self.prefix}-{self.line:08x}"

    def ends(self, agent: str = MAIN) -> None:
        """Let what an agent says next be another message."""
        self.steps.pop(agent, None)

    def _slice(self, draft: Draft, agent: str) -> Draft:
        own = self.head.get("agent")
        draft.agent = agent if agent != MAIN else own or MAIN
        draft.agent_name = self.head.get("agent_name") if agent == MAIN else None
        return draft

    def answer(self, agent: str = MAIN) -> Draft:
        """Give the message of the step that an agent is taking."""
        id, at = self.again or self.steps.setdefault(agent, (self.id(), self.at))
        draft = self._slice(self.turns.draft(id, id, at), agent)
        draft.model = self.head.get("model")
        draft.provider = _PROVIDER if draft.model else None
        if agent == MAIN:
            self._answer = draft
        return draft

    def cost(self, usage: Usage | None) -> None:
        """Note what the step cost that was taken last."""
        if self._answer and usage and not self._answer.usage:
            self._answer.usage = usage

    def said(
        self, content: object, agent: str = MAIN, machine: Machine | None = None, number: int = 0
    ) -> None:
        """Put what a user said, or a harness for one, into a message."""
        self.ends(agent)
        draft = self._slice(self.turns.begin(self.id(), self.at, "user"), agent)
        for place, block in enumerate(blocks_of(content), number):
            if "text" not in block:
                draft.unindexed.append(clean(str(block.get("type", "untyped"))))
                continue
            body, cut, why = whose(clean(str(block["text"])))
            if not body.strip():
                continue
            if why is None and draft.agent != MAIN:
                why = Machine.SPAWN
            part = Part(
                id=f"{self.id()}:{place}",
                kind=Kind.USER_TEXT,
                at=self.at,
                body=body,
                cut=cut,
                machine=machine or why,
            )
            self.turns.add(draft, part)

    def summary(self, text: str) -> None:
        """Put what compaction left into a message."""
        self.ends()
        if text.strip():
            part = Part(
                id=f"{self.id()}:0",
                kind=Kind.ASSISTANT_TEXT,
                at=self.at,
                body=text,
                machine=Machine.SUMMARY,
            )
            self.turns.add(
                self._slice(self.turns.begin(self.id(), self.at, "assistant"), MAIN), part
            )

    # The parts of a step

    def wrote(self, block: Record, agent: str = MAIN, number: int = 0) -> None:
        """Put what the model wrote or thought into its step."""
        sort = "think" if "think" in block or block.get("type") == "think" else "text"
        value = block.get(sort, block.get("text"))
        text = clean(value) if isinstance(value, str) else ""
        if text.strip():
            kind = Kind.REASONING if sort == "think" else Kind.ASSISTANT_TEXT
            part = Part(id=f"{self.id()}:{number}", kind=kind, at=self.at, body=text)
            self.turns.add(self.answer(agent), part)
        elif "text" not in block:
            self.answer(agent).unindexed.append(clean(str(block.get("type", "untyped"))))

    def called(
        self, call: str, name: str, given: object, agent: str = MAIN, number: int = 0
    ) -> None:
        """Put a tool's call into a step."""
        id = f"{self.id()}:{number}"
        key = f"{agent} {clean(call) or id}"
        part = call_part(id, name, input_of(given), self.at)
        self.turns.call(key, part, self.answer(agent), self.line)
        self._arguments = (key, given if isinstance(given, str) else "")

    def called_more(self, given: str) -> None:
        """Add to the input of the call before, which was written in pieces."""
        key, before = self._arguments
        call = self.turns.calls.get(key)
        if call:
            self._arguments = (key, before + given)
            tool = call.part.tool or ""
            call.part = call_part(call.part.id, tool, input_of(before + given), call.part.at)

    def gave_back(self, call: str, output: str, *, failed: bool, agent: str = MAIN) -> None:
        """Join what a tool gave back with its call."""
        self.ends(agent)
        known = self.turns.result(f"{agent} {clean(call)}", output, failed=failed)
        if not known and output:
            part = Part(  # its call was lost
                id=f"{self.id()}:0",
                kind=Kind.TOOL_ERROR if failed else Kind.TOOL_OUTPUT,
                at=self.at,
                body="",
                output=output,
                status="error" if failed else "completed",
            )
            draft = self.turns.begin(self.id(), self.at, "assistant")
            self.turns.add(self._slice(draft, agent), part)
