"""How well the right message ranks: judged queries over texts among distractors.

    python -m tests.bench.relevance

Each judged text was "said" once; beside it stand, made from the same words: texts with some
of its words, giant logs that repeat them, forks, echoes of earlier searches and synthetic
blocks.  Three rankings are compared on the same rows: mimohist's, the original design's
(`unicode61`, all words, bm25 without weights, JSON as it is) and a newest-first substring
search.  Printed are MRR@10 and recall@10, over all queries and by sort of query.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from mimohist.answers import Query
from mimohist.records import Kind
from mimohist.search import search
from tests.index_of import START, Given, index_of

if TYPE_CHECKING:
    from collections.abc import Callable

USER, SAID, CALL, ERROR = Kind.USER_TEXT, Kind.ASSISTANT_TEXT, Kind.TOOL_INPUT, Kind.TOOL_ERROR


class Judged(NamedTuple):
    """A text that somebody looks for, and the queries with which they would."""

    kind: Kind
    text: str
    queries: tuple[tuple[str, str], ...]
    """(sort of query, the query as typed)"""


JUDGED = (
    Judged(
        USER,
        "why does the cart total drift by one cent when a percentage discount is applied?",
        (
            ("half a sentence", "cart total drift"),
            ("question", "why does the total drift with discounts"),
            ("phrase", '"percentage discount"'),
        ),
    ),
    Judged(
        SAID,
        "The drift comes from float arithmetic in apply_discount; use Decimal and quantize once.",
        (
            ("identifier", "apply_discount"),
            ("half a sentence", "decimal quantize"),
            ("question", "where does float drift come from"),
        ),
    ),
    Judged(
        USER,
        "数据库连接池在高峰期耗尽了，帮我查一下原因",
        (("CJK", "连接池"), ("CJK", "连接池 耗尽"), ("CJK", "高峰期")),
    ),
    Judged(
        SAID,
        "连接没有归还：get_conn 在异常路径上漏掉了 close，池子慢慢被占满。",
        (("CJK", "归还"), ("identifier", "get_conn"), ("CJK", "异常路径")),
    ),
    Judged(
        USER,
        "カードが二重に登録されるバグを直してほしい",
        (("CJK", "二重に登録"), ("CJK", "カード バグ")),
    ),
    Judged(
        USER,
        "한글 입력 중에 Enter를 누르면 두 번 전송돼요",
        (("CJK", "한글 입력"), ("CJK", "두 번 전송")),
    ),
    Judged(
        SAID,
        "During composition isComposing is true, so the handler must return before sending.",
        (("identifier", "isComposing"), ("half a sentence", "handler return before sending")),
    ),
    Judged(
        ERROR,
        "error[E0308]: mismatched types, expected `usize`, found `i64` in src/offset.rs",
        (
            ("error code", "E0308"),
            ("error code", "E0308: mismatched"),
            ("path", "src/offset.rs"),
        ),
    ),
    Judged(
        CALL,
        "bash\nrg --files-with-matches 'retry_policy' services/billing | xargs sed -n 1,40p",
        (
            ("identifier", "retry_policy"),
            ("path", "services/billing"),
            ("half a sentence", "xargs sed files-with-matches"),
        ),
    ),
    Judged(
        SAID,
        "Set PGBOUNCER pool_mode to transaction; session mode keeps every backend busy.",
        (
            ("half a sentence", "pool_mode transaction"),
            ("identifier", "pool_mode"),
            ("question", "what keeps every backend busy"),
        ),
    ),
    Judged(
        USER,
        "please make the deploy script stop at the first error, use set -euo pipefail",
        (("half a sentence", "set -euo pipefail"), ("question", "make deploy stop at an error")),
    ),
    Judged(
        SAID,
        "C++ name lookup finds std::swap first; write `using std::swap;`, then swap unqualified.",
        (("symbols", "C++"), ("symbols", "std::swap"), ("half a sentence", "swap unqualified")),
    ),
    Judged(
        USER,
        "the health check at 10.0.0.7 answers 503 only after the nightly backup",
        (
            ("symbols", "10.0.0.7"),
            ("half a sentence", "503 nightly backup"),
            ("question", "which health check answers 503"),
        ),
    ),
    Judged(
        SAID,
        "Keyboard users cannot reach the drag handle: give it tabindex 0 and an aria-label.",
        (("phrase", '"drag handle"'), ("symbols", "aria-label"), ("prefix", "tabind*")),
    ),
    Judged(
        SAID,
        "Der Straßenname wird in strasse_normalisieren gekürzt, bevor er verglichen wird.",
        (("accents", "strassenname"), ("identifier", "strasse_normalisieren")),
    ),
    Judged(
        USER,
        "Ứng dụng hiển thị sai dấu tiếng Việt khi xuất báo cáo PDF",
        (("accents", "tieng viet"), ("accents", "xuat bao cao")),
    ),
    Judged(
        SAID,
        "The webhook handler must be idempotent: store the event id and return 200 on a repeat.",
        (
            ("half a sentence", "webhook idempotent"),
            ("question", "how should the webhook handle a repeat"),
            ("prefix", "idempot*"),
        ),
    ),
    Judged(
        CALL,
        "edit\n/home/dev/code/kanban-web/src/useDragSort.ts\nconst sensors = useSensors(pointer)",
        (("identifier", "useDragSort"), ("path", "src/useDragSort.ts"), ("pieces", "sensors drag")),
    ),
    Judged(
        ERROR,
        "sqlite3.OperationalError: database is locked while running migrate_0042",
        (
            ("phrase", '"database is locked"'),
            ("identifier", "migrate_0042"),
            ("error code", "OperationalError locked"),
        ),
    ),
    Judged(
        SAID,
        "WAL mode lets readers go on while one writer appends; checkpoints move pages back.",
        (("half a sentence", "readers writer checkpoints"), ("question", "what does wal mode do")),
    ),
    Judged(
        USER,
        "เซิร์ฟเวอร์ล่มตอนสร้างดัชนีค้นหา ช่วยดูบันทึกให้หน่อย",
        (("CJK", "ดัชนี"), ("CJK", "สร้างดัชนี")),
    ),
    Judged(
        USER,
        "remember: never push to main without running the contract tests",
        (
            ("half a sentence", "never push contract tests"),
            ("question", "what must run before a push"),
        ),
    ),
    Judged(
        SAID,
        "I chose argon2id with 64 MiB because bcrypt silently truncates at 72 bytes.",
        (("identifier", "argon2id"), ("half a sentence", "bcrypt truncates"), ("prefix", "bcr*")),
    ),
    Judged(
        USER,
        "把重试间隔改成指数退避，最多五次",
        (("CJK", "指数退避"), ("CJK", "重试间隔")),
    ),
)

WORDS = re.compile(r"[^\W_]+")
FILLER = [
    "the",
    "a",
    "to",
    "of",
    "and",
    "in",
    "is",
    "it",
    "that",
    "for",
    "with",
    "on",
    "this",
    "be",
    "as",
    "are",
    "we",
    "can",
    "should",
    "now",
    "test",
    "file",
    "code",
    "run",
    "line",
    "build",
    "error",
    "value",
    "user",
    "server",
    "data",
    "request",
    "function",
    "change",
    "check",
    "update",
    "result",
]


class Row(NamedTuple):
    """One row of the corpus and what it is for."""

    given: Given
    judged: int | None


def corpus(seed: int) -> list[Row]:
    """Make the judged texts and everything that stands in their way, in order of time."""
    chance = random.Random(seed)  # noqa: S311 - a reproducible corpus, no secret
    rows: list[Row] = []
    for number, judged in enumerate(JUDGED):
        words = WORDS.findall(judged.text)
        rows.append(Row(_given(judged, number), number))
        rows += [Row(given, None) for given in _distractors(chance, words, number)]
        if number % 4 == 0:
            rows.append(Row(_given(judged, number, fork=True), number))
        rows += [Row(given, None) for given in _echoes(judged, number)]
    for _ in range(600):
        rows.append(Row(Given(_prose(chance, FILLER, 20), session=f"ses_{chance.random()}"), None))
    chance.shuffle(rows)
    return rows


def _given(judged: Judged, number: int, *, fork: bool = False) -> Given:
    session = f"ses_{number}" + ("_fork" if fork else "")
    fields = {"session": session, "said_at": START + number}
    match judged.kind:
        case Kind.TOOL_INPUT:
            return Given(judged.text, tool="bash", output="ok", **fields)  # type: ignore[arg-type]
        case Kind.TOOL_ERROR:
            error = {"kind": ERROR, "tool": "bash", "output": judged.text}
            return Given("bash\nmake", **error, **fields)  # type: ignore[arg-type]
        case kind:
            return Given(judged.text, kind=kind, **fields)  # type: ignore[arg-type]


def _distractors(chance: random.Random, words: list[str], number: int) -> list[Given]:
    """Give texts with some of the words, and logs that repeat them all."""
    found = [
        Given(
            _prose(chance, [*chance.sample(words, min(len(words), 2)), *FILLER], 30),
            kind=chance.choice((USER, SAID)),
            session=f"ses_other_{number}_{turn}",
        )
        for turn in range(8)
    ]
    for turn in range(3):
        log = "\n".join(_prose(chance, [*words, *FILLER], 12) for _ in range(60))
        found.append(Given(f"bash\ncat app-{turn}.log", tool="bash", output=log))
    found.append(Given(_prose(chance, words * 3, len(words) * 3), machine="synthetic"))
    return found


def _echoes(judged: Judged, number: int) -> list[Given]:
    """Give what an earlier search for the same thing left in a later session."""
    query = judged.queries[0][1]
    call = f"bash\nmimohist search {query}"
    return [
        Given(call, tool="bash", output=f"mimo/ses_{number}  {judged.text}", echo=True),
        Given(call, tool="bash", output=f"mimo/ses_{number}  {judged.text}", echo=True),
    ]


def _prose(chance: random.Random, words: list[str], count: int) -> str:
    return " ".join(chance.choices(words, k=count))


# The three rankings


def ours(rows: list[Row]) -> Callable[[str], list[int]]:
    """Rank as mimohist does."""
    db = index_of(*(row.given for row in rows))

    def ranked(query: str) -> list[int]:
        answer = search(db, Query(words=(query,), limit=10), time.monotonic)
        return [int(hit.part_id[-4:]) - 1 for hit in answer.hits]

    return ranked


def original(rows: list[Row]) -> Callable[[str], list[int]]:
    """Rank as the original design does: its four kinds, all words, plain bm25."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE f USING fts5(body, tokenize='unicode61 remove_diacritics 1')")
    for number, row in enumerate(rows):
        given = row.given
        body = given.body
        if given.tool:
            tool, _, command = given.body.partition("\n")
            body = f"{tool} {json.dumps({'command': command}, ensure_ascii=False)}"
            if given.row_kind is ERROR:
                body += f" {given.output}"
        db.execute("INSERT INTO f(rowid, body) VALUES (?, ?)", (number, body))

    def ranked(query: str) -> list[int]:
        words = re.findall(r"\w+", query)
        if not words:
            return []
        match = " AND ".join(f'"{word}"' for word in words)
        sql = "SELECT rowid FROM f WHERE f MATCH ? ORDER BY bm25(f) LIMIT 10"
        return [row for (row,) in db.execute(sql, (match,))]

    return ranked


