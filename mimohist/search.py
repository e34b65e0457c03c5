"""The query core: a `Query` in, an `Answer` out.  Reads only; knows no terminal and no clock."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from math import log
from typing import TYPE_CHECKING, NamedTuple

from mimohist import candidates, scope
from mimohist.answers import Answer, Hit, Mode, Query, Sort
from mimohist.candidates import Lookup, Row, by_rank
from mimohist.columns import DEFAULT_KINDS, SIX, targets
from mimohist.errors import BadInput
from mimohist.hits import build
from mimohist.kinds import Kind
from mimohist.query import Term, parse, stands
from mimohist.run import Run, allowed_texts
from mimohist.text import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from sqlite3 import Connection

COUNTED = 2_000
"""How many of the newest matches are counted, copies once, when not all were looked at."""

ANY_WINDOW = 2_000
"""How many rows the rarer words of an any-word search may have together."""

FLOOR = 0.25
"""A widened hit must have this much of the best one's score."""


def search(
    db: Connection,
    query: Query,
    clock: Callable[[], float],
    veil: Callable[[str], str] | None = None,
) -> Answer:
    """Find what a query asks for, best first.

    `clock` gives seconds that only grow; `veil` changes what is shown of a text, as
    `redact.redact` does, before it is cut to a snippet.  Raises `BadInput` for words, filters or
    expressions that cannot be understood.
    """
    run = start(db, query, clock)
    run.veil = veil
    kinds = asked_kinds(query)
    with _bounded(run):
        found = _hits(run, kinds, any_word=query.any_word)
        widened = None
        if not found.hits and _may_widen(query):
            found, widened = _widen(run, kinds)
        return _answer(run, found, widened)


@contextmanager
def _bounded(run: Run) -> Iterator[None]:
    """See to it that no regular expression is matched for longer than the search may take."""
    if run.query.mode is not Mode.REGEX:
        yield
        return
    from mimohist.alarm import alarm  # most searches have no need of signals

    with alarm(run.query.seconds) as run.alarm:
        yield


def start(db: Connection, query: Query, clock: Callable[[], float]) -> Run:
    """Understand a query: its words and its filters."""
    began = clock()
    within = scope.resolve(db, query)
    run = Run(db, query, clock, within)
    run.started = began
    if query.mode is Mode.WORDS:
        run.terms = parse(query.words)
        run.without = parse(query.without) if query.without else ()
    elif not any(word.strip() for word in query.words):
        raise BadInput('nothing to search for; give a word, or a "phrase" in quotes')
    where = within.project or ("everything" if not within.tags else "what the filters name")
    run.note("scope", where, within.sessions, began)
    return run


def asked_kinds(query: Query) -> tuple[Kind, ...]:
    """Give the kinds to look at before any widening; titles belong to the default."""
    return query.kinds or (*(query.default_kinds or DEFAULT_KINDS), Kind.TITLE)


def _may_widen(query: Query) -> bool:
    return not (query.strict or query.kinds or query.any_word) and query.mode is Mode.WORDS


class Found(NamedTuple):
    """Matching rows, copies folded, and how many there are in all (None: at least `known`)."""

    hits: tuple[Row, ...] = ()
    known: int = 0
    total: int | None = 0
    kinds: tuple[Kind, ...] = ()
    terms: tuple[Term, ...] = ()


def _widen(run: Run, kinds: tuple[Kind, ...]) -> tuple[Found, str | None]:
    every = (*SIX, Kind.TITLE)
    if set(kinds) != set(every):
        found = _hits(run, every)
        if found.hits:
            return found, "kinds"
    if len(run.terms) > 1:
        found = _hits(run, every, any_word=True, floor=FLOOR)
        if found.hits:
            return found, "any"
    return Found(kinds=kinds), None


def _hits(
    run: Run, kinds: tuple[Kind, ...], *, any_word: bool = False, floor: float = 0.0
) -> Found:
    """Look for the terms in some kinds: the rows to show, copies folded."""
    began = run.clock()
    query = run.query
    if query.mode is Mode.WORDS and not any(term.tokens for term in run.terms):
        from mimohist.scan import literals

        found = _fold(run, literals(run, kinds), kinds)
        run.note("scan", " ".join(term.said for term in run.terms), found.known, began)
        return found
    if query.mode in (Mode.FIXED, Mode.REGEX):
        from mimohist.scan import lines

        found = _fold(run, lines(run, kinds), kinds)
        run.note("lines", " ".join(query.words), found.known, began)
        return found
    if any_word and len(run.terms) > 1:
        rows = any_of(run, kinds, floor)
        found = _fold(run, iter(rows), kinds)
        run.note("any word", lookup(run, kinds, any_word=True).match, found.known, began)
        return found
    look = lookup(run, kinds)
    found = _best(run, look, kinds) if query.sort is Sort.RANK else _timed(run, look, kinds)
    run.note("all words", look.match, found.known, began)
    return found


