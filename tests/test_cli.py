"""The program as its users meet it: answers, statuses, one clear line when something is wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mimohist.text import printable
from tests.claude_file import ClaudeFile
from tests.mimo_database import START, MimoDatabase

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Program

LATER = START + 3_600_000

HOSTILE = "\x1b]52;c;QUJD\x07\x1b[2J\x9b31m hit \x1b]0;x"


@pytest.fixture
def filled(database: Path) -> Path:
    """Fill the home's database with a small history of two projects."""
    db = MimoDatabase(database)
    shop = db.session(
        id="ses_shop0001", project="p1", directory="/w/shop", title="Cart total drifts"
    )
    db.say(shop, "why does the cart total drift by one cent?", id="msg_ask")
    answer = db.message(shop, "assistant", id="msg_answer")
    db.reasoning(answer, "rounding, probably")
    db.text(answer, "It is float rounding; use Decimal. 数据库连接池也要检查。")
    db.tool(answer, "bash", {"command": "pytest -q"}, output="3 passed in 0.1s heliotrope")
    db.tool(answer, "read", {"path": "/tmp/x"}, error="ENOENT: no such file")  # noqa: S108
    notes = db.session(id="ses_note0002", project="global", directory="/w/notes", title="Notes")
    db.say(notes, "remember the cart meeting", id="msg_note")
    db.say(notes, "hidden NEEDLE", source="hook")
    for number in range(12):
        db.say(notes, f"line {number} of many", id=f"msg_{number:02}")
    db.close()
    return database


# Issue: the first command a newcomer types works


def test_a_first_search_builds_the_index_and_answers(filled: Path, mimohist: Program) -> None:
    ended = mimohist("search", "drift", "cart")
    assert ended.status == 0
    assert ended.err == "mimohist: building the index for the first time\n"
    ref, at, project, kind, snippet = ended.out.rstrip("\n").split("\n")[0].split("\t")
    assert (ref, project, kind) == ("mimo/ses_shop0001/msg_ask", "/w/shop", "user_text")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", at)
    assert snippet == "why does the cart total drift by one cent?"
    assert filled.exists()


def test_what_was_written_a_moment_ago_is_found(filled: Path, mimohist: Program) -> None:
    assert mimohist("backfill").status == 0
    db = MimoDatabase(filled, start=LATER)
    db.say("ses_note0002", "the gallimaufry is new")
    try:
        assert mimohist("search", "gallimaufry").status == 0
        assert mimohist("search", "gallimaufry", "--no-refresh").status == 0
        db.say("ses_note0002", "and the xyzzy")
        assert mimohist("search", "xyzzy", "--no-refresh").status == 1
    finally:
        db.close()


JSON_KEYS = [
    "ref",
    "source",
    "project_id",
    "project",
    "session_id",
    "title",
    "message_id",
    "part_id",
    "agent",
    "agent_name",
    "ordinal",
    "kind",
    "tool",
    "at",
    "score",
    "snippet",
    "matches",
    "copies",
    "widened",
    "machine",
    "path",
    "gone",
]


def test_s1_t1_json_has_exactly_these_keys(filled: Path, mimohist: Program) -> None:
    (line,) = mimohist("search", "--json", "Decimal").out.splitlines()
    hit = json.loads(line)
    assert list(hit) == JSON_KEYS
    assert hit["score"] > 0
    assert (hit["message_id"], hit["ordinal"], hit["kind"]) == ("msg_answer", 2, "assistant_text")
    assert [hit["snippet"][a:b] for a, b in hit["matches"]] == ["Decimal"]
    assert filled.exists()


def test_t2_no_hit_is_silent_on_stdout_and_status_1(filled: Path, mimohist: Program) -> None:
    ended = mimohist("search", "qqxzvwmpl")
    assert (ended.status, ended.out) == (1, "")
    assert "nothing found in 2 sessions" in ended.err
    assert filled.exists()


