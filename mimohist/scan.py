"""Searches that read texts: words without tokens, fixed texts, regular expressions.

Newest first, within the query's time.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from mimohist import candidates, patterns, stretches
from mimohist.alarm import Alarm
from mimohist.answers import Mode, Query
from mimohist.columns import targets
from mimohist.errors import BadInput
from mimohist.query import parse, stands
from mimohist.snippets import Finder
from mimohist.text import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mimohist.candidates import Row
    from mimohist.kinds import Kind
    from mimohist.run import Run
    from mimohist.snippets import Span


def literals(run: Run, kinds: tuple[Kind, ...]) -> Iterator[Row]:
    """Give the rows whose folded text holds every term, none of which has a token."""

    def accepts(texts: list[str]) -> bool:
        read = [fold(text) for text in texts]
        return all(any(stands(term, text) for text in read) for term in run.terms)

    yield from stretches.rows(run, kinds, stretches.Narrowed(run.scope.match), accepts)


def lines(run: Run, kinds: tuple[Kind, ...]) -> Iterator[Row]:
    """Give the rows that have, for each pattern, a line that it matches, as grep would say."""
    query = run.query
    finder = line_finder(run)
    found = patterns.pieces(query)
    test = patterns.test(found, ignore_case=query.ignore_case)
    match = run.scope.match
    if terms := patterns.words(found):
        where = targets(kinds, machine=query.machine)
        match = candidates.expression(terms, where, run.scope)
    yield from stretches.rows(run, kinds, stretches.Narrowed(match, test), finder.all_in)


def _on_a_line(pattern: re.Pattern[str], text: str) -> bool:
    match = pattern.search(text)
    if match is None:
        return False
    if "\n" not in match[0]:
        return True
    return any(pattern.search(line) for line in text.split("\n"))


class LineFinder(NamedTuple):
    """Finds fixed texts or regular expressions in texts as said."""

    patterns: tuple[re.Pattern[str], ...]
    alarm: Alarm

    @property
    def wanted(self) -> int:
        """How many things there are to find."""
        return len(self.patterns)

    def all_in(self, texts: list[str]) -> bool:
        """Whether each pattern matches a line of one of the texts.

        Raises `TimeoutError` when that takes longer than the search may.
        """

        def look() -> bool:
            return all(any(_on_a_line(one, text) for text in texts) for one in self.patterns)

        return self.alarm.guard(look)

    def spans(self, text: str) -> list[tuple[Span, int]]:
        """Give where the patterns match, each place with its pattern's number."""
        found: list[tuple[Span, int]] = []

        def look() -> None:
            for number, pattern in enumerate(self.patterns):
                for count, match in enumerate(pattern.finditer(text)):
                    if match.end() > match.start():
                        found.append((match.span(), number))
                    if count > 64:  # noqa: PLR2004 - a snippet shows no more
                        break

        with suppress(TimeoutError):  # what was found by then is shown
            self.alarm.guard(look)
        return sorted(found)


def expression_finder(query: Query) -> Finder:
    """Give what finds the words of a raw FTS5 expression."""
    words = re.findall(r'"[^"]*"|[^\W_]+\*?', " ".join(query.words))
    words = [word for word in words if word not in ("AND", "OR", "NOT", "NEAR")]
    return Finder(parse(tuple(words)) if words else ())


def line_finder(run: Run) -> LineFinder:
    """Give what finds a query's fixed texts or regular expressions.

    Raises `BadInput` for a regular expression that is none.
    """
    query = run.query
    flags = re.MULTILINE | (re.IGNORECASE if query.ignore_case else 0)
    compiled = []
    for word in query.words:
        source = word if query.mode is Mode.REGEX else re.escape(word)
        try:
            compiled.append(re.compile(source, flags))
        except (re.error, OverflowError, RecursionError) as error:
            raise BadInput(
                f"bad regular expression {word!r}: {error}; -F searches for it as it is"
            ) from error
    return LineFinder(tuple(compiled), run.alarm or Alarm())
