"""What goose writes as a message's content, made into parts (1.0 to 1.20; database and files).

A result comes as a message of the user.  When goose compacts a conversation it leaves the old
messages for the user alone and writes new ones that only the model sees: a summary, a word to
the model, a copy of what was asked last.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from mimohist.records import Machine
from mimohist.sources.jsonl import Record, decoded, epoch_ms, record_in, records_in, text_in
from mimohist.sources.turns import Turns
from mimohist.sources.writing import Clock, Writing
from mimohist.text import clean, strings

if TYPE_CHECKING:
    from collections.abc import Callable

    from mimohist.sources.turns import Call

_WRAPPERS = frozenset({"info-msg"})
"""What goose puts before a user's words: time, directory, hints."""

_NOTICES = ("systemNotification", "conversationCompacted", "summarizationRequested")
_REQUESTS = ("toolRequest", "frontendToolRequest")
_SAID = 512
"""How many of a session's last texts are known again when they are copied."""


class Records:
    """Makes the messages of one session.

    `prefix` begins the ids of parts; `begun` is when the session began (epoch ms); `spawned` says
    that another agent started it, so that its user is that one; `read` gives the record at a place.
    """

    def __init__(
        self,
        prefix: str,
        begun: int,
        *,
        spawned: bool = False,
        read: Callable[[int], Record | None] = lambda _: None,
        state: Record | None = None,
    ) -> None:
        state = state or {}
        self.prefix = prefix
        self.begun = begun
        self.spawned = spawned
        self.turns = Turns(self._fetch, state)
        self._read = read
        self._clock = Clock(state.get("time", begun))
        self._ids: dict[str, int] = {}
        self._said: dict[str, None] = dict.fromkeys(state.get("said", ()))

    def saved(self) -> dict[str, Any]:
        """Give what a later reading of a file needs."""
        return {**self.turns.saved(), "time": self._clock.last + 1, "said": [*self._said]}

    def record(self, record: Record, at: int) -> None:
        """Put in one line of a file, which begins at byte `at`; the first is the header."""
        if "content" in record:
            time = self._clock.tell(epoch_ms(record.get("created")))
            metadata = record_in(record, "metadata")
            self._message(record, metadata, f"{self.prefix}-{at:08x}", time, at)

    def take(self, row: dict[str, Any], parts: list[Record], line: int) -> None:
        """Put in one row of the table `messages`."""
        time = self._clock.tell(epoch_ms(row["created_timestamp"]))
        id = f"{self.prefix}-{self._name(row['message_id'], line)}"
        record = {"role": row["role"], "content": parts}
        self._message(record, _metadata(row["metadata_json"]), id, time, line)

    def _name(self, name: object, line: int) -> str:
        """Name a message: by its own id, which several rows of one answer may have."""
        if not isinstance(name, str) or not name.strip():
            return f"{line:08d}"
        name = clean(name).replace("/", "_")
        number = self._ids[name] = self._ids.get(name, 0) + 1
        return name if number == 1 else f"{name}.{number}"

    def _fetch(self, line: int, id: str, at: int, call: str) -> Call | None:
        record = self._read(line)
        if record is None:
            return None
        fresh = Records(self.prefix, at, spawned=self.spawned)
        fresh._message(record, {}, id, at, line)
        return fresh.turns.calls.get(call)

    def _message(self, record: Record, metadata: Record, id: str, time: int, line: int) -> None:
        role = "user" if text_in(record, "role") == "user" else "assistant"
        writing = Writing(
            self.turns,
            id,
            time,
            role,
            line=line,
            wrappers=_WRAPPERS,
            machine=Machine.SPAWN if self.spawned and role == "user" else None,
        )
        hidden = metadata.get("userVisible") is False
        for number, item in enumerate(records_in(record.get("content"))):
            self._item(writing, number, item, hidden=hidden)

    def _item(self, writing: Writing, number: int, item: Record, *, hidden: bool) -> None:
        type = text_in(item, "type")
        if type == "text":
            text = text_in(item, "text")
            writing.said(number, text, self._why(text, writing.role, hidden=hidden))
        elif type in ("thinking", "reasoning", "redactedThinking"):
            writing.thought(number, text_in(item, "thinking") or text_in(item, "text"))
        elif type in _REQUESTS:
            _request(writing, number, item)
        elif type == "toolResponse":
            output, failed = result_of(record_in(item, "toolResult"))
            writing.result(number, text_in(item, "id"), output, failed=failed)
        elif type == "contextLengthExceeded":
            writing.error(number, type, text_in(item, "msg"))
        elif type in _NOTICES:
            writing.said(number, text_in(item, "msg"), Machine.HARNESS)
        else:
            writing.silent(type)

    def _why(self, text: str, role: str, *, hidden: bool) -> Machine | None:
        """Tell whether a text is one of those that only the model sees, and which."""
        digest = blake2b(text.strip().encode("utf-8", "replace"), digest_size=6).hexdigest()
        known = digest in self._said
        self._said[digest] = None
        if len(self._said) > _SAID:
            del self._said[next(iter(self._said))]
        if not hidden:
            return None
        return Machine.SYNTHETIC if known or role != "user" else Machine.SUMMARY


def _metadata(value: object) -> Record:
    if not isinstance(value, str):
        return {}
    try:
        data = decoded(value.encode("utf-8", "replace"))
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _request(writing: Writing, number: int, item: Record) -> None:
    given = record_in(item, "toolCall")
    call = record_in(given, "value") or record_in(given, "Ok") or given
    why = text_in(given, "error") or strings(given.get("Err"))
    if text_in(given, "status") == "error" or "Err" in given:
        writing.error(number, "tool call", why or "error")
        return
    writing.call(number, text_in(item, "id"), text_in(call, "name"), strings(call.get("arguments")))


def result_of(result: Record) -> tuple[str, bool]:
    """Give what a tool gave back as text, and whether it failed.

    Tools of goose say the same twice, for the model and for the user: once is enough.
    """
    if text_in(result, "status") == "error" or "Err" in result:
        return strings(result.get("error", result.get("Err"))), True
    value = result.get("value", result.get("Ok", result.get("content")))
    failed = False
    if isinstance(value, dict):
        failed = value.get("isError") is True or value.get("is_error") is True
        value = value.get("content", value)
    if not isinstance(value, list):
        return strings(value), failed
    texts = [_text(item) for item in value]
    return "\n".join(text for text in dict.fromkeys(texts) if text), failed


def _text(item: object) -> str:
    """Give what a piece of a result says; payloads (`data`, `blob`) are never taken."""
    if not isinstance(item, dict):
        return strings(item)
    if "text" in item:
        return strings(item["text"])
    inner = record_in(item, "resource") or item
    return strings([inner.get(key) for key in ("name", "uri", "mimeType", "text") if key in inner])
