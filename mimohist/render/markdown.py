"""Whole sessions as Markdown: what was said stays Markdown, calls and outputs are code.

Raw HTML of a transcript is made text, its pictures and its links to scripts are broken, so that no
viewer runs or fetches anything, and what is code stands in fences of this module's own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mimohist.render import story

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mimohist.exporting import Trajectory
    from mimohist.trajectory import TrajectoryMessage

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY = re.compile(r"&(?=[#A-Za-z])")
_SCRIPT_LINK = re.compile(r"\](?=[(:]\s*\\?(?:javascript|vbscript|data)\\?:)", re.IGNORECASE)
_PICTURE = re.compile(r"!(?=\[)")
_IN_CODE = re.compile(r"(?<![`\\])`([^`\n]+)`(?!`)")
_BARE_TAG = re.compile(r"<(?=/?([A-Za-z][A-Za-z0-9_.]*)>)")
_ACTIVE = re.compile(
    r"applet|audio|base|body|button|embed|form|frame|frameset|head|html|iframe|img|input|link|math"
    r"|meta|noembed|noframes|noscript|object|plaintext|script|select|style|svg|template|textarea"
    r"|title|video|xmp",
    re.IGNORECASE,
)
_ENTITIES = {char: f"&#{ord(char)};" for char in "&<>[]*_`~\\"}
_SPECIAL = re.compile(r"([\\`*_\[\]#|~])")


def session(one: Trajectory, messages: Iterable[TrajectoryMessage]) -> Iterator[str]:
    """Write a session, line by line or several lines at once."""
    yield f"# {plain(story.line(one.title, 300) or one.session_id)}"
    yield ""
    facts = (one.ref, story.line(one.project, 300), story.moment(one.at))
    yield plain(" · ".join(fact for fact in facts if fact))
    for message in messages:
        yield ""
        yield from _message(message)
    yield ""


def _message(message: TrajectoryMessage) -> Iterator[str]:
    head = f"## {plain(story.speaker(message))}"
    facts = (story.moment(message.get("created")), story.about(message))
    notes = " · ".join(fact for fact in facts if fact)
    yield f"{head} — {plain(notes)}" if notes else head
    for piece in story.pieces(message):
        yield ""
        if piece.kind == story.SAID and not piece.why:
            yield from text(piece.text)
        elif piece.kind == story.NOTE:
            yield f"*{plain(piece.head)}*"
        else:
            yield from _folded(piece)


def _folded(piece: story.Piece) -> Iterator[str]:
    """Write what is not read first into a `<details>`, which Markdown viewers fold."""
    if piece.kind == story.CALL:
        head = f"{'✗ ' if piece.failed else ''}{piece.head}"
    else:
        head = piece.why or "reasoning"
    yield f"<details><summary>{_escaped(head)}</summary>"
    yield ""
    if piece.text:
        yield from text(piece.text)
        yield ""
    for field in piece.fields:
        if field.label:
            yield f"{plain(field.label)}:"
            yield ""
        yield from fenced(field.text, field.language)
        yield ""
    yield "</details>"


def text(said: str) -> Iterator[str]:
    """Write what somebody said: Markdown as it is, but harmless."""
    for place, block in enumerate(story.blocks(said)):
        if place:
            yield ""
        if block.language is None:
            yield harmless(block.text)
        else:
            yield from fenced(block.text, block.language)


def fenced(code: str, language: str = "") -> Iterator[str]:
    """Write code between fences that are longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    yield fence + (language if re.fullmatch(r"[\w+#.-]*", language) else "")
    yield code
    yield fence


def harmless(prose: str) -> str:
    """Make raw HTML in Markdown text, and a picture or a link to a script neither.

    In what looks like a code span a tag without attributes stays, unless it does something:
    what is a span is the viewer's to say, and an entity would be seen in it.
    """
    out: list[str] = []
    at = 0
    for span in _IN_CODE.finditer(prose):
        out.append(_outside(prose[at : span.start()]))
        out.append(f"`{_inside(span[1])}`")
        at = span.end()
    out.append(_outside(prose[at:]))
    return _SCRIPT_LINK.sub(r"]\\", _PICTURE.sub(r"!\\", "".join(out)))


def _outside(prose: str) -> str:
    return _TAG.sub("&lt;", _ENTITY.sub("&amp;", prose))


def _inside(code: str) -> str:
    kept = {tag.start() for tag in _BARE_TAG.finditer(code) if not _ACTIVE.fullmatch(tag[1])}
    return _TAG.sub(lambda tag: "<" if tag.start() in kept else "&lt;", code)


def plain(line: str) -> str:
    """Write one line so that nothing in it is Markdown."""
    return _outside(_SPECIAL.sub(r"\\\1", line))


def _escaped(line: str) -> str:
    """Write one line between our own tags; some viewers read Markdown there and others do not."""
    return "".join(_ENTITIES.get(char, char) for char in line)
