"""How long a search takes over a large history, by sort of query, and what the window costs.

    python -m tests.bench.corpus --parts 1000000 SOURCE.db --jsonl SOURCE.jsonl
    MIMOCODE_DB=SOURCE.db mimohist backfill --db INDEX.db
    python -m tests.bench.original SOURCE.db ORIGINAL.db
    python -m tests.bench.speed INDEX.db [--lines SOURCE.jsonl] [--original ORIGINAL.db]

For each sort of query, plain and with a project, kind and time filter: the median of the
search inside the process (milliseconds, warm), the original design's, and how much of the ten
best hits the bounded window shares with a full ranking.  Then whole processes as ratios to
`mimohist --version`, taken in turns; the same SQL in the `sqlite3` program and ripgrep over the
same texts as JSON lines, where they are installed.  Then fixed texts and regular expressions,
counted, where a word in them narrows the search and where nothing does.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mimohist import candidates, store
from mimohist.answers import Query
from mimohist.kinds import Kind
from mimohist.search import asked_kinds, lookup, search, start
from tests.bench.original import FILTERS
from tests.bench.original import SEARCH as ORIGINAL_SEARCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROJECT = "/home/dev/code/project3"
RUNS = 3
PROCESSES = 7

_PROGRAM = (sys.executable, "-m", "mimohist")
VERSION = (*_PROGRAM, "--version")
SEARCH = (*_PROGRAM, "search", "--no-refresh", "--json", "-g")


def classes(db: sqlite3.Connection) -> dict[str, list[tuple[str, ...]]]:
    """Choose queries of each sort by their true frequency in this index."""
    db.execute("PRAGMA query_only = OFF")
    db.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, history_fts_idx, row)")
    words = db.execute(
        "SELECT term, doc FROM words WHERE length(term) >= 3 AND term GLOB '[a-z]*'"
        " AND term NOT GLOB 'k*' ORDER BY doc DESC"
    ).fetchall()
    rows = db.execute("SELECT count(*) FROM history_fts").fetchone()[0]

    def pick(low: float, high: float, count: int = 5) -> list[str]:
        found = [word for word, docs in words if low * rows <= docs < high * rows]
        return found[:: max(1, len(found) // count)][:count]

    mid, common = pick(0.002, 0.01, 15), pick(0.04, 0.1)
    runs = _runs(db)
    return {
        "rare": [(word,) for word in pick(0, 0.00004)],
        "mid": [(word,) for word in pick(0.0026, 0.005)],
        "common": [(word,) for word in common],
        "very common": [(word,) for word, _ in words[:5]],
        "3 words": [tuple(mid[n : n + 3]) for n in range(0, len(mid) - 2, 3)],
        "phrase": [(f'"{phrase}"',) for phrase in _phrases(db)],
        "prefix": [(f"{word[:3]}*",) for word in pick(0.001, 0.006)],
        "5 words, any": [tuple(mid[:5]), tuple(common[:2] + mid[5:8])],
        "CJK, 1": [(run[2],) for run in runs[:5]],
        "CJK, 2": [(run[1:3],) for run in runs[5:10]],
        "CJK, 4": [(run[1:5],) for run in runs[10:15]],
        "identifier": [(name,) for name in _identifiers(db)],
        "no hit": [("qqxzvwmpl",), ("zzyzxq",)],
    }


def _runs(db: sqlite3.Connection) -> list[str]:
    sql = "SELECT body FROM history_text WHERE body GLOB '*[一-鿿]*' LIMIT 200"
    texts = [body.replace("\u200b", "") for (body,) in db.execute(sql)]
    return [run for text in texts for run in re.findall("[一-鿿]{6,}", text)]


def _phrases(db: sqlite3.Connection) -> list[str]:
    sql = "SELECT body FROM history_text JOIN history_fts USING (id) WHERE kind = 'assistant_text'"
    words = [body.split()[2:4] for (body,) in db.execute(f"{sql} LIMIT 400")]
    return [" ".join(pair) for pair in words if len(pair) == 2 and all(map(str.isalpha, pair))][:5]


def _identifiers(db: sqlite3.Connection) -> list[str]:
    sql = "SELECT output FROM history_text WHERE output GLOB '*[a-z]_[a-z]*' LIMIT 300"
    names = (
        name for (text,) in db.execute(sql) for name in re.findall("[a-z]+_[a-z_]+[a-z]", text)
    )
    return [name for name, _ in Counter(names).most_common(40)[::8]]


def _filters(db: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    first, last = (
        db.execute(f"SELECT {end}(time_created) FROM history_fts").fetchone()[0]
        for end in ("min", "max")
    )
    return {
        "": {},
        "project": {"projects": (PROJECT,)},
        "kind": {"kinds": (Kind.USER_TEXT,)},
        "time": {"since": last - (last - first) // 10},
    }


def _measure(db: sqlite3.Connection, query: Query) -> tuple[float, list[str]]:
    spent = []
    found: list[str] = []
    for _ in range(RUNS):
        began = time.perf_counter()
        found = [hit.part_id for hit in search(db, query, time.monotonic).hits]
        spent.append((time.perf_counter() - began) * 1000)
    return statistics.median(spent), found


def inside(db: sqlite3.Connection) -> dict[str, list[tuple[str, ...]]]:
    """Print the table of medians inside the process; give the queries."""
    chosen, filters = classes(db), _filters(db)
    say(f"{'':14}" + "".join(f"{name or 'plain':>10}" for name in filters) + f"{'overlap':>10}")
    overlaps = []
    for name, queries in chosen.items():
        cells = []
        shared = []
        for label, fields in filters.items():
            spent = []
            for words in queries:
                query = Query(words=words, any_word="any" in name)._replace(**fields)
                took, hits = _measure(db, query)
                spent.append(took)
                if not label:
                    whole = search(db, query._replace(exact=True), time.monotonic).hits
                    best = {hit.part_id for hit in whole}
                    shared.append(len(best & set(hits)) / len(best) if best else 1.0)
            cells.append(f"{statistics.median(spent):10.1f}")
        overlaps.append(statistics.mean(shared))
        say(f"{name:14}" + "".join(cells) + f"{overlaps[-1]:10.2f}")
    say(f"mean overlap@10 with a full ranking: {statistics.mean(overlaps):.2f}")
    return chosen


def outside(
    index: Path, lines: Path | None, chosen: dict[str, list[tuple[str, ...]]], since: int
) -> None:
    """Print whole processes beside `--version`, the `sqlite3` program and ripgrep."""
    flags = {
        "": [],
        "project": ["-p", PROJECT],
        "kind": ["-k", "user_text"],
        "time": ["--since", str(since)],
    }
    say(f"\nwhole processes: ms, then times --version\n{'':14}{'ms':>8}" + _heads(flags))
    for name, queries in chosen.items():
        words = queries[0]
        more = ["--any"] if "any" in name else []
        cells = []
        for label, given in flags.items():
            ours, ratio = _beside([*SEARCH, "--db", str(index), *given, *more, "--", *words])
            cells += [f"{ours:8.0f}"] if not label else []
            cells.append(f"{ratio:10.2f}")
        sql = _sqlite(index, words, any_word=bool(more))
        rival = _ripgrep(lines, ["-i", "-F", words[0].strip('"*')])
        say(f"{name:14}" + "".join(cells) + f"{sql:>10}{rival:>10}")


def _heads(labels: Iterable[str]) -> str:
    heads = [*(label or "plain" for label in labels), "sqlite3 ms", "rg ms"]
    return "".join(f"{head:>10}" for head in heads)


def _beside(command: list[str], base: Sequence[str] = VERSION) -> tuple[float, float]:
    """Give the median time (ms) of a command, and of its ratio to another, run in turns."""
    ours, theirs = [], []
    for _ in range(PROCESSES):
        theirs.append(_run(base))
        ours.append(_run(command))
    ratios = (one / other for one, other in zip(ours, theirs, strict=True))
    return statistics.median(ours), statistics.median(ratios)


def _sqlite(index: Path, words: tuple[str, ...], *, any_word: bool) -> str:
    """Time the ranking alone in the `sqlite3` program."""
    program = shutil.which("sqlite3")
    if program is None:
        return "-"
    db = store.open_reader(index)
    run = start(db, Query(words=words), time.monotonic)
    look = lookup(run, asked_kinds(run.query), any_word=any_word)
    values = {"match": look.match, "low": 0, "high": 2**62, "window": candidates.WINDOW}
    sql = candidates.SCORED.strip() + " LIMIT 10"
    for name, value in values.items():
        text = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
        sql = sql.replace(f":{name}", text)
    db.close()
    spent = [_run([program, f"file:{index}?mode=ro", sql]) for _ in range(PROCESSES)]
    return f"{statistics.median(spent):.0f}"


def _ripgrep(lines: Path | None, flags: list[str]) -> str:
    program = shutil.which("rg")
    if not program or not lines:
        return "-"
    spent = [_run([program, "-c", *flags, str(lines)]) for _ in range(PROCESSES)]
    return f"{statistics.median(spent):.0f}"


def scans(index: Path, lines: Path | None) -> None:
    """Print fixed texts and regular expressions, all matches counted."""
    looks = {
        "-F, no word": ["-F", "ubaitne"],
        "-F, a word": ["-F", "import queue"],
        "-e, no word": ["-e", "[a-z]+ubaitn[a-z]+"],
        "-e, a word": ["-e", r"connection \w+ timeout"],
    }
    say(f"\ncounted, all kinds{'ms':>10}{'x version':>10}{'rg ms':>10}")
    for name, flags in looks.items():
        command = [*SEARCH[:-2], "-g", "-c", "-k", "all", "--db", str(index), *flags]
        took, ratio = _beside(command)
        say(f"{name:18}{took:10.0f}{ratio:10.2f}{_ripgrep(lines, flags):>10}")


def first_design(path: Path, chosen: dict[str, list[tuple[str, ...]]], since: int) -> None:
    """Print what the original's SQL takes on its own index, in process (ms)."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    say("\nthe original design\n" + f"{'':14}" + "".join(f"{n or 'plain':>10}" for n in FILTERS))
    for name, queries in chosen.items():
        cells = []
        for condition in FILTERS.values():
            sql, spent = ORIGINAL_SEARCH.format(filter=condition), []
            for words in queries:
                tokens = re.findall(r"\w+", " ".join(words))
                match = " AND ".join(f'"{token}"' for token in tokens)
                began = time.perf_counter()
                db.execute(sql, {"match": match, "since": since}).fetchall()
                spent.append((time.perf_counter() - began) * 1000)
            cells.append(f"{statistics.median(spent):10.1f}")
        say(f"{name:14}" + "".join(cells))


def _run(command: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, capture_output=True, check=False, env=dict(os.environ))
    return (time.perf_counter() - began) * 1000


def say(line: str) -> None:
    """Print one line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("--lines", type=Path)
    parser.add_argument("--original", type=Path)
    given = parser.parse_args()
    db = store.open_reader(given.index)
    chosen = inside(db)
    since = _filters(db)["time"]["since"]
    db.close()
    if given.original:
        first_design(given.original, chosen, since)
    outside(given.index, given.lines, chosen, since)
    scans(given.index, given.lines)


if __name__ == "__main__":
    main()
