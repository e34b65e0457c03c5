"""Where a text matches, and the stretch of it that shows so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mimohist.query import places
from mimohist.text import printable, trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mimohist.query import Term

Span = tuple[int, int]

WIDTH = 240
"""How many characters a snippet has, about: three lines of a terminal."""

_MARGIN = 60
_MOST = 64
_WORD = 24
"""A stretch begins with a whole word where one begins within so many characters."""
_BLANKS = re.compile(r"\s+")


class Spans(Protocol):
    """What finds something in a text as said."""

    @property
    def wanted(self) -> int:
        """How many different things there are to find."""

    def spans(self, text: str) -> list[tuple[Span, int]]:
        """Give where they stand, in order, each place with the thing's number."""


class Finder(NamedTuple):
    """Finds terms in texts."""

    terms: tuple[Term, ...]

    @property
    def wanted(self) -> int:
        """How many terms there are to find."""
        return len(self.terms)

    def spans(self, text: str) -> list[tuple[Span, int]]:
        """Give where the terms stand in a text as said, each with the term's number."""
        traced = trace(text)
        found: list[tuple[Span, int]] = []
        for number, term in enumerate(self.terms):
            spans = [traced.span(*place) for place in places(term, traced.folded)[:_MOST]]
            if not spans and len(term.tokens) == 1 and term.tokens[0].isascii():
                spans = list(pieces_at(text, term.tokens[0], prefix=term.prefix))
            found += [(span, number) for span in spans]
        return sorted(found)


def pieces_at(text: str, token: str, *, prefix: bool) -> Iterator[Span]:
    """Give where `token` is a part of a camelCase word."""
    end = "" if prefix else r"(?![a-z0-9])"
    head = re.escape(token[0].upper() + token[1:])
    lower, upper = re.escape(token), re.escape(token.upper())
    camel = re.compile(
        rf"(?<![A-Za-z0-9]){lower}(?=[A-Z])|(?<=[a-z0-9]){head}{end}|(?<=[a-z0-9]){upper}(?![a-z])"
        rf"|(?<=[A-Z]){head}{end}|(?<![A-Za-z0-9]){head}(?=[A-Z])"
    )
    for count, match in enumerate(camel.finditer(text)):
        if count == _MOST:
            return
        yield match.span()


class Snippet(NamedTuple):
    """A stretch of a text, safe to print, on one line; `matches` are code-point ranges of it."""

    text: str
    matches: tuple[Span, ...]
    terms: int
    """How many different terms it shows."""


def snippet(text: str, finder: Spans) -> Snippet:
    """Give the stretch of a text that shows most of the terms, the first such one."""
    spans = finder.spans(text)
    start, end = _window(spans, text)
    shown = printable(text[start:end])
    found = finder.spans(shown)
    if not found and spans:  # a match that only its surroundings made one
        found = [((max(a - start, 0), min(b - start, len(shown))), n) for (a, b), n in spans[:1]]
    line, matches = _one_line(shown, _merged(span for span, _ in found))
    before = "…" if start else ""
    after = "…" if end < len(text) else ""
    return Snippet(
        before + line + after,
        tuple((a + len(before), b + len(before)) for a, b in matches),
        len({number for _, number in found}),
    )


def _window(spans: list[tuple[Span, int]], text: str) -> Span:
    length = len(text)
    if length <= WIDTH:
        return 0, length
    best, most = 0, 0
    for index, ((start, _), _) in enumerate(spans[:_MOST]):
        terms = {number for (_, end), number in spans[index:] if end <= start + WIDTH - _MARGIN}
        if len(terms) > most:
            best, most = start, len(terms)
    start = max(0, min(best - _MARGIN, length - WIDTH))
    blank = _BLANKS.search(text, start, min(best, start + _WORD)) if start else None
    return blank.end() if blank else start, min(length, start + WIDTH)


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _one_line(text: str, spans: list[Span]) -> tuple[str, list[Span]]:
    """Fold white space to single blanks and move the spans along."""
    out: list[str] = []
    length = at = 0
    cuts: list[tuple[int, int]] = [(0, 0)]
    for blank in _BLANKS.finditer(text):
        out.append(text[at : blank.start()])
        length += blank.start() - at
        if blank.start() and blank.end() < len(text):
            out.append(" ")
            length += 1
        at = blank.end()
        cuts.append((at, length))
    out.append(text[at:])
    line = "".join(out)

    def moved(position: int) -> int:
        origin, place = max(cut for cut in cuts if cut[0] <= position)
        return min(place + position - origin, len(line))

    return line, [(moved(a), moved(b)) for a, b in spans]
