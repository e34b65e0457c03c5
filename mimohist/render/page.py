"""Whole sessions as one HTML page that needs nothing else and runs nothing.

There is no script and no link out in it; all text of a transcript is escaped in one place, and
the page's own policy forbids scripts, frames, forms, pictures and every request.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

from mimohist.render import highlight, story

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mimohist.exporting import Trajectory
    from mimohist.trajectory import TrajectoryMessage

STYLE = """
:root{color-scheme:light dark;--page:#fff;--ink:#1f2328;--soft:#59636e;--line:#d1d9e0;--box:#f6f8fa;
--you:#eef5ff;--you-edge:#0969da;--bad:#c4161c;--k:#8250df;--s:#0a5c8a;--n:#953800;--c:#59636e;
--i:#116329;--d:#a40e26}
@media (prefers-color-scheme:dark){:root{--page:#0d1117;--ink:#e6edf3;--soft:#9198a1;--line:#30363d;
--box:#161b22;--you:#10213a;--you-edge:#4493f8;--bad:#ff7b72;--k:#d2a8ff;--s:#a5d6ff;--n:#ffa657;
--c:#9198a1;--i:#7ee787;--d:#ff9492}}
*{box-sizing:border-box}
html{background:var(--page);color:var(--ink);font:16px/1.6 system-ui,-apple-system,"Segoe UI",
"Noto Sans",Roboto,"Helvetica Neue",Arial,"PingFang SC","Hiragino Sans","Microsoft YaHei",
"Yu Gothic","Malgun Gothic","Noto Sans CJK SC","Noto Sans CJK JP","Noto Sans CJK KR",sans-serif}
body{max-width:54rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.5rem;line-height:1.3;margin:0 0 .25rem}
h2{font-size:.95rem;margin:0 0 .4rem}
h2 small,.about{color:var(--soft);font-weight:400;font-size:.8rem;margin:0 0 0 .5rem}
.about{margin:0;overflow-wrap:anywhere}
article+article{border-top:3px double var(--line);margin-top:3rem;padding-top:2rem}
section{margin:1.5rem 0 0}
section.you{background:var(--you);border-left:.25rem solid var(--you-edge);border-radius:.4rem;
padding:.75rem 1rem}
p,.said{margin:.5rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
.said b.h{font-size:1.1em}
.note{color:var(--soft);font-size:.9rem}
.bad{color:var(--bad)}
pre,code,summary{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",
"Noto Sans Mono CJK SC","PingFang SC","Microsoft YaHei",monospace;font-size:.85rem}
code{background:var(--box);border-radius:.25rem;padding:.1em .3em}
pre{background:var(--box);border:1px solid var(--line);border-radius:.4rem;margin:.5rem 0;
padding:.6rem .8rem;overflow:auto;max-height:40rem;line-height:1.45;tab-size:4}
pre code{background:none;padding:0;font-size:inherit}
details{border:1px solid var(--line);border-radius:.4rem;margin:.5rem 0;padding:.3rem .7rem}
details[open]{padding-bottom:.6rem}
summary{cursor:pointer;color:var(--soft);white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
details[open]>summary{white-space:normal;overflow-wrap:anywhere}
.label{color:var(--soft);font-size:.75rem;margin:.5rem 0 -.3rem}
.machine{color:var(--soft)}
.k{color:var(--k)}.s{color:var(--s)}.n{color:var(--n)}.c{color:var(--c);font-style:italic}
.i{color:var(--i)}.d{color:var(--d)}
@media print{:root{color-scheme:light;--page:#fff;--ink:#000;--soft:#444;--box:#fff;--you:#fff;
--line:#999}body{max-width:none;padding:0;font-size:10pt}pre{max-height:none;white-space:pre-wrap;
overflow-wrap:anywhere}h2{break-after:avoid}section.you{border:1px solid #999;
border-left-width:.25rem}}
""".strip()

_POLICY = (
    "default-src 'none'; style-src 'sha256-"
    + b64encode(sha256(STYLE.encode()).digest()).decode()
    + "'; base-uri 'none'; form-action 'none'"
)

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "`": "&#96;"}
_ESCAPES = str.maketrans(_ENTITIES)

_INLINE = re.compile(
    r"(?<!`)`(?P<code>[^`\n]+)`(?!`)|\*\*(?P<bold>[^*\n]+)\*\*|^#{1,6} (?P<head>[^\n]*)$",
    re.MULTILINE,
)


def head(title: str) -> Iterator[str]:
    """Begin the page."""
    yield '<!DOCTYPE html>\n<html lang="">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield '<meta name="referrer" content="no-referrer">'
    yield '<meta name="generator" content="mimohist">'
    yield f"<title>{escaped(story.line(title, 200))}</title>"
    yield f"<style>{STYLE}</style>\n</head>\n<body>\n<main>"


def foot() -> Iterator[str]:
    """End the page."""
    yield "</main>\n</body>\n</html>"


def session(one: Trajectory, messages: Iterable[TrajectoryMessage]) -> Iterator[str]:
    """Write a session."""
    yield "<article>"
    yield f"<h1>{escaped(story.line(one.title, 300) or one.session_id)}</h1>"
    facts = (one.ref, story.line(one.project, 300), story.moment(one.at))
    yield f'<p class="about">{escaped(" · ".join(fact for fact in facts if fact))}</p>'
    for message in messages:
        yield from _message(message)
    yield "</article>"


def _message(message: TrajectoryMessage) -> Iterator[str]:
    pieces = list(story.pieces(message))
    if not pieces:
        return
    said_here = any(piece.kind == story.SAID and not piece.why for piece in pieces)
    you = ' class="you"' if message.get("role") == "user" and said_here else ""
    facts = (story.moment(message.get("created")), story.about(message))
    notes = escaped(" · ".join(fact for fact in facts if fact))
    yield f"<section{you}>"
    yield f"<h2>{escaped(story.speaker(message))}<small>{notes}</small></h2>"
    for piece in pieces:
        yield from _piece(piece)
    yield "</section>"


def _piece(piece: story.Piece) -> Iterator[str]:
    bad = " bad" if piece.failed else ""
    head = escaped(piece.head)
    if piece.kind == story.NOTE:
        yield f'<p class="note{bad}">{head}</p>'
    elif piece.kind == story.CALL:
        yield f'<details class="call"><summary class="{bad.strip()}">{head}</summary>'
        for field in piece.fields:
            if field.label:
                yield f'<div class="label">{escaped(field.label)}</div>'
            yield code(field.text, field.language)
        yield "</details>"
    elif piece.kind == story.THOUGHT or piece.why:
        label = piece.why or f"thought: {piece.head}"
        yield f'<details class="machine"><summary>{escaped(label)}</summary>'
        yield from text(piece.text)
        yield "</details>"
    else:
        yield from text(piece.text)


def text(said: str) -> Iterator[str]:
    """Write what somebody said: fences as code, the rest as it was typed."""
    for block in story.blocks(said):
        if block.language is not None:
            yield code(block.text, block.language)
        elif block.text.strip():
            yield f'<div class="said">{inline(block.text.strip(chr(10)))}</div>'


def code(text: str, language: str = "") -> str:
    """Write code, highlighted where its language is known."""
    stretches = (
        f'<span class="{style}">{escaped(stretch)}</span>' if style else escaped(stretch)
        for style, stretch in highlight.spans(text, language)
    )
    return f"<pre><code>{''.join(stretches)}</code></pre>"


def inline(prose: str) -> str:
    """Write prose with its code spans, bold words and headings; nothing in it is a link."""
    out: list[str] = []
    at = 0
    for found in _INLINE.finditer(prose):
        out.append(escaped(prose[at : found.start()]))
        at = found.end()
        if found["code"] is not None:
            out.append(f"<code>{escaped(found['code'])}</code>")
        elif found["bold"] is not None:
            out.append(f"<b>{escaped(found['bold'])}</b>")
        else:
            out.append(f'<b class="h">{escaped(found["head"])}</b>')
    out.append(escaped(prose[at:]))
    return "".join(out)


def escaped(text: str) -> str:
    """Make a text harmless in an element and in a quoted attribute; all text comes through here."""
    return text.translate(_ESCAPES)
