"""`mimohist reindex`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mimohist import reindexing, store
from mimohist.backfill import Options
from mimohist.cli import options as o
from mimohist.cli import setting
from mimohist.cli.backfill import run_and_tell
from mimohist.errors import NoIndex

if TYPE_CHECKING:
    from pathlib import Path

HELP = """Rebuild the search tables from what is stored and from the sources.

\b
  mimohist reindex
  mimohist reindex --check
  mimohist reindex --source mimo

Needed after index_kinds changed, or when --check complains. Never forgets what
its source no longer holds. Searches go on meanwhile.
"""


def reindex(
    check: o.Check = False,
    source: o.OneSource = None,
    wait: o.Wait = 0.0,
    verbose: o.Verbose = False,
    quiet: o.Silent = False,
    db: o.Db = None,
) -> int:
    """Rebuild or verify; the flags are explained in `options`."""
    found = setting.settings(db)
    if not found.db.exists():
        raise NoIndex(f"no index at {found.db}; run `mimohist backfill` first")
    names = (source,) if source else ()
    history = setting.history(found, names)
    kinds = frozenset(found.index_kinds)
    if check:
        return _check(found.db, wait, quiet=quiet)
    with store.lock(found.db, wait):
        writer = store.open_writer(found.db)
        try:
            reindexing.read_again(writer, kinds, source)
        finally:
            writer.close()
    failed = False
    if history.places.find():
        options = Options(kinds=kinds, verify=True)
        tally = run_and_tell(history, options=options, wait=wait, verbose=verbose, quiet=quiet)
        failed = bool(tally.failed)
    with store.lock(found.db, wait):
        writer = store.open_writer(found.db)
        try:
            count = reindexing.reindex(writer)
        finally:
            writer.close()
    if verbose or (sys.stderr.isatty() and not quiet):
        setting.say(f"{count} parts indexed anew")
    return 2 if failed else 0


def _check(path: Path, wait: float, *, quiet: bool) -> int:
    with store.lock(path, wait):
        writer = store.open_writer(path)
        try:
            wrong = list(reindexing.check(writer))
        finally:
            writer.close()
    for line in wrong:
        setting.say(f"mimohist: {line}")
    if wrong:
        setting.say("mimohist: the index is unsound; `mimohist reindex` rebuilds it")
    elif not quiet and sys.stderr.isatty():
        setting.say("the index is sound")
    return 1 if wrong else 0
