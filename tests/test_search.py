"""The query core: what is found, what is not, in which order, and what is said about it."""

from __future__ import annotations

import itertools
import re
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from mimohist.answers import Answer, Mode, Query, Sort
from mimohist.errors import BadInput
from mimohist.records import Kind
from mimohist.search import matching, search
from mimohist.sources import resume
from mimohist.text import clean, fold
from tests.index_of import START, Given, index_of

if TYPE_CHECKING:
    import sqlite3


def ask(db: sqlite3.Connection, *words: str, **fields: Any) -> Answer:  # noqa: ANN401
    return search(db, Query(words=words)._replace(**fields), time.monotonic)


def bodies(db: sqlite3.Connection, *words: str, **fields: Any) -> list[str]:  # noqa: ANN401
    return [hit.snippet for hit in ask(db, *words, **fields).hits]


# Group A: query text never is syntax


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("we don't retry here", "don't"),
        ("we don’t retry here", "don't"),
        ("edit pkg/net/dial.go line 40", "pkg/net/dial.go"),
        ("edit pkg/net/dial.go line 40", "net/dial"),
        ("the tool-chain cache was stale", "tool-chain"),
        ("run with -cache off", "-cache"),
        ("call std::mem::swap", "std::mem"),
        ("set body:retry there", "body:retry"),
        ("please DO NOT MERGE OR rebase", "NOT MERGE"),
        ("please DO NOT MERGE OR rebase", "OR"),
        ("x AND y NEAR( z", "NEAR("),
        ("a * b", "*"),
        ("what { is }", "{"),
        ("café déploiement 中文 отчёт", "café"),
        ("café déploiement 中文 отчёт", "deploiement"),
        ("café déploiement 中文 отчёт", "中文"),
        ("café déploiement 中文 отчёт", "отчет"),
        ("retry the upload", "retry?"),
        ("retry the upload", "(retry)"),
        ('he said "go" twice', '"go"'),
        ("nul\0byte", "nulbyte"),
    ],
)
def test_group_a_what_is_typed_is_looked_for_as_it_is(text: str, query: str) -> None:
    answer = ask(index_of(Given(clean(text)), Given("something else")), query, strict=True)
    assert len(answer.hits) == 1


@pytest.mark.parametrize(
    "token",
    [
        "@user",
        "#12",
        "a=b",
        "x&y",
        "[br]",
        "why?",
        "hi!",
        "50%",
        "<t>",
        "\\d+",
        "~/p",
        "a,b",
        "a;b",
        "$HOME",
        "|",
        "{x}",
        "`q`",
        "^k",
        "%s",
    ],
)
def test_b6_each_special_token_finds_its_text(token: str) -> None:
    text = "@user #12 a=b x&y [br] why? hi! 50% <t> \\d+ ~/p a,b a;b $HOME | {x} `q` ^k %s"
    assert len(ask(index_of(Given(text), Given("nothing")), token, strict=True).hits) == 1


def test_b12_words_that_do_not_all_occur_widen_and_say_so() -> None:
    db = index_of(Given("docker container failed to start: port bound"), Given("other"))
    answer = ask(db, *["why", "did", "the", "container", "not", "start"])
    assert (answer.widened, len(answer.hits)) == ("any", 1)
    assert answer.hits[0].widened == "any"
    assert ask(db, *["why", "did", "the", "container", "not", "start"], strict=True).hits == ()


def test_widening_puts_the_best_coverage_first() -> None:
    db = index_of(
        Given("alpha alpha alpha alpha"), Given("alpha beta somewhere"), Given("beta only here")
    )
    assert bodies(db, "alpha", "beta", "missing")[0] == "alpha beta somewhere"


