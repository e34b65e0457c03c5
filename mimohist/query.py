"""Words as a person types them, made into something that an index can look up.

A word becomes a `Term`: the tokens that FTS5 looks up, and a regular expression over the
folded text that says exactly where it stands.  The tokens may find too much (`C++` is
the token `c`); the expression decides, and is what gets highlighted.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace

from mimohist.alphabet import UNSPACED
from mimohist.errors import BadInput
from mimohist.text import LETTER, TOKEN, fold

_GAP = r"[\W_]+"
_WORD = re.compile(r'"([^"]*)"(\*?)|(\S+)')
_LEADING = (
    ",;:?!()[]{}\"'`*<>|=+&%^\\.$-~/#@–—…‐‑•·«»„“”‘’、。，；：？！（）［］｛｝「」『』【】《》〈〉"
)
_TRAILING = ".,;:?!()[]{}\"'`–—…‐‑-•·«»„“”‘’、。，；：？！（）［］｛｝「」『』【】《》〈〉"
_KEPT_BEFORE_LETTER = ".$-~/#@"
_UNSPACED_CHAR = re.compile(f"[{UNSPACED}]")
_LETTER_CHAR = re.compile(LETTER)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for.

    `said` is what was typed; `tokens` what FTS5 looks up as one phrase, empty when the word has
    none (an emoji, `->`); `prefix` whether the last token is only a beginning.
    `pattern` matches in folded text; `exact` says that the tokens alone decide, so that no
    text need be read.  `sign` is the folded word with the sentence punctuation that was
    dropped at its edges, or "": a text that has it ranks higher.
    """

    said: str
    tokens: tuple[str, ...]
    pattern: str
    prefix: bool = False
    exact: bool = False
    sign: str = ""
    literal: str = ""
    """A part of the folded text without which `pattern` cannot match: a cheap first look."""

    @property
    def match(self) -> str:
        """The term as an FTS5 phrase."""
        return '"' + " ".join(self.tokens) + '"' + (" *" if self.prefix else "")


def parse(words: tuple[str, ...]) -> tuple[Term, ...]:
    """Read words, `"phrases"` and `prefixes*`; nothing else is syntax.

    Raises `BadInput` when there is nothing to look for.
    """
    terms: dict[tuple[str, bool], Term] = {}
    for argument in words:
        for phrase, star, word in _WORD.findall(argument):
            term = _phrase(phrase, prefix=bool(star)) if phrase else _word(word)
            if term:
                terms.setdefault((term.pattern, term.prefix), term)
    if not terms:
        raise BadInput('nothing to search for; give a word, or a "phrase" in quotes')
    return tuple(terms.values())


def _word(word: str) -> Term | None:
    if not word.strip('"'):
        return None
    prefix = len(word) > 1 and word.endswith("*") and bool(TOKEN.search(fold(word[-2])))
    bare = word[:-1] if prefix else word
    inner = _strip(bare, prefix=prefix)
    if not TOKEN.search(fold(inner)):
        folded = fold(bare)
        return Term(word, (), re.escape(folded), literal=folded)
    term = _literal(inner, prefix=prefix)
    sign = fold(bare) if fold(bare) != fold(inner) else ""
    return Term(word, term.tokens, term.pattern, prefix, term.exact, sign, term.literal)


def _strip(word: str, *, prefix: bool) -> str:
    """Drop sentence punctuation at the edges, but not what makes a name: `.NET`, `$HOME`."""
    end = len(word)
    while not prefix and end and word[end - 1] in _TRAILING:
        end -= 1
    start = 0
    while start < end and word[start] in _LEADING:
        if word[start] in _KEPT_BEFORE_LETTER:
            rest = word[start:end].lstrip(_KEPT_BEFORE_LETTER)
            if rest and rest[0].isalpha():
                break
        elif word[start] not in _TRAILING:
            break
        start += 1
    return word[start:end]


def _phrase(text: str, *, prefix: bool) -> Term | None:
    """Words in this order with nothing but punctuation between them."""
    words = [fold(word) for word in text.split()]
    words = [word for word in words if TOKEN.search(word)] or words
    if not words:
        return None
    tokens = tuple(token for word in words for token in TOKEN.findall(word))
    if len(words) == 1:
        literal = _literal(text.strip(), prefix=prefix)
        return replace(literal, said=f'"{text}"')
    pattern = _edge_before(words[0])
    for before, after in itertools.pairwise(words):
        loose = _UNSPACED_CHAR.match(before[-1]) or _UNSPACED_CHAR.match(after[0])
        pattern += re.escape(before) + (r"[\W_]*" if loose else _GAP)
    pattern += re.escape(words[-1]) + ("" if prefix else _edge_after(words[-1]))
    return Term(f'"{text}"', tokens, pattern, prefix, literal=words[0])


def _literal(word: str, *, prefix: bool) -> Term:
    folded = fold(word)
    tokens = tuple(TOKEN.findall(folded))
    pattern = _edge_before(folded) + re.escape(folded)
    if not prefix:
        pattern += _edge_after(folded)
    return Term(word, tokens, pattern, prefix, exact=tokens == (folded,), literal=folded)


def _edge_before(folded: str) -> str:
    return f"(?<!{LETTER})" if _LETTER_CHAR.match(folded[0]) else ""


def _edge_after(folded: str) -> str:
    return f"(?!{LETTER})" if _LETTER_CHAR.match(folded[-1]) else ""