def test_s3_s4_s5_filters_narrow(filled: Path, mimohist: Program) -> None:
    def kinds(*arguments: str) -> list[str]:
        out = mimohist("search", "--json", *arguments).out
        return [json.loads(line)["kind"] for line in out.splitlines()]

    assert kinds("cart", "-k", "title") == ["title"]
    assert kinds("pytest", "-t", "BASH") == ["tool_input"]
    assert kinds("ENOENT", "-k", "tool_error") == ["tool_error"]
    assert kinds("heliotrope", "-k", "tool_output") == ["tool_output"]
    assert kinds("cart", "--until", "2020") == []
    assert kinds("cart", "--since", "2026-12-01T03:14:44Z", "-g") == ["user_text"]
    assert filled.exists()


def test_s6_limits(filled: Path, mimohist: Program) -> None:
    """Changed: 0 means all and there is no cap; a negative limit is refused, not unlimited."""
    assert len(mimohist("search", "many").out.splitlines()) == 10
    assert len(mimohist("search", "many", "-n", "3").out.splitlines()) == 3
    assert len(mimohist("search", "many", "-n", "0").out.splitlines()) == 12
    assert mimohist("search", "many", "-n", "-1").status == 2
    assert filled.exists()


def test_the_project_of_the_current_directory_is_the_scope(home: Path, mimohist: Program) -> None:
    place = home / "shop"
    place.mkdir()
    data = home / ".local/share/mimocode"
    data.mkdir(parents=True)
    db = MimoDatabase(data / "mimocode.db")
    db.say(db.session(project="p1", directory=str(place)), "cart here")
    db.say(db.session(project="p2", directory="/w/other"), "cart there")
    db.close()
    assert len(mimohist("search", "cart", "-k", "user_text", cwd=str(place)).out.splitlines()) == 1
    assert (
        len(mimohist("search", "cart", "-k", "user_text", "-g", cwd=str(place)).out.splitlines())
        == 2
    )
    assert (
        len(
            mimohist(
                "search", "cart", "-k", "user_text", "-p", ".", cwd=str(place)
            ).out.splitlines()
        )
        == 1
    )
    ended = mimohist("search", "there", cwd=str(place))
    assert (ended.status, "1 in other projects" in ended.err) == (1, True)


@pytest.mark.parametrize(
    ("flags", "out", "status"),
    [
        (("-c",), "2\n", 0),
        (("-q",), "", 0),
        (("-l",), "mimo/ses_shop0001\nmimo/ses_note0002\n", 0),
        (("--ids",), "mimo/ses_shop0001/msg_ask\nmimo/ses_note0002/msg_note\n", 0),
        (("--paths",), "{database}\n", 0),
    ],
)
def test_short_answers(
    filled: Path, mimohist: Program, flags: tuple[str, ...], out: str, status: int
) -> None:
    ended = mimohist("search", "cart", "-k", "user_text", *flags)
    assert (ended.status, sorted(ended.out.splitlines())) == (
        status,
        sorted(out.format(database=filled).splitlines()),
    )


def test_short_answers_that_find_nothing(filled: Path, mimohist: Program) -> None:
    assert mimohist("backfill").status == 0
    ended = mimohist("search", "nonesuch", "-c")
    assert (ended.status, ended.out) == (1, "0\n")
    assert mimohist("search", "nonesuch", "-q").status == 1
    assert filled.exists()


def test_null_ends_records(filled: Path, mimohist: Program) -> None:
    out = mimohist("search", "cart", "--ids", "-0", "-k", "user_text").out
    assert sorted(out.rstrip("\0").split("\0")) == [
        "mimo/ses_note0002/msg_note",
        "mimo/ses_shop0001/msg_ask",
    ]
    assert filled.exists()


def test_machine_text_is_told_of_and_shown_on_request(filled: Path, mimohist: Program) -> None:
    ended = mimohist("search", "NEEDLE")
    assert (ended.status, "1 in what harnesses put in; -a shows them" in ended.err) == (1, True)
    (line,) = mimohist("search", "--json", "-a", "NEEDLE").out.splitlines()
    assert json.loads(line)["machine"] == "hook"
    assert filled.exists()


def test_widening_is_told(filled: Path, mimohist: Program) -> None:
    assert "these are from all kinds" in mimohist("search", "heliotrope").err
    ended = mimohist("search", "heliotrope", "nonesuch")
    assert (ended.status, "these have some of them" in ended.err) == (0, True)
    assert mimohist("search", "--strict", "heliotrope").status == 1
    assert filled.exists()


