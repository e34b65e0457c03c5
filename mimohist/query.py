"""Words as a person types them, made into something that an index can look up.

A word becomes a `Term`: the tokens that FTS5 looks up, and what must stand in the folded
text.  The tokens may find too much (`C++` is the token `c`); the text decides, and is what
gets highlighted.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from mimohist.errors import BadInput
from mimohist.text import fold, is_letter, is_unspaced, tokens

_WORD = re.compile(r'"([^"]*)"(\*?)|(\S+)')
_TRAILING = ".,;:?!()[]{}\"'`–—…‐‑-•·«»„“”‘’、。，；：？！（）［］｛｝「」『』【】《》〈〉"
_LEADING = _TRAILING + ".$-~/#@"
_KEPT_BEFORE_LETTER = ".$-~/#@"


class Term(NamedTuple):
    """One thing to look for.

    `said` is what was typed; `tokens` what FTS5 looks up as one phrase, empty when the word has
    none (an emoji, `->`); `prefix` whether the last token is only a beginning.
    `words` are the folded words that must stand in the text, in order, with nothing but
    punctuation between them.  `exact` says that the tokens alone decide, so that no text need be
    read.  `sign` is the folded word with the sentence punctuation that was dropped at its
    edges, or "": a text that has it ranks higher.
    """

    said: str
    tokens: tuple[str, ...]
    words: tuple[str, ...]
    prefix: bool = False
    exact: bool = False
    sign: str = ""

    @property
    def match(self) -> str:
        """The term as an FTS5 phrase."""
        return '"' + " ".join(self.tokens) + '"' + (" *" if self.prefix else "")


def parse(words: tuple[str, ...]) -> tuple[Term, ...]:
    """Read words, `"phrases"` and `prefixes*`; nothing else is syntax.

    Raises `BadInput` when there is nothing to look for.
    """
    terms: dict[tuple[tuple[str, ...], bool], Term] = {}
    for argument in words:
        for phrase, star, word in _WORD.findall(argument):
            term = _phrase(phrase, prefix=bool(star)) if phrase else _word(word)
            if term:
                terms.setdefault((term.words, term.prefix), term)
    if not terms:
        raise BadInput('nothing to search for; give a word, or a "phrase" in quotes')
    return tuple(terms.values())


def _word(word: str) -> Term | None:
    if not word.strip('"'):
        return None
    prefix = len(word) > 1 and word.endswith("*") and bool(_tokens(fold(word[-2])))
    bare = word[:-1] if prefix else word
    inner = _strip(bare, prefix=prefix)
    if not _tokens(fold(inner)):
        return Term(word, (), (fold(bare),))
    term = _literal(inner, prefix=prefix)
    sign = fold(bare) if fold(bare) != fold(inner) else ""
    return term._replace(said=word, sign=sign)


def _tokens(folded: str) -> tuple[str, ...]:
    return tuple(folded[start:end] for start, end in tokens(folded))


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
        start += 1
    return word[start:end]


def _phrase(text: str, *, prefix: bool) -> Term | None:
    """Words in this order with nothing but punctuation between them."""
    words = tuple(fold(word) for word in text.split())
    words = tuple(word for word in words if _tokens(word)) or words
    if not words:
        return None
    if len(words) == 1:
        return _literal(text.strip(), prefix=prefix)._replace(said=f'"{text}"')
    found = tuple(token for word in words for token in _tokens(word))
    return Term(f'"{text}"', found, words, prefix)


def _literal(word: str, *, prefix: bool) -> Term:
    folded = fold(word)
    found = _tokens(folded)
    return Term(word, found, (folded,), prefix, exact=found == (folded,))


_GAP = re.compile(r"[\W_]*")


def places(term: Term, folded: str) -> list[tuple[int, int]]:
    """Give where a term stands in a folded text, each place once, from left to right."""
    found: list[tuple[int, int]] = []
    first = term.words[0]
    at = folded.find(first)
    while at >= 0:
        end = _end(term, folded, at)
        if end is None:
            at = folded.find(first, at + 1)
        else:
            found.append((at, end))
            at = folded.find(first, max(end, at + 1))
    return found


def stands(term: Term, folded: str) -> bool:
    """Whether a term stands in a folded text as a word (not only as a piece of one)."""
    first = term.words[0]
    at = folded.find(first)
    while at >= 0:
        if _end(term, folded, at) is not None:
            return True
        at = folded.find(first, at + 1)
    return False


def _end(term: Term, folded: str, at: int) -> int | None:
    """Give where a term ends that begins at `at`, None when it does not stand there.

    No letter may run on at its edges, unless the term's own edge is no letter.
    """
    first, *others = term.words
    if at and is_letter(first[0]) and is_letter(folded[at - 1]):
        return None
    end = at + len(first)
    before = first
    for word in others:
        gap = _GAP.match(folded, end)
        start = gap.end() if gap else end
        # The gap may have swallowed signs that the next word begins with.
        start = folded.find(word, end, start + len(word))
        if start < 0 or (start == end and not (is_unspaced(before[-1]) or is_unspaced(word[0]))):
            return None
        before, end = word, start + len(word)
    ends_open = term.prefix or not is_letter(before[-1])
    if not ends_open and end < len(folded) and is_letter(folded[end]):
        return None
    return end
