"""`mimohist backfill --follow`: runs until it is told to end."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from mimohist.cli import setting
from mimohist.cli.backfill import tell
from mimohist.follow import Clockwork, follow

if TYPE_CHECKING:
    from collections.abc import Callable

    from mimohist.backfill import Options
    from mimohist.history import History


def follow_and_tell(history: History, options: Options, *, wait: float, verbose: bool) -> int:
    """Follow the sources until SIGINT or SIGTERM; both are a clean end."""
    del wait
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    asked = options.stop
    options = replace(options, stop=lambda: ended.is_set() or asked())
    clockwork = Clockwork(*setting.CLOCKS, sleep=_sleeper(ended))
    for event in follow(history.config.db, history.places, options, clockwork):
        tell(event, verbose=verbose, quiet=False)
    return 0


def _sleeper(ended: threading.Event) -> Callable[[float], None]:
    """Give a sleep that ends at once when the program is told to end."""

    def sleep(seconds: float) -> None:
        ended.wait(seconds)

    return sleep
