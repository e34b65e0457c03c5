"""Runs that are killed at a chosen point, in a process of their own."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

from mimohist import backfill as runs
from mimohist import backfill_session, reindexing, store
from mimohist.follow import Clockwork, follow
from mimohist.refreshing import Places
from mimohist.sources.v1 import V1
from mimohist.store_rows import SIX
from tests.mimo_database import MimoDatabase

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

LATER = 1_900_000_000_000
STEPS = 25
"""How many instructions of SQLite's machine are one tick."""

WORDS = "pool timeout retry getUserName 连接池耗尽 straße index rebase cursor lock"


def fill(path: Path, sessions: int = 10, messages: int = 6) -> None:
    """Write a database whose sessions take several transactions to store."""
    database = MimoDatabase(path)
    for number in range(sessions):
        session = database.session(title=f"Session {number}")
        for turn in range(messages):
            database.say(session, f"question {number} {turn} {WORDS}")
            answer = database.message(session, "assistant")
            database.reasoning(answer, f"thought {number} {turn}")
            text = f"{WORDS} line\n" * (5 + 7 * turn)
            database.tool(answer, "bash", {"command": f"make {turn}"}, output=text)
    database.close()


def change(path: Path) -> None:
    """Rewrite, add and delete here and there."""
    database = MimoDatabase(path, start=1_797_000_000_000)
    ids = [id for (id,) in database.execute("SELECT id FROM session ORDER BY id")]
    database.delete("session", ids[0])
    database.update("session", ids[1], title="Another title", time_updated=1_797_000_000_000)
    database.say(ids[2], "one more question")
    (part,) = database.execute("SELECT max(id) FROM part WHERE session_id = ?", ids[3])[0]
    database.edit(part, state={"status": "error", "input": {"command": "x"}, "error": "plumbus"})
    database.close()


def backfill(index: Path, source: Path) -> None:
    """Bring the index up to date, to the end."""
    with store.lock(index):
        db = store.open_writer(index)
        for _ in runs.backfill(db, [V1("mimo", source)], runs.Options(), lambda: LATER):
            pass
        db.close()


def reindex(index: Path, source: Path) -> None:
    """Do what `mimohist reindex` does."""
    with store.lock(index):
        db = store.open_writer(index)
        reindexing.read_again(db, SIX, None)
        options = runs.Options(verify=True)
        for _ in runs.backfill(db, [V1("mimo", source)], options, lambda: LATER):
            pass
        reindexing.reindex(db)
        db.close()


def stay(index: Path, source: Path) -> None:
    """Follow a database that changes once, and end after it was taken in."""

    class Fixed(Places):
        def find(self) -> list[Any]:
            return [V1("mimo", source)]

    time = 0.0

    def sleep(seconds: float) -> None:
        nonlocal time
        if not time:
            change(source)
        time += seconds

    options = runs.Options(stop=lambda: time > 3)
    clockwork = Clockwork(lambda: LATER, lambda: time, sleep)
    for _ in follow(index, Fixed((), {}, index, {}), options, clockwork):
        pass


def small_transactions() -> None:
    """Make transactions so small that there are many."""
    backfill_session.BATCH = runs.BATCH = 3_000


def killed(run: Callable[[Path, Path], None], index: Path, source: Path, at: int) -> int | None:
    """Run in a child that is killed by SIGKILL at tick `at`; gives the ticks if it ends before.

    Transactions are made so small that there are many.
    """
    heard, told = os.pipe()
    child = os.fork()
    if not child:
        ticks = 0
        status = 1
        try:
            small_transactions()

            def tick() -> int:
                nonlocal ticks
                ticks += 1
                if ticks == at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return 0

            opened = store.open_writer

            def open_writer(path: Path) -> sqlite3.Connection:
                db = opened(path)
                db.set_progress_handler(tick, STEPS)
                return db

            store.open_writer = open_writer
            run(index, source)
            os.write(told, str(ticks).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(told)
    with os.fdopen(heard) as said:
        text = said.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return None
    assert status == 0
    return int(text)
