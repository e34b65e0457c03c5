"""What the `history` tool answers, as texts that never outgrow a model's patience.

An answer is cut between messages, never within the one asked for, and says with which call
the rest is had.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mimohist.render.moments import utc
from mimohist.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mimohist.answers import Answer, Hit
    from mimohist.contexts import Context, ShownMessage, ShownPart
    from mimohist.pages import Page

MOST_BYTES = 20_480
"""What a whole answer has at most, as in MiMo Code (`src/tool/history.ts`)."""

_ROOM = MOST_BYTES - 1_500
"""What messages and hits may take; the rest is for what is said about them."""

_PAGE_BYTES = 16_000
_PART = 2_000
_MACHINE_PART = 300
_LEAST_SNIPPET = 60
_MOST_AROUND = 50
_LONGEST_CALL = 300


def call(operation: str, **arguments: object) -> str:
    """Write a call of the tool, to be made as it stands."""
    return json.dumps({"operation": operation, **arguments}, ensure_ascii=False)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def capped(text: str) -> str:
    """Cut what could not be made short enough: ids and names as long as no program makes them."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= MOST_BYTES else data[:MOST_BYTES].decode("utf-8", "ignore")


def line(text: str, most: int = 100) -> str:
    """Make a text one line of at most so many characters."""
    short = " ".join(printable(text).split())
    return short if len(short) <= most else short[: most - 1] + "…"


