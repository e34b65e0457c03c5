"""Code told apart into comments, strings, numbers, words that mean something, and the rest.

A dozen lines a family of languages, not a grammar: it only has to help the eye.  Every expression
takes linear time and matches to the end of the text where something is left open.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 100_000
"""Longer code is left as it is, in characters."""

_COMMENTS = {
    "slash": r"//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)",
    "hash": r"(?<![^\s;(])\#[^\n]*",
    "dash": r"--[^\n]*|/\*(?s:.*?)(?:\*/|\Z)",
}
_FAMILIES = {
    "slash": "c cc cpp c++ cs csharp css cxx dart go groovy h hpp java javascript js json json5"
    " jsonc jsx kotlin kt less mjs objc php proto rs rust scala scss swift ts tsx typescript zig",
    "hash": "awk bash cmake coffee conf cfg console dockerfile elixir ex fish ini jl julia make"
    " makefile nix perl pl powershell ps1 py python r rb ruby sh shell terraform tf toml yaml yml"
    " zsh",
    "dash": "ada haskell hs lua mysql plsql postgres psql sql sqlite",
    "diff": "diff patch udiff",
}
_FAMILY = {name: family for family, names in _FAMILIES.items() for name in names.split()}

_MEANING = (
    "abstract and as assert async await begin bool boolean break case catch char class const"
    " continue create def default del delete do done double drop elif else elsif end enum except"
    " export extends false False fi final finally float fn for foreach from func function if"
    " implements import in insert int interface into is join lambda let local long match module mut"
    " namespace new nil none None not null of or package pass private protected pub public raise"
    " return select self set short static string struct super switch table then this throw throws"
    " trait true True try type typeof undefined union unless until update use using val values var"
    " void where while with yield"
)
_WORDS = frozenset(_MEANING.split())

COMMENT, STRING, NUMBER, WORD, ADDED, REMOVED, PLACE = "c", "s", "n", "k", "i", "d", "c"
"""The names of the styles; a style sheet has one rule for each."""

_DIFF = (("+++", PLACE), ("---", PLACE), ("@@", PLACE), ("+", ADDED), ("-", REMOVED))


@cache
def _tokens(family: str) -> re.Pattern[str]:
    triple = r"\"{3}(?s:.*?)(?:\"{3}|\Z)|'{3}(?s:.*?)(?:'{3}|\Z)|" if family == "hash" else ""
    return re.compile(
        rf"(?P<{COMMENT}>{_COMMENTS[family]})"
        rf"|(?P<{STRING}>{triple}\"(?:[^\"\\\n]|\\.)*\"?|(?<!\w)'(?:[^'\\\n]|\\.)*'?"
        r"|`(?:[^`\\]|\\.)*`?)"
        rf"|(?P<{NUMBER}>(?<!\w)[0-9][\w.]*)"
        rf"|(?P<{WORD}>[A-Za-z_]\w*)",
    )


def spans(code: str, language: str) -> Iterator[tuple[str, str]]:
    """Give the code in stretches, each with its style, "" for none; joined they are the code."""
    family = _FAMILY.get(language.lower())
    if family is None or len(code) > LONGEST:
        yield "", code
    elif family == "diff":
        yield from _diff(code)
    else:
        yield from _lexed(code, _tokens(family), fold=family == "dash")


def _lexed(code: str, tokens: re.Pattern[str], *, fold: bool) -> Iterator[tuple[str, str]]:
    at = 0
    for token in tokens.finditer(code):
        style = token.lastgroup or ""
        if style == WORD and (token[0].lower() if fold else token[0]) not in _WORDS:
            continue
        if token.start() > at:
            yield "", code[at : token.start()]
        yield style, token[0]
        at = token.end()
    if at < len(code):
        yield "", code[at:]


def _diff(code: str) -> Iterator[tuple[str, str]]:
    for row in code.splitlines(keepends=True):
        yield next((style for sign, style in _DIFF if row.startswith(sign)), ""), row
