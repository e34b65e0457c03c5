"""`mimohist sql`."""

from __future__ import annotations

import csv
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from mimohist import asking, store
from mimohist.cli import options as o
from mimohist.cli import setting
from mimohist.config import config_path
from mimohist.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from sqlite3 import Connection

HELP = """Ask the index in SQL, read only.

\b
  mimohist sql sessions
  mimohist sql sessions -P project="$PWD" --format csv > sessions.csv
  mimohist sql "select tool, count(*) from parts group by 1 order by 2 desc"

One bare word is a named query (--list tells which); nothing at all prints the
views and their columns.
"""


def sql(
    query: o.QueryText = None,
    param: o.Params = None,
    listed: o.ListQueries = False,
    timeout: o.Timeout = 30.0,
    as_format: o.AsTable = o.TableFormat.AUTO,
    as_json: o.Json = False,
    color: o.Colors = o.Color.AUTO,
    db: o.Db = None,
) -> int:
    """Answer one query; the flags are explained in `options`."""
    found = setting.settings(db)
    queries = asking.named_queries(config_path(os.environ).parent / "queries")
    form = setting.form(as_format.value, json=as_json)
    if listed:
        rows = [(name, note) for name, (note, _) in queries.items()]
        _print(("query", "answers"), rows, form, color.value)
        return 0
    reader = store.open_reader(found.db)
    try:
        if query is None:
            _schema(reader)
            return 0
        statement, named = _statement(query, queries)
        values = _values(param or ())
        if named:
            for name in re.findall(r":([a-z_]+)", statement):
                values.setdefault(name, "")
        end = setting.CLOCKS[1]() + timeout
        result = asking.ask(reader, statement, values, lambda: setting.CLOCKS[1]() > end)
        _print(result.columns, result.rows, form, color.value)
    finally:
        reader.close()
    return 0


def _statement(query: str, queries: dict[str, tuple[str, str]]) -> tuple[str, bool]:
    if query == "-":
        return sys.stdin.read(), False
    if re.fullmatch(r"[\w-]+", query):
        if query not in queries:
            from difflib import get_close_matches

            near = get_close_matches(query, queries, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise BadInput(f"no query named {query!r}{hint} (mimohist sql --list)")
        return queries[query][1], True
    return query, False


def _values(pairs: Sequence[str]) -> dict[str, str]:
    values = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise BadInput(f"not NAME=VALUE: {pair!r} (try -P project=/home/me/shop)")
        values[name.lstrip(":")] = value
    return values


def _schema(reader: Connection) -> None:
    for place, (view, note) in enumerate(asking.VIEWS.items()):
        sys.stdout.write(f"{chr(10) if place else ''}{view}: {note}\n")
        for column in asking.columns_of(reader, view):
            sys.stdout.write(f"  {column:20}{asking.COLUMNS[column]}\n")


def _print(columns: Sequence[str], rows: Iterable[Sequence[Any]], form: str, color: str) -> None:
    found = list(rows)
    if form == "human":
        from mimohist.render import human

        paper = human.console(sys.stdout, color=setting.colored(color), width=setting.width())
        human.rows(paper, columns, found)
    elif form == "json":
        from mimohist.render import json

        setting.write(json.rows(columns, found))
    elif form == "csv":
        from mimohist.render.plain import text_of

        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([text_of(value) for value in row] for row in found)
    else:
        from mimohist.render import plain

        if form == "tsv":
            sys.stdout.write("\t".join(columns) + "\n")
        setting.write(plain.rows(columns, found))
