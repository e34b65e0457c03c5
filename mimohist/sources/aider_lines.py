"""The lines of aider's Markdown, made into messages (0.2x to 0.86, `aider/io.py`).

A user's line begins with `#### `, what aider itself says with `> `, all else is the model's.
Models write such lines too; aider ends its own with two spaces, so where the first one of a
session does (no editor has stripped them) only those count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from mimohist.records import Kind, Machine, Message, Part, Usage
from mimohist.sources.transcript import first_line
from mimohist.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER = re.compile(rb"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_MODEL = re.compile(r"(?:Main model|Model|Models): (\S+) with ")
_FAILED = re.compile(
    r"litellm\.|Traceback \(most recent|[\w.]*(?:Error|Exception)\b|error:|Failed to |Unable to "
    r"|The LLM did not conform",
    re.IGNORECASE,
)
_COST = re.compile(r"Cost: \$([\d.]+) message, \$[\d.]+ session\.")
_TOKENS = re.compile(r"([\d.]+)(k?) (sent|cache write|cache hit|received)")
_RUNNING = "Running "
_PIECE = 1_000_000
_MESSAGE = 4_000_000
_EACH = 200  # what a piece weighs besides its text

User, Said, Aside, Failure, Command = "user", "said", "aside", "failure", "command"


def header(line: bytes) -> str | None:
    """Give when a session began, as its first line says it: `2025-08-01 10:11:12`, local time."""
    found = _HEADER.fullmatch(line)
    return found[1].decode() if found else None


@dataclass(slots=True)
class _Piece:
    """Lines of one sort, and at which byte they begin."""

    sort: str
    at: int
    lines: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def text(self) -> str:
        return clean("\n".join(self.lines)).strip("\n")

    def add(self, line: str) -> None:
        self.lines.append(line)
        self.size += len(line) + 1


class Lines:
    """Makes the lines of one session into messages.

    `prefix` begins their ids; `start` is the byte at which the session begins, from which places
    are counted, so that what is cut away before it changes no id; `at` is the only time there is.
    `safe` is the last place before which all is given, with what is to be known there.
    """

    def __init__(self, prefix: str, start: int, at: int, state: dict[str, Any]) -> None:
        self.prefix = prefix
        self.start = start
        self.at = at
        self.state: dict[str, Any] = {
            key: state.get(key) for key in ("strict", "title", "model", "typed", "answer")
        }
        self.safe: tuple[int, dict[str, Any]] | None = None
        self._begun = -1
        self._pieces: list[_Piece] = []
        self._size = 0
        self._gap = False
        self._usage: Usage | None = None
        self._silent: list[str] = []

    def take(self, line: str, at: int, *, whole: bool = True) -> Iterator[Message]:
        """Put in one line, which begins at byte `at`; gives the message that it ends.

        One that is not `whole` is being written: it begins no message, which it might not be.
        """
        line = line.rstrip("\r\n")
        sort, text = self._sorted(line)
        if not line.strip():
            self._gap = True
            if self._pieces and self._pieces[-1].sort == Said:
                self._pieces[-1].add("")
            return
        begins = self._begun < 0 or self._ends(sort)
        if begins and not whole:
            return
        self._gap = False
        if begins:
            yield from self.end()
            self._begun = at
            self.safe = (at, dict(self.state))
        self._put(sort, text, at)

    def _ends(self, sort: str) -> bool:
        """Whether a line of a sort belongs to another message than what was before it."""
        last = self._pieces[-1].sort if self._pieces else ""
        if sort == User:
            return last != User or self._gap
        return last == User or self._size > _MESSAGE

    def end(self) -> Iterator[Message]:
        """Give the message in the making."""
        if self._begun < 0:
            return
        id = f"{self.prefix}-{self._begun - self.start:08x}"
        user = self._pieces[:1] and self._pieces[0].sort == User
        parts = [self._user(id, self._pieces[0])] if user else self._answer(id)
        message = Message(
            id=id,
            at=self.at,
            role="user" if user else "assistant",
            parts=tuple(part for part in parts if part),
            model=None if user else self.state["model"],
            usage=self._usage,
            unindexed=tuple(self._silent),
        )
        self._begun, self._size, self._usage = -1, 0, None
        self._pieces.clear()
        self._silent.clear()
        if message.parts or message.unindexed:
            yield message

    def _sorted(self, line: str) -> tuple[str, str]:
        for sort, sign in ((User, "####"), (Aside, ">")):
            if line.startswith(f"{sign} ") or line.rstrip() == sign:
                if self.state["strict"] is None:
                    self.state["strict"] = line.endswith("  ")
                if line.endswith("  ") or not self.state["strict"]:
                    return sort, line[len(sign) + 1 :].rstrip()
        return Said, line

    def _put(self, sort: str, text: str, at: int) -> None:
        if sort != User and self._is_count(text, sort):
            return
        last = self._pieces[-1] if self._pieces else None
        if sort == Aside:
            if text.startswith(_RUNNING) and self.state["title"] is not None:
                sort, last = Command, None
            elif _FAILED.match(text):
                sort = Failure
            elif last and last.sort in (Command, Failure):
                sort = last.sort
        if last is None or last.sort != sort or last.size > _PIECE:
            last = _Piece(sort, at)
            self._pieces.append(last)
            self._size += _EACH
        last.add(text)
        self._size += len(text) + 1

    def _is_count(self, text: str, sort: str) -> bool:
        """Take what an answer cost out of what aider says."""
        cost = _COST.search(text)
        counts = sort == Aside and text.startswith("Tokens: ")
        if not counts and not (cost and cost.start() == 0):
            return False
        found = {name: _number(value, k) for value, k, name in _TOKENS.findall(text)}
        before = self._usage if self._usage and not counts else Usage()
        self._usage = Usage(
            cost=float(cost[1]) if cost and cost[1].count(".") < 2 else before.cost,  # noqa: PLR2004
            input=found.get("sent", before.input),
            output=found.get("received", before.output),
            cache_read=found.get("cache hit", before.cache_read),
            cache_write=found.get("cache write", before.cache_write),
        )
        self._silent.append("tokens")
        return True

    def _user(self, id: str, piece: _Piece) -> Part | None:
        """Make what was typed, or what aider wrote again as if somebody had.

        A mode's first question stands there twice, with its command and without; the editor
        of an architect is given the answer that stands above.
        """
        text = piece.text
        if text.strip() in ("", "<blank>"):
            self._silent.append("blank")
            return None
        again = _digest(text) in (self.state["typed"], self.state["answer"])
        command, _, rest = text.partition(" ")
        self.state["typed"] = _digest(rest) if command.startswith("/") and rest else None
        self.state["title"] = self.state["title"] or first_line(text)
        machine = Machine.SYNTHETIC if again else None
        return Part(
            id=f"{id}:{piece.at - self.start:x}",
            kind=Kind.USER_TEXT,
            at=self.at,
            body=text,
            machine=machine,
        )

    def _answer(self, id: str) -> list[Part | None]:
        said = " ".join(piece.text for piece in self._pieces if piece.sort == Said)
        self.state["answer"] = _digest(said) if said.strip() else None
        return [self._part(f"{id}:{piece.at - self.start:x}", piece) for piece in self._pieces]

    def _part(self, id: str, piece: _Piece) -> Part | None:
        text = piece.text
        if not text.strip():
            return None
        if piece.sort == Said:
            return Part(id=id, kind=Kind.ASSISTANT_TEXT, at=self.at, body=text)
        failed = piece.sort == Failure
        first, _, rest = text.partition("\n")
        ran = piece.sort == Command
        model = _MODEL.search(text)
        if model:
            self.state["model"] = model[1]
        return Part(
            id=id,
            kind=Kind.TOOL_ERROR if failed else Kind.TOOL_OUTPUT,
            at=self.at,
            body=f"shell\n{first.removeprefix(_RUNNING)}" if ran else "error" if failed else "",
            output=rest if ran else text,
            tool="shell" if ran else "aider",
            status="error" if failed else "completed",
            # Until somebody has spoken, aider says what it is and what it found.
            machine=Machine.HARNESS if self.state["title"] is None and not failed else None,
        )


def _number(value: str, thousands: str) -> int | None:
    try:
        return int(float(value) * (1000 if thousands else 1))
    except (ValueError, OverflowError):
        return None


def _digest(text: str) -> str:
    data = " ".join(text.split()).encode("utf-8", "replace")
    return blake2b(data, digest_size=6).hexdigest()
