"""`mimohist search`."""

from __future__ import annotations

import os
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mimohist import refs, store
from mimohist.answers import Answer, Mode, Query, Sort
from mimohist.cli import options as o
from mimohist.cli import setting
from mimohist.cli.fresh import freshened
from mimohist.directories import meant
from mimohist.errors import BadInput
from mimohist.search import matching
from mimohist.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from mimohist.config import Config

HELP = """Find messages by their words, best match first.

\b
  mimohist search fts5 tokenizer
  mimohist search '"database is locked"' -k tool_error --since 2w
  mimohist search 连接池 -g --json

Inside a project that is known only its sessions are searched; -g searches all.
"""


def search(
    words: o.Words,
    any_word: o.AnyWord = False,
    without: o.Without = None,
    fts: o.Fts = False,
    regex: o.Regex = False,
    fixed: o.Fixed = False,
    ignore_case: o.IgnoreCase = False,
    source: o.Sources = None,
    project: o.Projects = None,
    everywhere: o.Everywhere = False,
    session: o.Sessions = None,
    kind: o.Kinds = None,
    tool: o.Tools = None,
    agent: o.Agents = None,
    since: o.Since = None,
    until: o.Until = None,
    machine: o.Machine = False,
    sort: o.Sort = o.Order.RANK,
    limit: o.Limit = None,
    exact: o.Exact = False,
    strict: o.Strict = False,
    sessions: o.ListSessions = False,
    ids: o.Ids = False,
    paths: o.Paths = False,
    count: o.Count = False,
    quiet: o.Quiet = False,
    explain: o.Explain = False,
    no_refresh: o.NoRefresh = False,
    as_format: o.AsFormat = o.Format.AUTO,
    as_json: o.Json = False,
    null: o.Null = False,
    color: o.Colors = o.Color.AUTO,
    db: o.Db = None,
) -> int:
    """Answer one search; the flags are explained in `options`."""
    found = setting.settings(db)
    lists = {"-l": sessions, "--ids": ids, "--paths": paths, "-c": count, "-q": quiet}
    chosen = [flag for flag, given in lists.items() if given]
    if len(chosen) > 1:
        raise BadInput(f"{chosen[0]} and {chosen[1]} exclude each other; give one")
    query = Query(
        words=tuple(words),
        mode=_mode(fts=fts, regex=regex, fixed=fixed),
        any_word=any_word,
        without=tuple(without or ()),
        ignore_case=ignore_case,
        kinds=setting.kinds(kind),
        default_kinds=found.kinds,
        sources=tuple(source or ()),
        projects=tuple(map(meant, project or ())),
        sessions=tuple(session or ()),
        tools=tuple(tool or ()),
        agents=tuple(agent or ()),
        since=setting.moment(since, end=False),
        until=setting.moment(until, end=True),
        here=None if everywhere else _here(),
        home=str(Path(os.environ.get("HOME", "/")).resolve()),
        everywhere=everywhere,
        machine=machine,
        sort=Sort(sort.value),
        limit=found.limit if limit is None else limit,
        strict=strict or bool(chosen),
        exact=exact or count,
    )
    form = setting.form(as_format.value, json=as_json)
    _check(query)
    with freshened(found, refresh=not no_refresh) as history:
        reader = history.reader
        if chosen:
            printer = _Printer(reader, form, "\0" if null else "\n", color.value, found.redact)
            return _listed(printer, query, chosen[0], limit)
        answer = history.answer(query)
        names = _print(reader, answer, form, "\0" if null else "\n", color.value)
        _explain(reader, answer, found, form, steps=explain)
        if names and sys.stdout.isatty():
            from mimohist.render import human

            setting.say(f"\n{human.footer(answer, names)}")
    return 0 if answer.hits else 1


def _mode(*, fts: bool, regex: bool, fixed: bool) -> Mode:
    given = [mode for mode, on in ((Mode.FTS, fts), (Mode.REGEX, regex), (Mode.FIXED, fixed)) if on]
    if len(given) > 1:
        raise BadInput("--fts, -e and -F exclude each other; give one")
    return given[0] if given else Mode.WORDS


def _here() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:
        return None


def _check(query: Query) -> None:
    """Refuse what cannot be understood before anything is read or built."""
    if not any(word.strip() for word in query.words):
        raise BadInput('nothing to search for; give a word, or a "phrase" in quotes')
    if query.ignore_case and query.mode not in (Mode.REGEX, Mode.FIXED):
        raise BadInput("-i goes with -e or -F; other searches ignore case anyway")
    if query.mode is not Mode.WORDS and query.without:
        raise BadInput("--not goes with words; in --fts write NOT")


def _print(reader: Connection, answer: Answer, form: str, end: str, color: str) -> dict[str, str]:
    """Print the hits; give the short names of their sessions where these were used."""
    if form == "human":
        from mimohist.naming import short_ids
        from mimohist.render import human

        paper = human.console(sys.stdout, color=setting.colored(color), width=setting.width())
        names = short_ids(reader, (hit.session_id for hit in answer.hits))
        human.hits(paper, answer, names)
        return names
    if form == "json":
        from mimohist.render import json

        setting.write(json.hits(answer))
    else:
        from mimohist.render import plain

        setting.write(plain.hits(answer), end)
    return {}


# The short answers


