"""The file under a test database: its schema, journal, clock, and writing of single cells."""

from __future__ import annotations

# ruff: noqa: ANN401 - column names are the program's and the tests' own
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tests import mimo_data, mimo_ddl

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType

START = 1_796_094_880_000
"""2026-12-01T03:14:40Z, in epoch milliseconds: when the clock of a new database starts."""

SECOND = 1000


class DatabaseFile:
    """A database in WAL mode with the tables of `shape`; `tests.mimo_database` has the rows."""

    shape: ClassVar[dict[str, mimo_ddl.Table]]
    id_version: ClassVar[mimo_data.Version]

    def __init__(
        self,
        path: Path,
        *,
        without: Iterable[str] = (),
        ids: mimo_data.Version | None = None,
        seed: int = 0,
        start: int = START,
    ) -> None:
        """Make the file; ValueError when `without` names what is not in the schema."""
        self.path = path
        self.now = start
        self._ids = mimo_data.Ids(ids or self.id_version, seed)
        missing = frozenset(without)
        statements = mimo_ddl.tables(self.shape, missing) + mimo_ddl.indexes(self.shape, missing)
        self.connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=OFF", "wal_autocheckpoint=0"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.connection.execute("PRAGMA foreign_keys=ON")
        self.connection.execute("BEGIN")
        if not self.connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            for statement in statements:
                self.connection.execute(statement)
        self.connection.execute("COMMIT")
        self._columns = {
            table: {row[1] for row in self.connection.execute(f"PRAGMA table_info(`{table}`)")}
            for table in self.shape
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def update(self, table: str, id: str, *, at: int | None = None, **columns: object) -> None:
        """Change columns of a row in place; `time_updated` moves as the programs move it."""
        values = {key: _cell(value) for key, value in columns.items()}
        values["time_updated"] = self._at(at)
        pairs = ", ".join(f"`{key}` = {_slot(value)}" for key, value in values.items())
        self.connection.execute(
            f"UPDATE `{table}` SET {pairs} WHERE id = ?", (*values.values(), id)
        )

    def delete(self, table: str, id: str) -> None:
        """Delete a row; messages of a session and parts of a message go with it."""
        self.connection.execute(f"DELETE FROM `{table}` WHERE id = ?", (id,))

    def execute(self, sql: str, *parameters: object) -> list[Any]:
        """Run any SQL and give all rows."""
        return self.connection.execute(sql, parameters).fetchall()

    def value(self, table: str, id: str, column: str) -> Any:
        """Give one cell; LookupError when there is no such row."""
        rows = self.execute(f"SELECT `{column}` FROM `{table}` WHERE id = ?", id)
        if not rows:
            raise LookupError(f"no {table} {id}")
        return rows[0][0]

    def tick(self, milliseconds: int = SECOND) -> int:
        """Let time pass, and tell the time."""
        self.now += milliseconds
        return self.now

    def new_id(self, prefix: str, at: int) -> str:
        """Make an id for a time: `msg` and `prt` ascend with it, `ses` descends."""
        return self._ids.new(prefix, at)

    def checkpoint(self) -> None:
        """Move everything into the main file; later rows are only in the `-wal` again."""
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self, *, keep_wal: bool = False) -> None:
        """Close the file; the `-wal` is emptied and removed unless it is to be kept."""
        if not keep_wal:
            self.connection.close()
            return
        # The last connection to close moves the -wal into the file, unless it may only read.
        with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as last:
            last.execute("SELECT count(*) FROM sqlite_master").fetchone()
            self.connection.close()

    def _at(self, at: int | None) -> int:
        return self.tick() if at is None else at

    def _insert(self, table: str, row: Mapping[str, object]) -> None:
        there = self._columns[table]
        if not there:
            raise ValueError(f"this database was made without {table}")
        known = mimo_ddl.columns(self.shape[table])
        if unknown := row.keys() - set(known) - {"agent_id"}:
            raise ValueError(f"{table} has no column {', '.join(sorted(unknown))}")
        cells = {key: _cell(value) for key, value in row.items() if key in there}
        names = ", ".join(f"`{key}`" for key in cells)
        slots = ", ".join(_slot(value) for value in cells.values())
        sql = f"INSERT INTO `{table}` ({names}) VALUES ({slots})"
        self.connection.execute(sql, tuple(cells.values()))


def _cell(value: object) -> object:
    return mimo_data.compact(value) if isinstance(value, Mapping | list) else value


def _slot(value: object) -> str:
    return "CAST(? AS TEXT)" if isinstance(value, bytes) else "?"
