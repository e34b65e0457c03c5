"""The index opened for a reading verb, brought up to date first where that is wanted."""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mimohist.cli import setting
from mimohist.errors import NoIndex, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mimohist.config import Config
    from mimohist.history import History


@contextmanager
def freshened(found: Config, *, refresh: bool) -> Iterator[History]:
    """Open the index; without one, build it; else take in what is new for a moment."""
    with setting.history(found) as history:
        if refresh:
            try:
                _refresh(history)
            except NoIndex:
                _build(history)
        yield history


def _refresh(history: History) -> None:
    done = history.refresh()
    for complaint in done.complaints:
        setting.say(f"mimohist: {complaint}")
    if done.pending:
        setting.say(
            f"mimohist: {done.pending} changed sessions are not indexed yet;"
            " run `mimohist backfill`"
        )


def _build(history: History) -> None:
    """Make the first index, with a progress bar on a terminal; Ctrl-C keeps what is built."""
    from mimohist.cli.backfill import run_and_tell

    gc.enable()
    if not history.places.find():
        raise SourceError(
            f"no sessions found (looked for {', '.join(history.places.names)});"
            " set MIMOCODE_DB, or [roots] in the configuration"
        )
    sys.stderr.write("mimohist: building the index for the first time\n")
    try:
        run_and_tell(history, quiet=False)
    except KeyboardInterrupt:
        setting.say("\nmimohist: stopped; what was read is searched, `mimohist backfill` goes on")
