"""The index made anew from what is stored, and verified.

Sessions whose sources exist are read again first (`read_again`, then a backfill), in the short
transactions of any backfill.  Then everything is put in the order of time in one transaction
of the index itself: searches go on with the old tables until it commits, and a run that
is killed leaves them as they were.  Until then the file and its `-wal` together take about three
times the room of the index; afterwards it is compacted, which takes twice its room.
"""

from __future__ import annotations

from sqlite3 import DatabaseError
from typing import TYPE_CHECKING

from mimohist import schema, store, store_tuning
from mimohist.kinds import Kind
from mimohist.store import statements
from mimohist.store_rows import BASE, RULES, TEXT_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection


def reindex(db: Connection) -> int:
    """Order all rows by time, and rebuild the full-text table from them; give their number.

    `db` comes from `store.open_writer` and is held under `store.lock`.  Raises `IndexUnusable`
    when it cannot be written (a full disk); it is then as it was.
    """
    try:
        count = _rebuild(db)
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except DatabaseError as error:
        raise store.unwritable(db, error) from error
    return count


def _rebuild(db: Connection) -> int:
    db.execute("PRAGMA legacy_alter_table = ON")
    db.execute("BEGIN IMMEDIATE")
    try:
        _narrow(db)
        db.execute(
            "CREATE TEMP TABLE moved AS SELECT id AS old,"
            f" {BASE} - 1 + row_number() OVER (ORDER BY time_created, id) AS new FROM history_fts"
        )
        db.execute("CREATE UNIQUE INDEX temp.moved_new ON moved(new)")
        store_tuning.rebuilding(db)
        for table in ("history_fts", "history_text"):
            _reorder(db, table)
        _recreate_indexes(db)
        db.execute("DELETE FROM zone")
        (count,) = db.execute("SELECT count(*) FROM history_fts").fetchone()
        db.execute(schema.WIDEN_ZONES, {"first": BASE, "last": BASE + count})
        for step in ("rebuild", "optimize"):
            db.execute("INSERT INTO history_fts_idx(history_fts_idx) VALUES (?)", (step,))
        store_tuning.end(db)
        db.execute("DROP TABLE temp.moved")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    finally:
        db.execute("PRAGMA legacy_alter_table = OFF")
    return int(count)


def _narrow(db: Connection) -> None:
    """Drop what the index is no longer built for; the full-text table is rebuilt afterwards."""
    row = db.execute("SELECT value FROM state WHERE key = 'index_kinds'").fetchone()
    if row is None:
        return
    kept = set(row[0].split(","))
    body = {Kind.TOOL_INPUT} & kept
    for kind, sides in (
        (Kind.TOOL_OUTPUT, (body, {Kind.TOOL_OUTPUT} & kept)),
        (Kind.TOOL_ERROR, (body | {Kind.TOOL_ERROR} & kept, {Kind.TOOL_ERROR} & kept)),
    ):
        rows = f"id IN (SELECT id FROM history_fts WHERE kind = '{kind}')"
        if not sides[0]:
            db.execute(
                "UPDATE history_text SET body = '', pieces = NULL, folded_body = NULL,"
                f" cut = NULL, folded_cut = NULL WHERE {rows}"
            )
        if not sides[1]:
            db.execute(
                "UPDATE history_text SET output = NULL, output_pieces = NULL, folded_output = NULL"
                f" WHERE {rows}"
            )
    others = {str(kind) for kind in Kind if kind not in kept} - {
        "title",
        "tool_output",
        "tool_error",
    }
    marks = ", ".join("?" * len(others))
    db.execute(f"DELETE FROM history_fts WHERE kind IN ({marks})", sorted(others))
    db.execute(
        "DELETE FROM history_fts WHERE kind LIKE 'tool%' AND id IN"
        " (SELECT id FROM history_text WHERE body = '' AND output IS NULL)"
    )
    db.execute("DELETE FROM history_text WHERE id NOT IN (SELECT id FROM history_fts)")


