"""What Kimi writes as lines of `wire.jsonl` and `context.jsonl`, made into parts.

`wire.jsonl` logs all that a session's clients were shown: kimi-cli (to 1.52) as messages in an
envelope, those of sub-agents in another, Kimi Code as records of its own.  `context.jsonl` is
what the model is given, without times; it is read where there is no log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mimohist.records import Machine
from mimohist.sources.jsonl import Record, epoch_ms, record_in, records_in, text_in
from mimohist.sources.kimi_parts import MAIN, Parts
from mimohist.sources.kimi_texts import (
    blocks_of,
    is_checkpoint,
    is_summary,
    output_of,
    prompt_in,
    texts_in,
    usage_of,
)
from mimohist.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable

_ENDS = frozenset({"StepBegin", "StepInterrupted", "TurnEnd"})


class Wire(Parts):
    """Reads a log; `elsewhere` tells of a sub-agent whose own log is read."""

    elsewhere: Callable[[str], bool] = staticmethod(lambda _: False)

    def take(self, record: Record, at: int) -> None:
        """Put one line of the log into the turns."""
        self.line = at
        self.at = epoch_ms(record.get("timestamp", record.get("time"))) or self.at
        message = record.get("message")
        if isinstance(message, dict):
            self._message(message, MAIN)
        else:
            self._code(record)

    def goes_on(self, record: Record) -> bool:
        """Whether a line is but more of the call before it."""
        message = record_in(record, "message")
        if message.get("type") == "SubagentEvent":
            message = record_in(record_in(message, "payload"), "event")
        return message.get("type") == "ToolCallPart"

    # kimi-cli

    def _message(self, message: Record, agent: str) -> None:
        type = text_in(message, "type")
        payload = record_in(message, "payload")
        if type in _ENDS:
            self.ends(agent)
        elif type in ("TurnBegin", "SteerInput"):
            self.said(payload.get("user_input"), agent)
        elif type == "ContentPart":
            self.wrote(payload, agent)
        elif type == "ToolCall":
            call = record_in(payload, "function")
            self.called(text_in(payload, "id"), text_in(call, "name"), call.get("arguments"), agent)
        elif type == "ToolCallPart":
            self.called_more(text_in(payload, "arguments_part"))
        elif type == "ToolResult":
            value = payload.get("return_value", payload.get("result"))
            output, failed = output_of(value)
            self.gave_back(text_in(payload, "tool_call_id"), output, failed=failed, agent=agent)
        elif type == "SubagentEvent" and agent == MAIN:
            self._sub_agent(payload)
        elif agent == MAIN:
            self._aside(type, payload)

    def _sub_agent(self, payload: Record) -> None:
        id = clean(text_in(payload, "agent_id"))
        if id and self.elsewhere(id):
            return
        call = text_in(payload, "parent_tool_call_id") or text_in(payload, "task_tool_call_id")
        self._message(record_in(payload, "event"), f"agent-{id or clean(call)}")

    def _aside(self, type: str, payload: Record) -> None:
        match type:
            case "StatusUpdate":
                self.cost(usage_of(record_in(payload, "token_usage")))
            case "Notification":
                texts = (text_in(payload, "title"), text_in(payload, "body"))
                self.said("\n".join(filter(None, texts)), machine=Machine.HARNESS)
            case "PlanDisplay":
                self.wrote({"text": payload.get("content")})
            case "BtwBegin":
                self.said(text_in(payload, "question"))
            case "BtwEnd":
                self.wrote({"text": payload.get("response")})
            case "ApprovalResponse" | "ApprovalRequestResolved":
                if text_in(payload, "feedback"):
                    self.said(text_in(payload, "feedback"))

    # Kimi Code

    def _code(self, record: Record) -> None:
        match record.get("type"):
            case "turn.prompt" | "turn.steer":
                origin = record_in(record, "origin").get("kind", "user")
                self.said(prompt_in(record), machine=None if origin == "user" else Machine.HARNESS)
            case "context.append_loop_event":
                self._event(record_in(record, "event"))
            case "context.apply_compaction":
                self.summary(clean(text_in(record, "summary")))
            case "usage.record":
                self.cost(usage_of(record_in(record, "usage")))

    def _event(self, event: Record) -> None:
        call = next((text_in(event, key) for key in _CALL if text_in(event, key)), "")
        match event.get("type"):
            case "content.part":
                self.wrote(record_in(event, "part") or event)
            case "tool.call":
                given = event.get("args", event.get("arguments", event.get("input")))
                self.called(call, text_in(event, "name"), given)
            case "tool.result":
                value = event.get("result", event)
                output, failed = output_of(value)
                self.gave_back(call, output, failed=failed or event.get("isError") is True)
            case "step.begin" | "step.end":
                self.ends()


_CALL = ("toolCallId", "tool_call_id", "callId", "id")


class Context(Parts):
    """Reads what the model is given; all of a reading bears the time at which it was written."""

    def take(self, record: Record, at: int) -> None:
        """Put one message into the turns."""
        self.line = at
        content = record.get("content")
        match record.get("role"):
            case "user":
                if is_summary(content):
                    self.summary("\n".join(texts_in(content)[1:]))
                elif not is_checkpoint(content):
                    self.said(content)
            case "assistant":
                self._assistant(record)
            case "tool":
                output, failed = output_of(content)
                self.gave_back(text_in(record, "tool_call_id"), output, failed=failed)

    def _assistant(self, record: Record) -> None:
        self.ends()
        number = -1
        for number, block in enumerate(blocks_of(record.get("content"))):
            self.wrote(block, number=number)
        for place, call in enumerate(records_in(record.get("tool_calls")), number + 1):
            made = record_in(call, "function")
            self.called(
                text_in(call, "id"),
                text_in(made, "name"),
                made.get("arguments"),
                number=place,
            )
        self.ends()