def test_explain_tells_what_was_looked_for(filled: Path, mimohist: Program) -> None:
    ended = mimohist("search", "--explain", "cart")
    assert "all words: {said reply input error summary pieces}" in ended.err
    assert filled.exists()


# around


def test_s8_t3_a_window_of_messages_with_its_anchor(filled: Path, mimohist: Program) -> None:
    lines = mimohist("around", "msg_05", "-C", "1", "--json").out.splitlines()
    shown = [json.loads(line) for line in lines]
    assert [(one["message_id"], one["anchor"]) for one in shown] == [
        ("msg_04", False),
        ("msg_05", True),
        ("msg_06", False),
    ]
    assert list(shown[0])[:11] == [
        *("ref", "session_id", "message_id", "agent", "agent_name", "ordinal", "anchor", "role"),
        *("at", "resume", "parts"),
    ]
    assert list(shown[0]["parts"][0]) == ["part_id", "kind", "tool", "status", "machine", "text"]
    assert shown[0]["resume"] == ["mimo", "-s", "ses_note0002"]
    human = mimohist("around", "msg_05", "-C", "1", "--format", "human").out
    assert "> 8  you" in human
    assert "line 4 of many" in human
    assert "line 6 of many" in human
    assert filled.exists()


def test_around_by_default_shows_five_on_either_side(filled: Path, mimohist: Program) -> None:
    out = mimohist("around", "msg_06", "--json").out.splitlines()
    assert [json.loads(line)["message_id"] for line in out] == [
        f"msg_{number:02}" for number in range(1, 12)
    ]
    assert filled.exists()


@pytest.mark.parametrize(
    "ref",
    ["msg_ask", "mimo/ses_shop0001/msg_ask", "ses_shop0001/1", "shop0001/1", "mimo/ses_sh/1"],
)
def test_every_way_to_name_a_message(filled: Path, mimohist: Program, ref: str) -> None:
    lines = mimohist("around", ref, "-C", "0", "--json").out.splitlines()
    assert [json.loads(line)["message_id"] for line in lines] == ["msg_ask"]
    assert filled.exists()


def test_s9_an_unknown_message_is_status_1_and_a_line(filled: Path, mimohist: Program) -> None:
    assert mimohist("backfill").status == 0
    ended = mimohist("around", "msg_nonesuch")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == (
        "mimohist: no message or session 'msg_nonesuch' in the index;"
        " `mimohist search` prints refs\n"
    )
    assert filled.exists()


def test_an_ambiguous_ref_is_status_2(filled: Path, mimohist: Program) -> None:
    ended = mimohist("around", "ses_")
    assert (ended.status, "names 2 sessions" in ended.err) == (2, True)
    assert filled.exists()


def test_search_feeds_around(filled: Path, mimohist: Program) -> None:
    refs = mimohist("search", "many", "--ids", "-n", "2").out
    out = mimohist("around", "-", "-C", "0", "--json", stdin=refs).out
    assert [json.loads(line)["ref"] for line in out.splitlines()] == sorted(refs.split())
    assert filled.exists()


def test_around_shows_the_source_for_what_the_index_lacks(filled: Path, mimohist: Program) -> None:
    assert mimohist("backfill").status == 0
    db = MimoDatabase(filled, start=LATER)
    message = db.message("ses_note0002", "assistant", id="msg_live")
    db.tool(message, "bash", {"command": "sleep 99"}, status="running")
    try:
        out = mimohist("around", "msg_live", "-C", "0", "--json").out
        (part,) = json.loads(out)["parts"]
        assert (part["status"], part["text"]) == ("running", "bash\nsleep 99")
    finally:
        db.close()


def test_around_cuts_at_messages_and_keeps_the_anchor(filled: Path, mimohist: Program) -> None:
    ended = mimohist("around", "msg_06", "--json", "--max-bytes", "900")
    shown = [json.loads(line) for line in ended.out.splitlines()]
    assert "msg_06" in [one["message_id"] for one in shown]
    assert len(shown) < 11
    assert "left out by --max-bytes" in ended.err
    assert filled.exists()


