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
           say (a message with one text part), actor, external_import, fork; all but
           `external_import` give the new row's id (`say`: its message's, `fork`: its session's).
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

A file that is a database already is opened as it is: give a later `start` then.

A `data` argument may be a mapping (written as the program's compact JSON), a str (written
as it is, for broken JSON) or bytes (text that is not UTF-8).
"""

from __future__ import annotations

# ruff: noqa: ANN401 - names and numbers are the columns'
import json
from collections.abc import Mapping
from typing import Any, ClassVar

from tests import mimo_data, mimo_ddl
from tests.mimo_file import START, DatabaseFile

__all__ = ["START", "MimoDatabase", "OpencodeDatabase"]

Data = Mapping[str, Any] | str | bytes

_MODEL = {"providerID": "fake", "modelID": "fake-1"}
_NO_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}


class MimoDatabase(DatabaseFile):
    """A MiMo Code database (0.1.13) in the making; see the module's text."""

    shape = mimo_ddl.MIMO
    id_version: ClassVar[mimo_data.Version] = "v2"

    def project(
        self,
        id: str = "e302f111-6d04-4359-8af8-4d568754e86b",
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
        id: str | None = None,
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
        id = id or self.new_id("ses", at)
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
        id: str | None = None,
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
        id = id or self.new_id("msg", at)
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
        id: str | None = None,
        at: int | None = None,
    ) -> str:
        """Add a part with just this data."""
        at = self._at(at)
        id = id or self.new_id("prt", at)
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
        input: Mapping[str, Any] | None = None,
        *,
        at: int | None = None,
        **state: Any,
    ) -> str:
        """Add a tool part: see `tool_data` for `output`, `error`, `status` and others."""
        at = self._at(at)
        return self.part(message, self.tool_data(tool, input, at=at, **state), at=at)

    def file(
        self,
        message: str,
        filename: str,
        url: str,
        *,
        mime: str = "text/plain",
        at: int | None = None,
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
        id = self.message(session, role, at=at, **message)
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
            id = self.new_id("msg", self._at(None))
            self.message(copy, id=id, agent_id=slice_, at=made, data=data)
            for (piece,) in self.execute(parts, message):
                self.part(id, piece)
        return copy

    def edit(self, part: str, *, at: int | None = None, **keys: object) -> None:
        """Change keys of a part's data in place."""
        data = json.loads(self.value("part", part, "data"))
        self.update("part", part, at=at, data={**data, **keys})

    def tool_data(
        self,
        tool: str,
        input: Mapping[str, Any] | None = None,
        **state: Any,
    ) -> dict[str, Any]:
        """Make a tool part's data for `part` and `update`: see `mimo_data.tool_data`."""
        return mimo_data.tool_data(tool, input, **{"at": self.now, **state})

    def _info(self, session: str, role: str, at: int) -> dict[str, Any]:
        if role == "user":
            time = {"created": at}
            return {"role": role, "time": time, "agent": "build", "model": _MODEL}
        asked = self.execute(
            "SELECT id FROM message WHERE session_id = ?"
            " ORDER BY time_created DESC, id DESC LIMIT 1",
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


class OpencodeDatabase(MimoDatabase):
    """An opencode database (1.18.33): no agent slices and no imports, ids of v1.

    `message(agent_id=...)` is ignored: subagents have a child session (`parent_id`).
    `session_message` adds a row of the v2 tables, which 1.18 makes but leaves empty.
    """

    shape = mimo_ddl.OPENCODE
    id_version = "v1"

    def session_message(
        self,
        session: str,
        type: str,
        data: Data,
        *,
        seq: int,
        at: int | None = None,
    ) -> str:
        """Add a message of the v2 form; `seq` orders it within its session."""
        at = self._at(at)
        id = self.new_id("msg", at)
        row = {"id": id, "session_id": session, "type": type, "seq": seq, "data": data}
        self._insert("session_message", {**row, "time_created": at, "time_updated": at})
        return id
