"""Killed anywhere, run again: what is there is what a clean build gives, and nothing is locked.

Also: full disks, and searches while the index is written.  `tests/stress` does the same at
random moments, and many more times.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mimohist import backfill as runs
from mimohist import reindexing, store
from mimohist.answers import Query
from mimohist.search import search
from mimohist.sources.v1 import V1
from tests import dying
from tests.index_content import assert_sound, content, found

if TYPE_CHECKING:
    from collections.abc import Callable

LATER = dying.LATER

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a child is forked to be killed")


class Place:
    """A source, and indexes beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = folder / "mimocode.db"
        dying.fill(self.source)
        self.built = folder / "built.db"
        dying.backfill(self.built, self.source)

    def expected(self) -> list[Any]:
        """Give what a clean build of the source, as it now is, holds."""
        clean = self.folder / "clean.db"
        clean.unlink(missing_ok=True)
        dying.backfill(clean, self.source)
        return read(clean)


def read(path: Path) -> list[Any]:
    db = store.open_writer(path)
    assert_sound(db)
    rows = content(db)
    db.close()
    return rows


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("crash"))


def spread(total: int, count: int = 20) -> list[int]:
    """Spread so many ticks over a whole run; the first is the first."""
    assert total > count
    return [1 + total * at // count for at in range(count)]


def test_b66_a_first_backfill_killed_again_and_again_ends_as_a_clean_one(
    place: Place, tmp_path: Path
) -> None:
    index = tmp_path / "index.db"
    total = dying.killed(dying.backfill, tmp_path / "trial.db", place.source, at=-1)
    assert total
    for at in spread(total):
        dying.killed(dying.backfill, index, place.source, 1 + at // 4)
        read(index)
    dying.backfill(index, place.source)
    assert read(index) == place.expected()


class Copy:
    """A source that can be put back as it was, and an index of it that can."""

    def __init__(self, folder: Path, original: Path) -> None:
        self.source, self.index = folder / "m.db", folder / "i.db"
        self._original = original
        self._built = folder / "built.db"
        shutil.copyfile(original, self.source)
        dying.backfill(self._built, self.source)
        self.back()

    def back(self, *, source: bool = True) -> None:
        """Put both back; the source stays the same file, as far as the system knows."""
        for path in (self.source, self.index):
            for end in ("-wal", "-shm", "-journal"):
                Path(f"{path}{end}").unlink(missing_ok=True)
        if source:
            shutil.copyfile(self._original, self.source)
        shutil.copyfile(self._built, self.index)

    def expected(self) -> list[Any]:
        """Give what a clean build holds."""
        clean = self.index.with_name("clean.db")
        clean.unlink(missing_ok=True)
        dying.backfill(clean, self.source)
        return read(clean)


@pytest.mark.parametrize("run", [dying.backfill, dying.reindex], ids=["backfill", "reindex"])
def test_killed_at_any_point_it_is_whole_after_the_next_run(
    place: Place, tmp_path: Path, run: Callable[[Path, Path], None]
) -> None:
    copy = Copy(tmp_path, place.source)
    dying.change(copy.source)
    expected = copy.expected()
    total = dying.killed(run, copy.index, copy.source, at=-1)
    assert total
    for at in spread(total):
        copy.back(source=False)
        assert dying.killed(run, copy.index, copy.source, at) is None
        read(copy.index)
        dying.backfill(copy.index, copy.source)
        assert read(copy.index) == expected


def test_a_run_that_stays_may_be_killed_at_any_point(place: Place, tmp_path: Path) -> None:
    copy = Copy(tmp_path, place.source)
    total = dying.killed(dying.stay, copy.index, copy.source, at=-1)
    assert total
    for at in spread(total):
        copy.back()
        assert dying.killed(dying.stay, copy.index, copy.source, at) is None
        dying.backfill(copy.index, copy.source)
        assert read(copy.index) == copy.expected()


# A full disk


FULL = """
import resource, sys
from pathlib import Path
from tests import dying
from mimohist.errors import IndexUnusable
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]),) * 2)
try:
    getattr(dying, sys.argv[1])(Path(sys.argv[2]), Path(sys.argv[3]))
except IndexUnusable as error:
    print(error)
"""


@pytest.mark.parametrize("verb", ["backfill", "reindex"])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.9])
def test_a_full_disk_leaves_the_index_usable_and_is_told_in_a_line(
    place: Place, tmp_path: Path, verb: str, share: float
) -> None:
    index = tmp_path / "index.db"
    before = None
    if verb == "reindex":
        shutil.copy(place.built, index)
        before = read(index)
    limit = int(place.built.stat().st_size * share)
    ended = subprocess.run(
        [sys.executable, "-c", FULL, verb, index, place.source, str(limit)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stderr == ""
    assert "cannot be written" in ended.stdout
    assert ended.stdout.count("\n") == 1
    if before is not None:
        assert read(index) == before
    dying.backfill(index, place.source)
    assert read(index) == place.expected()


# While it is written


def hits(path: Path, word: str) -> int:
    reader = store.open_reader(path)
    query = Query(words=(word,), strict=True, limit=0)
    count = len(search(reader, query, time.monotonic).hits)
    reader.close()
    return count


def test_searches_during_a_backfill_find_what_was_committed(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "BATCH", 1)
    index = tmp_path / "index.db"
    db = store.open_writer(index)
    events = runs.backfill(db, [V1("mimo", place.source)], runs.Options(), lambda: LATER)
    seen = [hits(index, "question") for event in events if isinstance(event, runs.Stored)]
    db.close()
    assert seen == [6 * (n + 1) for n in range(10)]


def test_b65_a_search_before_within_and_after_a_reindex_finds_the_same(
    place: Place, tmp_path: Path
) -> None:
    index = tmp_path / "index.db"
    shutil.copy(place.built, index)
    db = store.open_writer(index)
    reader = store.open_reader(index)
    seen: list[set[str]] = []

    def look() -> int:
        if len(seen) < 50:
            seen.append(found(reader, "question"))
        return 0

    db.set_progress_handler(look, 1000)
    reindexing.reindex(db)
    db.set_progress_handler(None, 0)
    assert len(seen) > 5
    assert set(map(len, seen)) == {60}
    assert len(found(reader, "question")) == 60
    reader.close()
    db.close()


def test_b65_of_two_runs_at_once_one_waits_and_finds_nothing_left_to_do(
    place: Place, tmp_path: Path
) -> None:
    environ = {**os.environ, "MIMOHIST_DB": str(tmp_path / "i.db"), "HOME": str(tmp_path)}
    environ["MIMOCODE_DB"] = str(place.source)
    command = [sys.executable, "-m", "mimohist", "backfill", "mimo", "--wait", "60"]
    children = [
        subprocess.Popen(
            command, env=environ, cwd=Path(__file__).parents[1], stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    for child in children:
        _, said = child.communicate()
        assert (child.returncode, said) == (0, b"")
    assert read(tmp_path / "i.db") == place.expected()
