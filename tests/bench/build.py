"""What building and keeping the index costs, beside the original design's.

    python -m tests.bench.build SOURCE.db [--syncs 1000]

Both indexes are built from the same source by processes of their own, one after the other:
CPU seconds, wall seconds, the most memory (MB), the index's size.  Then, over the index that
was made: what a look costs when nothing changed, what one new message costs.  Then, over a
small source, how an index grows in which a session gained one message a thousand times,
beside one made afresh from the same source.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mimohist import History
from tests.bench import corpus
from tests.mimo_database import MimoDatabase

if TYPE_CHECKING:
    from collections.abc import Callable

LATER = 1_850_000_000_000
RUNS = 9


class Cost(NamedTuple):
    """What one build took: seconds, megabytes of memory, bytes on disk."""

    cpu: float
    wall: float
    memory: float
    size: int


def run(command: list[str], environ: dict[str, str], index: Path) -> Cost:
    """Run one build and take its measure."""
    began = time.perf_counter()
    pid = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL).pid
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    wall = time.perf_counter() - began
    return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, size(index))


def size(index: Path) -> int:
    """Give the bytes of an index with its `-wal`."""
    names = (index.name, f"{index.name}-wal")
    return sum(one.stat().st_size for one in map(index.with_name, names) if one.exists())


def environment(source: Path, index: Path) -> dict[str, str]:
    """Give an environment in which only this source is found."""
    alone = str(index.parent)
    return {
        "PATH": os.environ["PATH"],
        "HOME": alone,
        "MIMOCODE_DB": str(source),
        "MIMOHIST_DB": str(index),
        "XDG_CONFIG_HOME": alone,
        "XDG_DATA_HOME": alone,
    }


def builds(source: Path, folder: Path) -> Path:
    """Print what both builds cost; give our index."""
    ours, theirs = folder / "ours.db", folder / "original.db"
    environ = environment(source, ours)
    mine = run([sys.executable, "-m", "mimohist", "backfill"], environ, ours)
    other = run(
        [sys.executable, "-m", "tests.bench.original", str(source), str(theirs)], environ, theirs
    )
    say(f"{'':12}{'cpu s':>8}{'wall s':>8}{'MB':>8}{'index MB':>10}")
    for name, cost in (("mimohist", mine), ("original", other)):
        say(f"{name:12}{cost.cpu:8.1f}{cost.wall:8.1f}{cost.memory:8.0f}{cost.size / 1e6:10.1f}")
    say(
        f"{'ratio':12}{mine.cpu / other.cpu:8.2f}{mine.wall / other.wall:8.2f}"
        f"{mine.memory / other.memory:8.2f}{mine.size / other.size:10.2f}"
    )
    return ours


def looks(source: Path, index: Path) -> None:
    """Print what a run over an unchanged source costs, and one new message."""
    environ = environment(source, index)
    with History.open(environ=environ) as history:
        say(f"nothing changed, a search's refresh: {_median(history.refresh):.1f} ms")
        say(f"nothing changed, backfill: {_median(lambda: list(history.backfill())):.1f} ms")
    times = []
    with closing(MimoDatabase(source, start=LATER)) as db:
        session = newest(db)
        for number in range(RUNS):
            db.say(session, f"needle{number}")
            with History.open(environ=environ) as history:
                began = time.perf_counter()
                history.refresh()
                times.append((time.perf_counter() - began) * 1000)
                if not history.search(f"needle{number}").hits:
                    raise SystemExit("the new message was not found")
    say(f"one new message in a live session, a search's refresh: {statistics.median(times):.1f} ms")


def growth(folder: Path, syncs: int) -> None:
    """Print how much larger an index is that took in one message at a time."""
    source, index, fresh = folder / "small.db", folder / "small-index.db", folder / "fresh.db"
    corpus.write(source, 20_000, 7)
    environ = environment(source, index)
    with History.open(environ=environ) as history:
        list(history.backfill())
    largest = 0
    with closing(MimoDatabase(source, start=LATER)) as db:
        session = newest(db)
        for number in range(syncs):
            db.say(session, f"message {number} about the retry of the payment {number * 7}")
            with History.open(environ=environ) as history:
                history.refresh()
            largest = max(largest, size(index) - index.stat().st_size)
    with History.open(environ=environment(source, fresh)) as history:
        list(history.backfill())
    grown, made = index.stat().st_size, fresh.stat().st_size
    say(
        f"after {syncs} syncs: {grown / 1e6:.1f} MB, made afresh {made / 1e6:.1f} MB,"
        f" ratio {grown / made:.2f}; the largest -wal {largest / 1e6:.1f} MB"
    )


def newest(db: MimoDatabase) -> str:
    """Give the session that was written last."""
    sql = "SELECT id FROM session ORDER BY time_created DESC LIMIT 1"
    return str(db.execute(sql)[0][0])


def _median(act: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        act()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def say(line: str) -> None:
    """Print one line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--syncs", type=int, default=1_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.source.parent) as made:
        folder = Path(made)
        source = folder / "source.db"
        shutil.copyfile(given.source, source)
        looks(source, builds(source, folder))
        growth(folder, given.syncs)


if __name__ == "__main__":
    main()
