"""Cleaning, folding and segmenting: one fold for the index, the query and the highlighting."""

from __future__ import annotations

from unicodedata import category, normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mimohist import text as t
from tests.memory import database

MIXED = st.text(
    st.one_of(
        st.sampled_from("aZ9_ -.éßİıσΣ中文カガか\u3099한글ไทยที่ी\u0301\u200b\u200d🦀🚀ﬁＡｶﾞ½№"),
        st.characters(codec="utf-8", exclude_categories=["Cn"]),
    ),
    max_size=30,
)


def tokens(texts: list[str]) -> list[list[str]]:
    """Give what the tokenizer of the index makes of each text."""
    db = database()
    db.execute("CREATE VIRTUAL TABLE f USING fts5(x, tokenize='unicode61 remove_diacritics 2')")
    db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(f, instance)")
    db.executemany("INSERT INTO f(rowid, x) VALUES (?, ?)", enumerate(texts))
    found: list[list[str]] = [[] for _ in texts]
    for term, row in db.execute("SELECT term, doc FROM v ORDER BY doc, offset"):
        found[row].append(term)
    return found


def words(text: str) -> list[str]:
    """Give the tokens of a text's fold."""
    folded = t.fold(text)
    return [folded[start:end] for start, end in t.tokens(folded)]


def indexed(text: str) -> str:
    folded = t.folded(text)
    return t.segment(text) if folded is None else folded


def test_every_character_is_folded_and_separated_by_the_index_as_by_us() -> None:
    """For each character between two words, SQLite's tokens are those that the fold gives."""
    chars = [
        chr(point)
        for point in range(0x20000)
        if point and not 0xD800 <= point <= 0xDFFF and category(chr(point)) != "Cn"
    ]
    texts = [f"ax{char}xb {char}" for char in chars]
    wrong = [
        (f"U+{ord(char):04X}", got, want)
        for char, text, got in zip(chars, texts, tokens([indexed(x) for x in texts]), strict=True)
        if got != (want := words(text))
    ]
    assert wrong == []


@given(st.lists(MIXED, min_size=1, max_size=20))
@example(["\u0640"])
@example(["e\u0301cole か\u3099 \u1100\u1161"])
def test_any_text_has_the_same_tokens_in_the_index_and_in_the_fold(texts: list[str]) -> None:
    texts = [t.clean(text) for text in texts]
    assert tokens([indexed(text) for text in texts]) == [words(text) for text in texts]


@given(MIXED)
def test_the_trace_folds_alike_and_its_spans_lie_in_the_text(text: str) -> None:
    trace = t.trace(text)
    assert trace.folded == t.fold(text)
    for start in range(len(trace.folded)):
        begin, end = trace.span(start, start + 1)
        assert 0 <= begin < end <= len(text)


@given(MIXED)
def test_segmenting_is_undone(text: str) -> None:
    assert t.said(t.segment(text)) == text


@given(MIXED)
def test_composition_does_not_matter(text: str) -> None:
    assert t.fold(normalize("NFC", text)) == t.fold(normalize("NFD", text))


@given(st.text(st.characters(), max_size=40))
def test_clean_text_can_be_stored_and_printed(text: str) -> None:
    cleaned = t.clean(text)
    assert "\0" not in cleaned
    assert database().execute("SELECT ?", (cleaned,)).fetchone() == (cleaned,)
    assert t.clean(cleaned) == cleaned


@pytest.mark.parametrize(
    ("text", "folds_to"),
    [
        ("Straße STRASSE", "strasse strasse"),
        ("Việt ngữ, ação", "viet ngu, acao"),
        ("ＡＢＣ１２：ｶﾞ", "abc12:ガ"),
        ("cafe\u0301 ﬁn", "cafe fin"),
        ("مُحَمَّد שָׁלוֹם", "محمد שלום"),
        ("İstanbul ΟΔΟΣ", "istanbul οδοσ"),
        ("don’t “say”", 'don\'t "say"'),
        ("Foo™ №5 ℃", "foo™ №5 ℃"),
        ("ที่นี่", "ที่นี่"),
        ("Đường Øre Łódź", "duong ore lodz"),
        ("soft\u00adhyphen", "softhyphen"),
    ],
)
def test_fold(text: str, folds_to: str) -> None:
    assert t.fold(text) == folds_to


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("load user_id via getUserName", "get user name"),
        ("HTTPServer", None),
        ("newHTTPServer2", "new http server 2"),
        ("plain words", None),
        ("aB" * 3, "a ba b"),
    ],
)
def test_pieces(text: str, parts: str | None) -> None:
    assert t.pieces(text) == parts


PNG = "data:image/png;base64," + "iVBORw0K" * 4


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        (f"see {PNG}'中", "see [data-url:image/png]'中"),
        (f"{PNG}_x", "[data-url:image/png]_x"),
        ("DATA:;base64,QUJDREVGR0g=", "[data-url:text/plain]"),
        ("data:image/png;name=a.png;base64,QUJDREVGR0g=", "[data-url:image/png:a.png]"),
        ("data:text/plain,hello%20there", "data:text/plain,hello%20there"),
        ("data:image/png;base64,QUJDRE", "data:image/png;base64,QUJDRE"),
        ("the data: prose, base64, too", "the data: prose, base64, too"),
        ("x" * 5000, "x" * 5000),
        ("k " + "Ab1+" * 1024 + " z", "k [data-url:application/octet-stream] z"),
        ("ok \ud83d needle\0", "ok ? needle"),
    ],
)
def test_clean(text: str, cleaned: str) -> None:
    assert t.clean(text) == cleaned.replace("?", "\ufffd")


def test_many_false_headers_cost_linear_time() -> None:
    """A quadratic search would not come back from these in an hour."""
    text = "data:image/png;base64," * 100_000
    assert t.clean(text) == text


def test_strings_are_values_one_a_line() -> None:
    value = {
        "command": 'cat a.txt\nfoo --bar "x y"',
        "n": 3,
        "on": True,
        "deep": [{"path": "C:\\b"}],
    }
    assert t.strings(value) == 'cat a.txt\nfoo --bar "x y"\n3\nC:\\b'


def test_deeply_nested_values_do_not_exhaust_the_stack() -> None:
    value: object = "needle"
    for _ in range(100_000):
        value = [value]
    assert t.strings(value) == "needle"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("fix it <system-reminder>\nNEEDLE\n</system-reminder>", ("fix it", "NEEDLE")),
        (
            "a<system-reminder>1</system-reminder>b<system-reminder>2</system-reminder>",
            ("ab", "1\n2"),
        ),
        ("write <system-reminder> into it", ("write <system-reminder> into it", "")),
        (" plain ", (" plain ", "")),
    ],
)
def test_reminders_are_cut_out(text: str, parts: tuple[str, str]) -> None:
    assert t.split_reminders(text) == parts


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;QUJD\x07\x1b[2J\x9b31m hit \x1b]0;x", " hit "),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("a\u202eb\u2066c\ufeff", "abc"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("tab\tstays\n", "tab\tstays\n"),
        ("\x1bPq#0\x1b\\after", "after"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert t.printable(text) == shown


@given(st.text(st.characters(), max_size=60))
def test_nothing_printable_drives_a_terminal(text: str) -> None:
    shown = t.printable(text)
    assert all(
        char in "\t\n" or (category(char) not in ("Cc", "Cs") and char not in "\u202e\u2066\u200b")
        for char in shown
    )
    assert t.printable(shown) == shown
