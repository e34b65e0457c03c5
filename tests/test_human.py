"""What a person sees at a terminal of 40, 80 and 140 columns, line by line."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.cells import cell_len
from rich.text import Text

from mimohist import asking
from mimohist.cli import VERBS
from mimohist.render import human
from mimohist.render.lines import short, wrap
from tests.generated import ROOT
from tests.mimo_database import MimoDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.conftest import Program

WIDTHS = (40, 80, 140)
LONG = (
    "Before that I had looked at the pool, at the retries, at the clock and at every caller of it, "
    "and none of them was wrong; what was wrong in the end was the heliotrope itself, which is "
    "read twice where it should be read once, and the second time it is no longer there."
)

CAUSES = "连接池耗尽的根本原因有两个：1. **异常时连接泄漏**。（见下文）还有超时被忽略。"


@pytest.fixture
def look(database: Path, mimohist: Program) -> Callable[..., str]:
    """Give what the program draws, over a history of one session with everything in it."""
    db = MimoDatabase(database)
    shop = db.session(id="ses_shop0001", directory="/w/shop", title="数据库连接池耗尽排查" * 5)
    db.say(shop, LONG, id="msg_ask")
    answer = db.message(shop, "assistant", id="msg_answer")
    db.reasoning(answer, "first thought\n" * 9)
    db.text(
        answer, "连接池耗尽的根本原因有两个：1. **异常时连接泄漏**。（见下文）还有超时被忽略。" * 3
    )
    db.tool(answer, "bash", {"command": "grep heliotrope"}, output="row\n" * 30)
    db.tool(answer, "read", {"path": "/w/x"}, error="ENOENT: no such file")
    db.tool(answer, "cat", {"path": "/w/y"}, output="x" * 5000)
    db.tool(answer, "touch", {"path": "/w/z"}, output="")
    db.say(shop, "", id="msg_empty")
    db.say(shop, "<system-reminder>be brief</system-reminder>", id="msg_cut")
    fork = db.fork(shop)
    db.say(fork, "only here")
    db.close()
    assert mimohist("backfill").status == 0

    def drawn(*arguments: str, width: int = 80, **options: Any) -> str:  # noqa: ANN401 - passed on
        return mimohist(*arguments, "--format", "human", width=width, **options).out

    return drawn


def lines_of(text: str) -> list[str]:
    return text.split("\n")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "call",
    [
        ("search", "heliotrope", "-k", "all"),
        ("search", "连接池"),
        ("search", "连接池", "-l"),
        ("around", "msg_answer", "--no-pager"),
        ("around", "ses_shop0001", "--all", "--full", "--no-pager"),
        *(("sql", query) for query in ("sessions", "sources", "tools", "largest", "projects")),
        ("sql", "--list"),
    ],
)
def test_lines_fit_and_end_in_no_blank(
    look: Callable[..., str], call: tuple[str, ...], width: int
) -> None:
    """Only a word that cannot be broken is longer, and the command that is to be copied."""
    for line in lines_of(look(*call, width=width)):
        assert line == line.rstrip()
        if "cd /" not in line and len(line.split()) > 2:
            assert cell_len(line) <= width, line


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("word", ["heliotrope", "泄漏", "超时"])
def test_a_hit_shows_its_match_in_at_most_two_lines(
    look: Callable[..., str], width: int, word: str
) -> None:
    out = look("search", word, "-n", "1", "-k", "user_text", "-k", "assistant_text", width=width)
    hit = "".join(line.strip() for line in lines_of(out)[1:])
    assert word in hit
    assert len(out.strip().split("\n")) <= 3


def test_matches_are_marked_also_where_the_beginning_is_left_out(look: Callable[..., str]) -> None:
    out = look("search", "heliotrope", "-k", "user_text", "--color", "always", width=40)
    assert "\x1b[1;33mheliotrope" in out


def test_copies_are_named_where_there_is_room_and_counted_where_not(
    look: Callable[..., str],
) -> None:
    assert re.search(r"\(also in …\w{8}\)$", look("search", "heliotrope"), re.MULTILINE)
    assert re.search(r"\(\+1\)$", look("search", "heliotrope", width=40), re.MULTILINE)


def test_a_call_is_not_named_twice(look: Callable[..., str]) -> None:
    out = look("search", "grep", "-k", "tool_input")
    assert re.search(r"^  2  bash  grep heliotrope", out, re.MULTILINE)
    named = look("search", "bash", "-k", "tool_input", "--color", "always")
    assert "\x1b[1;33mbash\x1b[0m grep" in named


def test_the_footer_leads_on(look: Callable[..., str], mimohist: Program) -> None:
    assert look("search", "heliotrope")
    ended = mimohist("search", "heliotrope", "-n", "1", tty=True, environ={"NO_COLOR": "1"})
    footer = ended.out.rstrip().split("\n")[-1]
    shown = re.fullmatch(r"1 of (more than )?\d+ hits; mimohist around (\S+)", footer)
    assert shown, footer
    (first,) = mimohist("search", "heliotrope", "-n", "1", "--json").out.splitlines()
    (again,) = mimohist("around", shown[2], "-C", "0", "--json").out.splitlines()
    assert json.loads(again)["message_id"] == json.loads(first)["message_id"]


def test_a_list_of_sessions_is_headings(look: Callable[..., str]) -> None:
    first = lines_of(look("search", "heliotrope", "-l"))[0]
    assert re.match(r"mimo/\w{8}  shop  2026-12-01  数据库", first)


def test_a_window_shows_who_and_what(look: Callable[..., str]) -> None:
    out = look("around", "msg_answer", "--no-pager")
    for line in (
        r"> 2  assistant  \d\d:\d\d",
        "    ~ first thought",
        "    … 4 more lines (--full shows them)",
        r"    \$ bash  grep heliotrope",
        "    = row",
        "    … 25 more lines (--full shows them)",
        "    ! ENOENT: no such file",
        r"    \$ touch  /w/z",
        r"    = ok \(0 lines\)",
    ):
        found = line if "\\" in line else re.escape(line)
        assert re.search(rf"^{found}$", out, re.MULTILINE), (line, out)
    assert "(synthetic) be brief" in look("around", "msg_cut", "-C", "0", "--no-pager")
    assert "(synthetic)\n" not in look("around", "msg_cut", "-C", "0", "--no-pager")


def test_one_long_line_is_folded_and_counted_by_characters(look: Callable[..., str]) -> None:
    out = look("around", "msg_answer", "-C", "0", "--no-pager")
    (hidden,) = re.findall(r"… (\d+) more characters \(--full shows them\)", out)
    shown = sum(line.count("x") for line in lines_of(out) if "xxxx" in line)
    assert shown + int(hidden) == 5000
    assert "xxxx…" in out
    full = look("around", "msg_answer", "-C", "0", "--full", "--no-pager")
    assert sum(line.count("x") for line in lines_of(full) if "xxxx" in line) == 5000
    assert "more lines" not in full


@pytest.mark.parametrize("width", [10, 11, 12, 13, 20])
def test_marks_stay_with_what_they_open_and_close(width: int) -> None:
    text = "连接池耗尽的根本原因有两个：1. **异常时连接泄漏**。（见下文）还有“超时”被忽略，等等。"
    lines = [line.plain for line in wrap(Text(text), width)]
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    for line in lines:
        assert line[0] not in "，。、；：？！”’）」』》】〉…"
        assert line[-1] not in "（「『《【〈“‘"


@pytest.mark.parametrize("room", [8, 20, 66])
@pytest.mark.parametrize("place", [0, 50, 120, 250, 399])
def test_a_text_cut_to_two_lines_shows_the_place_that_counts(room: int, place: int) -> None:
    words = "".join(f"{number:03} " for number in range(100))
    start = place // 4 * 4
    for tail in (None, Text("  (+1)")):
        lines = short(Text(words), room, 2, focus=(start, start + 3), tail=tail)
        assert len(lines) <= 2
        assert words[start : start + 3] in " ".join(line.plain for line in lines)
        assert all(cell_len(line.plain) <= room for line in lines)


# Tables


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], width: int) -> list[str]:
    stream = StringIO()
    human.rows(human.console(stream, color=False, width=width), columns, rows)
    return stream.getvalue().rstrip("\n").split("\n")


def test_a_table_keeps_numbers_days_and_the_ends_of_ids_and_paths() -> None:
    columns = ("updated", "session_id", "project", "parts", "title")
    row = ("2026-12-01 03:26:04", "ses_-ffe5dd05ca964ffexuvghDm8T", "/home/dev/code/shop", 1234567)
    (_, line) = table(columns, [(*row, "A title that is long")], 60)
    assert line.startswith("2026-12-01  …uvghDm8T  …")
    assert "shop  1234567  A title" in line
    (_, line) = table(columns, [(*row, "A title that is long")], 140)
    assert line.split("  ") == [*map(str, row), "A title that is long"]


def test_what_is_too_narrow_for_a_table_is_records() -> None:
    columns = ("one", "two", "three", "four", "fifth")
    rows = [("a" * 20, "b" * 20, "c c " * 9, 4, None), ("A", "B", "C", 5, "E")]
    assert table(columns, rows, 40) == [
        "one    aaaaaaaaaaaaaaaaaaaa",
        "two    bbbbbbbbbbbbbbbbbbbb",
        "three  c c c c c c c c c c c c c c c c c",
        "       c",
        "four   4",
        "fifth",
        "",
        "one    A",
        "two    B",
        "three  C",
        "four   5",
        "fifth  E",
    ]


# What is said of itself


def test_bare_sql_explains_every_column_of_every_view(
    look: Callable[..., str], mimohist: Program
) -> None:
    assert look("search", "heliotrope")
    out = mimohist("sql").out
    assert max(map(len, out.splitlines())) <= 80
    for view in asking.VIEWS:
        names = mimohist("sql", f"select name from pragma_table_info('{view}')").out.split()
        (block,) = [part for part in out.split("\n\n") if part.startswith(f"{view}: ")]
        assert [line.split()[0] for line in block.splitlines()[1:]] == names
        assert all(len(line.split()) > 1 for line in block.splitlines())


def test_alone_it_fits_80_columns_and_names_the_home_as_people_do(
    look: Callable[..., str], mimohist: Program
) -> None:
    assert look("search", "heliotrope")
    for words in ((), ("--help",)):
        ended = mimohist(*words)
        assert ended.status == 0
        assert max(map(len, ended.out.splitlines())) <= 80
        assert all(verb in ended.out for verb in VERBS)
    assert "Index: ~/.local/share/mimohist/index.db: 2 sessions, " in mimohist().out


SINCE = (
    "no such option: --sinse (did you mean --since?);"
    " to search for it: mimohist search -- --sinse 3d"
)
NUMBER = (
    "invalid value for '-n' / '--limit': 'foo' is not a whole number; see mimohist search --help"
)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("serch", "x"), "no such verb: 'serch' (did you mean search?); see mimohist --help"),
        (("backfil",), "no such verb: 'backfil' (did you mean backfill?); see mimohist --help"),
        (
            ("deadlock", "in pool"),
            "no such verb: 'deadlock'; to search for it: mimohist search deadlock 'in pool'",
        ),
        (("around", "--contxt", "x"), "no such option: --contxt (did you mean --context?)"),
        (
            ("search", "--sinse", "3d"),
            SINCE,
        ),
        (("-V",), "no such option: -V; see mimohist --help"),
        (
            ("search", "x", "-n", "foo"),
            NUMBER,
        ),
        (
            ("search", "x", "--no-refresh"),
            "no index at ~/.local/share/mimohist/index.db; run `mimohist backfill` first",
        ),
    ],
)
def test_what_is_mistyped_is_told_with_what_was_meant(
    home: Path, mimohist: Program, arguments: tuple[str, ...], said: str
) -> None:
    assert mimohist(*arguments) == (2, "", f"mimohist: {said}\n")
    assert home.exists()


def test_a_flag_wins_over_the_environment_and_that_over_the_file(
    database: Path, home: Path, mimohist: Program
) -> None:
    db = MimoDatabase(database)
    for number in range(5):
        db.say(db.session(), f"alpha {number}")
    db.close()
    folder = home / ".config/mimohist"
    folder.mkdir(parents=True)
    file = folder / "config.toml"
    file.write_text('db = "~/of-the-file.db"\nlimit = 2\nkinds = ["reasoning"]\n')
    environ = {"MIMOHIST_DB": str(home / "of-the-environment.db")}
    flag = ("--db", str(home / "of-the-flag.db"))
    for arguments, env, made in (
        ((), {}, "of-the-file.db"),
        ((), environ, "of-the-environment.db"),
        (flag, environ, "of-the-flag.db"),
    ):
        assert not (home / made).exists()
        assert mimohist("backfill", *arguments, environ=env).status == 0
        assert (home / made).exists()
    found = mimohist("search", "alpha")
    assert (len(found.out.splitlines()), "from all kinds" in found.err) == (2, True)
    assert len(mimohist("search", "alpha", "-n", "3").out.splitlines()) == 3
    found = mimohist("search", "alpha", "-k", "user_text", "-n", "0")
    assert (len(found.out.splitlines()), found.err) == (5, "")
    other = home / "other.toml"
    other.write_text("limit = 4\n")
    found = mimohist("search", "alpha", *flag, environ={"MIMOHIST_CONFIG": str(other)})
    assert len(found.out.splitlines()) == 4


def test_the_readme_names_no_path_of_a_machine() -> None:
    text = Path(ROOT / "README.md").read_text("utf-8")
    assert not re.search(r"/(?:tmp|root|work)/", text)
