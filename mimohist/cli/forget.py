"""`mimohist forget`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mimohist import forgetting, store
from mimohist.cli import options as o
from mimohist.cli import setting
from mimohist.errors import BadInput, NotFound
from mimohist.naming import resolve

if TYPE_CHECKING:
    from sqlite3 import Connection

    from mimohist.naming import Named

HELP = """Remove something from the index for good; no backfill brings it back.

\b
  mimohist forget msg_g001a22f9a3c1kQ7Xw2b --dry-run
  mimohist search 'AKIA*' --ids | xargs mimohist forget --copies
  mimohist forget --session mimo/9RSyGtD4

Only ids are remembered. The program that wrote the session keeps its own copy.
"""


def forget(
    refs: o.Refs,
    session: o.WholeSession = False,
    copies: o.Copies = False,
    dry_run: o.DryRun = False,
    wait: o.Wait = 0.0,
    quiet: o.Silent = False,
    db: o.Db = None,
) -> int:
    """Forget what is named; the flags are explained in `options`."""
    found = setting.settings(db)
    store.open_reader(found.db).close()
    with store.lock(found.db, wait):
        writer = store.open_writer(found.db)
        try:
            items = [
                item
                for text in refs
                for item in _doomed(writer, text, whole=session, copies=copies)
            ]
            if dry_run:
                for item in items:
                    sys.stdout.write(
                        f"{item.level}\t{item.source}\t{item.id}\t{item.parts} parts\n"
                    )
                return 0
            count = forgetting.forget(writer, items)
        finally:
            writer.close()
    if not quiet:
        setting.say(f"{count} parts forgotten")
    return 0


def _doomed(db: Connection, text: str, *, whole: bool, copies: bool) -> list[forgetting.Doomed]:
    """Find what a ref, or the id of a part, names."""
    try:
        named = _named(resolve(db, text), text, whole=whole)
    except NotFound:
        parts = forgetting.doomed_parts(db, text, copies=copies)
        if not parts:
            raise
        return parts
    return forgetting.doomed(db, [named], copies=copies)


def _named(named: Named, text: str, *, whole: bool) -> Named:
    if whole:
        return named._replace(message=None)
    if named.message is None:
        raise BadInput(f"{text} is a whole session; --session forgets all of it")
    return named
