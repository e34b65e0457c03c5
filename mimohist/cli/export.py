"""`mimohist export`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mimohist.cli import options as o
from mimohist.cli import setting
from mimohist.cli.fresh import freshened
from mimohist.errors import BadInput
from mimohist.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mimohist.exporting import Trajectory
    from mimohist.trajectory import TrajectoryMessage

HELP = """Write whole sessions in MiMo Code's trajectory format, as Markdown, or as a web page.

\b
  mimohist export mimo/9RSyGtD4 > session.json
  mimohist export mimo/9RSyGtD4 --format html --redact > session.html
  mimohist search -l deadlock | mimohist export - --format jsonl

A message's REF names its session. The page is one file; nothing in it runs. --step
counts the model's answers from 1; later trimming of their parts shows.
"""


def export(
    refs: o.SessionRefs,
    agent: o.Slice = None,
    compacted: o.Compacted = False,
    step: o.Step = None,
    redact: o.Redact = None,
    no_refresh: o.NoRefresh = False,
    as_format: o.AsExport = o.ExportFormat.JSON,
    db: o.Db = None,
) -> int:
    """Write sessions; the flags are explained in `options`."""
    found = setting.settings(db)
    texts = setting.texts(refs)
    if not texts:
        raise BadInput("no refs on standard input; mimohist search -l prints them")
    with freshened(found, refresh=not no_refresh) as history:
        sessions = history.export(
            *texts, agent=agent, compacted=compacted, step=step, redact=redact
        )
        # What is wrong with a ref is said before anything is written.
        first = next(sessions)
        for line in _lines(_each(first, sessions), as_format.value):
            sys.stdout.write(line)
    return 0


def _each(first: Trajectory, others: Iterable[Trajectory]) -> Iterator[Trajectory]:
    yield first
    yield from others


def _lines(sessions: Iterator[Trajectory], form: str) -> Iterator[str]:
    match form:
        case "json":
            yield from _array(sessions)
        case "jsonl":
            for one in sessions:
                for message in _told(one):
                    yield _json(message) + "\n"
        case "md":
            from mimohist.render import markdown

            for one in sessions:
                for line in markdown.session(one, _told(one)):
                    yield line + "\n"
        case _:
            yield from _page(sessions)


def _array(sessions: Iterator[Trajectory]) -> Iterator[str]:
    """Write one array of all messages; each tells its session."""
    before = "["
    for one in sessions:
        for message in _told(one):
            yield before + "\n" + _json(message)
            before = ","
    yield "[]\n" if before == "[" else "\n]\n"


def _page(sessions: Iterator[Trajectory]) -> Iterator[str]:
    from mimohist.render import page

    begun = False
    for one in sessions:
        if not begun:
            for line in page.head(one.title or one.session_id):
                yield line + "\n"
            begun = True
        for line in page.session(one, _told(one)):
            yield line + "\n"
    for line in page.foot():
        yield line + "\n"


def _json(message: TrajectoryMessage) -> str:
    from mimohist.render import json

    return json.line(message)


def _told(one: Trajectory) -> Iterator[TrajectoryMessage]:
    """Give a session's messages; what must be said of it goes to stderr."""
    from mimohist.records import Skipped

    if one.why:
        setting.say(
            f"mimohist: {one.ref}: {printable(one.why)}; written from the index, which keeps texts"
            " but not every field"
        )
    for item in one.messages:
        if isinstance(item, Skipped):
            setting.say(f"mimohist: {printable(item.where)}: {printable(item.why)}; skipped")
        else:
            yield item
