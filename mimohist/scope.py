"""Which rows a search may look at: filters and the default project, as tags and time ranges.

A filter that names nothing is an error here, never an empty result later.
"""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from mimohist.directories import below
from mimohist.errors import BadInput
from mimohist.naming import sessions_named
from mimohist.schema import ZONE_BITS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection

    from mimohist.answers import Query

GLOBAL = "global"
"""MiMo Code's and opencode's project id for every folder outside git: it says nothing."""


class Scope(NamedTuple):
    """What a search is confined to.

    `tags` are groups of tag tokens, of each group one must be there.  `low` and `high` bound the
    row ids in which `since` (inclusive) and `until` (exclusive, epoch ms) can be met.
    `project` is the directory of the default scope, None when a filter or nothing decided.
    """

    tags: tuple[tuple[str, ...], ...] = ()
    since: int | None = None
    until: int | None = None
    low: int = 0
    high: int = 2**62
    project: str | None = None
    sessions: int = 0

    @property
    def match(self) -> str:
        """The tags as a part of an FTS5 expression, or ""."""
        return " AND ".join(
            "tags : (" + " OR ".join(f'"{tag}"' for tag in group) + ")" for group in self.tags
        )

    @property
    def timed(self) -> bool:
        """Whether a row's own time must be looked at."""
        return self.since is not None or self.until is not None


def resolve(db: Connection, query: Query) -> Scope:
    """Turn the filters of a query into a scope.

    Raises `BadInput` for a filter that names nothing.
    """
    tags: list[tuple[str, ...]] = []
    where: list[tuple[str, ...]] = []
    project = None
    if query.sources:
        where.append(_sources(db, query.sources))
    if query.projects:
        where.append(_projects(db, query.projects))
    if query.sessions:
        where.append(_sessions(db, query.sessions))
    if not (query.projects or query.sessions or query.everywhere or query.here is None):
        project, rows = here(db, query.here, query.home)
        if project is not None:
            where.append(tuple(f"p{row}" for row in rows))
    tags += where
    if query.tools:
        tags.append(_tools(db, query.tools))
    if query.agents:
        tags.append(_agents(db, query.agents))
    low, high = _bounds(db, query.since, query.until)
    return Scope(
        tags=tuple(tags),
        since=query.since,
        until=query.until,
        low=low,
        high=high,
        project=project,
        sessions=_count_sessions(db, where),
    )


def _sources(db: Connection, names: Iterable[str]) -> tuple[str, ...]:
    known = db.execute("SELECT id, source FROM root").fetchall()
    found = []
    for name in names:
        mine = [f"r{row}" for row, source in known if source == name.lower()]
        if not mine:
            have = ", ".join(sorted({source for _, source in known})) or "none"
            raise BadInput(f"no source {name!r} in the index; there are: {have}")
        found += mine
    return tuple(found)


def _sessions(db: Connection, texts: Iterable[str]) -> tuple[str, ...]:
    found: list[str] = []
    for text in texts:
        rows = sessions_named(db, text)
        if not rows:
            raise BadInput(f"no session {text!r} in the index; `mimohist sql sessions` lists them")
        found += [f"s{row}" for row in rows]
    return tuple(found)


def _tools(db: Connection, names: Iterable[str]) -> tuple[str, ...]:
    known = [
        (row, name)
        for row, name in db.execute(
            "SELECT id, text FROM name n WHERE EXISTS"
            " (SELECT 1 FROM history_fts h WHERE h.tool = n.id LIMIT 1)"
        )
    ]
    return tuple(_named(known, names, "t", "tool"))


def _agents(db: Connection, names: Iterable[str]) -> tuple[str, ...]:
    known = db.execute(
        "SELECT id, text FROM name WHERE id IN"
        " (SELECT agent FROM message UNION SELECT agent_name FROM message)"
    ).fetchall()
    return tuple(_named(known, names, "a", "agent"))


def _named(
    known: list[tuple[int, str]], names: Iterable[str], letter: str, word: str
) -> Iterable[str]:
    for name in names:
        mine = [row for row, text in known if text.lower() == name.lower()]
        if not mine:
            have = ", ".join(sorted(text for _, text in known)[:12]) or "none"
            raise BadInput(f"no {word} {name!r} in the index; there are: {have}")
        yield from (f"{letter}{row}" for row in mine)


def _projects(db: Connection, directories: Iterable[str]) -> tuple[str, ...]:
    rows = db.execute("SELECT id, worktree, directory FROM project").fetchall()
    found = []
    for directory in directories:
        mine = [row for row, *paths in rows if any(below(path, directory) for path in paths)]
        # A session may have run in a directory that it knew by a link.
        mine = mine or [
            row for row, *paths in rows if any(below(_real(path), directory) for path in paths)
        ]
        if not mine:
            raise BadInput(f"no session ran in {directory}; `mimohist sql projects` lists projects")
        found += [f"p{row}" for row in mine]
    return tuple(dict.fromkeys(found))


def _real(path: str) -> str:
    return os.path.realpath(path) if path.startswith("/") else path


def here(db: Connection, directory: str, home: str | None) -> tuple[str | None, tuple[int, ...]]:
    """Find the project of a directory: the deepest known one that it is or lies in.

    Gives that directory and the rows of `project` that belong to it: those at or below it,
    and those that share an id with them, since ids and directories both change.  The
    root and the home directory are nobody's project.
    """
    above = {directory, *map(str, PurePath(directory).parents)} - {"/", "", home}
    rows = db.execute("SELECT id, project_id, worktree, directory FROM project").fetchall()
    known = {path for _, _, worktree, path in rows for path in (worktree, path) if path in above}
    if not known:
        return None, ()
    deepest = max(known, key=len)
    mine = [row for row in rows if below(row[3], deepest) or below(row[2], deepest)]
    ids = {project_id for _, project_id, _, _ in mine if project_id not in ("", GLOBAL)}
    return deepest, tuple(row[0] for row in rows if row in mine or row[1] in ids)


def _bounds(db: Connection, since: int | None, until: int | None) -> tuple[int, int]:
    """Give the row ids outside of which no row has a time in the range."""
    low, high = 0, 2**62
    if since is not None:
        (block,) = db.execute("SELECT min(block) FROM zone WHERE high >= ?", (since,)).fetchone()
        low = high if block is None else block << ZONE_BITS
    if until is not None:
        (block,) = db.execute("SELECT max(block) FROM zone WHERE low < ?", (until,)).fetchone()
        high = -1 if block is None else ((block + 1) << ZONE_BITS) - 1
    return low, high


def _count_sessions(db: Connection, where: list[tuple[str, ...]]) -> int:
    columns = {"s": "id", "p": "project", "r": "root"}
    conditions = [
        f"{columns[group[0][0]]} IN ({', '.join(tag[1:] for tag in group)})" for group in where
    ]
    condition = " AND ".join(conditions) or "1"
    (count,) = db.execute(f"SELECT count(*) FROM session WHERE {condition}").fetchone()
    return int(count)
