"""What a person is shown of a trajectory: each part as said, thought, called, or noted.

Markdown and HTML are written from these values.  Texts are made printable here: payloads and
control characters are gone from everything that comes out.
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist.render.moments import utc
from mimohist.text import clean, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Json = Mapping[str, Any]

SAID, THOUGHT, CALL, NOTE = "said", "thought", "call", "note"

_SHORT = 100
_SILENT = frozenset({"step-start", "step-finish", "snapshot"})
_TELLING = ("command", "file_path", "filePath", "path", "pattern", "query", "url", "description")
_IN_A_DIFF = frozenset({"old_string", "new_string", "oldString", "newString"})
_CODE = {"command": "sh", "patchText": "diff", "patch": "diff"}


class Field(NamedTuple):
    """A labelled text of a call; `language` is what its code is written in, or ""."""

    label: str
    text: str
    language: str = ""


class Piece(NamedTuple):
    """One thing that happened in a message.

    `kind` is one of the four above.  `head` is one line: what was called, what is noted.
    `text` is what was said or thought, as Markdown.  `fields` are a call's input and results.
    `why` is the reason why it is not somebody's words, "" when it is; `failed` marks errors.
    """

    kind: str
    head: str = ""
    text: str = ""
    fields: tuple[Field, ...] = ()
    why: str = ""
    failed: bool = False


def shown(value: object) -> str:
    """Make any value a text that is safe to show."""
    if isinstance(value, str):
        return printable(clean(value))
    return printable(clean(json.dumps(value, ensure_ascii=False, indent=2)))


def line(value: object, most: int = _SHORT) -> str:
    """Make any value one short line."""
    text = " ".join(shown(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def moment(at: object) -> str:
    """Write an epoch time in milliseconds for a person, in UTC; "" for what is none."""
    if not isinstance(at, int | float) or not 0 <= at < 1 << 47:
        return ""
    return utc(int(at))[:16].replace("T", " ") + " UTC"


def speaker(message: Json) -> str:
    """Name who a message is of, and the slice where it is not the main one."""
    who = "You" if message.get("role") == "user" else line(message.get("agent") or "assistant", 40)
    slice_ = message.get("agentID")
    return who if slice_ in (None, "main") else f"{who} ({line(slice_, 40)})"


def about(message: Json) -> str:
    """Name the model that wrote a message and what it cost (US dollars), where that is known."""
    model = message.get("modelID")
    cost = message.get("cost")
    words = [line(model, 60)] if isinstance(model, str) else []
    if isinstance(cost, int | float) and cost > 0:
        words.append(f"${cost:.4f}")
    return " · ".join(words)


def pieces(message: Json) -> Iterator[Piece]:
    """Give what happened in a message, in order."""
    why = message.get("source") if message.get("source") in ("hook", "spawn") else ""
    for part in message.get("parts") or ():
        if isinstance(part, dict):
            piece = _piece(part)
            if piece:
                yield piece._replace(why=piece.why or str(why)) if piece.kind == SAID else piece
    if error := message.get("error"):
        yield Piece(NOTE, f"error: {_error(error)}", failed=True)


def _piece(part: Json) -> Piece | None:
    type = part.get("type")
    match type:
        case "text":
            text = shown(part.get("text") or "")
            return Piece(SAID, text=text, why=_machine(part)) if text.strip() else None
        case "reasoning":
            text = shown(part.get("text") or "")
            return Piece(THOUGHT, line(text), text) if text.strip() else None
        case "tool":
            return _call(part)
        case "file":
            return Piece(NOTE, _file(part))
        case "patch":
            return _patch(part)
        case _:
            return None if type in _SILENT else _other(part)


def _machine(part: Json) -> str:
    if part.get("synthetic"):
        return "synthetic"
    if part.get("ignored"):
        return "ignored"
    metadata = part.get("metadata")
    why = metadata.get("machine") if isinstance(metadata, dict) else None
    return line(why) if isinstance(why, str) else ""


def _other(part: Json) -> Piece:
    own = {"id", "sessionID", "messageID", "type"}
    match part.get("type"):
        case "subtask":
            head = f"subtask for {line(part.get('agent'))}: {line(part.get('description') or '')}"
            return Piece(CALL, head, fields=(Field("prompt", shown(part.get("prompt") or "")),))
        case "agent":
            return Piece(NOTE, f"@{line(part.get('name'))}")
        case "retry":
            number = part.get("attempt")
            return Piece(
                NOTE, f"retry {line(number or '')}: {_error(part.get('error'))}", failed=True
            )
        case "compaction":
            fields = _fields(part.get("projection"))
            head = "the conversation was compacted here"
            return Piece(CALL if fields else NOTE, head, fields=fields)
        case "checkpoint":
            return Piece(NOTE, f"checkpoint {line(part.get('checkpointNumber', ''))}".strip())
        case other:
            rest = {key: value for key, value in part.items() if key not in own}
            return Piece(CALL, line(other), fields=(Field("", shown(rest), "json"),))


def _call(part: Json) -> Piece:
    state = part.get("state")
    state = state if isinstance(state, dict) else {}
    given = state.get("input")
    given = given if isinstance(given, dict) else {"input": given} if given else {}
    metadata = state.get("metadata")
    diff = metadata.get("diff") if isinstance(metadata, dict) else None
    fields = list(_fields(given, _IN_A_DIFF if isinstance(diff, str) and diff else frozenset()))
    if isinstance(diff, str) and diff:
        fields.append(Field("diff", shown(diff), "diff"))
    failed = state.get("status") == "error"
    result = state.get("error") if failed else state.get("output")
    if result:
        label, language = ("error", "") if failed else ("output", _suffix(given))
        fields.append(Field(label, shown(result), language))
    attached = state.get("attachments")
    files = attached if isinstance(attached, list) else ()
    fields += [Field("attached", _file(file)) for file in files if isinstance(file, dict)]
    tool = line(part.get("tool") or "tool", 60)
    status = "" if state.get("status") in ("completed", None) else f" ({line(state['status'])})"
    return Piece(
        CALL, f"{tool}{status} {_told(given)}".strip(), fields=tuple(fields), failed=failed
    )


def _told(given: Json) -> str:
    """Give the line that tells most of what a call was about."""
    for key in (*_TELLING, *given):
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            return line(value)
    return ""


def _fields(given: object, without: frozenset[str] = frozenset()) -> tuple[Field, ...]:
    if not isinstance(given, dict):
        return ()
    suffix = _suffix(given)
    return tuple(
        Field(
            line(str(key)),
            shown(value),
            _CODE.get(str(key), suffix if key == "content" else "")
            if isinstance(value, str)
            else "json",
        )
        for key, value in given.items()
        if key not in without
    )


def _suffix(given: Json) -> str:
    """Give the end of the name of the file that a call is about: what its text is written in."""
    file = given.get("file_path", given.get("filePath"))
    return PurePath(file).suffix[1:] if isinstance(file, str) else ""


def _file(part: Json) -> str:
    name, mime, url = part.get("filename"), part.get("mime"), part.get("url")
    words = [f"file {line(name)}" if isinstance(name, str) else "file"]
    if isinstance(mime, str):
        words.append(f"({line(mime)})")
    if isinstance(url, str) and not url.startswith("[data-url:"):
        words.append(line(url, 300))
    return " ".join(words)


def _patch(part: Json) -> Piece | None:
    files = part.get("files")
    if isinstance(files, list) and files:
        names = "\n".join(line(name, 300) for name in files)
        count = f"{len(files)} file{'s' * (len(files) != 1)} changed"
        return Piece(CALL, count, fields=(Field("", names),))
    return Piece(NOTE, f"{line(files)} files changed") if files else None


def _error(error: object) -> str:
    """Write an error as MiMo Code does: its message, else its record."""
    if isinstance(error, dict):
        data = error.get("data")
        words = error.get("message")
        if not isinstance(words, str):
            words = data.get("message") if isinstance(data, dict) else None
        if isinstance(words, str) and words:
            name = error.get("name")
            return line(f"{name}: {words}" if isinstance(name, str) else words, 500)
    return line(error, 500)


# Markdown's one structure that matters: what is code


class Block(NamedTuple):
    """A stretch of a text: prose (`language` None), or what stood in a fence."""

    text: str
    language: str | None = None


def blocks(text: str) -> Iterator[Block]:
    """Part a Markdown text at its fences; one that is never closed goes on to the end."""
    prose: list[str] = []
    code: list[str] = []
    fence = indent = ""
    language = ""
    for row in text.split("\n"):
        bare = row.lstrip(" ")
        mark = _fence(bare)
        if not fence and mark and len(row) - len(bare) <= 3:  # noqa: PLR2004 - CommonMark
            if prose:
                yield Block("\n".join(prose))
            prose, code, fence = [], [], mark
            indent = row[: len(row) - len(bare)]
            language = bare[len(mark) :].strip().split(" ")[0].lower()[:20]
        elif fence and mark.startswith(fence) and bare.strip() == mark:
            yield Block("\n".join(code), language)
            fence = ""
        elif fence:
            code.append(row.removeprefix(indent))
        else:
            prose.append(row)
    if fence:
        yield Block("\n".join(code), language)
    elif prose:
        yield Block("\n".join(prose))


def _fence(bare: str) -> str:
    """Give the run of backticks or tildes that opens or closes a fence, "" for none."""
    if not bare.startswith(("```", "~~~")):
        return ""
    mark = bare[: len(bare) - len(bare.lstrip(bare[0]))]
    return "" if mark[0] == "`" and "`" in bare[len(mark) :] else mark
