"""Words as typed become terms; whatever is typed is words and never FTS5 syntax."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mimohist.errors import BadInput
from mimohist.query import parse, places, stands
from mimohist.text import fold
from tests.memory import database


@pytest.mark.parametrize(
    ("word", "tokens"),
    [
        ("don't", ("don", "t")),
        ("pkg/net/dial.go", ("pkg", "net", "dial", "go")),
        ("连接池", ("连", "接", "池")),
        ("重跑gen_job后", ("重", "跑", "gen", "job", "后")),
        ("2026年", ("2026", "年")),
        ("NOT", ("not",)),
        ("body:retry", ("body", "retry")),
        ("🚀", ()),
        ("->", ()),
        ("*", ()),
        ('"drag handle"', ("drag", "handle")),
        ("ＡＢＣ", ("abc",)),
    ],
)
def test_a_word_is_looked_up_by_its_tokens(word: str, tokens: tuple[str, ...]) -> None:
    assert [term.tokens for term in parse((word,))] == [tokens]


@pytest.mark.parametrize("word", ["retry?", "(retry)", "retry,", "“retry”", "retry…", "[retry]"])
def test_b9_sentence_punctuation_at_the_edges_is_dropped(word: str) -> None:
    assert parse((word,))[0].words == parse(("retry",))[0].words


@pytest.mark.parametrize(
    ("word", "text", "found"),
    [
        (".NET", "the .net runtime", True),
        (".NET", "net", False),
        ("$HOME", "cd $home", True),
        ("$HOME", "home", False),
        ("--fail-fast", "run --fail-fast now", True),
        ("--fail-fast", "fail fast", False),
        ("C++", "c++ build", True),
        ("C++", "c build", False),
        ("C++", "abc++", False),
        ("C#", "c# app", True),
        ("10.0.0.7", "110.0.0.7", False),
        ("10.0.0.7", "10.0.0.75", False),
        ("10.0.0.7", "at 10.0.0.7:80", True),
        ("user_id", "user id", False),
        ("user", "user_id", True),
        ("cat", "concatenate", False),
        ("cat*", "cats", True),
        ("池", "连接池耗尽", True),
        ('"drag handle"', "drag, handle", True),
        ('"drag handle"', "handle drag", False),
        ('"drag han"*', "drag handle", True),
        ("E0308:", "error e0308 there", True),
        ("main(", "main", True),
        ("50%", "50 percent", False),
        (r"\d+", r"the \d+ class", True),
        ("#12", "issue 12", True),
    ],
)
def test_the_text_decides(word: str, text: str, found: bool) -> None:  # noqa: FBT001
    term = parse((word,))[0]
    assert stands(term, text) is found
    assert bool(places(term, text)) is found


@pytest.mark.parametrize("words", [(), ("",), ("   ",), ('""',), ('"',)])
def test_b8_a_blank_query_is_an_error_that_says_so(words: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match="nothing to search for"):
        parse(words)


def test_an_argument_may_hold_several_words() -> None:
    assert [term.said for term in parse(("foo bar", '"a b" c*'))] == ["foo", "bar", '"a b"', "c*"]


def test_a_word_given_twice_is_looked_for_once() -> None:
    assert len(parse(("Retry", "retry"))) == 1


@given(st.lists(st.text(max_size=20), max_size=4))
def test_any_words_are_valid_fts5_or_bad_input(words: list[str]) -> None:
    try:
        terms = parse(tuple(words))
    except BadInput:
        return
    db = database()
    db.execute("CREATE VIRTUAL TABLE f USING fts5(x)")
    for term in terms:
        stands(term, fold(" ".join(words)))
        if term.tokens:
            db.execute("SELECT * FROM f WHERE f MATCH ?", (term.match,)).fetchall()