def substring(rows: list[Row]) -> Callable[[str], list[int]]:
    """Give the newest texts that hold the query as it is, in any case."""

    def ranked(query: str) -> list[int]:
        needle = query.strip('"*').lower()
        found = [
            number
            for number, row in enumerate(rows)
            if needle in f"{row.given.body}\n{row.given.output or ''}".lower()
        ]
        return found[::-1][:10]

    return ranked


class Quality(NamedTuple):
    """Means over some queries."""

    mrr: float
    recall: float


def judge(rows: list[Row], ranked: Callable[[str], list[int]], sort: str | None) -> Quality:
    """Ask all queries of one sort; a fork of the right text is right as well."""
    ranks = []
    for number, judged in enumerate(JUDGED):
        right = {place for place, row in enumerate(rows) if row.judged == number}
        for kind, query in judged.queries:
            if sort is None or sort == kind:
                places = [place for place, row in enumerate(ranked(query), 1) if row in right]
                ranks.append(places[0] if places else 0)
    found = [rank for rank in ranks if rank]
    return Quality(sum(1 / rank for rank in found) / len(ranks), len(found) / len(ranks))


def main() -> None:
    """Print the comparison over five seeds."""
    seeds = range(1, 6)
    made = [corpus(seed) for seed in seeds]
    count = sum(len(judged.queries) for judged in JUDGED)
    sorts = dict.fromkeys(kind for judged in JUDGED for kind, _ in judged.queries)
    out = sys.stdout.write
    out(f"{count} judged queries, {len(made[0])} rows, {len(made)} seeds; MRR@10 / recall@10\n")
    out(
        f"{'':16}" + "".join(f"{name:>22}" for name in ("mimohist", "original", "substring")) + "\n"
    )
    rankings = [[way(rows) for rows in made] for way in (ours, original, substring)]
    for sort in (None, *sorts):
        cells = []
        for ways in rankings:
            results = [judge(rows, way, sort) for rows, way in zip(made, ways, strict=True)]
            mrr = sum(result.mrr for result in results) / len(results)
            recall = sum(result.recall for result in results) / len(results)
            cells.append(f"{mrr:14.3f} / {recall:.3f}")
        out(f"{sort or 'all':16}" + "".join(f"{cell:>22}" for cell in cells) + "\n")


if __name__ == "__main__":
    main()
