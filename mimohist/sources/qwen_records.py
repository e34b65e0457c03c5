"""What Qwen Code writes as lines of a session, made into parts.

A line holds a message in Gemini's shape: pieces that are texts, thoughts, calls of functions or
their answers.  What tools gave back is a line of its own, which is joined with the call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mimohist.records import Kind, Machine, Part, Session, Usage
from mimohist.sources import jsonl
from mimohist.sources.entries import Entries
from mimohist.sources.gemini_records import result_of, said_in
from mimohist.sources.jsonl import Record, epoch_ms, record_in, records_in, text_in, whole_in
from mimohist.sources.transcript import first_line, last_time, place
from mimohist.sources.turns import Draft, call_part
from mimohist.text import clean, strings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

_PROBED = 200
"""How many lines are looked at for the directory and the first thing that was said."""


@dataclass(slots=True)
class Head:
    """The header of one session; `state` is what a later reading is to be told."""

    path: Path
    state: dict[str, Any] = field(default_factory=dict)
    updated: int | None = None

    def session(self, seen: int) -> Session:
        """Make it a session; `seen` (epoch ms) is when its file was written."""
        state = self.state
        at = int(state.get("at") or self.updated or seen)
        directory, project = place(state.get("cwd", ""))
        parent = self.path.parent.name
        return Session(
            id=self.path.stem,
            title=state.get("said", ""),
            titled=False,
            directory=directory,
            project_id=project,
            at=at,
            updated=max(at, self.updated or at),
            path=str(self.path),
            version=state.get("version") or None,
            parent_id=clean(parent) if parent != "chats" else None,
        )


def learn(head: Head, file: BinaryIO, at: int) -> None:
    """Read a header from byte `at` on."""
    state = head.state
    for number, line in enumerate(jsonl.lines(file, at)):
        if number > _PROBED or ("said" in state and "cwd" in state):
            break
        try:
            record = jsonl.decoded(line.data or b"")
        except ValueError:
            continue
        if not isinstance(record, dict):
            continue
        if (time := epoch_ms(record.get("timestamp"))) is not None:
            state.setdefault("at", time)
        if cwd := clean(text_in(record, "cwd")):
            state.setdefault("cwd", cwd)
        if version := clean(text_in(record, "version")):
            state.setdefault("version", version)
        if record.get("type") == "user" and (said := _opening(record)):
            state.setdefault("said", said)
    head.updated = last_time(file)


def _opening(record: Record) -> str:
    for piece in _pieces(record):
        if said := first_line(said_in(text_in(piece, "text"))[0]):
            return said
    return ""


def _pieces(record: Record) -> list[Record]:
    return records_in(record_in(record, "message").get("parts"))


class Records(Entries):
    """Makes the lines of one session into messages."""

    def __init__(
        self, prefix: str, head: Record, read: Callable[[int], Record | None], state: Record
    ) -> None:
        super().__init__(prefix, head, read, state)
        self._id = ""
        self._number = 0

    def take(self, record: Record, at: int) -> None:
        """Put one line into the turns."""
        self.at = epoch_ms(record.get("timestamp")) or self.at
        self._id = clean(text_in(record, "uuid")) or f"{self.prefix}-{at:08x}"
        self._number = 0
        match record.get("type"):
            case "user":
                self._user(record)
            case "assistant":
                self._assistant(record, at)
            case "tool_result":
                self._result(record)

    def _draft(self, role: str) -> Draft:
        return self.turns.begin(self._id, self.at, role)

    def _part_id(self) -> str:
        self._number += 1
        return f"{self.prefix}:{self._id}:{self._number - 1}"

    def _user(self, record: Record) -> None:
        draft = self._draft("user")
        hidden = Machine.HARNESS if text_in(record, "subtype") else None
        for piece in _pieces(record):
            text = text_in(piece, "text")
            said, cut = said_in(text)
            if said.strip():
                self._add(draft, Kind.USER_TEXT, said, hidden, cut)
            elif cut.strip():
                self._add(draft, Kind.USER_TEXT, cut, Machine.HARNESS)
            elif not text:
                draft.unindexed.append(clean(next(iter(piece), "piece")))

    def _assistant(self, record: Record, at: int) -> None:
        draft = self._draft("assistant")
        draft.model = clean(text_in(record, "model")) or None
        draft.usage = _usage(record_in(record, "usageMetadata"))
        for piece in _pieces(record):
            called = record_in(piece, "functionCall")
            text = clean(text_in(piece, "text"))
            if called:
                part = call_part(
                    self._part_id(), text_in(called, "name"), strings(called.get("args")), self.at
                )
                self.turns.call(clean(text_in(called, "id")) or part.id, part, draft, at)
            elif text.strip():
                kind = Kind.REASONING if piece.get("thought") is True else Kind.ASSISTANT_TEXT
                self._add(draft, kind, text)
            else:
                draft.unindexed.append(clean(next(iter(piece), "piece")))

    def _result(self, record: Record) -> None:
        told = record_in(record, "toolCallResult")
        failed = told.get("status") == "error" or bool(told.get("error"))
        answered = [piece for piece in _pieces(record) if record_in(piece, "functionResponse")]
        for piece in answered or [{}]:
            answer = record_in(piece, "functionResponse")
            call = clean(text_in(answer, "id") or text_in(told, "callId"))
            output = result_of(piece) or _shown(told)
            failed = failed or bool(record_in(answer, "response").get("error"))
            if self.turns.result(call, output, failed=failed) or not output.strip():
                continue
            tool = clean(text_in(answer, "name")) or "unknown"  # its call is not here
            part = Part(
                id=self._part_id(),
                kind=Kind.TOOL_ERROR if failed else Kind.TOOL_OUTPUT,
                at=self.at,
                body=tool,
                output=output,
                tool=tool,
                status="error" if failed else "completed",
            )
            self.turns.add(self._draft("assistant"), part)

    def _add(
        self, draft: Draft, kind: Kind, text: str, machine: Machine | None = None, cut: str = ""
    ) -> None:
        id = self._part_id()
        self.turns.add(
            draft, Part(id=id, kind=kind, at=self.at, body=text, cut=cut, machine=machine)
        )


def _shown(told: Record) -> str:
    """Give what was shown of a result; a sub-agent's whole transcript or a file is not taken."""
    shown = told.get("resultDisplay")
    return clean(shown) if isinstance(shown, str) else ""


def _usage(tokens: Record) -> Usage | None:
    if not tokens:
        return None
    return Usage(
        input=whole_in(tokens, "promptTokenCount"),
        output=whole_in(tokens, "candidatesTokenCount"),
        reasoning=whole_in(tokens, "thoughtsTokenCount"),
        cache_read=whole_in(tokens, "cachedContentTokenCount"),
    )
