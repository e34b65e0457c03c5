"""A MiMo-shaped source of any size, the same for the same seed.

    python -m tests.bench.corpus --parts 1000000 --seed 1 OUT.db [--jsonl OUT.jsonl]

The mix is that of real sessions: 43 % of the parts are steps, 28 % tool calls with
heavy-tailed outputs, 15 % texts (10 % of them CJK or Thai), 12 % reasoning.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tests import mimo_ddl
from tests.bench.texts import Project, Scribe, vocabulary
from tests.bench.words import TONGUES

if TYPE_CHECKING:
    from collections.abc import Iterator

START = 1_760_000_000_000
STEP = 4_000
_TOOLS = ("bash", "read", "edit", "grep", "glob", "webfetch", "write")
_TURN = ("user", "assistant", "assistant", "assistant")


def parts_of_turn(rng: random.Random, scribe: Scribe) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Give the messages of one turn: who speaks, and the parts."""
    yield "user", [{"type": "text", "text": _said(rng, scribe, 25)}]
    for last in (False, False, True):
        parts: list[dict[str, Any]] = [{"type": "step-start", "snapshot": "0" * 40}]
        if rng.random() < 0.5:
            time = {"start": START, "end": START}
            parts.append({"type": "reasoning", "text": scribe.prose(60), "time": time})
        parts.append(_call(rng, scribe))
        if last:
            parts.append({"type": "text", "text": _said(rng, scribe, 60)})
        tokens = {"input": 900, "output": 80, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        parts.append({"type": "step-finish", "reason": "stop", "cost": 0.01, "tokens": tokens})
        yield "assistant", parts


def _said(rng: random.Random, scribe: Scribe, count: int) -> str:
    if rng.random() < 0.1:
        return scribe.foreign(rng.choice(TONGUES), count)
    return scribe.prose(max(3, int(rng.expovariate(1 / count))))


def _call(rng: random.Random, scribe: Scribe) -> dict[str, Any]:
    tool = rng.choice(_TOOLS)
    lines = min(2_000, max(1, int(rng.paretovariate(1.1) * 6)))
    make = rng.choice((scribe.code, scribe.log, scribe.hits, scribe.listing))
    value = {"command": scribe.command()} if tool == "bash" else {"file_path": scribe.file()}
    time = {"start": START, "end": START}
    state = {"status": "completed", "input": value, "output": make(lines), "title": tool}
    state |= {"metadata": {}, "time": time}
    if rng.random() < 0.08:
        state = {"status": "error", "input": value, "error": scribe.failure(), "time": time}
    return {"type": "tool", "callID": f"call_{rng.getrandbits(48):x}", "tool": tool, "state": state}


def write(path: Path, count: int, seed: int, lines: TextIO | None = None) -> int:
    """Write a source of about `count` parts; give how many there are."""
    rng = random.Random(seed)  # noqa: S311 - a reproducible corpus, no secret
    known = vocabulary(rng)
    projects = [Project(rng, known, f"p{n}", f"/home/dev/code/project{n}") for n in range(12)]
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    for statement in mimo_ddl.tables(mimo_ddl.MIMO, frozenset()):
        db.execute(statement)
    made, at, session = 0, START, 0
    for number in range(len(projects)):
        db.execute(
            "INSERT INTO project(id, worktree, time_created, time_updated, sandboxes)"
            " VALUES (?, ?, ?, ?, '[]')",
            (f"p{number}", f"/home/dev/code/project{number}", START, START),
        )
    while made < count:
        number = rng.randrange(len(projects))
        scribe = Scribe(rng, known, projects[number], rng.sample(known.content[0], 40))
        session += 1
        made, at = _session(db, rng, scribe, (session, number), (made, at), lines)
    for statement in mimo_ddl.indexes(mimo_ddl.MIMO, frozenset()):
        db.execute(statement)
    db.execute("COMMIT")
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    return made


def _session(
    db: sqlite3.Connection,
    rng: random.Random,
    scribe: Scribe,
    ids: tuple[int, int],
    done: tuple[int, int],
    lines: TextIO | None,
) -> tuple[int, int]:
    session, project = ids
    made, at = done
    name = f"ses_{session:08}"
    db.execute(
        "INSERT INTO session(id, project_id, slug, directory, title, version, time_created,"
        " time_updated) VALUES (?, ?, 's', ?, ?, '0.1.13', ?, ?)",
        (name, f"p{project}", f"/home/dev/code/project{project}", scribe.prose(6)[:80], at, at),
    )
    for _ in range(min(1_200, max(1, int(rng.paretovariate(0.9) * 8)))):
        for role, parts in parts_of_turn(rng, scribe):
            message = f"msg_g{at:016x}"
            info = {"role": role, "agent": "build", "time": {"created": at}}
            db.execute(
                "INSERT INTO message(id, session_id, time_created, time_updated, data)"
                " VALUES (?, ?, ?, ?, ?)",
                (message, name, at, at, json.dumps(info)),
            )
            for data in parts:
                made += 1
                at += STEP
                text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
                db.execute(
                    "INSERT INTO part(id, message_id, session_id, time_created, time_updated, data)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    (f"prt_g{at:016x}", message, name, at, at, text),
                )
                if lines:
                    lines.write(text + "\n")
    return made, at


def main() -> None:
    """Write a source as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--parts", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jsonl", type=Path)
    given = parser.parse_args()
    if given.jsonl:
        with given.jsonl.open("w", encoding="utf-8") as lines:
            made = write(given.out, given.parts, given.seed, lines)
    else:
        made = write(given.out, given.parts, given.seed)
    print(f"{made} parts, {given.out.stat().st_size / 1e6:.0f} MB")  # noqa: T201


if __name__ == "__main__":
    main()