# Group B: tokens, scripts, languages


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("步骤二：悬空引用已清零", "清零"),
        ("步骤二：悬空引用已清零", "引用"),
        ("步骤二：悬空引用已清零", "悬空引用"),
        ("步骤二：悬空引用已清零", "零"),
        ("カードが二重に登録される", "カード"),
        ("カードが二重に登録される", "登録"),
        ("한글은 어렵다", "한글"),
        ("한글은 어렵다", "글"),
        ("ฐานข้อมูลล่ม", "ข้อมูล"),
        ("重跑gen_job后完成", "gen_job"),
        ("issue化してほしい", "issue化"),
        ("用git提交", "git"),
        ("2026年", "2026"),
        ("load user_id via getUserName", "user_id"),
        ("load user_id via getUserName", "user"),
        ("load user_id via getUserName", "getUserName"),
        ("load user_id via getUserName", "name"),
        ("newHTTPServer up", "server"),
        ("Việt ngữ, ação", "viet"),
        ("Việt ngữ, ação", "acao"),
        ("Straße", "STRASSE"),
        ("STRASSE", "Straße"),
        ("ﬁnal ｶﾞｲﾄﾞ", "final"),
        ("ﬁnal ｶﾞｲﾄﾞ", "ガイド"),
        ("cafe\u0301", "café"),
        ("مُحَمَّد", "محمد"),
        ("שָׁלוֹם", "שלום"),
        ("ΟΔΟΣ", "οδος"),
        ("İstanbul", "istanbul"),
        ("ship it 🚀 today", "🚀"),
        ("ship it 🦀 today", "ship it"),
        ("a -> b", "->"),
        ("हिन्दी में", "हिन्दी"),
    ],
)
def test_group_b_words_of_every_script_are_found(text: str, query: str) -> None:
    db = index_of(Given(text), Given("nothing of the kind"))
    answer = ask(db, query, strict=True)
    assert len(answer.hits) == 1
    hit = answer.hits[0]
    assert hit.matches
    shown = "".join(hit.snippet[start:end] for start, end in hit.matches)
    assert fold(shown[0]) == fold(query.split(maxsplit=1)[0][0]) or fold(shown) in fold(query)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("数。据", "数据"),
        ("C is a letter", "C++"),
        ("10 items, 7 left", "10.0.0.7"),
        ("concatenate", "cat"),
        ("foo bar", "foo_bar"),
        ("ที่นั่น", "ทีนัน"),
        ("user id", "user_id"),
        ("handle drag", '"drag handle"'),
        ("getUserName", "sername"),
        ("net income", ".NET"),
    ],
)
def test_group_b_what_does_not_match_is_never_shown(text: str, query: str) -> None:
    assert ask(index_of(Given(text)), query).hits == ()


def test_b16_short_words_count() -> None:
    db = index_of(Given("quick brown fox"), Given("quick ok"))
    assert bodies(db, "ok") == ["quick ok"]
    assert bodies(db, "quick", "ok") == ["quick ok"]


def test_b20_the_exact_identifier_ranks_above_its_pieces() -> None:
    db = index_of(
        Given("getUserName getUserMail setUserName userName"),
        Given("the user logged in"),
    )
    assert bodies(db, "user")[0] == "the user logged in"


def test_b83_nonsense_finds_nothing() -> None:
    answer = ask(index_of(Given("some text")), "qqxzvwmpl")
    assert (answer.hits, answer.total, answer.sessions) == ((), 0, 1)


def test_b88_strings_of_a_tool_input_are_words() -> None:
    call = 'bash\ncat a.txt\nfoo --bar "x y"\nC:\\Users\\me\\b.txt'
    db = index_of(Given(call, tool="bash"))
    for query in ("foo", '"foo --bar"', "C:\\Users\\me", "x y"):
        assert [hit.kind for hit in ask(db, query, strict=True).hits] == [Kind.TOOL_INPUT]


# Kinds


KINDS = (
    Given("alpha asked"),
    Given("alpha answered", kind=Kind.ASSISTANT_TEXT),
    Given("alpha thought", kind=Kind.REASONING),
    Given("bash\nalpha", tool="bash", output="nothing"),
    Given("bash\nls", tool="bash", output="alpha printed"),
    Given("bash\nrm", kind=Kind.TOOL_ERROR, tool="bash", output="alpha failed"),
    Given("alpha", kind=Kind.TITLE),
)


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        ((), {1, 2, 4, 6, 7}),
        ((Kind.USER_TEXT,), {1}),
        ((Kind.ASSISTANT_TEXT,), {2}),
        ((Kind.REASONING,), {3}),
        ((Kind.TOOL_INPUT,), {4}),
        ((Kind.TOOL_OUTPUT,), {5}),
        ((Kind.TOOL_ERROR,), {6}),
        ((Kind.TITLE,), {7}),
        ((Kind.TOOL_INPUT, Kind.TOOL_OUTPUT), {4, 5}),
        ((Kind.USER_TEXT, Kind.TOOL_ERROR), {1, 6}),
    ],
)
def test_a_kind_filter_keeps_only_that_kind(kinds: tuple[Kind, ...], found: set[int]) -> None:
    hits = ask(index_of(*KINDS), "alpha", kinds=kinds).hits
    assert {int(hit.part_id[-4:]) for hit in hits} == found


