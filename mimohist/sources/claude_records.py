"""What Claude Code writes as lines of a transcript, made into parts (versions 1.0 to 2.1).

Whose words a "user" text is, a record may say (`isMeta`, `isCompactSummary`), or the text itself
does by the tag or the words that it begins with.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mimohist.records import Kind, Machine, Part, Usage
from mimohist.sources.jsonl import (
    Record,
    blocks_in,
    epoch_ms,
    number_in,
    record_in,
    records_in,
    text_in,
    whole_in,
)
from mimohist.sources.turns import Call, Draft, Turns, call_part, own_words, part_wrappers
from mimohist.text import clean, data_url, strings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WRAPPERS = frozenset(
    {
        "command-name",
        "command-message",
        "command-args",
        "command-contents",
        "local-command-stdout",
        "local-command-stderr",
        "local-command-caveat",
        "bash-input",
        "bash-stdout",
        "bash-stderr",
        "system-reminder",
        "task-notification",
        "teammate-message",
        "user-memory-input",
        "ide_opened_file",
        "ide_selection",
        "ide_diagnostics",
    }
)
_HOOKS = frozenset({"session-start-hook", "user-prompt-submit-hook"})
_OPENINGS = ("Caveat: The messages below", "[Request interrupted")
_SUMMARY = "This session is being continued from a previous conversation"
_PERSISTED = re.compile(r"<persisted-output>.*?tool-results[/\\]([\w-][\w.-]*)", re.DOTALL)
_SILENT = frozenset({"redacted_thinking", "image", "tool_reference", "connector_text"})


class Records:
    """Makes the records of one file into messages.

    `prefix` begins every part's id, which differ so from those of the same record's copy in another
    file; `persisted` gives the text of a tool's output that was put into a file of its own.
    """

    def __init__(
        self,
        prefix: str,
        agent: str,
        agent_name: str | None,
        persisted: Callable[[str], str | None],
        read: Callable[[int], Record | None],
        state: Record,
    ) -> None:
        self.prefix = prefix
        self.agent = agent
        self.agent_name = agent_name
        self.persisted = persisted
        self.read = read
        self.turns = Turns(self._fetch, state)
        self.at: int = state.get("time", 0)
        self.head: Record = {}
        self._seen: set[int] = set()

    def saved(self) -> dict[str, Any]:
        """Give what a later reading needs."""
        return {**self.turns.saved(), "time": self.at, "head": self.head}

    def take(self, record: Record, at: int) -> None:
        """Put one record into the turns."""
        uuid = clean(text_in(record, "uuid")) or f"{self.prefix}-{at:08x}"
        # Some versions wrote records twice into one file (a `/branch`, input as stream-json).
        if hash(uuid) in self._seen:
            return
        self._seen.add(hash(uuid))
        self.at = epoch_ms(record.get("timestamp")) or self.at
        match record.get("type"):
            case "assistant":
                self._assistant(record, uuid, at)
            case "user":
                self._user(record, uuid)
            case "system":
                self._system(record, uuid)
            case "attachment":
                self._attachment(record, uuid)

    def _fetch(self, line: int, id: str, at: int, call: str) -> Call | None:
        record = self.read(line)
        if record is None:
            return None
        state = {"recent": [[text_in(record_in(record, "message"), "id"), id, at]]}
        fresh = Records(
            self.prefix, self.agent, self.agent_name, self.persisted, lambda _: None, state
        )
        fresh.take(record, line)
        return fresh.turns.calls.get(call)

    def _draft(self, record: Record, uuid: str, key: str = "") -> Draft:
        if key:
            draft = self.turns.draft(key, uuid, self.at)
        else:
            draft = self.turns.begin(uuid, self.at, "user")
        agent = clean(text_in(record, "agentId"))
        side = record.get("isSidechain") is True
        if side and self.agent == "main":  # until 2.0.2x a sub-agent's lines were in its parent's
            draft.agent = f"agent-{agent}" if agent else "sidechain"
        else:
            draft.agent = self.agent
        draft.agent_name = self.agent_name
        return draft

    # The records

    def _assistant(self, record: Record, uuid: str, at: int) -> None:
        message = record_in(record, "message")
        draft = self._draft(record, uuid, text_in(message, "id") or uuid)
        model = clean(text_in(message, "model"))
        draft.model = model or draft.model
        draft.provider = "anthropic" if model.startswith("claude") else draft.provider
        draft.usage = _usage(record, message) or draft.usage
        failed = record.get("isApiErrorMessage") is True
        for number, block in enumerate(blocks_in(message.get("content"))):
            id = f"{self.prefix}:{uuid}:{number}"
            type = text_in(block, "type")
            if type == "text":
                self._said(draft, id, text_in(block, "text"), failed=failed)
            elif type == "thinking":
                text = clean(text_in(block, "thinking"))
                if text:
                    part = Part(id=id, kind=Kind.REASONING, at=self.at, body=text)
                    self.turns.add(draft, part)
                else:
                    draft.unindexed.append(type)
            elif type.endswith("tool_use"):
                part = call_part(id, text_in(block, "name"), strings(block.get("input")), self.at)
                self.turns.call(text_in(block, "id") or id, part, draft, at)
            elif type.endswith("tool_result"):
                self._result(draft, id, block)
            else:
                draft.unindexed.append(clean(type) or "untyped")

    def _said(self, draft: Draft, id: str, text: str, *, failed: bool) -> None:
        text = clean(text)
        if not text.strip():
            return
        if failed:
            part = Part(
                id=id,
                kind=Kind.TOOL_ERROR,
                at=self.at,
                body="API error",
                output=text,
                status="error",
            )
        else:
            part = Part(id=id, kind=Kind.ASSISTANT_TEXT, at=self.at, body=text)
        self.turns.add(draft, part)

    def _user(self, record: Record, uuid: str) -> None:
        message = record_in(record, "message")
        draft = self._draft(record, uuid)
        for number, block in enumerate(blocks_in(message.get("content"))):
            id = f"{self.prefix}:{uuid}:{number}"
            type = text_in(block, "type")
            if type == "text":
                part = self._user_part(record, id, text_in(block, "text"))
                if part:
                    self.turns.add(draft, part)
            elif type.endswith("tool_result"):
                self._result(draft, id, block)
            elif type == "document" and text_in(block, "title"):
                body = clean(text_in(block, "title"))
                self.turns.add(draft, Part(id=id, kind=Kind.USER_TEXT, at=self.at, body=body))
            else:
                draft.unindexed.append(clean(type) or "untyped")

    def _user_part(self, record: Record, id: str, text: str) -> Part | None:
        said, cut, machine = whose(record, text, sub_agent=self.agent != "main")
        if not said and not cut:
            return None
        return Part(id=id, kind=Kind.USER_TEXT, at=self.at, body=said, cut=cut, machine=machine)

    def _result(self, draft: Draft, id: str, block: Record) -> None:
        output = _output(block.get("content"))
        compacted = False
        if found := _PERSISTED.search(output):
            full = self.persisted(found[1])
            compacted = full is None
            output = output if full is None else clean(full)
        failed = block.get("is_error") is True
        call = text_in(block, "tool_use_id")
        if self.turns.result(call, output, failed=failed, compacted=compacted):
            return
        if output:  # its call is in another file, or was lost
            kind = Kind.TOOL_ERROR if failed else Kind.TOOL_OUTPUT
            status = "error" if failed else "completed"
            part = Part(id=id, kind=kind, at=self.at, body="", output=output, status=status)
            self.turns.add(draft, part)

    def _system(self, record: Record, uuid: str) -> None:
        subtype = text_in(record, "subtype") or "system"
        id = f"{self.prefix}:{uuid}:0"
        text = clean(text_in(record, "content"))
        if subtype == "api_error":
            error = strings(record.get("error")) or text
            part = Part(
                id=id,
                kind=Kind.TOOL_ERROR,
                at=self.at,
                body="API error",
                output=error,
                status="error",
            )
        elif text and subtype != "compact_boundary":
            part = Part(id=id, kind=Kind.USER_TEXT, at=self.at, body=text, machine=Machine.HARNESS)
        else:
            return
        self.turns.add(self._draft(record, uuid), part)

    def _attachment(self, record: Record, uuid: str) -> None:
        attachment = record_in(record, "attachment")
        if attachment.get("type") != "queued_command":
            return
        # What was typed while the agent worked is nowhere else.
        draft = self._draft(record, uuid)
        prompt = attachment.get("prompt")
        texts = (
            [prompt]
            if isinstance(prompt, str)
            else [text_in(block, "text") for block in records_in(prompt)]
        )
        parts = [
            self._user_part({}, f"{self.prefix}:{uuid}:{number}", text)
            for number, text in enumerate(texts)
            if text
        ]
        for part in parts:
            if part:
                self.turns.add(draft, part)


def whose(record: Record, text: str, *, sub_agent: bool) -> tuple[str, str, Machine | None]:
    """Tell what of a user's text was said, what the harness put in, and why, if all is its."""
    text = clean(text)
    if record.get("isCompactSummary") is True or text.startswith(_SUMMARY):
        return text, "", Machine.SUMMARY
    if record.get("isMeta") is True or text.startswith(_OPENINGS):
        return text, "", Machine.HARNESS
    said, hooked = part_wrappers(text, _HOOKS)
    if hooked and not said:
        return text, "", Machine.HOOK
    said, cut, machine = own_words(said, _WRAPPERS, hooked)
    spawned = sub_agent or record.get("isSidechain") is True
    if machine is None and said.strip() and spawned:
        return said, cut, Machine.SPAWN
    return said, cut, machine