def test_kinds_and_slices_narrow_a_window(filled: Path, mimohist: Program) -> None:
    out = mimohist("around", "msg_answer", "--json", "-k", "tool_error", "-C", "0").out
    assert [part["kind"] for part in json.loads(out)["parts"]] == ["tool_error"]
    assert mimohist("around", "msg_answer", "--agent", "nonesuch").status == 2
    assert mimohist("around", "msg_answer", "--agent", "all").status == 0
    assert filled.exists()


# What is wrong is said in one line, with the right status


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("search",), "missing argument"),
        (("search", ""), "nothing to search for"),
        (("search", "  "), "nothing to search for"),
        (("search", "--fail-fast"), "mimohist search -- --fail-fast"),
        (("search", "--jsn", "x"), "did you mean --json"),
        (("serch", "x"), "did you mean search?"),
        (("search", "x", "-k", "nope"), "no kind 'nope'; there are: user_text"),
        (("search", "x", "-s", "nope"), "no source 'nope' in the index; there are: mimo"),
        (("search", "x", "-t", "nope"), "no tool 'nope' in the index; there are: bash"),
        (("search", "x", "-p", "/nowhere"), "no session ran in /nowhere"),
        (("search", "x", "--session", "nope"), "no session 'nope'"),
        (("search", "x", "--agent", "nope"), "no agent 'nope'"),
        (("search", "x", "--since", "last week"), "not a time: 'last week' (try 2026-11-30"),
        (("search", "--fts", "a AND"), "bad FTS5 expression"),
        (("search", "-e", "("), "bad regular expression '('"),
        (("search", "-e", "-F", "x"), "-F exclude each other"),
        (("search", "-c", "-l", "x"), "exclude each other"),
        (("search", "-i", "x"), "-i goes with -e or -F"),
        (("around", "a/b/c/d"), "not a reference"),
        (("sql", "select nope"), "no such column: nope"),
        (("sql", "nope"), "no query named 'nope'"),
        (("sql", "delete from state"), "only reading is allowed"),
        (("sql", "attach '/tmp/x.db' as x"), "only reading is allowed"),
        (("sql", "vacuum into '/tmp/x.db'"), "only reading is allowed"),
        (("sql", "pragma journal_mode=delete"), "only reading is allowed"),
        (("sql", "select load_extension('x')"), "only reading is allowed"),
        (("sql", "select * from parts where text = :x"), "-P x=VALUE"),
        (("backfill", "nope"), "no source 'nope'; there are: mimo"),
    ],
)
def test_bad_input(
    filled: Path, mimohist: Program, arguments: tuple[str, ...], complaint: str
) -> None:
    assert mimohist("backfill").status == 0
    ended = mimohist(*arguments)
    assert (ended.status, ended.out) == (2, "")
    assert complaint in ended.err
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("mimohist: ")
    assert filled.exists()


def test_no_source_at_all_is_said(home: Path, mimohist: Program) -> None:
    ended = mimohist("search", "x")
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert "no sessions found (looked for mimo, " in ended.err
    assert home.exists()


def test_no_index_with_no_refresh_is_said(filled: Path, mimohist: Program) -> None:
    ended = mimohist("search", "x", "--no-refresh")
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert "run `mimohist backfill` first" in ended.err
    assert filled.exists()


def test_a_bad_database_is_said_and_old_rows_are_still_found(
    filled: Path, mimohist: Program
) -> None:
    assert mimohist("backfill").status == 0
    filled.write_bytes(b"no database any more")
    ended = mimohist("search", "drift")
    assert (ended.status, len(ended.out.splitlines())) == (0, 1)
    assert "not an SQLite database" in ended.err
    ended = mimohist("backfill")
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)


def test_a_damaged_index_is_said(filled: Path, home: Path, mimohist: Program) -> None:
    index = home / "index.db"
    index.write_bytes(b"garbage" * 1000)
    ended = mimohist("search", "x", "--db", str(index))
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert "damaged or not an index" in ended.err
    assert filled.exists()


def test_a_bug_is_status_2_and_a_line(filled: Path, mimohist: Program) -> None:
    """Python's own 1 would mean that nothing was found."""
    assert mimohist("backfill").status == 0
    index = filled.parents[1] / "mimohist/index.db"
    with sqlite3.connect(index) as db:
        db.execute("DROP TABLE zone")
    db.close()
    ended = mimohist("search", "x", "--since", "2020", "--no-refresh")
    assert (ended.status, ended.err.count("\n")) == (2, 1)


