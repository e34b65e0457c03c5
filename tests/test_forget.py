"""What is forgotten leaves no byte and does not come back."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from mimohist import forgetting, reindexing, store
from mimohist.backfill import SIX, Options, backfill
from mimohist.errors import Busy, NotFound
from mimohist.naming import resolve
from tests.fake_source import FakeSource, message, said
from tests.index_content import assert_sound, found

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

LATER = 1_900_000_000_000
SECRET = "xyzzyplughsecret"  # noqa: S105


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index" / "index.db"


@pytest.fixture
def index(path: Path) -> Iterator[sqlite3.Connection]:
    db = store.open_writer(path)
    yield db
    db.close()


@pytest.fixture
def source() -> FakeSource:
    """Put a secret into two parts of one message and, as a fork copies it, in another session."""
    made = FakeSource()
    keys = (said("a", f"the key is {SECRET}"), said("b", f"{SECRET} again"))
    made.put("s", message("m", *keys), message("n", said("c", "other words"), at=1), at=2)
    made.put("fork", message("o", said("d", f"the key is {SECRET}")), at=3)
    filler = " ".join(f"word{n}" for n in range(500))
    for n in range(30):
        made.put(f"x{n}", message("m", said(f"x{n}", f"{filler} {SECRET[:-1]}{n}")), at=10 + n)
    return made


def run(db: sqlite3.Connection, source: FakeSource, **options: Any) -> None:  # noqa: ANN401
    for _ in backfill(db, [source], Options(**options), lambda: LATER):
        pass
    assert_sound(db)


def forget(db: sqlite3.Connection, *refs: str, copies: bool = False, whole: bool = False) -> int:
    named = [resolve(db, ref) for ref in refs]
    if whole:
        named = [one._replace(message=None) for one in named]
    return forgetting.forget(db, forgetting.doomed(db, named, copies=copies))


def holders(path: Path, text: str = SECRET) -> list[str]:
    """Name the files beside the index that hold a text anywhere in their bytes."""
    return [file.name for file in path.parent.iterdir() if text.encode() in file.read_bytes()]


def test_a_message_is_forgotten_in_rows_words_free_pages_and_wal(
    index: sqlite3.Connection, source: FakeSource, path: Path
) -> None:
    source.drop("fork")
    run(index, source)
    assert holders(path)
    assert forget(index, "fake/ses_s/m") == 2
    assert holders(path) == []
    assert found(index, SECRET) == set()
    assert found(index, "other") == {"c"}
    run(index, source, verify=True)
    assert len(found(index, "word7")) == 30, "other sessions' messages have that id too"


def test_it_does_not_come_back(index: sqlite3.Connection, source: FakeSource, path: Path) -> None:
    source.drop("fork")
    run(index, source)
    forget(index, "fake/ses_s/m")
    source.touch("s")
    run(index, source)
    run(index, source, verify=True)
    reindexing.read_again(index, SIX, None)
    run(index, source, verify=True)
    reindexing.reindex(index)
    assert_sound(index)
    assert found(index, SECRET) == set()
    assert holders(path) == []


def test_only_ids_are_remembered(index: sqlite3.Connection, source: FakeSource) -> None:
    run(index, source)
    forget(index, "fake/ses_s/m")
    assert index.execute("SELECT * FROM forgotten").fetchall() == [("fake", "message", "ses_s/m")]


def test_copies_go_along_when_asked(
    index: sqlite3.Connection, source: FakeSource, path: Path
) -> None:
    run(index, source)
    named = [resolve(index, "fake/ses_s/m")]
    alone = forgetting.doomed(index, named, copies=False)
    assert [(one.level, one.id, one.parts) for one in alone] == [("message", "m", 2)]
    items = forgetting.doomed(index, named, copies=True)
    assert {(one.level, one.id) for one in items} == {("message", "m"), ("part", "d")}
    assert forgetting.forget(index, items) == 3
    assert holders(path) == []
    run(index, source, verify=True)
    assert found(index, SECRET) == set()


def test_one_part_can_be_forgotten(index: sqlite3.Connection, source: FakeSource) -> None:
    run(index, source)
    assert forgetting.forget(index, forgetting.doomed_parts(index, "a", copies=False)) == 1
    run(index, source, verify=True)
    assert found(index, SECRET) == {"b", "d"}
    assert forgetting.doomed_parts(index, "a", copies=True) == []


def test_a_part_s_copies_go_along_when_asked(index: sqlite3.Connection, source: FakeSource) -> None:
    run(index, source)
    items = forgetting.doomed_parts(index, "a", copies=True)
    assert {item.id for item in items} == {"a", "d"}


def test_a_session_is_forgotten_with_title_and_project(
    index: sqlite3.Connection, source: FakeSource, path: Path
) -> None:
    source.put("t", message("q", said("e", "x")), title="plumbus", directory="/plumbus")
    run(index, source)
    forget(index, "ses_t", whole=True)
    assert holders(path, "plumbus") == []
    source.touch("t")
    run(index, source, verify=True)
    with pytest.raises(NotFound):
        resolve(index, "ses_t")


def test_a_reader_that_stays_is_told_of_and_the_next_run_clears_what_it_kept(
    index: sqlite3.Connection, source: FakeSource, path: Path
) -> None:
    source.drop("fork")
    run(index, source)
    index.execute("PRAGMA busy_timeout = 1")
    reader = store.open_reader(path)
    reader.execute("BEGIN")
    assert found(reader, SECRET)
    with pytest.raises(Busy, match="forgotten, but another program reads"):
        forget(index, "fake/ses_s/m")
    assert found(index, SECRET) == set()
    run(index, source)
    reader.close()
    run(index, source)
    assert holders(path) == []


def test_a_run_cut_short_after_the_removal_is_finished_by_the_next(
    index: sqlite3.Connection, source: FakeSource, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.drop("fork")
    run(index, source)

    def killed(db: sqlite3.Connection) -> None:
        del db
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(forgetting, "purge", killed)
        with pytest.raises(KeyboardInterrupt):
            forget(index, "fake/ses_s/m")
    copy = path.parent.with_name("copy") / path.name
    index.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    copy.parent.mkdir()
    shutil.copy(path, copy)
    assert holders(copy)
    db = store.open_writer(copy)
    run(db, source)
    assert holders(copy) == []
    db.close()
