"""How long a search takes over a large history, by sort of query, and what the window costs.

    python -m tests.bench.corpus --parts 1000000 SOURCE.db --jsonl SOURCE.jsonl
    MIMOCODE_DB=SOURCE.db mimohist backfill --db INDEX.db
    python -m tests.bench.speed INDEX.db [SOURCE.jsonl]

For each sort of query, plain and with a project, kind and time filter: the median of the
search inside the process (milliseconds, warm), and how much of the ten best hits the bounded
window shares with a full ranking.  Then whole processes as ratios to `mimohist --version`, taken
in turns, and ripgrep over the same texts as JSON lines where it is installed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mimohist import store
from mimohist.answers import Query
from mimohist.kinds import Kind
from mimohist.search import search

if TYPE_CHECKING:
    import sqlite3

PROJECT = "/home/dev/code/project3"
RUNS = 3
PROCESSES = 9


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


def outside(index: Path, lines: Path | None, chosen: dict[str, list[tuple[str, ...]]]) -> None:
    """Print whole processes beside `--version`, and ripgrep's over the same texts."""
    program = [sys.executable, "-m", "mimohist"]
    search_ = [*program, "search", "--json", "--no-refresh", "--db", str(index), "-g"]
    ripgrep = shutil.which("rg")
    say(f"\n{'':14}{'ms':>8}{'x version':>12}{'rg ms':>10}")
    for name, queries in chosen.items():
        words = queries[0]
        flags = ["--any"] if "any" in name else []
        ours, base, theirs = [], [], []
        for _ in range(PROCESSES):
            base.append(_run([*program, "--version"]))
            ours.append(_run([*search_, *flags, "--", *words]))
            if ripgrep and lines:
                pattern = words[0].strip('"*')
                theirs.append(_run([ripgrep, "-c", "-i", "-F", pattern, str(lines)]))
        ratio = statistics.median(a / b for a, b in zip(ours, base, strict=True))
        rival = f"{statistics.median(theirs):10.0f}" if theirs else f"{'-':>10}"
        say(f"{name:14}{statistics.median(ours):8.0f}{ratio:12.2f}{rival}")


def _run(command: list[str]) -> float:
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
    parser.add_argument("lines", type=Path, nargs="?")
    given = parser.parse_args()
    db = store.open_reader(given.index)
    chosen = inside(db)
    db.close()
    outside(given.index, given.lines, chosen)


if __name__ == "__main__":
    main()