# Cron and the other verbs


def test_backfill_is_silent_when_all_is_well(filled: Path, mimohist: Program) -> None:
    assert mimohist("backfill") == (0, "", "")
    assert mimohist("backfill") == (0, "", "")
    verbose = mimohist("backfill", "-v")
    assert "0 sessions added, 0 updated" in verbose.err
    counts = json.loads(mimohist("backfill", "--json", "--verify").out)
    assert (counts["added"], counts["unchanged"], counts["failed"]) == (0, 2, [])
    assert filled.exists()


def test_backfill_sums_up_each_source_where_there_are_several(
    filled: Path, mimohist: Program, home: Path
) -> None:
    ClaudeFile(home / ".claude/projects/-w-x/a.jsonl", "/w/x").user("of another program")
    assert filled.exists()
    lines = mimohist("backfill", "-v").err.splitlines()
    counts = [line.partition(",")[0] for line in lines if "sessions added" in line]
    assert counts == ["mimo: 2 sessions added", "claude: 1 sessions added", "3 sessions added"]
    assert mimohist("backfill").err == ""


def test_backfill_tells_what_became_of_each_part(filled: Path, mimohist: Program) -> None:
    counts = json.loads(mimohist("backfill", "--json").out)
    assert counts["parts"] == {
        "assistant_text": 1,
        "reasoning": 1,
        "tool_error": 1,
        "tool_output": 1,
        "user_text": 15,
    }
    assert filled.exists()


def test_a_run_while_another_holds_the_lock_is_75(
    filled: Path, home: Path, mimohist: Program
) -> None:
    from mimohist import store

    with store.lock(home / ".local/share/mimohist/index.db"):
        ended = mimohist("backfill")
    assert (ended.status, "another run is writing the index" in ended.err) == (75, True)
    assert filled.exists()


def test_dry_run_writes_nothing(filled: Path, home: Path, mimohist: Program) -> None:
    ended = mimohist("backfill", "--dry-run")
    assert (ended.status, ended.out) == (0, f"mimo\t2 sessions\t{filled}\n")
    assert not (home / ".local/share/mimohist").exists()


def test_reindex_and_check(filled: Path, mimohist: Program) -> None:
    assert mimohist("reindex").status == 2
    assert mimohist("backfill").status == 0
    assert mimohist("reindex") == (0, "", "")
    assert mimohist("reindex", "--check") == (0, "", "")
    index = filled.parents[1] / "mimohist/index.db"
    with sqlite3.connect(index) as db:
        db.execute("UPDATE history_text SET body = 'x'")
    db.close()
    assert mimohist("reindex", "--check").status == 1
    assert mimohist("reindex").status == 0
    assert mimohist("reindex", "--check").status == 0
    assert mimohist("search", "drift", "-k", "user_text").status == 0


def test_sql(filled: Path, mimohist: Program) -> None:
    assert mimohist("backfill").status == 0
    for query in ("sessions", "projects", "tools", "sources", "errors", "edits", "costs"):
        for form in ("plain", "csv", "tsv", "json", "human"):
            assert mimohist("sql", query, "--format", form).status == 0, (query, form)
    assert mimohist("sql", "select count(*) from parts").out == "21\n"
    out = mimohist("sql", "sessions", "-P", "project=/w/shop", "--json").out
    assert [json.loads(line)["title"] for line in out.splitlines()] == ["Cart total drifts"]
    assert mimohist("sql", "-", stdin="select 'a', 'b'").out == "a\tb\n"
    assert mimohist("sql").out.startswith("sources: one row a root")
    assert "sessions\tsessions, newest first" in mimohist("sql", "--list").out
    assert mimohist("sql", "select 'x' as a, 1 as b", "--format", "csv").out == "a,b\nx,1\n"
    slow = "with recursive n(i) as (select 1 union all select i+1 from n) select max(i) from n"
    ended = mimohist("sql", slow, "--timeout", "0.2")
    assert (ended.status, "took too long" in ended.err) == (2, True)
    assert filled.exists()