def test_words_of_a_call_and_its_result_match_together_where_both_kinds_are_asked() -> None:
    db = index_of(Given("bash\nmake test", tool="bash", output="3 failed"))
    both = (Kind.TOOL_INPUT, Kind.TOOL_OUTPUT)
    assert [hit.kind for hit in ask(db, "make", "failed", kinds=both).hits] == ["tool_output"]
    assert ask(db, "make", "failed", kinds=(Kind.TOOL_INPUT,)).hits == ()


def test_no_hit_in_the_default_kinds_widens_to_all() -> None:
    answer = ask(index_of(*KINDS), "printed")
    assert (answer.widened, [hit.kind for hit in answer.hits]) == ("kinds", ["tool_output"])


def test_b70_text_only_in_tools_is_found_and_labelled() -> None:
    db = index_of(
        Given("bash\nctl rotate --slot 7", tool="bash", output="ok"),
        Given("bash\nctl", kind=Kind.TOOL_ERROR, tool="bash", output="E4417 no slot"),
    )
    assert [hit.kind for hit in ask(db, "E4417").hits] == [Kind.TOOL_ERROR]
    assert [hit.kind for hit in ask(db, "rotate --slot").hits] == [Kind.TOOL_INPUT]


# Machine text, copies, echoes


def test_machine_text_is_hidden_counted_and_shown_on_request() -> None:
    db = index_of(
        Given("fix it", cut="NEEDLE in a reminder"),
        Given("NEEDLE", machine="synthetic"),
        Given("bash\nNEEDLE", tool="bash", output="x", machine="system_agent"),
    )
    answer = ask(db, "needle")
    assert (answer.hits, answer.machine_hits) == ((), 3)
    shown = ask(db, "needle", machine=True).hits
    assert {hit.machine for hit in shown} == {None, "synthetic", "system_agent"}
    assert [hit.snippet for hit in ask(db, "fix it").hits] == ["fix it"]


def test_b58_a_summary_is_shown_labelled_and_below_what_it_sums_up() -> None:
    db = index_of(
        Given("about the zorblax", kind=Kind.ASSISTANT_TEXT),
        Given("zorblax zorblax", kind=Kind.ASSISTANT_TEXT, machine="summary"),
    )
    assert [hit.machine for hit in ask(db, "zorblax").hits] == [None, "summary"]


def test_b50_copies_fold_into_one_hit_that_lists_them() -> None:
    db = index_of(
        Given("the same words", session="ses_a", said_at=START),
        Given("the same words", session="ses_b", said_at=START),
        Given("the same words", session="ses_c", said_at=START + 9),
    )
    answer = ask(db, "same")
    assert [hit.session_id for hit in answer.hits] == ["ses_c", "ses_a"] or len(answer.hits) == 2
    assert answer.total == 2
    copies = [copy.ref for hit in answer.hits for copy in hit.copies]
    assert len(copies) == 1
    assert len(list(matching(db, Query(words=("same",)), time.monotonic))) == 2


def test_b68_echoes_of_earlier_searches_rank_last() -> None:
    db = index_of(
        Given("zorblax fix"),
        Given("bash\nmimohist search zorblax zorblax zorblax", tool="bash", output="x", echo=True),
    )
    assert [hit.part_id for hit in ask(db, "zorblax").hits] == ["prt_0001", "prt_0002"]


# Scope and filters


PLACES = (
    Given("alpha shop", project="/home/dev/shop", session="ses_shop"),
    Given("alpha sub", project="/home/dev/shop/api", session="ses_sub"),
    Given("alpha notes", project="/home/dev/notes", project_id="global", session="ses_notes"),
    Given("alpha misc", project="/home/dev/misc", project_id="global", session="ses_misc"),
    Given("beta", project="/home/dev/misc", project_id="global", session="ses_misc"),
)


@pytest.mark.parametrize(
    ("here", "scope", "found"),
    [
        ("/home/dev/shop", "/home/dev/shop", {"ses_shop", "ses_sub"}),
        ("/home/dev/shop/api/deep", "/home/dev/shop/api", {"ses_shop", "ses_sub"}),
        ("/home/dev/notes", "/home/dev/notes", {"ses_notes"}),
        ("/home/dev", None, {"ses_shop", "ses_sub", "ses_notes", "ses_misc"}),
        ("/srv", None, {"ses_shop", "ses_sub", "ses_notes", "ses_misc"}),
    ],
)
def test_the_default_scope_is_the_project_of_the_current_directory(
    here: str, scope: str | None, found: set[str]
) -> None:
    answer = ask(index_of(*PLACES), "alpha", here=here, home="/home/dev")
    assert (answer.scope, {hit.session_id for hit in answer.hits}) == (scope, found)