def _reorder(db: Connection, table: str) -> None:
    made = next(
        statement
        for statement in statements(schema.TABLES)
        if statement.startswith(f"CREATE TABLE {table}(")
    )
    db.execute(made.replace(f"TABLE {table}(", f"TABLE {table}_new(", 1))
    columns = [name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]
    rest = ", ".join(column for column in columns if column != "id")
    db.execute(
        f"INSERT INTO {table}_new(id, {rest}) SELECT new, {rest} FROM moved"
        f" JOIN {table} ON {table}.id = old ORDER BY new"
    )
    db.execute(f"DROP TABLE {table}")
    db.execute(f"ALTER TABLE {table}_new RENAME TO {table}")


def _recreate_indexes(db: Connection) -> None:
    for statement in statements(schema.TABLES):
        if " ON history_fts(" in statement:
            db.execute(statement)


def outdated(db: Connection, kinds: frozenset[Kind]) -> bool:
    """Whether the stored rows were made for other kinds, or by other rules, than now."""
    state = dict(db.execute("SELECT key, value FROM state").fetchall())
    return any(state.get(key, value) != value for key, value in _wanted(kinds).items())


def _wanted(kinds: frozenset[Kind]) -> dict[str, str]:
    return {
        "index_kinds": ",".join(sorted(kinds)),
        "rules": str(RULES),
        "text_limit": str(TEXT_LIMIT),
    }


def read_again(db: Connection, kinds: frozenset[Kind], source: str | None) -> None:
    """Make the next backfill read every session that still exists from the start.

    Rows of kinds that are no longer wanted go with `reindex`, also of sources that are gone.
    """
    where = "" if source is None else " WHERE source = :source"
    values = {"source": source}
    roots = f"(SELECT id FROM root{where})"
    db.execute("BEGIN IMMEDIATE")
    db.execute(f"UPDATE session SET stamp = '', mark = '' WHERE root IN {roots}", values)
    db.execute(f"UPDATE root SET stamp = '', memory = '', time_verified = NULL{where}", values)
    for key, value in _wanted(kinds).items():
        db.execute("INSERT OR REPLACE INTO state(key, value) VALUES (?, ?)", (key, value))
    db.execute("COMMIT")


def check(db: Connection) -> Iterator[str]:
    """Give what is wrong with the index, nothing when it is sound.

    FTS5 compares every row with the table it was made from, word by word.
    """
    try:
        db.execute(
            "INSERT INTO history_fts_idx(history_fts_idx, rank) VALUES ('integrity-check', 1)"
        )
    except DatabaseError as error:
        yield f"the full-text table does not agree with the rows ({error})"
    try:
        for (line,) in db.execute("PRAGMA integrity_check(5)"):
            if line != "ok":
                yield str(line)
        for what, sql in _COUNTS.items():
            (count,) = db.execute(sql).fetchone()
            if count:
                yield f"{count} {what}"
    except DatabaseError as error:
        yield f"the file is damaged ({error})"


_COUNTS = {
    "rows without text": "SELECT count(*) FROM history_fts h"
    " WHERE NOT EXISTS (SELECT 1 FROM history_text t WHERE t.id = h.id)",
    "texts without a row": "SELECT count(*) FROM history_text t"
    " WHERE NOT EXISTS (SELECT 1 FROM history_fts h WHERE h.id = t.id)",
    "rows without a session": "SELECT count(*) FROM history_fts h"
    " WHERE NOT EXISTS (SELECT 1 FROM session s WHERE s.id = h.session)",
    "rows without their message": "SELECT count(*) FROM history_fts h WHERE h.message IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM message m WHERE m.id = h.message)",
    "rows missing from the full-text table": "SELECT abs((SELECT count(*) FROM history_fts)"
    " - (SELECT count(*) FROM history_fts_idx_docsize))",
    "rows outside their zone of time": "SELECT count(*) FROM history_fts h WHERE NOT EXISTS"
    f" (SELECT 1 FROM zone z WHERE z.block = h.id >> {schema.ZONE_BITS}"
    " AND h.time_created BETWEEN z.low AND z.high)",
}