def lookup(run: Run, kinds: tuple[Kind, ...], *, any_word: bool = False) -> Lookup:
    """Write the query for some kinds as FTS5 reads it."""
    if run.query.mode is Mode.FTS:
        words = " ".join(run.query.words)
        parts = [
            target.within(f"{{{' '.join(target.columns + target.pieces)}}} : ({words})")
            for target in targets(kinds, machine=run.query.machine)
        ]
        match = " OR ".join(parts)
        tags = run.scope.match
        return Lookup(f"({match}) AND {tags}" if tags else match, run.scope)
    match = candidates.expression(
        run.terms,
        targets(kinds, machine=run.query.machine),
        run.scope,
        without=run.without,
        any_word=any_word,
    )
    return Lookup(match, run.scope)


# One window after another, until there are enough


def verified(run: Run, rows: Iterator[Row], kinds: tuple[Kind, ...]) -> Iterator[Row]:
    """Leave out the rows that only the tokens matched, reading texts where needed."""
    loose = tuple(term for term in run.terms if not term.exact)
    banned = tuple(term for term in run.without if not term.exact)
    for row in rows:
        if loose or banned or (row.machine and row.machine != "summary"):
            if run.late:
                run.cut_off = True
                return
            needed = run.terms if row.machine else loose
            if not _holds(run, row, kinds, needed, banned):
                continue
        yield row


def _holds(
    run: Run,
    row: Row,
    kinds: tuple[Kind, ...],
    needed: tuple[Term, ...],
    banned: tuple[Term, ...],
) -> bool:
    texts = [fold(text) for text in allowed_texts(run, row, kinds)]
    if not all(any(_stands(term, text) for text in texts) for term in needed):
        return False
    return not any(stands(term, text) for term in banned for text in texts)


def _stands(term: Term, folded: str) -> bool:
    # A single token may stand as a piece of a camelCase word; FTS5 has seen to that.
    return stands(term, folded) or (term.exact and term.tokens[0] in folded)


def _best(run: Run, look: Lookup, kinds: tuple[Kind, ...]) -> Found:
    limit, exact = run.query.limit, run.query.exact
    window = -1 if exact or not limit else max(candidates.width(run.db, run.terms), limit)
    kept: dict[int, Row] = {}
    known = 0
    whole = False
    sure = not any(not term.exact for term in (*run.terms, *run.without))
    for part in candidates.ranked(run.db, look, window):
        for row in verified(run, part.rows, kinds):
            # Of copies the first one said is shown: a fork's come later.
            kept[row.copy] = min(kept.get(row.copy, row), row, key=lambda one: one.at)
            if limit and len(kept) >= limit * 3 and not (sure and exact):
                counted = sorted(part.ids)[-COUNTED:] if sure else []
                known = candidates.distinct(run.db, look.scope, counted)
                whole = sure and not part.full and len(counted) == len(part.ids)
                break
        else:
            whole = not part.full and not run.cut_off
        if run.cut_off or (limit and len(kept) >= limit):
            break
    rows = _signed(run, sorted(kept.values(), key=by_rank))
    known = max(known, len(kept))
    return Found(
        tuple(rows[:limit] if limit else rows),
        known,
        known if whole else None,
        kinds,
        run.terms,
    )


def _signed(run: Run, rows: list[Row]) -> list[Row]:
    """Raise rows that hold a word with the sign that was dropped at its edge (`main(`)."""
    signs = [term.sign for term in run.terms if term.sign]
    if not signs or run.query.sort is not Sort.RANK:
        return rows
    raised = []
    for row in rows[: max(3 * run.query.limit, 30)]:
        texts = [fold(text) for text in run.texts.of(row.id)[:2]]
        held = sum(any(sign in text for text in texts) for sign in signs)
        raised.append(row._replace(score=row.score * (1 + 0.5 * held)))
    return sorted(raised, key=by_rank) + rows[len(raised) :]


def _timed(run: Run, look: Lookup, kinds: tuple[Kind, ...]) -> Found:
    newest = run.query.sort is Sort.NEWEST
    rows = candidates.by_time(run.db, look, 1_000 if run.query.limit else -1, newest=newest)
    return _fold(run, verified(run, rows, kinds), kinds)


def _fold(run: Run, rows: Iterator[Row], kinds: tuple[Kind, ...]) -> Found:
    """Take rows in their order until there are enough that are no copies of each other."""
    limit = run.query.limit
    kept: dict[int, Row] = {}
    more = False
    for row in rows:
        if limit and len(kept) == limit and row.copy not in kept:
            more = True
            break
        kept.setdefault(row.copy, row)
    known = len(kept) + more
    total = None if more or run.cut_off else known
    return Found(tuple(kept.values()), known, total, kinds, run.terms)


# Any of the words


