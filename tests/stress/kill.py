"""Backfills, reindexes and follows killed at random moments, many times.

    python -m tests.stress.kill [--points 250] [--seed 1]

Each run is a process of its own that gets SIGKILL at a random instruction, or (every other
one) at a random moment of its time; then the index must be sound, a backfill must need no
unlocking, and what it leaves must be what a clean build holds.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests import dying
from tests.test_crash import Copy, read

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = (dying.backfill, dying.reindex, dying.stay)


def at_moment(run: Callable[[Path, Path], None], copy: Copy, seconds: float) -> bool:
    """Run in a child that is killed after so long; tells whether it was still running."""
    child = os.fork()
    if not child:
        status = 1
        try:
            dying.small_transactions()
            run(copy.index, copy.source)
            status = 0
        finally:
            os._exit(status)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status):
        message = f"{run.__name__} failed by itself"
        raise SystemExit(message)
    return os.WIFSIGNALED(status)


def main() -> None:
    """Kill and compare; ends with 1 and a line at the first difference."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)  # noqa: S311
    folder = Path(tempfile.mkdtemp(prefix="mimohist-stress-"))
    original = folder / "original.db"
    dying.fill(original, sessions=16, messages=8)
    copy = Copy(folder, original)
    longest = {}
    for run in RUNS:
        copy.back()
        began = time.monotonic()
        ticks = dying.killed(run, copy.index, copy.source, at=-1)
        longest[run] = (ticks or 1, time.monotonic() - began)
    died = 0
    for number in range(asked.points):
        run = rng.choice(RUNS)
        copy.back()
        first = rng.random() < 0.3
        if first:
            copy.index.unlink()
        if run is dying.reindex:
            dying.change(copy.source)
        ticks, seconds = longest[run]
        if number % 2:
            died += at_moment(run, copy, rng.uniform(0, seconds))
        else:
            died += dying.killed(run, copy.index, copy.source, rng.randrange(1, ticks)) is None
        if copy.index.exists():
            read(copy.index)
        dying.backfill(copy.index, copy.source)
        if read(copy.index) != copy.expected():
            sys.exit(f"point {number}: {run.__name__} left something else; see {folder}")
    shutil.rmtree(folder)
    sys.stdout.write(f"{died} of {asked.points} runs were killed; every index was whole after\n")


if __name__ == "__main__":
    main()
