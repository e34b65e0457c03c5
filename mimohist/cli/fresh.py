"""The index opened for a reading verb, brought up to date first where that is wanted."""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mimohist import store
from mimohist.cli import setting
from mimohist.errors import NoIndex, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from mimohist.config import Config

SECONDS = 0.3
"""How long a search takes in what is new before it answers."""


@contextmanager
def freshened(found: Config, *, refresh: bool) -> Iterator[Connection]:
    """Open the index; without one, build it; else take in what is new for a moment."""
    if refresh:
        try:
            _refresh(found)
        except NoIndex:
            _build(found)
    reader = store.open_reader(found.db)
    try:
        yield reader
    finally:
        reader.close()


def _refresh(found: Config) -> None:
    from mimohist.refreshing import refresh

    done = refresh(
        found.db,
        setting.places(found),
        frozenset(found.index_kinds),
        setting.CLOCKS,
        SECONDS,
    )
    for complaint in done.complaints:
        setting.say(f"mimohist: {complaint}")
    if done.pending:
        setting.say(
            f"mimohist: {done.pending} changed sessions are not indexed yet;"
            " run `mimohist backfill`"
        )


def _build(found: Config) -> None:
    """Make the first index, with a progress bar on a terminal; Ctrl-C keeps what is built."""
    from mimohist.cli.backfill import run_and_tell

    gc.enable()
    places = setting.places(found)
    if not places.find():
        raise SourceError(
            "no sessions of MiMo Code found (looked where it keeps mimocode.db);"
            " set MIMOCODE_DB, or [roots] in the configuration"
        )
    sys.stderr.write("mimohist: building the index for the first time\n")
    try:
        run_and_tell(found, places, quiet=False)
    except KeyboardInterrupt:
        setting.say("\nmimohist: stopped; what was read is searched, `mimohist backfill` goes on")
