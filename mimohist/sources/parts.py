"""What MiMo Code and opencode store as `part.data` and `message.data`, made into parts.

Every part type has a decided fate (MiMo Code 0.1.13, opencode 1.18): text and reasoning
as what they are; a finished tool as one part; files, agents, subtasks by who sent them;
patches, retries and errors as what tools and providers gave back; steps and snapshots
hold no text.  Payloads (`data:` URLs, response headers, system prompts) are never taken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mimohist.records import Kind, Machine, Part, Usage
from mimohist.sources.jsonl import epoch_ms, number_in, whole_in
from mimohist.text import clean, split_reminders, strings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TRIMMED = ("[... trimmed", "[stripped:")
"""What MiMo Code's pruning leaves in place of what it took (`src/session/prune.ts`, 0.1.13)."""

Data = "Mapping[str, Any]"


def part_of(id: str, data: Mapping[str, Any], *, role: str, at: int, summary: bool) -> Part | None:
    """Make a part of a stored one, None when it holds no text.

    `role` is its message's; `summary` says that the message sums up a conversation.
    """
    make = _MAKERS.get(_text(data, "type"))
    part = make(id, data, role, at) if make else None
    if part is None:
        return None
    if summary and part.kind is Kind.ASSISTANT_TEXT:
        return replace(part, machine=Machine.SUMMARY)
    return part


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _said_by(role: str) -> Kind:
    return Kind.USER_TEXT if role == "user" else Kind.ASSISTANT_TEXT


def _text_part(id: str, data: Mapping[str, Any], role: str, at: int) -> Part | None:
    text, cut = split_reminders(clean(_text(data, "text")))
    if not text and not cut:
        return None
    machine = None
    if data.get("synthetic"):
        machine = Machine.SYNTHETIC
    elif data.get("ignored"):
        machine = Machine.IGNORED
    elif not text:
        text, cut, machine = cut, "", Machine.SYNTHETIC
    return Part(id=id, kind=_said_by(role), at=at, body=text, cut=cut, machine=machine)


def _reasoning(id: str, data: Mapping[str, Any], role: str, at: int) -> Part | None:
    del role
    text = clean(_text(data, "text"))
    # MiMo Code's pruning empties old reasoning (`src/session/prune.ts`, 0.1.13).
    return Part(id=id, kind=Kind.REASONING, at=at, body=text, compacted=not text)


def _tool(id: str, data: Mapping[str, Any], role: str, at: int) -> Part | None:
    del role
    state = _mapping(data, "state")
    status = _text(state, "status")
    tool = clean(_text(data, "tool")) or "unknown"
    body = f"{tool}\n{strings(state.get('input'))}".rstrip("\n")
    match status:
        case "completed":
            kind, output = Kind.TOOL_OUTPUT, _output(state)
        case "error":
            kind, output = Kind.TOOL_ERROR, _joined(strings(state.get("error")), _names(state))
            if _mapping(state, "metadata").get("interrupted"):
                status = "interrupted"
        case "pending" | "running":
            kind, output = Kind.TOOL_INPUT, ""
        case _:
            return None
    compacted = bool(_mapping(state, "time").get("compacted")) or TRIMMED[0] in output
    return Part(
        id=id,
        kind=kind,
        at=at,
        body=body,
        output=output,
        tool=tool,
        status=status,
        compacted=compacted,
    )


def _output(state: Mapping[str, Any]) -> str:
    return _joined(strings(state.get("output")), _names(state))


def _names(state: Mapping[str, Any]) -> str:
    attachments = state.get("attachments")
    if not isinstance(attachments, list):
        return ""
    files = [item for item in attachments if isinstance(item, dict)]
    return _joined(*(_file_text(item) for item in files))


def _joined(*texts: str) -> str:
    return "\n".join(text for text in texts if text)


def _file_text(data: Mapping[str, Any]) -> str:
    """Give a file's name, type and place, and what mentioned it; never what is in it."""
    source = _mapping(data, "source")
    url = _text(data, "url")
    return clean(
        _joined(
            _text(data, "filename"),
            _text(data, "mime"),
            "" if url.lower().startswith("data:") else url,
            _text(source, "path"),
            _text(source, "name"),
            _text(source, "uri"),
            _text(_mapping(source, "text"), "value"),
        )
    )


