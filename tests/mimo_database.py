"""Databases as MiMo Code and opencode write them, for tests, row by row.

    db = MimoDatabase(tmp_path / "mimocode.db")
    session = db.session(directory="/home/dev/shop", title="Cart total drifts")
    question = db.message(session)                      # role user
    db.text(question, "why does the total drift?")
    answer = db.message(session, "assistant", agent_id="explore-1")
    db.reasoning(answer, "rounding, probably")
    call = db.tool(answer, "bash", {"command": "ls"}, status="running")
    db.update("part", call, data=db.tool_data("bash", {"command": "ls"}, output="a.py"))
    db.close()

Making:    project, session, message, part (any data), text, reasoning, tool, file,
           say (a message with one text part), actor, external_import, fork; all but the
           last two give the new row's id (`say`: the message's).
Changing:  update(table, id, **columns), edit(part, **keys of its data), delete(table, id)
           with the program's cascades, execute(sql, parameters) for everything else.
Reading:   value(table, id, column), new_id(prefix, at), tick().
On disk:   WAL mode, never checkpointed by itself: what was written since the last
           `checkpoint()` is only in the `-wal` while the database is open.
           `close()` checkpoints and removes the `-wal`; `close(keep_wal=True)` leaves it
           and the `-shm` as a program does that was killed.
Old ones:  without={"actor_registry", "message.agent_id"} leaves out tables and columns;
           rows are then written without them.

Times are epoch milliseconds.  `at` defaults to a clock that starts at `START` and goes on
by a second a row.  Ids are deterministic, ascend with time (sessions descend) and are of
the program's format: MiMo Code's v2 (64 bits of time), opencode's v1 (48 bits, which
wrapped on 2026-08-14); `ids="v1"` makes an old MiMo Code's.  `seed` varies the rest of the
id: two databases filled alike hold equal ids unless it differs.

A `data` argument may be a mapping (written as the program's compact JSON), a str (written
as it is, for broken JSON) or bytes (text that is not UTF-8).
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from tests import mimo_ddl

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

START = 1_796_094_880_000
"""2026-12-01T03:14:40Z, in epoch milliseconds: when the clock of a new database starts."""

SECOND = 1000

Data = Mapping[str, Any] | str | bytes

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MODEL = {"providerID": "fake", "modelID": "fake-1"}
_NO_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}


class MimoDatabase:
    """A MiMo Code database (0.1.13) in the making; see the module's text."""

    shape: ClassVar[dict[str, mimo_ddl.Table]] = mimo_ddl.MIMO
    id_version: ClassVar[Literal["v1", "v2"]] = "v2"

    def __init__(
        self,
        path: Path,
        *,
        without: Iterable[str] = (),
        ids: Literal["v1", "v2"] | None = None,
        seed: int = 0,
        start: int = START,
    ) -> None:
        """Make the file; ValueError when `without` names what is not in the schema."""
        self.path = path
        self.ids = ids or self.id_version
        self.now = start
        self._last = (0, 0)
        self._random = random.Random(seed)  # noqa: S311
        missing = frozenset(without)
        statements = mimo_ddl.tables(self.shape, missing) + mimo_ddl.indexes(self.shape, missing)
        self.connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=OFF", "wal_autocheckpoint=0"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.connection.execute("PRAGMA foreign_keys=ON")
        self.connection.execute("BEGIN")
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

    # rows

    def project(
        self,
        id: str = "e302f111-6d04-4359-8af8-4d568754e86b",  # noqa: A002
        worktree: str = "/home/dev/code/shop-api",
        *,
        at: int | None = None,
        **columns: object,
    ) -> str:
        """Add a project: a git checkout unless the id is `global`."""
        at = self._at(at)
        row = {"id": id, "worktree": worktree, "vcs": None if id == "global" else "git"}
        times = {"time_created": at, "time_updated": at, "sandboxes": []}
        self._insert("project", {**row, **times, **columns})
        return id

    def session(
        self,
        id: str | None = None,  # noqa: A002
        *,
        project: str = "global",
        directory: str = "/home/dev/code/shop-api",
        title: str = "Cart total drifts",
        at: int | None = None,
        **columns: object,
    ) -> str:
        """Add a session; its project too when there is none of that id."""
        at = self._at(at)
        if not self.execute("SELECT 1 FROM project WHERE id = ?", project):
            self.project(project, "/" if project == "global" else directory, at=at)
        id = id or self.new_id("ses", at)  # noqa: A001
        row = {
            "id": id,
            "project_id": project,
            "slug": "stellar-sailor",
            "directory": directory,
            "title": title,
            "version": "0.1.13",
            "time_created": at,
            "time_updated": at,
        }
        self._insert("session", {**row, **columns})
        return id

    def message(
        self,
        session: str,
        role: str = "user",
        *,
        id: str | None = None,  # noqa: A002
        agent_id: str = "main",
        source: str | None = None,
        at: int | None = None,
        data: Data | None = None,
        **info: object,
    ) -> str:
        """Add a message without parts; `info` goes into its data (None leaves a key out).

        `source` is what the program puts into a user message: `user`, `hook`, `spawn`.
        """
        at = self._at(at)
        id = id or self.new_id("msg", at)  # noqa: A001
        if data is None:
            data = self._info(session, role, at) | ({"source": source} if source else {}) | info
            data = {key: value for key, value in data.items() if value is not None}
        row = {"id": id, "session_id": session, "agent_id": agent_id}
        self._insert("message", {**row, "time_created": at, "time_updated": at, "data": data})
        return id

    def part(
        self,
        message: str,
        data: Data,
        *,
        id: str | None = None,  # noqa: A002
        at: int | None = None,
    ) -> str:
        """Add a part with just this data."""
        at = self._at(at)
        id = id or self.new_id("prt", at)  # noqa: A001
        row = {"id": id, "message_id": message, "data": data}
        row["session_id"] = self.value("message", message, "session_id")
        self._insert("part", {**row, "time_created": at, "time_updated": at})
        return id

    def text(self, message: str, text: str, *, at: int | None = None, **keys: object) -> str:
        """Add a text part; `keys` such as `synthetic=True` go into its data."""
        return self.part(message, {"type": "text", "text": text, **keys}, at=at)

    def reasoning(self, message: str, text: str, *, at: int | None = None) -> str:
        """Add a reasoning part."""
        at = self._at(at)
        time = {"start": at, "end": at}
        return self.part(message, {"type": "reasoning", "text": text, "time": time}, at=at)

    def tool(
        self,
        message: str,
        tool: str,
        input: Mapping[str, Any] | None = None,  # noqa: A002
        *,
        at: int | None = None,
        **state: Any,
    ) -> str:
        """Add a tool part: see `tool_data` for `output`, `error`, `status` and others."""
        at = self._at(at)
        return self.part(message, self.tool_data(tool, input, at=at, **state), at=at)

    def file(
        self, message: str, filename: str, url: str, *, mime: str = "text/plain", at: int | None = None
    ) -> str:
        """Add a file part, such as `-f FILE` or a pasted picture leaves."""
        data = {"type": "file", "mime": mime, "filename": filename, "url": url}
        return self.part(message, data, at=at)

    def say(
        self,
        session: str,
        text: str,
        role: str = "user",
        *,
        at: int | None = None,
        **message: Any,
    ) -> str:
        """Add a message with one text part, and give the message's id."""
        at = self._at(at)
        id = self.message(session, role, at=at, **message)  # noqa: A001
        self.text(id, text, at=at)
        return id

    def actor(
        self,
        session: str,
        actor_id: str = "main",
        *,
        agent: str = "main",
        mode: str = "main",
        at: int | None = None,
        **columns: object,
    ) -> str:
        """Register an actor, as the program does for `main` and for each subagent."""
        at = self._at(at)
        row: dict[str, object] = {
            "session_id": session,
            "actor_id": actor_id,
            "mode": mode,
            "status": "idle",
            "agent": agent,
            "description": f"{agent} agent",
            "context_mode": "full" if mode == "main" else "none",
            "background": 0,
            "tools": '"INHERIT"',
            "last_turn_time": at,
            "time_created": at,
            "time_updated": at,
        }
        self._insert("actor_registry", {**row, **columns})
        return actor_id

    def external_import(
        self,
        session: str,
        source: str = "cc",
        source_key: str = "5d9f1a9e-0000-4000-8000-000000000001",
        *,
        source_path: str = "/home/dev/.claude/projects/-home-dev/5d9f1a9e.jsonl",
        at: int | None = None,
        message_ids: list[str] | None = None,
    ) -> None:
        """Say that a session was imported; `source` is cc, codex or opencode."""
        at = self._at(at)
        row = {"source": source, "source_key": source_key, "session_id": session}
        file = {"source_path": source_path, "source_mtime": at, "time_imported": at}
        self._insert("external_import", {**row, **file, "message_ids": message_ids})

    def fork(self, session: str, *, at: int | None = None) -> str:
        """Copy a session as the programs do: new ids, the messages' old times, new part times."""
        at = self._at(at)
        columns = "project_id, directory, title"
        ((project, directory, title),) = self.execute(
            f"SELECT {columns} FROM session WHERE id = ?", session
        )
        title = f"{title} (fork #1)"
        copy = self.session(project=project, directory=directory, title=title, at=at)
        parts = "SELECT data FROM part WHERE message_id = ? ORDER BY id"
        agent = "agent_id" if "agent_id" in self._columns["message"] else "'main'"
        for message, slice_, made, data in self.execute(
            f"SELECT id, {agent}, time_created, data FROM message WHERE session_id = ?"
            " ORDER BY time_created, id",
            session,
        ):
            id = self.new_id("msg", self._at(None))  # noqa: A001
            self.message(copy, id=id, agent_id=slice_, at=made, data=data)
            for (piece,) in self.execute(parts, message):
                self.part(id, piece)
        return copy

    # changes

    def update(self, table: str, id: str, *, at: int | None = None, **columns: object) -> None:  # noqa: A002
        """Change columns of a row in place; `time_updated` moves as the programs move it."""
        values = {key: _cell(value) for key, value in columns.items()}
        values["time_updated"] = self._at(at)
        pairs = ", ".join(f"`{key}` = {_slot(value)}" for key, value in values.items())
        self.connection.execute(f"UPDATE `{table}` SET {pairs} WHERE id = ?", (*values.values(), id))

    def edit(self, part: str, *, at: int | None = None, **keys: object) -> None:
        """Change keys of a part's data in place."""
        data = json.loads(self.value("part", part, "data"))
        self.update("part", part, at=at, data={**data, **keys})

    def delete(self, table: str, id: str) -> None:  # noqa: A002
        """Delete a row; messages of a session and parts of a message go with it."""
        self.connection.execute(f"DELETE FROM `{table}` WHERE id = ?", (id,))

    def execute(self, sql: str, *parameters: object) -> list[Any]:
        """Run any SQL and give all rows."""
        return self.connection.execute(sql, parameters).fetchall()

    def value(self, table: str, id: str, column: str) -> Any:  # noqa: A002
        """Give one cell; LookupError when there is no such row."""
        rows = self.execute(f"SELECT `{column}` FROM `{table}` WHERE id = ?", id)
        if not rows:
            raise LookupError(f"no {table} {id}")
        return rows[0][0]

    # what rows are made of

    def tick(self, milliseconds: int = SECOND) -> int:
        """Let time pass, and tell the time."""
        self.now += milliseconds
        return self.now

    def new_id(self, prefix: str, at: int) -> str:
        """Make an id for a time: `msg` and `prt` ascend with it, `ses` descends."""
        moment, count = self._last
        count = count + 1 if moment == at else 1
        self._last = (at, count)
        descending = prefix == "ses"
        number = at * 0x1000 + count
        bits, tail = (64, 9) if self.ids == "v2" else (48, 14)
        number = (~number if descending else number) & ((1 << bits) - 1)
        mark = ("-" if descending else "g") if self.ids == "v2" else ""
        rest = "".join(self._random.choices(_BASE62, k=tail))
        return f"{prefix}_{mark}{number:0{bits // 4}x}{rest}"

    def tool_data(
        self,
        tool: str,
        input: Mapping[str, Any] | None = None,  # noqa: A002
        *,
        output: str | None = None,
        error: str | None = None,
        status: str | None = None,
        at: int | None = None,
        **state: object,
    ) -> dict[str, Any]:
        """A tool part's data: `error` when given one, else `completed` unless `status` says.

        `state` (`metadata`, `attachments`, `title`, `time`...) goes into the part's state.
        """
        at = at or self.now
        status = status or ("error" if error is not None else "completed")
        body: dict[str, Any] = {"status": status, "input": dict(input or {})}
        if status == "pending":
            body["raw"] = ""
        elif status == "running":
            body["time"] = {"start": at}
        elif status == "error":
            body |= {"error": error or "", "time": {"start": at, "end": at}}
        else:
            ends = {"start": at, "end": at}
            body |= {"output": output or "", "title": "", "metadata": {}, "time": ends}
        body |= state
        return {"type": "tool", "tool": tool, "callID": f"call_{at % 100_000}", "state": body}

    # the file

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

    def _info(self, session: str, role: str, at: int) -> dict[str, Any]:
        if role == "user":
            time = {"created": at}
            return {"role": role, "time": time, "agent": "build", "model": _MODEL}
        asked = self.execute(
            "SELECT id FROM message WHERE session_id = ? ORDER BY time_created DESC, id DESC LIMIT 1",
            session,
        )
        directory = self.value("session", session, "directory")
        return {
            "parentID": asked[0][0] if asked else None,
            "role": role,
            "mode": "build",
            "agent": "build",
            "path": {"cwd": directory, "root": directory},
            "cost": 0,
            "tokens": _NO_TOKENS,
            **_MODEL,
            "time": {"created": at, "completed": at},
            "finish": "stop",
        }

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


class OpencodeDatabase(MimoDatabase):
    """An opencode database (1.18.33): no agent slices and no imports, ids of v1.

    `message(agent_id=...)` is ignored: subagents have a child session (`parent_id`).
    `session_message` adds a row of the v2 tables, which 1.18 makes but leaves empty.
    """

    shape = mimo_ddl.OPENCODE
    id_version = "v1"

    def session_message(
        self, session: str, type: str, data: Data, *, seq: int, at: int | None = None  # noqa: A002
    ) -> str:
        """Add a message of the v2 form; `seq` orders it within its session."""
        at = self._at(at)
        id = self.new_id("msg", at)  # noqa: A001
        row = {"id": id, "session_id": session, "type": type, "seq": seq, "data": data}
        self._insert("session_message", {**row, "time_created": at, "time_updated": at})
        return id


def compact(value: object) -> str:
    """Write JSON as both programs do: no spaces, no escapes but for lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _cell(value: object) -> object:
    return compact(value) if isinstance(value, Mapping | list) else value


def _slot(value: object) -> str:
    return "CAST(? AS TEXT)" if isinstance(value, bytes) else "?"