class _Printer(NamedTuple):
    reader: Connection
    form: str
    end: str
    color: str
    redact: bool


def _listed(printer: _Printer, query: Query, flag: str, limit: int | None) -> int:
    if flag == "-q":
        query = query._replace(sort=Sort.NEWEST)
    rows = matching(printer.reader, query, setting.CLOCKS[1])
    if flag == "-q":
        return 0 if next(rows, None) else 1
    if flag == "-c":
        count = sum(1 for _ in rows)
        sys.stdout.write(f"{count}\n")
        return 0 if count else 1
    if flag == "-l":
        return 0 if _sessions(printer, islice(_sessions_of(printer, rows), limit or None)) else 1
    distinct = dict.fromkeys(_names(printer.reader, rows, flag))
    names: Iterator[str] = islice(distinct, limit or None)
    if flag == "--paths" and sys.stdout.isatty():
        names = map(printable, names)
    return 0 if setting.write(names, printer.end) else 1


def _names(reader: Connection, rows: Iterator[tuple[object, ...]], flag: str) -> Iterator[str]:
    sql = (
        "SELECT r.source, s.session_id, m.message_id, s.path FROM history_fts h"
        " JOIN session s ON s.id = h.session JOIN root r ON r.id = h.root"
        " LEFT JOIN message m ON m.id = h.message WHERE h.id = ?"
    )
    for row in rows:
        source, session, message, path = reader.execute(sql, (row[0],)).fetchone()
        if flag == "--paths":
            yield path
        else:
            yield refs.format(source, session, message)


class _Listed(NamedTuple):
    source: str
    id: str
    at: int
    project: str
    title: str
    path: str
    gone: bool


def _sessions_of(printer: _Printer, rows: Iterator[tuple[object, ...]]) -> Iterator[_Listed]:
    """Give the sessions of rows, each once, in the order of its best row."""
    sql = (
        "SELECT r.source, s.session_id, s.time_created, p.directory, s.title, s.path,"
        " s.gone OR r.gone FROM history_fts h"
        " JOIN session s ON s.id = h.session JOIN project p ON p.id = s.project"
        " JOIN root r ON r.id = h.root WHERE h.id = ?"
    )
    seen = set()
    for row in rows:
        found = _Listed(*printer.reader.execute(sql, (row[0],)).fetchone())
        if (found.source, found.id) in seen:
            continue
        seen.add((found.source, found.id))
        if printer.redact:
            from mimohist.redact import redact

            found = found._replace(title=redact(found.title))
        yield found


def _sessions(printer: _Printer, found: Iterator[_Listed]) -> int:
    """Print sessions and say how many."""
    if printer.form == "human":
        from mimohist.naming import short_ids
        from mimohist.render import human

        sessions = list(found)
        names = short_ids(printer.reader, (one.id for one in sessions))
        color = setting.colored(printer.color)
        paper = human.console(sys.stdout, color=color, width=setting.width())
        for one in sessions:
            about = (one.project, one.at, one.title, one.path)
            human.heading(paper, f"{one.source}/{names.get(one.id, one.id)}", about, gone=one.gone)
        return len(sessions)
    if printer.form == "json":
        from mimohist.render.json import line
        from mimohist.render.moments import utc

        return setting.write(
            line(
                {
                    "ref": refs.format(one.source, one.id),
                    "at": utc(one.at),
                    "project": one.project,
                    "title": one.title,
                }
            )
            for one in found
        )
    return setting.write((refs.format(one.source, one.id) for one in found), printer.end)


# What must be said


def _explain(reader: Connection, answer: Answer, found: Config, form: str, *, steps: bool) -> None:
    if steps:
        for step in answer.steps:
            number = "" if step.found is None else f"  {step.found}"
            setting.say(f"{step.seconds * 1000:8.1f} ms  {step.name}: {step.detail}{number}")
    built = store.default_kinds_of(reader)
    if built and set(built.split(",")) != set(map(str, found.index_kinds)):
        setting.say(
            "mimohist: the index was built for other kinds; `mimohist reindex` changes that"
        )
    if answer.hits:
        _about_hits(answer)
    elif form != "json" or sys.stderr.isatty():
        _about_nothing(answer)


def _about_hits(answer: Answer) -> None:
    if answer.widened == "kinds":
        setting.say("mimohist: nothing in what was said and called; these are from all kinds")
    elif answer.widened == "any":
        setting.say("mimohist: nothing has all the words; these have some of them")
    if answer.cut_off:
        setting.say("mimohist: the time was up; older texts were not read")


def _about_nothing(answer: Answer) -> None:
    where = f" of {answer.scope}" if answer.scope else ""
    count = f"{answer.sessions} session{'s' * (answer.sessions != 1)}{where}"
    fresh = ""
    if answer.fresh is not None:
        from datetime import datetime

        at = datetime.fromtimestamp(answer.fresh / 1000).astimezone()
        fresh = f", read {at:%Y-%m-%d %H:%M}"
    setting.say(f"mimohist: nothing found in {count}{fresh}")
    if answer.cut_off:
        setting.say("mimohist: the time was up; older texts were not read")
    if answer.elsewhere:
        setting.say(f"mimohist: {answer.elsewhere} in other projects; -g shows them")
    if answer.machine_hits:
        setting.say(f"mimohist: {answer.machine_hits} in what harnesses put in; -a shows them")
