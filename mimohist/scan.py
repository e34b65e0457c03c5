"""Searches that read texts: words without tokens, fixed texts, regular expressions.

Newest first, within the query's time.  Where the pattern holds a whole word, FTS5 finds the
rows to read; else all in scope are read.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist import candidates
from mimohist.answers import Mode, Query, Sort
from mimohist.candidates import Lookup, Row
from mimohist.columns import sides, targets
from mimohist.errors import BadInput
from mimohist.kinds import Kind
from mimohist.query import Term, parse, stands
from mimohist.run import allowed_texts
from mimohist.snippets import Finder
from mimohist.text import fold, is_unspaced, segment, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from sqlite3 import Connection

    from mimohist.alarm import Alarm
    from mimohist.run import Run
    from mimohist.snippets import Span

_CHUNK = 1 << 14
_SHORTEST_PREFIX = 3


def literals(run: Run, kinds: tuple[Kind, ...]) -> Iterator[Row]:
    """Give the rows whose folded text holds every term, none of which has a token."""
    for row in _in_scope(run, kinds, ""):
        if run.late:
            run.cut_off = True
            return
        texts = [fold(text) for text in allowed_texts(run, row, kinds)]
        if all(any(stands(term, text) for text in texts) for term in run.terms):
            yield row


def lines(run: Run, kinds: tuple[Kind, ...]) -> Iterator[Row]:
    """Give the rows that have, for each pattern, a line that it matches, as grep would say."""
    finder = line_finder(run)
    terms = _prefilter(run.query)
    if terms:
        where = targets(kinds, machine=run.query.machine)
        match = candidates.expression(terms, where, run.scope)
        newest = run.query.sort is not Sort.OLDEST
        rows = candidates.by_time(run.db, Lookup(match, run.scope), _CHUNK, newest=newest)
    else:
        rows = _in_scope(run, kinds, _glob(run.query))
    for row in rows:
        if run.late:
            run.cut_off = True
            return
        if row.machine and row.machine != "summary" and not run.query.machine:
            continue
        texts = allowed_texts(run, row, kinds)
        try:
            matches = finder.all_in(texts)
        except TimeoutError:
            run.cut_off = True
            return
        if matches:
            yield row


def _on_a_line(pattern: re.Pattern[str], text: str) -> bool:
    match = pattern.search(text)
    if match is None:
        return False
    if "\n" not in match[0]:
        return True
    return any(pattern.search(line) for line in text.split("\n"))


_COLUMNS = "h.id, 0.0, h.echo, h.copy, h.time_created, h.kind, h.machine"


def _in_scope(run: Run, kinds: tuple[Kind, ...], glob: str) -> Iterator[Row]:
    """Give all rows in scope that may match in these kinds, newest first (or oldest)."""
    newest = run.query.sort is not Sort.OLDEST
    if run.scope.match:
        rows = candidates.by_time(run.db, Lookup(run.scope.match, run.scope), _CHUNK, newest=newest)
        if glob:
            rows = (row for row in rows if _globbed(run.db, row.id, glob))
    else:
        rows = _everything(run, glob, newest=newest)
    for row in rows:
        if not any(sides(Kind(row.kind), kinds)):
            continue
        if row.machine and row.machine != "summary" and not run.query.machine:
            continue
        yield row


def _everything(run: Run, glob: str, *, newest: bool) -> Iterator[Row]:
    """Read the whole table in stretches of ids, each given in the order of its times."""
    low, high = run.db.execute(
        "SELECT (SELECT min(id) FROM history_fts), (SELECT max(id) FROM history_fts)"
    ).fetchone()
    if low is None:
        return
    low, high = max(low, run.scope.low), min(high, run.scope.high)
    text = "JOIN history_text t ON t.id = h.id" if glob else ""
    test = "AND (t.body GLOB :glob OR t.output GLOB :glob OR t.cut GLOB :glob)" if glob else ""
    sql = f"""
    SELECT {_COLUMNS} FROM history_fts h {text}
    WHERE h.id BETWEEN :low AND :high AND h.time_created BETWEEN :since AND :until - 1 {test}
    ORDER BY h.time_created {"DESC" if newest else "ASC"}, h.id {"DESC" if newest else "ASC"}
    """
    scope = run.scope
    values = {"glob": glob, "since": scope.since or 0}
    values["until"] = scope.until if scope.until is not None else 2**62
    while low <= high and not run.late:
        first, last = (max(low, high - _CHUNK + 1), high) if newest else (low, low + _CHUNK - 1)
        chunk = {**values, "low": first, "high": min(last, high)}
        for row in run.db.execute(sql, chunk):
            yield Row(*row)
        low, high = (low, first - 1) if newest else (last + 1, high)
    run.cut_off = run.cut_off or low <= high


def _globbed(db: Connection, row: int, glob: str) -> bool:
    found = db.execute(
        "SELECT body GLOB :glob OR output GLOB :glob OR cut GLOB :glob FROM history_text"
        " WHERE id = :row",
        {"glob": glob, "row": row},
    ).fetchone()
    return bool(found and found[0])


def _glob(query: Query) -> str:
    """Write one fixed text as a GLOB over the stored, segmented text; "" where that cannot be."""
    if query.mode is not Mode.FIXED or query.ignore_case:
        return ""
    needle = max(query.words, key=len)
    escaped = "".join(f"[{char}]" if char in "*?[" else char for char in segment(needle))
    return f"*{escaped}*"


class LineFinder(NamedTuple):
    """Finds fixed texts or regular expressions in texts as said."""

    patterns: tuple[re.Pattern[str], ...]
    alarm: Alarm | None

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

        return self.alarm.guard(look) if self.alarm else look()

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
            if self.alarm:
                self.alarm.guard(look)
            else:
                look()
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
    patterns = []
    for word in query.words:
        source = word if query.mode is Mode.REGEX else re.escape(word)
        try:
            patterns.append(re.compile(source, flags))
        except (re.error, OverflowError, RecursionError) as error:
            raise BadInput(
                f"bad regular expression {word!r}: {error}; -F searches for it as it is"
            ) from error
    return LineFinder(tuple(patterns), run.alarm)


# What FTS5 can find of a pattern


class _Piece(NamedTuple):
    """Text that must stand in any match; an open end may be in the middle of a word."""

    text: str
    open_left: bool = True
    open_right: bool = True


def _prefilter(query: Query) -> tuple[Term, ...]:
    """Give terms that every matching row must have, as many as the patterns show."""
    terms = []
    for word in query.words:
        found = [_Piece(word)] if query.mode is Mode.FIXED else _required(word)
        terms += [term for piece in found if (term := _whole_words(piece))]
    return tuple(terms)


def _whole_words(piece: _Piece) -> Term | None:
    folded = fold(piece.text)
    found = list(tokens(folded))
    prefix = False
    if found and piece.open_right and found[-1][1] == len(folded):
        prefix = not is_unspaced(folded[-1])
    if found and piece.open_left and found[0][0] == 0 and not is_unspaced(folded[0]):
        found.pop(0)
    if not found:
        return None
    words = tuple(folded[start:end] for start, end in found)
    if prefix and len(words) == 1 and len(words[0]) < _SHORTEST_PREFIX:
        return None
    return Term(piece.text, words, words, prefix)


def _required(pattern: str) -> list[_Piece]:
    """Give the literal texts that a regular expression cannot match without."""
    # The only parser of re's own syntax is its own.
    parser: Any = import_module("re._parser")
    try:
        tree = parser.parse(pattern)
    except re.error:
        return []
    if tree.state.flags & (re.VERBOSE | re.IGNORECASE):
        return []
    literals = _Literals(import_module("re._constants"))
    literals.walk(tree)
    literals.close(is_open=True)
    return literals.pieces


@dataclass(slots=True)
class _Literals:
    """Collects runs of literal characters from a parsed expression."""

    code: Any
    pieces: list[_Piece] = field(default_factory=list)
    text: str = ""
    open_left: bool = True

    def close(self, *, is_open: bool) -> None:
        """End a run; it is open where something unknown may go on with the word."""
        if self.text:
            self.pieces.append(_Piece(self.text, self.open_left, is_open))
        self.text, self.open_left = "", is_open

    def walk(self, items: Iterable[tuple[Any, Any]]) -> None:
        """Read a sequence, all of which must match."""
        code = self.code
        edges = (code.AT_BOUNDARY, code.AT_BEGINNING, code.AT_END)
        for operation, argument in items:
            if operation is code.LITERAL:
                self.text += chr(argument)
            elif operation is code.AT:
                self.close(is_open=argument not in edges)
            elif operation is code.SUBPATTERN and not argument[1] and not argument[2]:
                self.walk(argument[3])
            elif operation in (code.MAX_REPEAT, code.MIN_REPEAT) and argument[0]:
                self.close(is_open=True)
                self.walk(argument[2])
                self.close(is_open=True)
            else:
                self.close(is_open=True)
