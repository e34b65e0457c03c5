"""What a search by fixed texts or regular expressions can be narrowed by before texts are read.

FTS5 finds the whole words of a pattern, SQLite itself a text that must stand in any match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist.answers import Mode, Query
from mimohist.query import Term
from mimohist.text import fold, is_unspaced, segment, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHORTEST_PREFIX = 3

_LONGEST = 200
"""How many characters of a text are looked for at most; SQLite bounds its patterns' length."""

_KIN = frozenset("iksIKS")
"""Letters that `re.IGNORECASE` takes for others too: dotless i, long s, the Kelvin sign."""


class Test(NamedTuple):
    """What SQLite can say of a stored text: `GLOB`, or `LIKE`, which knows no case of ASCII."""

    operator: str
    pattern: str

    def of(self, column: str) -> str:
        """Write the condition on a column; `:pattern` is to be bound."""
        escape = " ESCAPE '\\'" if self.operator == "LIKE" else ""
        return f"{column} {self.operator} :pattern{escape}"


class Piece(NamedTuple):
    """Text that must stand in any match; an open end may be in the middle of a word."""

    text: str
    open_left: bool = True
    open_right: bool = True


def pieces(query: Query) -> list[Piece]:
    """Give the texts that every match of a query has."""
    if query.mode is Mode.FIXED:
        return [Piece(word) for word in query.words]
    return [piece for word in query.words for piece in _required(word)]


def words(found: Iterable[Piece]) -> tuple[Term, ...]:
    """Give the whole words in some texts, as FTS5 finds them."""
    return tuple(term for piece in found if (term := _whole_words(piece)))


def test(found: Iterable[Piece], *, ignore_case: bool) -> Test | None:
    """Give the most telling condition on the stored text of a row with these texts."""
    texts = [segment(piece.text)[:_LONGEST] for piece in found]
    if not ignore_case:
        needle = max(texts, key=len, default="")
        escaped = "".join(f"[{char}]" if char in "*?[" else char for char in needle)
        return Test("GLOB", f"*{escaped}*") if needle else None
    runs = [run for text in texts for run in re.findall(r"[ -~]+", text)]
    needle = max(runs, key=_told, default="")
    marked = ("_" if char in _KIN else f"\\{char}" if char in "%_\\" else char for char in needle)
    return Test("LIKE", f"%{''.join(marked)}%") if _told(needle) else None


def _told(text: str) -> int:
    return sum(char not in _KIN for char in text)


def _whole_words(piece: Piece) -> Term | None:
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


def _required(pattern: str) -> list[Piece]:
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
    pieces: list[Piece] = field(default_factory=list)
    text: str = ""
    open_left: bool = True

    def close(self, *, is_open: bool) -> None:
        """End a run; it is open where something unknown may go on with the word."""
        if self.text:
            self.pieces.append(Piece(self.text, self.open_left, is_open))
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