def test_everywhere_and_filters_cancel_the_default_scope() -> None:
    db = index_of(*PLACES)
    here = {"here": "/home/dev/notes"}
    assert len(ask(db, "alpha", everywhere=True, **here).hits) == 4
    assert len(ask(db, "alpha", projects=("/home/dev/shop",), **here).hits) == 2
    assert len(ask(db, "alpha", sessions=("ses_misc",), **here).hits) == 1


def test_nothing_here_says_how_much_there_is_elsewhere() -> None:
    answer = ask(index_of(*PLACES), "beta", here="/home/dev/notes")
    assert (answer.hits, answer.elsewhere, answer.sessions) == ((), 1, 1)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"sources": ("nope",)}, "no source 'nope'"),
        ({"projects": ("/nowhere",)}, "no session ran in /nowhere"),
        ({"sessions": ("ses_x",)}, "no session 'ses_x'"),
        ({"sessions": ("ses_",)}, "names 4 sessions"),
        ({"tools": ("nope",)}, "no tool 'nope'"),
        ({"agents": ("nope",)}, "no agent 'nope'"),
    ],
)
def test_b82_a_filter_that_names_nothing_is_an_error(
    fields: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint):
        ask(index_of(*PLACES), "alpha", **fields)


def test_a_tool_filter_ignores_case() -> None:
    db = index_of(Given("x", tool="bash"), Given("x", tool="read"))
    assert [hit.tool for hit in ask(db, "x", tools=("Bash",)).hits] == ["bash"]


def test_an_agent_filter_names_a_slice() -> None:
    db = index_of(Given("x here"), Given("x there", agent="explore-1"))
    assert bodies(db, "x", agents=("explore-1",)) == ["x there"]


def test_times_are_exact_however_ids_and_times_disagree() -> None:
    rows = [Given(f"x {n}", at=START + (n * 7919) % 1000) for n in range(300)]
    db = index_of(*rows)
    since, until = START + 200, START + 700
    hits = ask(db, "x", since=since, until=until, limit=0).hits
    assert {hit.at for hit in hits} == {row.at for row in rows if since <= (row.at or 0) < until}


@pytest.mark.parametrize(("sort", "sign"), [(Sort.NEWEST, -1), (Sort.OLDEST, 1)])
def test_sorting_by_time_is_exact_however_ids_and_times_disagree(sort: Sort, sign: int) -> None:
    rows = [Given(f"x {n}", at=START + (n * 7919) % 1000) for n in range(300)]
    times = [hit.at for hit in ask(index_of(*rows), "x", sort=sort, limit=20).hits]
    assert times == sorted((row.at or 0 for row in rows), key=lambda at: sign * at)[:20]


# The other modes


def test_fixed_texts_match_lines_as_said() -> None:
    db = index_of(Given("Alpha beta\ngamma"), Given("alpha beta"), Given("重跑连接池"))
    assert len(bodies(db, "Alpha b", mode=Mode.FIXED)) == 1
    assert len(bodies(db, "alpha b", mode=Mode.FIXED, ignore_case=True)) == 2
    assert bodies(db, "lpha be", mode=Mode.FIXED)[0] == "alpha beta"
    assert bodies(db, "beta gamma", mode=Mode.FIXED) == []
    assert len(bodies(db, "跑连", mode=Mode.FIXED)) == 1
    assert bodies(db, "*", mode=Mode.FIXED) == []


def test_regular_expressions_match_within_a_line() -> None:
    db = index_of(Given("error E0308 here"), Given("one\ntwo"))
    assert len(bodies(db, r"E\d{4}", mode=Mode.REGEX)) == 1
    assert len(bodies(db, r"^two$", mode=Mode.REGEX)) == 1
    assert bodies(db, r"one\stwo", mode=Mode.REGEX) == []
    assert len(bodies(db, r"\berror E", mode=Mode.REGEX)) == 1
    with pytest.raises(BadInput, match="bad regular expression"):
        ask(db, "(", mode=Mode.REGEX)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarm on this system")
