"""What a reference names in this index."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mimohist.errors import BadInput, NotFound
from mimohist.refs import Ref, parse

if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection


class Named(NamedTuple):
    """Rows of `session` and, where a message is meant, of `message`."""

    session: int
    message: int | None


def sessions_named(db: Connection, text: str) -> list[int]:
    """Give the row of the session that a text names; copies of one session in several roots all.

    Raises `BadInput` when the text fits several sessions; gives [] when it fits none.
    """
    for ref in parse(text):
        if ref.session and not ref.message and ref.ordinal is None:
            rows = _sessions(db, ref.source, ref.session)
            if rows:
                return [row for row, _, _ in _only_one(text, rows)]
    return []


def resolve(db: Connection, text: str) -> Named:
    """Find the message or session that a reference names.

    Raises `NotFound` when there is none, `BadInput` when it fits several.
    """
    for ref in parse(text):
        named = _resolve(db, text, ref)
        if named:
            return named
    raise NotFound(f"no message or session {text!r} in the index; `mimohist search` prints refs")


def _resolve(db: Connection, text: str, ref: Ref) -> Named | None:
    if ref.session is None:
        rows = db.execute(
            "SELECT m.session, m.id FROM message m WHERE m.message_id = ? ORDER BY m.session",
            (ref.message,),
        ).fetchall()
        return Named(*rows[0]) if rows else None
    sessions = _sessions(db, ref.source, ref.session)
    if ref.message is not None:
        for row, _, _ in sessions:
            found = db.execute(
                "SELECT id FROM message WHERE session = ? AND message_id = ?", (row, ref.message)
            ).fetchone()
            if found:
                return Named(row, found[0])
        return None
    if not sessions:
        return None
    row = _only_one(text, sessions)[0][0]
    if ref.ordinal is None:
        return Named(row, None)
    found = db.execute(
        "SELECT id FROM message WHERE session = ? ORDER BY time_created, message_id"
        " LIMIT 1 OFFSET ?",
        (row, ref.ordinal - 1),
    ).fetchone()
    return Named(row, found[0]) if found else None


def _sessions(db: Connection, source: str | None, text: str) -> list[tuple[int, str, str]]:
    """Give (row, source, id) of the sessions with this id, else with this beginning or end."""
    sql = (
        "SELECT s.id, r.source, s.session_id FROM session s JOIN root r ON r.id = s.root"
        " WHERE {} AND (:source IS NULL OR r.source = :source) ORDER BY s.id"
    )
    values = {"text": text, "source": source}
    exact = db.execute(sql.format("s.session_id = :text"), values).fetchall()
    if exact or len(text) < 3:  # noqa: PLR2004
        return exact
    return db.execute(
        sql.format(
            "(substr(s.session_id, 1, length(:text)) = :text"
            " OR substr(s.session_id, -length(:text)) = :text)"
        ),
        values,
    ).fetchall()


def _only_one(text: str, rows: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    ids = sorted({session_id for _, _, session_id in rows})
    if len(ids) > 1:
        some = " ".join(ids[:4]) + (" ..." if len(ids) > 4 else "")  # noqa: PLR2004
        raise BadInput(f"{text} names {len(ids)} sessions: {some}; give more of one")
    return rows


def short_ids(db: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Give for each session id the shortest end of it, of 8 or more, that names it alone."""
    found = {}
    for id in set(ids):
        for length in (8, 12, 16, 20):
            (count,) = db.execute(
                "SELECT count(DISTINCT session_id) FROM session"
                " WHERE substr(session_id, -:length) = :end",
                {"length": length, "end": id[-length:]},
            ).fetchone()
            if count <= 1:
                found[id] = id[-length:]
                break
    return found
