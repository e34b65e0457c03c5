"""What Codex writes as lines of a rollout, made into parts (bare items of 2025 to 0.15x).

Most versions write a text twice, as a `response_item` and as an `event_msg`, in either order; the
second of two equal ones is dropped.  The items of a model's answer, up to what a tool gave
back or a user said, are one message.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from mimohist.records import Kind, Machine, Part
from mimohist.sources.codex_texts import input_of, result_of, review_of, untyped, usage_of, whose
from mimohist.sources.jsonl import Record, epoch_ms, record_in, records_in, text_in
from mimohist.sources.turns import Call, Draft, Turns, call_part
from mimohist.text import clean, strings

if TYPE_CHECKING:
    from collections.abc import Callable

    from mimohist.sources.codex_copies import Copies

_SINGLE = 64
"""How many texts of a turn may wait for their double."""

_INPUTS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "tool_search_call": "arguments",
}
_AT_ONCE = {"web_search_call": "action", "image_generation_call": "revised_prompt"}


class Records:
    """Makes the records of one rollout into messages.

    `prefix` begins the ids of its messages and parts; `read` gives the record at a byte of the
    file; `copies` tells when the records that a fork begins with were first written.
    """

    def __init__(
        self,
        prefix: str,
        head: Record,
        read: Callable[[int], Record | None],
        copies: Callable[[str, int], Copies | None],
        state: Record,
    ) -> None:
        self.prefix = prefix
        self.head = head
        self.read = read
        self.turns = Turns(self._fetch, state)
        self.at: int = state.get("time", 0)
        self.group: str = state.get("group", "")
        self.model: str = state.get("model", "")
        # Texts without their double: those of this turn and of the one before.
        self.single: list[list[str]] = state.get("single", [[], []])
        self.parent: str = state.get("parent", "")
        self._copies_of = copies
        self._copies = copies(self.parent, state.get("copied", 0)) if self.parent else None
        self._answer: Draft | None = None

    def saved(self) -> dict[str, Any]:
        """Give what a later reading needs."""
        return {
            **self.turns.saved(),
            "time": self.at,
            "group": self.group,
            "model": self.model,
            "single": self.single,
            "parent": self.parent if self._copies else "",
            "copied": self._copies.taken if self._copies else 0,
            "head": self.head,
        }

    def take(self, record: Record, at: int) -> None:
        """Put one record into the turns."""
        payload = record.get("payload")
        type = record.get("type")
        time = epoch_ms(record.get("timestamp"))
        if not isinstance(payload, dict):
            self.at = time or self.at
            self._item(record, at)
            return
        if self._copies and type in ("response_item", "event_msg", "compacted"):
            time = self._copies.time_of(payload) or time
            if self._copies.over:
                self._copies = None
        self.at = time or self.at
        match type:
            case "response_item":
                self._item(payload, at)
            case "event_msg":
                self._event(payload, at)
            case "compacted":
                self._summary(text_in(payload, "message"), at)
            case "turn_context":
                self.model = text_in(payload, "model") or self.model
            case "session_meta":
                self._meta(payload)

    def _meta(self, payload: Record) -> None:
        id = text_in(payload, "id")
        if id and not self.parent and id != self.head.get("id"):
            self.parent = id
            self._copies = self._copies_of(id, 0)

    def _fetch(self, line: int, id: str, at: int, call: str) -> Call | None:
        record = self.read(line)
        if record is None:
            return None
        state = {"recent": [["call", id, at]], "group": "call", "time": at, "model": self.model}
        fresh = Records(self.prefix, self.head, lambda _: None, lambda _a, _b: None, state)
        fresh.take(record, line)
        return fresh.turns.calls.get(call)

    # Messages

    def _id(self, at: int) -> str:
        return f"{self.prefix}-{at:08x}"

    def _turn(self, at: int, role: str) -> Draft:
        """Begin a message of one record."""
        self.group = ""
        return self._named(self.turns.begin(self._id(at), self.at, role))

    def _assistant(self, at: int) -> Draft:
        """Give the answer that is being written, begun where there is none."""
        self.group = self.group or self._id(at)
        draft = self._named(self.turns.draft(self.group, self.group, self.at))
        draft.model = self.model or None
        draft.provider = self.head.get("provider")
        self._answer = draft
        return draft

    def _named(self, draft: Draft) -> Draft:
        draft.agent = self.head.get("agent", "main")
        draft.agent_name = self.head.get("agent_name")
        return draft

    def _is_double(self, side: str, sort: str, text: str) -> bool:
        """Whether the same text was just written in the other way; note it where it was not."""
        digest = blake2b(f"{sort}\0{text.strip()}".encode(), digest_size=6).hexdigest()
        other = f"{'item' if side == 'event' else 'event'} {digest}"
        for turn in self.single:
            if other in turn:
                turn.remove(other)
                return True
        self.single[0].append(f"{side} {digest}")
        del self.single[0][:-_SINGLE]
        return False

    def _text(self, side: str, kind: Kind, text: str, at: int, number: int = 0) -> None:
        """Put what the model wrote or thought into its answer."""
        text = clean(text)
        if text.strip() and not self._is_double(side, kind, text):
            id = f"{self._id(at)}:{number}"
            self.turns.add(self._assistant(at), Part(id=id, kind=kind, at=self.at, body=text))

    def _user(self, side: str, texts: list[str], at: int, silent: list[str]) -> None:
        """Put what a user said, or a harness for one, into a message."""
        pieces = [whose(clean(text)) for text in texts]
        human = "\n".join(said for said, _, machine in pieces if machine is None and said)
        whole = human or "\n".join(said for said, _, _ in pieces)
        double = bool(whole.strip()) and self._is_double(side, "user", whole)
        if double and not human:
            return
        draft = self._turn(at, "user")
        for number, (said, cut, machine) in enumerate(pieces):
            if not said or (double and machine is None):
                continue
            why = machine or (Machine.SPAWN if self.head.get("agent") else None)
            part = Part(
                id=f"{self._id(at)}:{number}",
                kind=Kind.USER_TEXT,
                at=self.at,
                body=said,
                cut=cut,
                machine=why,
            )
            self.turns.add(draft, part)
        if draft.parts:
            draft.unindexed += silent
        if human and not double:
            mine = self.single[0].pop()
            self.single = [[mine], self.single[0]]

    def _summary(self, text: str, at: int) -> None:
        text = clean(text)
        if text.strip():
            part = Part(
                id=f"{self._id(at)}:0",
                kind=Kind.ASSISTANT_TEXT,
                at=self.at,
                body=text,
                machine=Machine.SUMMARY,
            )
            self.turns.add(self._turn(at, "assistant"), part)

    def _error(self, text: str, at: int) -> None:
        text = clean(text)
        if text.strip():
            part = Part(
                id=f"{self._id(at)}:0",
                kind=Kind.TOOL_ERROR,
                at=self.at,
                body="error",
                output=text,
                status="error",
            )
            self.turns.add(self._turn(at, "assistant"), part)

    # Items and events

    def _item(self, item: Record, at: int) -> None:
        type = text_in(item, "type")
        if type == "message":
            self._message(item, at)
        elif type == "reasoning":
            self._reasoning(item, at)
        elif type in _INPUTS:
            id = f"{self._id(at)}:0"
            name = text_in(item, "name") or type.removesuffix("_call")
            part = call_part(id, name, input_of(item.get(_INPUTS[type])), self.at)
            self.turns.call(text_in(item, "call_id") or id, part, self._assistant(at), at)
        elif type in _AT_ONCE:
            part = call_part(
                f"{self._id(at)}:0",
                type.removesuffix("_call"),
                strings(untyped(item.get(_AT_ONCE[type]))),
                self.at,
            )
            draft = self._assistant(at)
            self.turns.call(part.id, part, draft, at)
            self.turns.result(part.id, "", failed=text_in(item, "status") == "failed")
        elif type.endswith("_output"):
            self._result(item, at)

    def _message(self, item: Record, at: int) -> None:
        blocks = records_in(item.get("content"))
        content = item.get("content")
        texts = (
            [content]
            if isinstance(content, str)
            else [text_in(block, "text") for block in blocks if text_in(block, "text")]
        )
        match item.get("role"):
            case "user":
                silent = [text_in(block, "type") for block in blocks if "text" not in block]
                self._user("item", texts, at, silent)
            case "assistant":
                self._text("item", Kind.ASSISTANT_TEXT, "\n".join(texts), at)

    def _reasoning(self, item: Record, at: int) -> None:
        blocks = records_in(item.get("summary")) + records_in(item.get("content"))
        texts = [text_in(block, "text") for block in blocks]
        for number, text in enumerate(texts):
            self._text("item", Kind.REASONING, text, at, number)
        if not any(texts):
            self._assistant(at).unindexed.append("reasoning")

    def _result(self, item: Record, at: int) -> None:
        value = item.get("output") if "output" in item else item.get("tools")
        output, failed = result_of(value)
        self.group = ""
        if self.turns.result(text_in(item, "call_id"), output, failed=failed) or not output:
            return
        part = Part(  # its call was lost
            id=f"{self._id(at)}:0",
            kind=Kind.TOOL_ERROR if failed else Kind.TOOL_OUTPUT,
            at=self.at,
            body="",
            output=output,
            status="error" if failed else "completed",
        )
        self.turns.add(self._turn(at, "assistant"), part)

    def _event(self, event: Record, at: int) -> None:
        match event.get("type"):
            case "user_message":
                self._user("event", [text_in(event, "message")], at, [])
            case "agent_message":
                self._text("event", Kind.ASSISTANT_TEXT, text_in(event, "message"), at)
            case "agent_reasoning" | "agent_reasoning_raw_content":
                self._text("event", Kind.REASONING, text_in(event, "text"), at)
            case "item_completed":
                item = record_in(event, "item")
                if item.get("type") == "Plan":
                    self._text("event", Kind.ASSISTANT_TEXT, text_in(item, "text"), at)
            case "exited_review_mode":
                text = review_of(record_in(event, "review_output"))
                self._text("event", Kind.ASSISTANT_TEXT, text, at)
            case "error" | "stream_error":
                self._error(text_in(event, "message"), at)
            case "token_count":
                usage = usage_of(record_in(record_in(event, "info"), "last_token_usage"))
                if self._answer and usage and not self._answer.usage:
                    self._answer.usage = usage