def test_an_expression_that_would_match_for_hours_is_ended() -> None:
    db = index_of(Given("found it: aab"), Given("a" * 60 + "!"), Given("the newest: aab"))
    before = signal.getsignal(signal.SIGALRM)
    answer = ask(db, "(a+)+b", mode=Mode.REGEX, seconds=0.05)
    assert [hit.snippet for hit in answer.hits] == ["the newest: aab"]
    assert answer.cut_off
    assert answer.total is None
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarm on this system")
def test_the_place_of_a_match_is_not_looked_for_for_hours_either() -> None:
    db = index_of(Given("aab then " + "a" * 60 + "!"))
    answer = ask(db, "(a+)+b", mode=Mode.REGEX, seconds=0.05)
    assert [hit.matches for hit in answer.hits] == [((0, 3),)]


def test_an_alarm_leaves_a_running_timer_alone() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    signal.setitimer(signal.ITIMER_REAL, 100)
    try:
        assert len(bodies(index_of(Given("aab")), "a+b", mode=Mode.REGEX)) == 1
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 50
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


LETTERS = "abkKsS\u017f\u212aiI\u0131 _%*[]?\\\n\u8fde\u63a5\u0301E"


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    texts=st.lists(st.text(LETTERS, min_size=1, max_size=12), min_size=1, max_size=6),
    needle=st.text(LETTERS.replace("\n", ""), min_size=1, max_size=4),
    wrap=st.sampled_from(["{}", "{}", "[a-z]*{}", "(?:{})+.?", "^{}", "{}|zz", r"\b{}"]),
    ignore_case=st.booleans(),
    outputs=st.booleans(),
)
@example(texts=["disK", "di\u017f\u212a"], needle="isk", wrap="{}", ignore_case=True, outputs=False)
@example(texts=["100%_x"], needle="%_", wrap="{}", ignore_case=True, outputs=True)
def test_lines_are_found_as_grep_would(
    texts: list[str], needle: str, wrap: str, *, ignore_case: bool, outputs: bool
) -> None:
    assume(needle.strip())
    fixed = wrap == "{}"
    pattern = wrap.format(re.escape(needle))
    wanted = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    rows = [
        Given("call", output=text, tool="bash") if outputs else Given(text)
        for text in map(clean, texts)
    ]
    found = matching(
        index_of(*rows),
        Query(
            words=(needle if fixed else pattern,),
            mode=Mode.FIXED if fixed else Mode.REGEX,
            kinds=(Kind.TOOL_OUTPUT,) if outputs else (),
            ignore_case=ignore_case,
        ),
        time.monotonic,
    )
    expected = [n for n, t in enumerate(texts, 1) if any(map(wanted.search, clean(t).split("\n")))]
    assert sorted(row.id for row in found) == expected


def test_newest_first_for_lines() -> None:
    db = index_of(Given("x 1"), Given("x 2"), Given("x 3"))
    assert bodies(db, "x", mode=Mode.FIXED) == ["x 3", "x 2", "x 1"]


def test_raw_fts5_expressions_work_and_their_errors_are_explained() -> None:
    db = index_of(Given("retry with backoff"), Given("retry the test"))
    assert len(bodies(db, "NEAR(retry backoff, 5)", mode=Mode.FTS)) == 1
    assert len(bodies(db, "retry NOT test", mode=Mode.FTS)) == 1
    with pytest.raises(BadInput, match="bad FTS5 expression"):
        ask(db, "a AND", mode=Mode.FTS)


def test_excluded_words() -> None:
    db = index_of(Given("alpha beta"), Given("alpha"), Given("alpha c++"), Given("alpha c"))
    assert len(bodies(db, "alpha", without=("beta",))) == 3
    assert len(bodies(db, "alpha", without=("C++",))) == 3


def test_any_word() -> None:
    db = index_of(Given("alpha beta"), Given("alpha"), Given("beta"), Given("gamma"))
    assert len(bodies(db, "alpha", "beta", any_word=True)) == 3


def test_the_dropped_sign_raises_the_rank() -> None:
    db = index_of(Given("main idea"), Given("call main() now please, do it at once"))
    assert bodies(db, "main(")[0].startswith("call")


# Snippets


def test_a_snippet_shows_the_match_of_a_long_text_and_drops_controls() -> None:
    text = "x " * 5000 + "\x1b[31mNEEDLE\x1b[0m\n\n\x07 tail" + " y" * 5000
    hit = ask(index_of(Given(text)), "needle").hits[0]
    assert [hit.snippet[start:end] for start, end in hit.matches] == ["NEEDLE"]
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert "NEEDLE tail" in hit.snippet


