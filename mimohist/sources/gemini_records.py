"""What Gemini CLI and its forks write as messages, made into parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mimohist.records import Kind, Machine, Message, Part, Usage
from mimohist.sources.jsonl import Record, epoch_ms, record_in, records_in, text_in, whole_in
from mimohist.sources.turns import part_wrappers
from mimohist.text import clean, split_reminders, strings

if TYPE_CHECKING:
    from collections.abc import Iterator

_WRAPPERS = frozenset({"session_context", "environment_context"})
"""What the program puts before the first prompt."""

_STATES = {"success": "completed", "error": "error", "cancelled": "error"}
_UNDER_WAY = {"executing": "running", "running": "running"}


class Records:
    """Makes messages; `prefix` begins their parts' ids, `time` (epoch ms) is the session's begin.

    `spawned` says that an agent wrote what stands there as the user's.
    """

    def __init__(self, prefix: str, time: int, *, spawned: bool = False) -> None:
        self._prefix = prefix
        self._spawned = spawned
        self._at = time

    def message(self, id: str, record: Record) -> Message:
        """Make a message of a record."""
        self._at = epoch_ms(record.get("timestamp")) or self._at
        type = text_in(record, "type")
        made = _Parts(f"{self._prefix}:{id}", self._at)
        if type == "user":
            made.user(record, spawned=self._spawned)
        elif type == "error":
            made.error("\n".join(texts_in(record.get("content"))))
        elif type in ("info", "warning"):
            told = "\n".join(texts_in(record.get("content")))
            made.add(Kind.ASSISTANT_TEXT, told, Machine.HARNESS)
        else:
            made.answer(record)
        user = type == "user"
        return Message(
            id=id,
            at=self._at,
            role="user" if user else "assistant",
            parts=tuple(made.parts),
            model=None if user else clean(text_in(record, "model")) or None,
            usage=None if user else _usage(record_in(record, "tokens")),
            unindexed=tuple(made.silent),
        )


class _Parts:
    """The parts of one message, numbered as they come."""

    def __init__(self, prefix: str, at: int) -> None:
        self._prefix = prefix
        self._at = at
        self.parts: list[Part] = []
        self.silent: list[str] = []

    def user(self, record: Record, *, spawned: bool) -> None:
        """Put in a prompt: as it was shown, where that differs from what was sent."""
        content = record.get("displayContent") or record.get("content")
        text = "\n".join(texts_in(content))
        said, cut = said_in(text)
        machine = Machine.SPAWN if spawned else None
        if said.strip():
            self.add(Kind.USER_TEXT, said, machine, cut=cut)
        elif cut.strip():
            self.add(Kind.USER_TEXT, cut, Machine.HARNESS)
        self.silent += _others(content)

    def answer(self, record: Record) -> None:
        """Put in what the model thought, said and called."""
        for thought in records_in(record.get("thoughts")):
            told = [text_in(thought, "subject"), text_in(thought, "description")]
            self.add(Kind.REASONING, "\n".join(filter(None, told)))
        content = record.get("content")
        self.add(Kind.ASSISTANT_TEXT, "\n".join(texts_in(content)))
        self.silent += _others(content)
        for call in records_in(record.get("toolCalls")):
            self._call(call)

    def error(self, text: str) -> None:
        """Put in what went wrong."""
        text = clean(text)
        if text.strip():
            self._tool(Kind.TOOL_ERROR, "error", text, tool=None, status="error")

    def add(self, kind: Kind, text: str, machine: Machine | None = None, *, cut: str = "") -> None:
        """Put in a text."""
        text = clean(text)
        if text.strip():
            part = Part(
                id=self._id(), kind=kind, at=self._at, body=text, cut=clean(cut), machine=machine
            )
            self.parts.append(part)

    def _call(self, call: Record) -> None:
        tool = clean(text_in(call, "name")) or "unknown"
        body = f"{tool}\n{strings(call.get('args'))}".rstrip("\n")
        state = text_in(call, "status")
        status = _STATES.get(state) or _UNDER_WAY.get(state, "pending")
        if status == "completed":
            kind = Kind.TOOL_OUTPUT
        else:
            kind = Kind.TOOL_ERROR if status == "error" else Kind.TOOL_INPUT
        output = result_of(call.get("result")) if state in _STATES else ""
        if not output and state in _STATES:
            shown = call.get("resultDisplay")
            output = clean(shown) if isinstance(shown, str) else ""
        self._tool(kind, body, output, tool=tool, status=status)

    def _tool(self, kind: Kind, body: str, output: str, *, tool: str | None, status: str) -> None:
        part = Part(
            id=self._id(),
            kind=kind,
            at=self._at,
            body=body,
            output=output,
            tool=tool or "error",
            status=status,
        )
        self.parts.append(part)

    def _id(self) -> str:
        return f"{self._prefix}:{len(self.parts)}"


def said_in(text: str) -> tuple[str, str]:
    """Part a user's text into what was said and what the program put before it."""
    said, wrapped = part_wrappers(clean(text), _WRAPPERS)
    said, reminded = split_reminders(said)
    return said, "\n".join(piece for piece in (wrapped, reminded) if piece)


def texts_in(content: object) -> Iterator[str]:
    """Give the texts of a content: a text alone, or pieces of which some are texts."""
    if isinstance(content, str):
        yield content
    for piece in [content] if isinstance(content, dict) else records_in(content):
        if text := text_in(piece, "text"):
            yield text
    if isinstance(content, list):
        yield from (piece for piece in content if isinstance(piece, str))


def _others(content: object) -> list[str]:
    """Name the pieces of a content that are no texts."""
    return [
        clean(next(iter(piece), "piece"))
        for piece in records_in(content)
        if not isinstance(piece.get("text"), str)
    ]


def result_of(result: object) -> str:
    """Give what a tool gave back: its output or error, files and images left out."""
    found = []
    for piece in [result] if isinstance(result, dict) else records_in(result):
        answer = record_in(piece, "functionResponse").get("response")
        if isinstance(answer, dict):
            told = answer.get("error") or answer.get("output")
            found.append(strings(answer if told is None else told))
        elif text := text_in(piece, "text"):
            found.append(clean(text))
    if isinstance(result, str):
        found.append(clean(result))
    return "\n".join(text for text in found if text)


def _usage(tokens: Record) -> Usage | None:
    if not tokens:
        return None
    return Usage(
        input=whole_in(tokens, "input"),
        output=whole_in(tokens, "output"),
        reasoning=whole_in(tokens, "thoughts"),
        cache_read=whole_in(tokens, "cached"),
    )
