"""An index in memory, made of rows given in a test: what the query core reads, without a store.

db = index_of(Given("why does the total drift?"), Given("ls", output="a.py", tool="bash"))
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from mimohist import schema, text
from mimohist.records import Kind
from tests.memory import database

if TYPE_CHECKING:
    import sqlite3

START = 1_796_094_880_000
"""2026-12-01T03:14:40Z: the time of the first row; each next one is a second later."""


@dataclass(frozen=True, slots=True)
class Given:
    """One row; a row with a tool is a completed call unless `kind` says otherwise."""

    body: str
    kind: Kind | None = None
    output: str | None = None
    cut: str | None = None
    tool: str | None = None
    machine: str | None = None
    session: str = "ses_one"
    project: str = "/home/dev/shop"
    project_id: str = "shop"
    source: str = "mimo"
    agent: str = "main"
    at: int | None = None
    said_at: int | None = None
    echo: bool = False
    message: str | None = None

    @property
    def row_kind(self) -> Kind:
        return self.kind or (Kind.TOOL_OUTPUT if self.tool else Kind.USER_TEXT)


def index_of(*rows: Given) -> sqlite3.Connection:
    """Make an index that holds these rows, in this order of time."""
    db = database()
    for script in (schema.TABLES, schema.ROW_VIEW, schema.FTS_TABLE, schema.VIEWS):
        db.executescript(script)
    for number, row in enumerate(rows, 1):
        _add(db, number, row)
    db.execute(f"{schema.INDEX_ROWS} 1")
    if rows:
        db.execute(schema.WIDEN_ZONES, {"first": 1, "last": len(rows)})
    db.execute("INSERT INTO history_fts_idx(history_fts_idx, rank) VALUES ('integrity-check', 1)")
    return db


def _add(db: sqlite3.Connection, number: int, row: Given) -> None:
    at = row.at if row.at is not None else START + number * 1000
    said_at = row.said_at if row.said_at is not None else at
    root = _id(db, "root", source=row.source, path=f"/data/{row.source}.db")
    project = _id(
        db,
        "project",
        root=root,
        project_id=row.project_id,
        worktree=row.project,
        directory=row.project,
    )
    session = _id(
        db,
        "session",
        root=root,
        key=row.session,
        session_id=row.session,
        project=project,
        title=f"About {row.session}",
        path="/data/mimocode.db",
        time_created=START,
        time_updated=START,
        stamp="",
    )
    agent = _id(db, "name", text=row.agent)
    message = None
    if row.row_kind is not Kind.TITLE:
        message = _id(
            db,
            "message",
            session=session,
            message_id=row.message or f"msg_{number:04}",
            role="user" if row.row_kind is Kind.USER_TEXT else "assistant",
            agent=agent,
            time_created=said_at,
        )
    tool = _id(db, "name", text=row.tool) if row.tool else None
    whole = f"{row.row_kind}\0{row.tool}\0{said_at}\0{text.fold(row.body)}\0{row.output}"
    copy = int.from_bytes(blake2b(whole.encode(), digest_size=8).digest(), signed=True)
    db.execute(
        "INSERT INTO history_fts(id, root, part_id, session, project, message, kind, tool, machine,"
        " time_created, copy, echo) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            root,
            f"prt_{number:04}",
            session,
            project,
            message,
            row.row_kind,
            tool,
            row.machine,
            at,
            copy,
            row.echo,
        ),
    )
    db.execute(
        "INSERT INTO history_text VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            text.segment(row.body),
            row.output and text.segment(row.output),
            row.cut and text.segment(row.cut),
            text.pieces(row.body),
            row.output and text.pieces(row.output),
            text.folded(row.body),
            row.output and text.folded(row.output),
            row.cut and text.folded(row.cut),
        ),
    )


def _id(db: sqlite3.Connection, table: str, **columns: object) -> int:
    """Give the id of the row with these columns, made where there is none."""
    where = " AND ".join(f"{column} IS :{column}" for column in columns)
    found = db.execute(f"SELECT id FROM {table} WHERE {where}", columns).fetchone()
    if found:
        return int(found[0])
    names, marks = ", ".join(columns), ", ".join(f":{column}" for column in columns)
    made = db.execute(f"INSERT INTO {table}({names}) VALUES ({marks})", columns).lastrowid
    assert made is not None
    return made
