"""An end for what cannot look at a clock itself: one match of a regular expression."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    _Handler = Callable[[int, FrameType | None], object] | int

T = TypeVar("T")

AGAIN = 0.5
"""Seconds that each guarded call has once the time is over."""


class Alarm:
    """Ends a call that it guards when the time is over, with `TimeoutError`."""

    def __init__(self) -> None:
        self._guards = False

    def ring(self, *_: object) -> None:
        """End the call that is guarded now, if one is; a handler of signals."""
        if self._guards:
            self._guards = False
            raise TimeoutError

    def guard(self, act: Callable[[], T]) -> T:
        """Give what `act` gives; raises `TimeoutError` when it took too long."""
        self._guards = True
        try:
            return act()
        finally:
            self._guards = False


@contextmanager
def alarm(seconds: float) -> Iterator[Alarm]:
    """Set an alarm for the block.

    It needs the signal SIGALRM: outside the main thread, on Windows, and where the program has
    a timer of its own running, nothing rings.
    """
    made = Alarm()
    before = _take_over(made)
    if before is None:
        yield made
        return
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001), AGAIN)
    try:
        yield made
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _take_over(made: Alarm) -> _Handler | None:
    """Let signals ring the alarm, and give what they did before; None where that cannot be."""
    if not hasattr(signal, "setitimer") or signal.getitimer(signal.ITIMER_REAL)[0] > 0:
        return None
    try:
        return signal.signal(signal.SIGALRM, made.ring) or signal.SIG_DFL
    except ValueError:
        return None