def test_own_queries_shadow_ours(filled: Path, home: Path, mimohist: Program) -> None:
    assert mimohist("backfill").status == 0
    folder = home / ".config/mimohist/queries"
    folder.mkdir(parents=True)
    (folder / "tools.sql").write_text("-- mine\nSELECT 'mine'")
    (folder / "folder.sql").mkdir()
    assert mimohist("sql", "tools").out == "mine\n"
    assert "tools\tmine" in mimohist("sql", "--list").out
    assert filled.exists()


def test_forget(filled: Path, mimohist: Program) -> None:
    assert mimohist("backfill").status == 0
    assert mimohist("forget", "msg_ask", "--dry-run").out == "message\tmimo\tmsg_ask\t1 parts\n"
    assert mimohist("search", "drift", "-k", "user_text", "-q").status == 0
    assert mimohist("forget", "ses_shop0001").status == 2
    assert mimohist("forget", "msg_ask").status == 0
    assert mimohist("search", "drift", "-k", "user_text", "-q").status == 1
    assert mimohist("forget", "ses_shop0001", "--session").status == 0
    assert mimohist("search", "Decimal", "-q").status == 1
    assert filled.exists()


def test_alone_it_explains_itself_and_the_state_of_the_index(
    filled: Path, mimohist: Program
) -> None:
    assert "run `mimohist backfill` first" in mimohist().out
    mimohist("backfill")
    ended = mimohist()
    assert (ended.status, "2 sessions, 21 parts" in ended.out) == (0, True)
    assert filled.exists()


@pytest.mark.parametrize(
    "verb", ["search", "around", "export", "backfill", "reindex", "sql", "forget", "mcp"]
)
def test_help_fits_a_terminal_and_shows_three_examples(mimohist: Program, verb: str) -> None:
    ended = mimohist(verb, "--help")
    assert ended.status == 0
    assert max(map(len, ended.out.splitlines())) <= 80
    assert len(re.findall(rf"^ .*mimohist {verb}\b", ended.out, re.MULTILINE)) >= 3


# Pipes, locales, terminals


def test_b78_a_reader_that_goes_away_ends_it_quietly(filled: Path, mimohist: Program) -> None:
    assert mimohist("backfill").status == 0
    db = MimoDatabase(filled, start=LATER)
    for number in range(3000):
        db.say("ses_note0002", f"line {number} of many " + "and more " * 20)
    db.close()
    assert mimohist("backfill").status == 0
    env = {"HOME": str(filled.parents[3]), "PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "mimohist", "search", "many", "-n", "0", "--no-refresh"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=env) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait() == -signal.SIGPIPE


@pytest.mark.parametrize(
    "environ", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "cp1252"}, {"PYTHONIOENCODING": "gbk"}]
)
def test_every_locale_prints(filled: Path, mimohist: Program, environ: dict[str, str]) -> None:
    ended = mimohist("search", "连接池", environ=environ)
    assert (ended.status, "数据库连接池" in ended.out) == (0, True)
    assert filled.exists()


def test_b80_no_control_byte_reaches_a_terminal(database: Path, mimohist: Program) -> None:
    db = MimoDatabase(database)
    session = db.session(title=f"T{HOSTILE}", directory=f"/w/{HOSTILE}", id="ses_hostile1")
    message = db.message(session, "assistant", id="msg_hostile")
    db.tool(message, "ba\x1b[1msh", {"command": HOSTILE}, output=f"found {HOSTILE}")
    db.text(message, f"said {HOSTILE} \u202e\u2066 end")
    db.close()
    mimohist("backfill")
    calls: list[tuple[str, ...]] = [
        ("search", "hit", "-k", "all", "-g"),
        ("around", "msg_hostile", "--full"),
        ("sql", "select * from parts"),
    ]
    for call in calls:
        for form in ("human", "plain", "json"):
            ended = mimohist(*call, "--format", form)
            assert ended.status == 0
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066]", ended.out), call
            assert ended.out.strip()


