"""What is done to text: cleaned where a part is made, folded and segmented where it is indexed.

One `fold` serves the index, the query, the verification of hits and their highlighting,
so that none of them can disagree about what equals what.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category, normalize

from mimohist.alphabet import KINDRED, STEADY, UNKNOWN, UNSPACED

if TYPE_CHECKING:
    from collections.abc import Iterator

ZERO = "\u200b"
"""ZERO WIDTH SPACE, which the tokenizer takes for a separator and nobody sees."""

_OWN = re.compile(f"{ZERO}({ZERO}?)")


# Expressions with thousands of characters in a class take milliseconds to compile, which a
# search among plain texts need not pay.
@cache
def _seam() -> re.Pattern[str]:
    return re.compile(rf"(?<=[^\W_])(?=[{UNSPACED}])|(?<=[{UNSPACED}])(?=[^\W_])")


@cache
def _strange() -> re.Pattern[str]:
    return re.compile(rf"[^\x00-\x7f{KINDRED}]")


@cache
def _run() -> re.Pattern[str]:
    return re.compile(rf"(?s:.)?[^{STEADY}]+")


@cache
def _glyph() -> re.Pattern[str]:
    return re.compile(rf"[^\x00-\x7f{KINDRED}\w\s]")


@cache
def _edges(ranges: str) -> tuple[str, ...]:
    """Give the ends of a class's ranges in order: first, last, first, last, ..."""
    pairs = re.findall(r"(.)(?:-(.))?", ranges, re.DOTALL)
    found = [(first, last or first) for first, last in pairs]
    return tuple(edge for pair in sorted(found) for edge in pair)


def _is_in(char: str, ranges: str) -> bool:
    edges = _edges(ranges)
    place = bisect_right(edges, char)
    return place % 2 == 1 or bool(place and edges[place - 1] == char)


def is_unspaced(char: str) -> bool:
    """Whether a character is a word by itself, of a script written without spaces."""
    return char > "\u0e00" and _is_in(char, UNSPACED)


def is_letter(char: str) -> bool:
    """Whether a character of a folded text goes on with the word before it."""
    if not char.isalnum():
        return False
    return char < "\u0e01" or not (_is_in(char, UNSPACED) or _is_in(char, UNKNOWN))


def tokens(folded: str) -> Iterator[tuple[int, int]]:
    """Give the range of each token of a folded text, as the tokenizer sees it after `segment`."""
    start = None
    for place, char in enumerate(folded):
        if is_letter(char):
            if start is None:
                start = place
            continue
        if start is not None:
            yield start, place
            start = None
        if is_unspaced(char):
            yield place, place + 1
    if start is not None:
        yield start, len(folded)


_LETTERS = str.maketrans(
    {"ı": "i", "ł": "l", "đ": "d", "ø": "o", "ŧ": "t", "ħ": "h", "ŋ": "n", "ƀ": "b", "ɨ": "i"}
    | {"ʉ": "u", "ƚ": "l", "ƶ": "z", "ɇ": "e", "ɉ": "j", "ɍ": "r", "ɏ": "y", "ð": "d", "ĸ": "q"}
    | {"æ": "ae", "œ": "oe", "þ": "th", "‘": "'", "’": "'", "“": '"', "”": '"'}
)
"""Letters without a decomposition, and the quotes that editors curl."""

_MARKED = (
    (0x0900, 0x10FF),
    (0x1700, 0x18AF),
    (0x1900, 0x1AAF),
    (0x1B00, 0x1CFF),
    (0x3099, 0x309A),
    (0xA800, 0xAAFF),
    (0xABE0, 0xABFF),
    (0x11000, 0x11FFF),
)
"""Scripts whose marks are vowels or voices: dropping one would make another word."""


# What is stored


def segment(text: str) -> str:
    """Put U+200B between characters of scripts without spaces, doubling those already there."""
    if text.isascii():
        return text
    return _seam().sub(ZERO, text.replace(ZERO, ZERO + ZERO))


def said(stored: str) -> str:
    """Give back the text that `segment` was given."""
    if stored.isascii():
        return stored
    return _OWN.sub(r"\1", stored)


def folded(text: str) -> str | None:
    """Give the segmented folded form to be indexed, or None where the tokenizer folds alike."""
    if text.isascii() or not _strange().search(text):
        return None
    # The tokenizer takes symbols younger than its tables for letters; they make no word.
    return segment(_glyph().sub(" ", fold(text)))


_CAMEL_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SHAPES = bytes(
    ord("a" if char.islower() else "A" if char.isupper() else "0")
    if char.isascii() and char.isalnum()
    else ord(" ")
    for char in map(chr, range(256))
)
"""What each character is to camelCase: lower, upper, digit, or the end of a word."""