def _joined(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


# search


def hits(answer: Answer, asked: Mapping[str, Any], note: str) -> str:
    """Write the hits of a search, their snippets shortened until all have room."""
    head = _heading(answer)
    most = 1_000
    texts = [_hit(hit, most) for hit in answer.hits]
    while most > _LEAST_SNIPPET and sum(map(_bytes, texts)) + 2 * len(texts) > _ROOM:
        most = most * 3 // 4
        texts = [_hit(hit, most) for hit in answer.hits]
    kept = _fitting(texts)
    return _joined(head, *texts[:kept], _more(answer, asked, kept), note)


def _fitting(texts: list[str]) -> int:
    room = _ROOM
    for place, text in enumerate(texts):
        room -= _bytes(text) + 2
        if room < 0:
            return place
    return len(texts)


def _heading(answer: Answer) -> str:
    known = f"more than {answer.known - 1}" if answer.total is None else str(answer.total)
    where = f" in {line(answer.scope, 200)}" if answer.scope else " in all projects"
    words = f"{known} match{'' if known == '1' else 'es'}{where}"
    if answer.widened == "kinds":
        words += "; nothing in what was said and called, so these are from all kinds"
    elif answer.widened == "any":
        words += "; nothing has all the words, these have some of them"
    if not answer.hits:
        words += f" ({answer.sessions} sessions searched)"
        if answer.elsewhere:
            words += f'; {answer.elsewhere} in other projects: add "scope": "global"'
    if answer.cut_off:
        words += "; the time was up, older texts were not read"
    return words


def _hit(hit: Hit, most: int) -> str:
    kind = f"{hit.kind} · {line(hit.tool, 40)}" if hit.tool else str(hit.kind)
    gone = ", gone from its source" if hit.gone else ""
    anchor = f"message_id: {hit.ref}" if hit.message_id else f"session: {hit.ref}"
    return (
        f"### {line(hit.title, 80)} ({kind}{gone})\n"
        f"{anchor}  part_id: {hit.part_id}\n"
        f"{utc(hit.at)}  {line(hit.project, 80)}\n"
        f"{_around_match(hit, most)}"
    )


def _around_match(hit: Hit, most: int) -> str:
    """Cut a snippet to so many bytes, about its first match."""
    text = hit.snippet
    if _bytes(text) <= most:
        return text
    middle = hit.matches[0][0] if hit.matches else 0
    width = max(most // 3, 10)
    start = max(0, min(middle - width // 3, len(text) - width))
    return f"…{text[start : start + width]}…"


def _more(answer: Answer, asked: Mapping[str, Any], kept: int) -> str:
    given = {key: value for key, value in asked.items() if value is not None}
    lines = []
    if answer.hits:
        hit = answer.hits[0]
        lines.append(f"in context: {call('around', message_id=hit.ref)}")
    if kept < len(answer.hits):
        left = len(answer.hits) - kept
        lines.append(f"{left} more have no room here; narrow the search by kind or time")
    elif (answer.total is None or answer.total > len(answer.hits)) and asked[
        "limit"
    ] < _MOST_AROUND:
        more = json.dumps({**given, "limit": _MOST_AROUND}, ensure_ascii=False)
        lines.append(
            f"more: {more if len(more) < _LONGEST_CALL else 'the same with a limit of 50'}"
        )
    return "\n".join(lines)


# around


def window(context: Context, note: str) -> str:
    """Write a window: the anchor, its parts shortened if they must, and its nearest neighbours."""
    messages = context.messages
    anchor = next((place for place, one in enumerate(messages) if one.anchor), 0)
    if not messages:
        return _joined(_title(context), "(no message)", note)
    most = 2 * _PART
    texts = {anchor: _message(messages[anchor], most)}
    while _bytes(texts[anchor]) > _ROOM and most > 0:
        most = most // 2 if most > 50 else 0  # noqa: PLR2004 - shorter says nothing
        texts[anchor] = _message(messages[anchor], most)
    if _bytes(texts[anchor]) > _ROOM:
        texts[anchor] = _few_parts(messages[anchor])
    first, last = _neighbours(messages, anchor, texts)
    shown = [texts[place] for place in range(first, last)]
    rest = _rest(context, first, last)
    return _joined(_title(context), *shown, rest, note)


def _neighbours(
    messages: tuple[ShownMessage, ...], anchor: int, texts: dict[int, str]
) -> tuple[int, int]:
    """Add messages on either side in turn while they have room; give the stretch that is shown."""
    room = _ROOM - _bytes(texts[anchor])
    first, last = anchor, anchor + 1
    earlier, later = True, True
    while earlier or later:
        earlier = earlier and first > 0
        if earlier:
            text = _message(messages[first - 1], _PART)
            earlier = _bytes(text) + 2 <= room
            if earlier:
                first -= 1
                room -= _bytes(text) + 2
                texts[first] = text
        later = later and last < len(messages)
        if later:
            text = _message(messages[last], _PART)
            later = _bytes(text) + 2 <= room
            if later:
                room -= _bytes(text) + 2
                texts[last] = text
                last += 1
    return first, last


def _title(context: Context) -> str:
    gone = "; gone from its source" if context.gone else ""
    place = f"{line(context.session_ref, 200)}  {line(context.project)}{gone}"
    return f"# {line(context.title)}\n{place}"


def _message(message: ShownMessage, most: int) -> str:
    mark = ">>> " if message.anchor else ""
    slice_ = "" if message.agent == "main" else f" [{line(message.agent, 40)}]"
    head = (
        f"{mark}{message.ordinal}. {message.role}{slice_}  {utc(message.at)}"
        f"  message_id: {message.ref}"
    )
    parts = (part for part in message.parts if part.text.strip() or part.tool)
    return "\n".join([head, *(_part(part, most) for part in parts)])


def _few_parts(message: ShownMessage) -> str:
    """Write a message with so many parts that even their names have no room."""
    count = len(message.parts)
    text = ""
    while count > 1:
        count //= 2
        text = _message(replace(message, parts=message.parts[:count]), 0)
        if _bytes(text) <= _ROOM:
            break
    left = len(message.parts) - count
    return f"{text}\n({left} more parts; `mimohist around {message.ref} -C 0` shows them)"


def _part(part: ShownPart, most: int) -> str:
    if part.machine:
        most = min(most, _MACHINE_PART)
    kind = f"{part.kind}:{line(part.tool, 40)}" if part.tool else str(part.kind)
    why = f" (machine: {part.machine})" if part.machine else ""
    text = printable(part.text)
    if len(text) > most:
        rest = call("get", part_id=part.part_id)
        text = f"{text[:most]}…\n  ({len(part.text)} characters; whole: {rest})"
    return f"[{kind}]{why} {text}"


def _rest(context: Context, first: int, last: int) -> str:
    """Say how the messages before and after those shown are had."""
    messages = context.messages
    earlier, later = first + context.earlier, len(messages) - last + context.later
    lines = []
    if earlier:
        before = min(earlier, _MOST_AROUND)
        more = call("around", message_id=messages[first].ref, before=before, after=0)
        lines.append(f"{earlier} earlier: {more}")
    if later:
        after = min(later, _MOST_AROUND)
        more = call("around", message_id=messages[last - 1].ref, before=0, after=after)
        lines.append(f"{later} later: {more}")
    return "\n".join(lines)


# get


def page(found: Page, note: str) -> str:
    """Write a page of a part, cut where it would take too many bytes."""
    text = found.text
    while _bytes(printable(text)) > _PAGE_BYTES:
        text = text[: len(text) * _PAGE_BYTES // max(_bytes(text), 1)]
    end = found.offset + len(text)
    kind = f"{found.kind}:{line(found.tool, 40)}" if found.tool else str(found.kind)
    head = (
        f"[{kind}] part_id: {found.part_id}  message_id: {found.ref}\n"
        f"characters {found.offset} to {end} of {found.total}"
    )
    rest = f"more: {call('get', part_id=found.part_id, offset=end)}" if end < found.total else ""
    return _joined(head, printable(text), rest, note)