@settings(max_examples=60)
@given(text=st.text(st.characters(), min_size=1, max_size=60))
def test_no_form_of_output_lets_a_control_byte_through(text: str) -> None:
    """The renderers themselves, for any text at all."""
    from io import StringIO

    from rich.text import Text

    from mimohist.render import human, plain
    from mimohist.render import json as forms
    from mimohist.render.lines import wrap

    stream = StringIO()
    human.rows(human.console(stream, color=False, width=60), ["a", "b"], [(text, 1)])
    lines = [*plain.rows(["a"], [(text,)]), *forms.rows(["a"], [(text,)]), stream.getvalue()]
    for line in lines:
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", line)
    shown = printable(text).replace("\n", " ")
    pieces = wrap(Text(shown), 10)
    assert "".join("".join(piece.plain.split()) for piece in pieces) == "".join(shown.split())


def test_a_terminal_gets_the_human_form_with_a_footer(filled: Path, mimohist: Program) -> None:
    mimohist("backfill")
    ended = mimohist("search", "cart", "drift", tty=True, environ={"TERM": "dumb"})
    assert ended.status == 0
    assert "mimo/shop0001  shop  2026-12-01  Cart total drifts" in ended.out
    assert "1  you" in ended.out
    assert "1 hit; mimohist around mimo/shop0001/1" in ended.out
    assert "\x1b" not in ended.out
    colored = mimohist("search", "cart", tty=True, environ={"TERM": "xterm-256color"})
    assert "\x1b[1;33m" in colored.out
    assert filled.exists()


@pytest.mark.parametrize("width", [40, 80, 140])
def test_no_line_is_wider_than_the_terminal_or_ends_in_a_blank(
    filled: Path, mimohist: Program, width: int
) -> None:
    from rich.cells import cell_len

    out = mimohist("search", "连接池", "--format", "human", width=width).out
    out += mimohist("around", "msg_answer", "--format", "human", width=width).out
    for line in out.splitlines():
        if "cd /" not in line:
            assert cell_len(line) <= width
        assert line == line.rstrip()
    assert filled.exists()


def test_interrupting_a_first_build_keeps_what_is_built(filled: Path, home: Path) -> None:
    db = MimoDatabase(filled, start=LATER)
    for number in range(400):
        db.say(db.session(id=f"ses_n{number}"), "words " * 2000)
    db.close()
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "mimohist", "search", "words"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    assert child.stderr is not None
    child.stderr.readline()
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert b"Traceback" not in err
    assert child.returncode in (0, 1, 2, 130)
    again = subprocess.run([*command, "-q"], env=env, capture_output=True, check=False)
    assert again.returncode == 0


def test_following_takes_in_changes_and_ends_cleanly(filled: Path, home: Path) -> None:
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    base = [sys.executable, "-m", "mimohist"]
    child = subprocess.Popen(
        [*base, "backfill", "--follow"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )

    def found(word: str) -> bool:
        command = [*base, "search", word, "-q", "--no-refresh"]
        return subprocess.run(command, env=env, capture_output=True, check=False).returncode == 0

    try:
        _until(lambda: found("drift"))
        db = MimoDatabase(filled, start=LATER)
        db.say("ses_note0002", "the gallimaufry arrives")
        _until(lambda: found("gallimaufry"))
        db.close()
    finally:
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (0, b"", b"")


def _until(true: Callable[[], bool]) -> None:
    """Wait for something that must come; a minute is for a machine that is very busy."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_redaction_on_request(filled: Path, home: Path, mimohist: Program) -> None:
    db = MimoDatabase(filled, start=LATER)
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    db.say("ses_note0002", f"the key {key} leaked", id="msg_leak")
    db.close()
    folder = home / ".config/mimohist"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("redact = true\n")
    for call in (("search", "leaked"), ("around", "msg_leak", "-C", "0")):
        out = mimohist(*call).out
        assert key not in out
        assert "[redacted:aws-key]" in out


def test_a_title_and_a_message_of_one_session_open_one_window(
    filled: Path, mimohist: Program
) -> None:
    refs = mimohist("search", "cart", "--ids", "--session", "ses_shop0001").out
    assert sorted(refs.split()) == ["mimo/ses_shop0001", "mimo/ses_shop0001/msg_ask"]
    out = mimohist("around", "-", "--json", stdin=refs).out
    assert [json.loads(line)["message_id"] for line in out.splitlines()] == [
        "msg_ask",
        "msg_answer",
    ]
    assert filled.exists()