def user_texts(record: Record) -> Iterator[str]:
    """Give the texts of a user's record."""
    for block in blocks_in(record_in(record, "message").get("content")):
        if block.get("type") == "text":
            yield text_in(block, "text")


def _output(content: object) -> str:
    """Give what a tool gave back as text; images are named and left out."""
    if isinstance(content, str):
        return clean(content)
    found: list[str] = []
    for block in records_in(content):
        source = record_in(block, "source")
        if "text" in block:
            found.append(clean(text_in(block, "text")))
        elif source:
            found.append(data_url(text_in(source, "media_type") or text_in(block, "type")))
        elif block.get("type") not in _SILENT:
            found.append(strings({key: block[key] for key in block if key not in _HIDDEN}))
        elif "tool_name" in block:
            found.append(clean(text_in(block, "tool_name")))
    return "\n".join(text for text in found if text)


_HIDDEN = frozenset({"type", "source", "encrypted_content", "signature", "cache_control"})


def _usage(record: Record, message: Record) -> Usage | None:
    given = record_in(message, "usage")
    if not given and record.get("costUSD") is None:
        return None
    return Usage(
        cost=number_in(record, "costUSD"),
        input=whole_in(given, "input_tokens"),
        output=whole_in(given, "output_tokens"),
        cache_read=whole_in(given, "cache_read_input_tokens"),
        cache_write=whole_in(given, "cache_creation_input_tokens"),
    )
