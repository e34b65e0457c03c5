"""`mimohist around`."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, TYPE_CHECKING

from mimohist.around import View
from mimohist.cli import options as o
from mimohist.cli import setting
from mimohist.cli.fresh import freshened
from mimohist.errors import BadInput
from mimohist.naming import short_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from sqlite3 import Connection

    from mimohist.contexts import Context

HELP = """Show a message with its neighbours.

\b
  mimohist around msg_g001a22f9a3c1kQ7Xw2b
  mimohist search deadlock --ids | mimohist around - -C 2
  mimohist around mimo/9RSyGtD4 --all --json

REF is what search prints, a message's id, SESSION/N, or a session: any beginning
or end of its id that names it alone.
"""


def around(
    refs: o.Refs,
    context: o.Context = 5,
    before: o.Before = None,
    after: o.After = None,
    whole: o.All = False,
    full: o.Full = False,
    kind: o.Kinds = None,
    agent: o.Agent = None,
    max_bytes: o.MaxBytes = None,
    pager: o.Pager = True,
    no_refresh: o.NoRefresh = False,
    as_format: o.AsFormat = o.Format.AUTO,
    as_json: o.Json = False,
    null: o.Null = False,
    color: o.Colors = o.Color.AUTO,
    db: o.Db = None,
) -> int:
    """Show windows; the flags are explained in `options`."""
    found = setting.settings(db)
    view = View(
        before=context if before is None else before,
        after=context if after is None else after,
        whole=whole,
        agent=agent,
        kinds=setting.kinds(kind),
    )
    texts = setting.texts(refs)
    if not texts:
        raise BadInput("no refs on standard input; mimohist search --ids prints them")
    form = setting.form(as_format.value, json=as_json)
    with freshened(found, refresh=not no_refresh) as history:
        contexts = list(history.windows(texts, view))
        if max_bytes is not None:
            contexts = [_cut(one, max_bytes, form) for one in contexts]
        end = "\0" if null else "\n"
        _print(history.reader, contexts, form, color.value, end=end, full=full, pager=pager)
    return 0


def _cut(one: Context, most: int, form: str) -> Context:
    """Leave out messages farthest from the anchors until the window is small enough."""
    messages = list(one.messages)
    earlier, later = one.earlier, one.later
    while len(messages) > 1 and _bytes(replace(one, messages=tuple(messages)), form) > most:
        anchors = [place for place, message in enumerate(messages) if message.anchor] or [0]
        if anchors[0] >= len(messages) - 1 - anchors[-1]:
            messages.pop(0)
            earlier += 1
        else:
            messages.pop()
            later += 1
    if len(messages) < len(one.messages):
        left = len(one.messages) - len(messages)
        setting.say(
            f"mimohist: {left} messages left out by --max-bytes;"
            f" mimohist around {one.session_ref} --all shows them"
        )
    return replace(one, messages=tuple(messages), earlier=earlier, later=later)


def _bytes(one: Context, form: str) -> int:
    from mimohist.render import json, plain

    lines = json.context(one) if form == "json" else plain.context(one)
    return sum(len(line.encode("utf-8", "surrogateescape")) + 1 for line in lines)


def _print(
    reader: Connection,
    contexts: Sequence[Context],
    form: str,
    color: str,
    *,
    end: str,
    full: bool,
    pager: bool,
) -> None:
    if form == "human":
        from mimohist.render import human

        short = short_ids(reader, (one.session_id for one in contexts))
        with _paged(wanted=pager) as stream:
            paper = human.console(stream, color=setting.colored(color), width=setting.width())
            for place, one in enumerate(contexts):
                if place:
                    stream.write("\n")
                human.context(paper, one, short.get(one.session_id, one.session_id), full=full)
                _resume(stream, one)
        return
    from mimohist.render import json, plain

    for one in contexts:
        setting.write(json.context(one) if form == "json" else plain.context(one), end)


def _resume(stream: IO[str], one: Context) -> None:
    """End a window with the command that goes on with the session in its own program."""
    if not one.resume or one.gone:
        return
    import shlex

    from mimohist.text import printable

    command = shlex.join(one.resume)
    if one.project and one.project != "/":
        command = f"cd {shlex.quote(one.project)} && {command}"
    stream.write(f"\n  {printable(command)}\n")


@contextmanager
def _paged(*, wanted: bool) -> Iterator[IO[str]]:
    """Give stdout, or a pager before it on a terminal."""
    command = os.environ.get("MIMOHIST_PAGER") or os.environ.get("PAGER") or "less"
    if not wanted or not sys.stdout.isatty() or command == "cat":
        yield sys.stdout
        return
    import shlex
    import shutil
    import subprocess

    words = shlex.split(command)
    if not words or shutil.which(words[0]) is None:
        yield sys.stdout
        return
    child = subprocess.Popen(  # noqa: S603 - the pager that the user chose
        words,
        stdin=subprocess.PIPE,
        env={"LESS": "FRX", **os.environ},
        encoding="utf-8",
        errors="surrogateescape",
    )
    assert child.stdin is not None  # noqa: S101 - a pipe was asked for
    try:
        yield child.stdin
        child.stdin.close()
    except BrokenPipeError:
        pass
    finally:
        child.wait()