_USUAL = 64
"""How long a word may be whose pieces are worth remembering."""


def pieces(text: str) -> str | None:
    """Give the distinct parts of a text's camelCase words, lower-cased, or None without any.

    Only words of ASCII letters and digits with a lower-case letter before an upper-case
    one count: `getUserName` gives `get user name`.
    """
    # One byte a character: finding in bytes is several times faster than any pattern.
    shape = text.encode("latin-1", "replace").translate(_SHAPES)
    found: dict[str, None] = {}
    words = set()
    at = shape.find(b"aA")
    while at >= 0:
        start = shape.rfind(b" ", 0, at) + 1
        end = shape.find(b" ", at)
        if end < 0:
            end = len(shape)
        word = text[start:end]
        if word not in words:
            words.add(word)
            found.update(_pieces_of(word) if len(word) <= _USUAL else _pieces_of.__wrapped__(word))
        at = shape.find(b"aA", end)
    return " ".join(found) or None


@lru_cache(maxsize=1 << 14)
def _pieces_of(word: str) -> dict[str, None]:
    return {piece.lower(): None for piece in _CAMEL_PIECE.findall(word)}


# The fold


def fold(text: str) -> str:
    """Reduce a text to what search compares.

    Case (also ß, ς), diacritics, marks of Arabic and Hebrew, width, ligatures and composition no
    longer differ; format characters are gone.  Marks that are vowels (Thai, Indic, kana
    voicing) stay.  Symbols are only unified in width and in curled quotes.
    """
    if text.isascii():
        return text.lower()
    return _run().sub(lambda run: _fold_run(run[0]), text.lower())


@lru_cache(maxsize=4096)
def _fold_run(run: str) -> str:
    return "".join(map(_fold_glyph, _glyphs(run)))


def _glyphs(run: str) -> list[str]:
    """Split into characters with the marks that belong to them, and whole jamo syllables."""
    found: list[str] = []
    for char in run:
        if found and (
            category(char)[0] == "M"
            or char in "\uff9e\uff9f"
            or ("\u1160" <= char <= "\u11ff" and "\u1100" <= found[-1][0] <= "\u11ff")
            or ("\u11a8" <= char <= "\u11ff" and "\uac00" <= found[-1][0] <= "\ud7a3")
        ):
            found[-1] += char
        else:
            found.append(char)
    return found


@lru_cache(maxsize=4096)
def _fold_glyph(glyph: str) -> str:
    if glyph[0] == ZERO:
        return " " + _fold_glyph(glyph[1:]) if len(glyph) > 1 else " "
    plain = "".join(map(_decompose, glyph))
    plain = _drop_marks(plain).casefold()
    plain = _drop_marks(normalize("NFKD", plain) if plain.isalnum() else plain)
    return normalize("NFC", plain).translate(_LETTERS)


def _decompose(char: str) -> str:
    sort = category(char)
    if sort == "Co":  # icons of terminal fonts, glued to words
        return " "
    if sort[0] in "LNM" or "\uff00" <= char <= "\uffef" or char in "\u3000\u00a0":
        return normalize("NFKD", char)
    return char


def _drop_marks(text: str) -> str:
    return "".join(char for char in text if not _is_dropped(char))


def _is_dropped(char: str) -> bool:
    sort = category(char)
    if sort == "Cf" or char == "\u0640":  # Arabic's stroke that only stretches
        return True
    if sort not in ("Mn", "Me"):
        return False
    point = ord(char)
    return not any(first <= point <= last for first, last in _MARKED)


class Trace(NamedTuple):
    """A folded text and where each of its characters came from.

    `starts` are the positions in the folded text where a stretch begins, `origins` the
    same in the text as said; a stretch is folded character by character where its
    `whole` is 0, else it is one glyph of that many characters, never to be cut.
    """

    folded: str
    starts: tuple[int, ...] = (0,)
    origins: tuple[int, ...] = (0,)
    wholes: tuple[int, ...] = (0,)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Give the range of the text as said that the folded range `start:end` came from."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1) - 1
        begin = self.origins[first]
        if not self.wholes[first]:
            begin += start - self.starts[first]
        close = self.origins[last]
        close += self.wholes[last] or end - self.starts[last]
        return begin, close


def trace(text: str) -> Trace:
    """Fold a text and remember where each character came from; `.folded` equals `fold(text)`."""
    if text.isascii():
        return Trace(text.lower())
    out: list[str] = []
    starts, origins, wholes = [0], [0], [0]
    length = at = 0

    def stretch(origin: int, piece: str, whole: int) -> None:
        nonlocal length
        if not piece and not whole:
            return
        if starts[-1] == length:
            starts.pop(), origins.pop(), wholes.pop()
        starts.append(length)
        origins.append(origin)
        wholes.append(whole)
        out.append(piece)
        length += len(piece)

    for run in _run().finditer(text):
        stretch(at, text[at : run.start()].lower(), 0)
        at = run.start()
        for glyph in _glyphs(run[0]):
            piece = "".join(_fold_run(part) for part in _glyphs(glyph.lower()))
            stretch(at, piece, len(glyph))
            at += len(glyph)
    stretch(at, text[at:].lower(), 0)
    return Trace("".join(out), tuple(starts), tuple(origins), tuple(wholes))


