"""What pi and its kin write as entries of a session, made into parts (formats 1 to 3).

Each entry is a message, and a tool's result a message of its own, which is joined with the call.
An entry's id stays the same in a fork's copy of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mimohist.records import Kind, Machine, Part
from mimohist.sources.entries import Entries
from mimohist.sources.jsonl import Record, blocks_in, epoch_ms, record_in, text_in
from mimohist.sources.pi_texts import output_of, texts_in, usage_of, whose
from mimohist.sources.turns import Draft, call_part
from mimohist.text import clean, strings

if TYPE_CHECKING:
    from collections.abc import Callable

_RUN = {"bashExecution": ("bash", "command"), "pythonExecution": ("python", "code")}
"""What a user ran without the model (`!command`): the tool's name, and where its input stands."""

_PUT_IN = {
    "custom": Machine.HARNESS,
    "developer": Machine.HARNESS,
    "hookMessage": Machine.HOOK,
}


class Records(Entries):
    """Makes the entries of one session into messages; `head` may name a sub-agent."""

    def __init__(
        self, prefix: str, head: Record, read: Callable[[int], Record | None], state: Record
    ) -> None:
        super().__init__(prefix, head, read, state)
        self._id = ""

    def take(self, record: Record, at: int) -> None:
        """Put one entry into the turns."""
        message = record_in(record, "message")
        time = epoch_ms(message.get("timestamp")) or epoch_ms(record.get("timestamp"))
        self.at = time or self.at
        self._id = clean(text_in(record, "id")) or f"{self.prefix}-{at:08x}"
        match record.get("type"):
            case "message":
                self._message(message, at)
            case "compaction" | "branch_summary":
                self._summary(text_in(record, "summary"))
            case "custom_message":
                self._put_in(record, Machine.HARNESS)

    def _draft(self, role: str) -> Draft:
        draft = self.turns.begin(self._id, self.at, role)
        draft.agent = self.head.get("agent") or "main"
        draft.agent_name = self.head.get("agent_name")
        return draft

    def _part_id(self, number: int) -> str:
        return f"{self.prefix}:{self._id}:{number}"

    # The entries

    def _message(self, message: Record, at: int) -> None:
        role = text_in(message, "role")
        if role == "user":
            self._user(message)
        elif role == "assistant":
            self._assistant(message, at)
        elif role == "toolResult":
            self._result(message)
        elif role in _RUN:
            self._run(message, *_RUN[role])
        elif role in _PUT_IN:
            self._put_in(message, _PUT_IN[role])
        elif role in ("compactionSummary", "branchSummary"):
            self._summary(text_in(message, "summary"))
        elif role == "fileMention":
            self._draft("user").unindexed.append(role)

    def _user(self, message: Record) -> None:
        draft = self._draft("user")
        for number, block in enumerate(blocks_in(message.get("content"))):
            if block.get("type") != "text":
                draft.unindexed.append(clean(text_in(block, "type")) or "untyped")
                continue
            said, cut, machine = whose(clean(text_in(block, "text")))
            if not said.strip():
                continue
            if machine is None and draft.agent != "main":
                machine = Machine.SPAWN
            part = Part(
                id=self._part_id(number),
                kind=Kind.USER_TEXT,
                at=self.at,
                body=said,
                cut=cut,
                machine=machine,
            )
            self.turns.add(draft, part)

    def _assistant(self, message: Record, at: int) -> None:
        draft = self._draft("assistant")
        draft.model = clean(text_in(message, "model")) or None
        draft.provider = clean(text_in(message, "provider")) or None
        draft.usage = usage_of(message)
        number = 0
        for number, block in enumerate(blocks_in(message.get("content")), 1):
            id = self._part_id(number - 1)
            type = text_in(block, "type")
            if type == "toolCall":
                given = strings(block.get("arguments"))
                part = call_part(id, text_in(block, "name"), given, self.at)
                self.turns.call(clean(text_in(block, "id")) or id, part, draft, at)
                continue
            text = clean(text_in(block, type)) if type in ("text", "thinking") else ""
            if text.strip():
                kind = Kind.REASONING if type == "thinking" else Kind.ASSISTANT_TEXT
                self.turns.add(draft, Part(id=id, kind=kind, at=self.at, body=text))
            elif type != "text":
                draft.unindexed.append(clean(type) or "untyped")
        error = clean(text_in(message, "errorMessage"))
        if error.strip():
            self._tool(draft, number, "API error", error, failed=True)

    def _result(self, message: Record) -> None:
        output = output_of(message.get("content"))
        failed = message.get("isError") is True
        call = clean(text_in(message, "toolCallId"))
        if self.turns.result(call, output, failed=failed) or not output:
            return
        tool = clean(text_in(message, "toolName"))  # its call is on a branch that is not here
        self._tool(self._draft("assistant"), 0, tool, output, failed=failed, tool=tool)

    def _run(self, message: Record, tool: str, given: str) -> None:
        code = message.get("exitCode")
        failed = message.get("cancelled") is True or code not in (0, None)
        body = f"{tool}\n{clean(text_in(message, given))}"
        output = clean(text_in(message, "output"))
        self._tool(self._draft("user"), 0, body, output, failed=failed, tool=tool)

    def _tool(
        self, draft: Draft, number: int, body: str, output: str, *, failed: bool, tool: str = ""
    ) -> None:
        part = Part(
            id=self._part_id(number),
            kind=Kind.TOOL_ERROR if failed else Kind.TOOL_OUTPUT,
            at=self.at,
            body=body,
            output=output,
            tool=tool or None,
            status="error" if failed else "completed",
        )
        self.turns.add(draft, part)

    def _put_in(self, message: Record, machine: Machine) -> None:
        """Take what an extension put into the conversation."""
        texts = [clean(text) for text in texts_in(message.get("content"))]
        self._whole("user", Kind.USER_TEXT, "\n".join(texts), machine)

    def _summary(self, text: str) -> None:
        self._whole("assistant", Kind.ASSISTANT_TEXT, clean(text), Machine.SUMMARY)

    def _whole(self, role: str, kind: Kind, text: str, machine: Machine) -> None:
        if text.strip():
            part = Part(id=self._part_id(0), kind=kind, at=self.at, body=text, machine=machine)
            self.turns.add(self._draft(role), part)