def any_of(run: Run, kinds: tuple[Kind, ...], floor: float) -> list[Row]:
    """Rank the rows that hold any of the words, the more telling ones the higher.

    A recency window would ruin this, so it is bounded by the rarer words: rows
    that hold one of them are ranked by those, then by what all the words tell; rows
    that hold only common words are looked at when there is room.
    """
    where = targets(kinds, machine=run.query.machine)
    sized = []
    for term in run.terms:
        if term.tokens:
            match = candidates.expression((term,), where, run.scope)
            sized.append((_count(run, match, ANY_WINDOW), term))
    sized.sort(key=lambda pair: pair[0])
    rare: list[Term] = []
    room = ANY_WINDOW
    for count, term in sized:
        if rare and count > room:
            break
        rare.append(term)
        room -= count
    # bm25 reads the whole list of every word it is given, so the common ones are not:
    # what they add is told by the texts of the best rows.
    match = candidates.expression(tuple(rare), where, run.scope, without=run.without, any_word=True)
    rows: list[Row] = []
    for part in candidates.ranked(run.db, Lookup(match, run.scope), 2 * ANY_WINDOW):
        rows = list(islice(part.rows, max(60, 5 * run.query.limit) if run.query.limit else None))
        break
    worth = {term: _worth(run.db, count) for count, term in sized}
    return _by_coverage(run, rows, kinds, floor, worth)


def _worth(db: Connection, count: int) -> float:
    """Say how much a word tells that stands in `count` rows: common ones next to nothing."""
    first, last = candidates.span(db, scope.Scope())
    return log(1 + (last - first + 1) / (1 + count))


def _count(run: Run, match: str, most: int) -> int:
    sql = (
        "SELECT count(*) FROM (SELECT 1 FROM history_fts_idx WHERE history_fts_idx MATCH :match"
        " AND rowid BETWEEN :low AND :high LIMIT :most)"
    )
    values = {"match": match, "low": run.scope.low, "high": run.scope.high, "most": most}
    rows = candidates.run(run.db, sql, values)
    return int(str(rows[0][0]))


def _by_coverage(
    run: Run, rows: list[Row], kinds: tuple[Kind, ...], floor: float, worth: dict[Term, float]
) -> list[Row]:
    """Rank rows by their score and by how much of what the words tell they hold."""
    best = rows[0].score if rows else 0.0
    covered: list[Row] = []
    for row in rows:
        if row.score < floor * best:
            continue
        texts = [fold(text) for text in allowed_texts(run, row, kinds)]
        held = [term for term in run.terms if any(_stands(term, text) for text in texts)]
        if held:
            told = sum(worth.get(term, 0.0) for term in held) / sum(worth.values())
            covered.append(row._replace(score=row.score * told))
    return sorted(covered, key=by_rank)


# What must be said about it


def _answer(run: Run, found: Found, widened: str | None) -> Answer:
    hits: tuple[Hit, ...] = build(run, found.hits, found.kinds, widened)
    machine = elsewhere = 0
    if not hits:
        machine = _machine_hits(run)
        elsewhere = _elsewhere(run)
    return Answer(
        hits=hits,
        total=found.total,
        known=found.known,
        scope=run.scope.project,
        sessions=run.scope.sessions,
        widened=widened,
        machine_hits=machine,
        elsewhere=elsewhere,
        cut_off=run.cut_off,
        fresh=_fresh(run.db),
        steps=tuple(run.steps),
    )


def _machine_hits(run: Run) -> int:
    if run.query.machine or run.query.mode is not Mode.WORDS:
        return 0
    began = run.clock()
    other = run.aside(run.query._replace(machine=True, limit=0), run.scope)
    kinds = run.query.kinds or (*SIX, Kind.TITLE)
    count = len(_hits(other, kinds).hits)
    run.note("machine text", "the same words where -a looks", count, began)
    return count


def _elsewhere(run: Run) -> int:
    if run.scope.project is None or run.query.mode is not Mode.WORDS:
        return 0
    began = run.clock()
    query = run.query._replace(everywhere=True, limit=0)
    other = run.aside(query, scope.resolve(run.db, query))
    count = len(_hits(other, run.query.kinds or (*SIX, Kind.TITLE)).hits)
    run.note("elsewhere", "the same words in all projects", count, began)
    return count


def _fresh(db: Connection) -> int | None:
    row = db.execute("SELECT max(time_read) FROM root").fetchone()
    return row[0] if row else None


# The short answers


def matching(db: Connection, query: Query, clock: Callable[[], float]) -> Iterator[Row]:
    """Give every matching row, copies folded, for counts and lists of sessions or refs.

    Nothing widens here: what is counted is what was asked for.
    """
    run = start(db, query._replace(limit=0, strict=True), clock)
    with _bounded(run):
        found = _hits(run, asked_kinds(query), any_word=query.any_word)
    yield from found.hits