def test_a_snippet_prefers_the_stretch_with_most_words() -> None:
    text = "alpha " + "x " * 500 + "alpha beta" + " y" * 500
    hit = ask(index_of(Given(text)), "alpha", "beta").hits[0]
    assert "alpha beta" in hit.snippet


# Against a plain reading of the texts

ALPHABET = st.sampled_from(
    [
        "a",
        "B",
        "user",
        "User",
        "Name",
        "id",
        "中",
        "文",
        "カ",
        "ガ",
        "한",
        "ก",
        "ี",
        "é",
        "é",
        "ß",
        "ＡＢ",
        "1",
        "_",
        "-",
        ".",
        "::",
        " ",
        " ",
        "\n",
        "+",
        "🚀",
        "’",
        "İ",
        "й",
    ]
)
WORDS = st.lists(ALPHABET, min_size=1, max_size=4).map("".join)
TEXTS = st.lists(st.lists(ALPHABET, max_size=12).map("".join), min_size=1, max_size=8)


def is_letter(char: str) -> bool:
    unspaced = "\u0e01" <= char <= "\u0e46" or "\u3041" <= char <= "\ud7a3"
    return char.isalnum() and not unspaced


def stands(word: str, text: str, *, prefix: bool) -> bool:
    """Whether a folded word stands in a folded text with no letter running on at its ends."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        left = not (is_letter(word[0]) and at and is_letter(text[at - 1]))
        right = not (is_letter(word[-1]) and end < len(text) and is_letter(text[end]))
        if left and (right or prefix):
            return True
        at = text.find(word, at + 1)
    return False


def camel_pieces(text: str) -> set[str]:
    found: set[str] = set()
    word = ""
    for char in [*text, " "]:
        if char.isascii() and char.isalnum():
            word += char
            continue
        turns = [n for n in range(1, len(word)) if word[n - 1].islower() and word[n].isupper()]
        if turns:
            starts = {0, *turns}
            for n in range(1, len(word)):
                before, now, after = word[n - 1], word[n], word[n + 1 : n + 2]
                if before.isupper() and now.isupper() and after.islower():
                    starts.add(n)
                if before.isdigit() != now.isdigit():
                    starts.add(n)
            cuts = [*sorted(starts), len(word)]
            found |= {word[a:b].lower() for a, b in itertools.pairwise(cuts)}
        word = ""
    return found


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(texts=TEXTS, words=st.lists(WORDS, min_size=1, max_size=3), prefix=st.booleans())
@example(texts=["getUserName"], words=["user"], prefix=False)
@example(texts=["e\u0301a カ\u3099"], words=["ガ"], prefix=False)
def test_search_agrees_with_a_plain_reading_of_the_texts(
    texts: list[str],
    words: list[str],
    prefix: bool,  # noqa: FBT001
) -> None:
    """No false negative and no false positive, for any words in mixed scripts."""
    words = [word for raw in words for word in raw.split()]
    words = [word.strip("-.’_+:🚀") for word in words]
    words = [word for word in words if any(char.isalnum() for char in fold(word))]
    if not words:
        return
    typed = [f"{word}*" if prefix and word[-1].isalnum() else word for word in words]
    db = index_of(*(Given(text, said_at=START + n) for n, text in enumerate(texts)))
    found = {row.id - 1 for row in matching(db, Query(words=tuple(typed)), time.monotonic)}

    def has(word: str, text: str, *, prefix: bool) -> bool:
        if stands(fold(word), fold(text), prefix=prefix):
            return True
        single = len(fold(word)) and all(map(is_letter, fold(word)))
        pieces = camel_pieces(text)
        return bool(single) and any(
            piece == fold(word) or (prefix and piece.startswith(fold(word))) for piece in pieces
        )

    expected = {
        number
        for number, text in enumerate(texts)
        if all(
            has(word, text, prefix=star.endswith("*"))
            for word, star in zip(words, typed, strict=True)
        )
    }
    assert found == expected


@pytest.mark.parametrize(
    ("source", "parent", "command"),
    [
        ("mimo", None, ("mimo", "-s", "ses_1")),
        ("mimo", "ses_0", ("mimo", "-s", "ses_1")),
        ("claude", "ses_0", ("claude", "--resume", "ses_0")),
        ("nothing", None, None),
    ],
)
def test_what_reopens_a_session(
    source: str, parent: str | None, command: tuple[str, ...] | None
) -> None:
    assert resume(source, "ses_1", parent) == command