def _file(id: str, data: Mapping[str, Any], role: str, at: int) -> Part | None:
    text = _file_text(data)
    if not text:
        return None
    compacted = any(mark in text for mark in TRIMMED)
    return Part(id=id, kind=_said_by(role), at=at, body=text, compacted=compacted)


def _subtask(id: str, data: Mapping[str, Any], role: str, at: int) -> Part | None:
    keys = ("prompt", "description", "agent", "command")
    text = clean(_joined(*(_text(data, key) for key in keys)))
    return Part(id=id, kind=_said_by(role), at=at, body=text) if text else None


def _agent(id: str, data: Mapping[str, Any], role: str, at: int) -> Part | None:
    text = clean(_joined(_text(data, "name"), _text(_mapping(data, "source"), "value")))
    return Part(id=id, kind=_said_by(role), at=at, body=text) if text else None


def _patch(id: str, data: Mapping[str, Any], role: str, at: int) -> Part | None:
    del role
    files = strings(data.get("files"))
    if not files:
        return None
    return Part(
        id=id,
        kind=Kind.TOOL_OUTPUT,
        at=at,
        body="",
        output=files,
        tool="patch",
        status="completed",
    )


def _retry(id: str, data: Mapping[str, Any], role: str, at: int) -> Part | None:
    del role
    name, text = _error_text(_mapping(data, "error"))
    if not text:
        return None
    return Part(id=id, kind=Kind.TOOL_ERROR, at=at, body=name, output=text, status="error")


def _compaction(id: str, data: Mapping[str, Any], role: str, at: int) -> Part | None:
    del role
    projection = _mapping(data, "projection")
    text = _joined(strings(projection.get("summary")), strings(projection.get("manifest")))
    if not text:
        return None
    return Part(id=id, kind=Kind.ASSISTANT_TEXT, at=at, body=text, machine=Machine.SUMMARY)


def _checkpoint(id: str, data: Mapping[str, Any], role: str, at: int) -> Part | None:
    text = clean(_text(data, "checkpointDir"))
    if not text:
        return None
    return Part(id=id, kind=_said_by(role), at=at, body=text, machine=Machine.CHECKPOINT)


_MAKERS: Mapping[str, Callable[[str, Mapping[str, Any], str, int], Part | None]] = {
    "text": _text_part,
    "reasoning": _reasoning,
    "tool": _tool,
    "file": _file,
    "subtask": _subtask,
    "agent": _agent,
    "patch": _patch,
    "retry": _retry,
    "compaction": _compaction,
    "checkpoint": _checkpoint,
}
"""The part types that can hold text; step-start, step-finish and snapshot never do."""


def error_of(message: str, data: Mapping[str, Any], at: int) -> Part | None:
    """Make a part of the error that ended a message, None when there is none."""
    error = _mapping(data, "error")
    name, text = _error_text(error)
    if not name and not text:
        return None
    return Part(
        id=f"error:{message}",
        kind=Kind.TOOL_ERROR,
        at=at,
        body=name,
        output=text or name,
        status="error",
    )


def _error_text(error: Mapping[str, Any]) -> tuple[str, str]:
    """Give an error's name and its words; response headers may hold secrets and stay out."""
    data = _mapping(error, "data") or error
    words = _joined(_text(data, "message"), _text(data, "responseBody"))
    return clean(_text(error, "name")), clean(words)


def usage_of(data: Mapping[str, Any]) -> Usage | None:
    """Give what an assistant message cost, None when it does not say."""
    tokens = _mapping(data, "tokens")
    cache = _mapping(tokens, "cache")
    if not tokens and data.get("cost") is None:
        return None
    return Usage(
        cost=number_in(data, "cost"),
        input=whole_in(tokens, "input"),
        output=whole_in(tokens, "output"),
        reasoning=whole_in(tokens, "reasoning"),
        cache_read=whole_in(cache, "read"),
        cache_write=whole_in(cache, "write"),
    )


def own_time(data: Mapping[str, Any]) -> int | None:
    """Give when a part says that it began, None when it does not.

    opencode's move from JSON to SQLite (1.2, Feb 2026) dated every part with the day of
    the move; the parts themselves know better.
    """
    for times in (_mapping(data, "time"), _mapping(_mapping(data, "state"), "time")):
        start = epoch_ms(times.get("start"))
        if start is not None:
            return start
    return None