# What a source makes of its records

_URL = re.compile(
    r"data:([\w.+-]+/[\w.+-]+)?((?:;[\w.+-]+=[\w.+%-]*)*);base64,([A-Za-z0-9+/]+)(={0,2})",
    re.IGNORECASE,
)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SAMPLE = re.compile(r"[A-Za-z0-9+/]{64}")
_BARE = re.compile(r"[A-Za-z0-9+/]{2048,}={0,2}")
_STRIDE = 1024
_NUMBERS = (int, float)


def clean(text: str) -> str:
    """Make a text storable: the one change that is made to what was said.

    Lone surrogates (a cut emoji in JSON) become U+FFFD, NUL is dropped, and base64
    payloads become `[data-url:MIME]`: a `data:` URL whole, a bare run of 2,048 characters or more.
    """
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", text)
    if "\0" in text:
        text = text.replace("\0", "")
    if ";base64," in text or ";BASE64," in text:
        text = _URL.sub(_mark_url, text)
    if len(text) >= 2 * _STRIDE and _looks_encoded(text):
        text = _BARE.sub(_mark_bare, text)
    return text


def _mark_url(url: re.Match[str]) -> str:
    mime, parameters, payload, padding = url.groups()
    if (len(payload) + len(padding)) % 4 or len(payload) < 8:  # noqa: PLR2004
        return url[0]
    name = re.search(r";(?:file)?name=([^;]+)", parameters, re.IGNORECASE)
    return data_url(mime or "text/plain", name[1] if name else None)


def data_url(mime: str, name: str | None = None) -> str:
    """Name a payload that is left out, as MiMo Code's trajectory format does."""
    return f"[data-url:{mime}:{name}]" if name else f"[data-url:{mime}]"


def _looks_encoded(text: str) -> bool:
    """Look at one stretch in every 1,024 characters: any long run must cover one."""
    return any(_SAMPLE.match(text, at) for at in range(0, len(text), _STRIDE))


def _mark_bare(run: re.Match[str]) -> str:
    body = run[0]
    if body.islower() or body.isupper() or body.isalpha() or "a" * 64 in body.lower():
        return body
    return data_url("application/octet-stream")


def strings(value: object) -> str:
    """Give the strings and numbers in decoded JSON, one a line, cleaned; keys are left out."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if item:
                found.append(item)
        elif isinstance(item, bool) or item is None:
            continue
        elif isinstance(item, _NUMBERS):
            found.append(str(item))
        elif isinstance(item, dict):
            waiting.extend(reversed(item.values()))
        elif isinstance(item, list | tuple):
            waiting.extend(reversed(item))
    return clean("\n".join(found))


_OPEN, _CLOSE = "<system-reminder>", "</system-reminder>"


def split_reminders(text: str) -> tuple[str, str]:
    """Part a text into what was said and the reminders that the harness put inside.

    Only closed `<system-reminder>` blocks count; what is left is stripped where one was cut.
    """
    if _OPEN not in text:
        return text, ""
    kept: list[str] = []
    cut: list[str] = []
    at = 0
    while (start := text.find(_OPEN, at)) >= 0 and (end := text.find(_CLOSE, start)) >= 0:
        kept.append(text[at:start])
        cut.append(text[start + len(_OPEN) : end].strip("\n"))
        at = end + len(_CLOSE)
    kept.append(text[at:])
    return ("".join(kept).strip() if cut else text), "\n".join(cut)


# What reaches a terminal

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*(?:[@-~]|$)"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])(?s:.*?)(?:\x07|\x1b\\|\x9c|$)"  # OSC, DCS, ...
    r"|\x1b[ -/]*[0-~]?"
)
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e"
    r"\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]|\r\n?"
)


def printable(text: str) -> str:
    """Take out what could drive a terminal or deceive its reader.

    Escape sequences (also unterminated ones), control characters but tab and newline,
    bidirectional overrides and invisible characters go; line separators become newlines.
    """
    if "\x1b" in text or not text.isascii():
        text = _ESCAPES.sub("", text)
    return _UNSAFE.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    char = match[0]
    if char in ("\r", "\r\n", "\u2028", "\u2029", "\x85", "\x0b", "\x0c"):
        return "\n"
    return "\ufffd" if "\ud800" <= char <= "\udfff" else ""
