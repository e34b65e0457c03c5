"""What storing one session will do to the index, found out before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mimohist.records import Kind, Part
from mimohist.store_rows import FTS_COLUMNS, Maker, Place, Row, stored_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from sqlite3 import Connection

    from mimohist.records import Message, Session

SESSION_COLUMNS = (
    "id",
    "root",
    "key",
    "session_id",
    "project",
    "parent_id",
    "title",
    "path",
    "version",
    "machine",
    "mirror_source",
    "mirror_id",
    "time_created",
    "time_updated",
    "time_archived",
    "stamp",
    "mark",
    "gone",
)
MESSAGE_COLUMNS = (
    "id",
    "session",
    "message_id",
    "role",
    "agent",
    "agent_name",
    "machine",
    "time_created",
    "provider",
    "model",
    "cost",
    "tokens_input",
    "tokens_output",
    "tokens_reasoning",
    "tokens_cache_read",
    "tokens_cache_write",
)
_AGENTS = slice(4, 6)

_STORED_ROW = (
    f"SELECT {', '.join(f'h.{column}' for column in FTS_COLUMNS)}, t.body, t.output, t.cut"
    " FROM history_fts h JOIN history_text t ON t.id = h.id WHERE h.root = ? AND h.part_id = ?"
)
_STORED_MESSAGE = (
    f"SELECT {', '.join(MESSAGE_COLUMNS)} FROM message WHERE session = ? AND message_id = ?"
)


@dataclass(slots=True)
class Saved:
    """What storing one session did, in numbers of parts."""

    added: int = 0
    changed: int = 0
    removed: int = 0


@dataclass(slots=True)
class Known:
    """A session as the index has it: its row, project, progress, and whether it is gone.

    `gone` is 1 when its source no longer holds the session, 2 when it holds less of it.
    """

    id: int
    project: int
    stamp: str
    mark: str
    gone: int
    updated: int


@dataclass(slots=True)
class Change:
    """What is to be written of one session, or of a piece of a long one.

    Nothing is stored yet of a `fresh` session; one that is `novel` was not stored whole before.
    `new` rows are still without ids, `changed` ones have theirs; `tagged` rows get new
    tags because their message or project changed.
    """

    fresh: bool
    novel: bool
    at: int
    header: dict[str, Any]
    moved: bool = False
    new: dict[str, Row] = field(default_factory=dict)
    changed: dict[int, Row] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    tagged: set[int] = field(default_factory=set)
    messages: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    altered: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    dropped: list[int] = field(default_factory=list)
    weight: int = 0

    def rest(self) -> Change:
        """Give an empty change that goes on where this one ends."""
        return Change(fresh=False, novel=self.novel, at=self.at, header=self.header)


class Work:
    """One session being compared with what is stored of it.

    Reads the index, never writes: `change` is what a `store_writer.Writer` is to do.
    """

    def __init__(
        self, db: Connection, maker: Maker, change: Change, number: Callable[[str], int]
    ) -> None:
        self._db = db
        self._maker = maker
        self._number = number
        self._root: int = change.header["root"]
        self._project: int = change.header["project"]
        self.id: int = change.header["id"]
        self.change = change
        self.saved = Saved()

    def split(self) -> Change:
        """Give what was found so far, and go on with an empty change."""
        change = self.change
        self.change = change.rest()
        return change

    def title(self, session: Session) -> str | None:
        """Take in a session's title and give the id of its row, None when it has none."""
        id = f"title:{session.id}"
        if not (session.title and session.titled):
            if not self.change.fresh:
                self._drop(self._ids("part_id", id))
            return None
        machine = str(session.machine) if session.machine else None
        part = Part(id=id, kind=Kind.TITLE, at=session.at, body=session.title)
        row = self._maker.row(part, self._place(None, session.at), machine)
        if row:
            self._put(row)
        return id

    def message(
        self, session: Session, message: Message, forgotten: Collection[tuple[str, str]]
    ) -> tuple[int, set[str]]:
        """Take in a message and its parts, and give its row and the ids of its rows."""
        id = self._header(message)
        given = set()
        for row in self._maker.rows(session, message, self._place(id, message.at)):
            if forgotten and ("part", row.part_id) in forgotten:
                continue
            self._put(row)
            given.add(row.part_id)
        return id, given

    def _place(self, message: int | None, at: int) -> Place:
        return Place(self._root, self.id, self._project, message, at)

    def _header(self, message: Message) -> int:
        name = self._maker.name
        usage = message.usage
        spent = (
            (
                usage.cost,
                usage.input,
                usage.output,
                usage.reasoning,
                usage.cache_read,
                usage.cache_write,
            )
            if usage
            else (None,) * 6
        )
        values = (
            self.id,
            message.id,
            message.role,
            name(message.agent),
            name(message.agent_name) if message.agent_name else None,
            str(message.machine) if message.machine else None,
            message.at,
            message.provider,
            message.model,
            *spent,
        )
        change = self.change
        found: tuple[Any, ...] | None = change.messages.get(message.id)
        if found is not None:
            change.messages[message.id] = (found[0], *values)
            return int(found[0])
        if not change.fresh:
            found = change.altered.get(message.id)
            if found is None:
                found = self._db.execute(_STORED_MESSAGE, (self.id, message.id)).fetchone()
        if found is None:
            id = self._number("message")
            change.messages[message.id] = (id, *values)
            return id
        new = (found[0], *values)
        if new != found:
            change.altered[message.id] = new
            if new[_AGENTS] != found[_AGENTS]:
                change.tagged |= self._ids("message", found[0])
        return int(found[0])

    def _put(self, row: Row) -> None:
        change = self.change
        if row.part_id in change.new:
            self._add(row)
            return
        found = None
        if not change.fresh:
            found = self._db.execute(_STORED_ROW, (self._root, row.part_id)).fetchone()
        if found is None:
            self._add(row)
            return
        id = found[0]
        if id in change.gone:
            change.gone.remove(id)
            self.saved.removed -= 1
        count = len(FTS_COLUMNS)
        stored = Row._make((*found[1:count], stored_texts(*found[count:])))
        row = row.fuller(change.changed.get(id, stored))
        if not any(row.texts):
            self._drop({id})
        elif row == stored or (change.moved and row == stored._replace(project=row.project)):
            change.changed.pop(id, None)
        else:
            change.weight += _weight(row) - _weight(change.changed.get(id))
            self.saved.changed += id not in change.changed
            change.changed[id] = row

    def _add(self, row: Row) -> None:
        change = self.change
        old = change.new.pop(row.part_id, None)
        if any(row.texts):
            change.new[row.part_id] = row
        change.weight += _weight(change.new.get(row.part_id)) - _weight(old)
        self.saved.added += (row.part_id in change.new) - (old is not None)

    def keep_only(self, owner: str, id: int, present: Collection[str]) -> bool:
        """Remove the stored rows of a `session` or `message` that are not among `present`.

        Gives whether there was any.
        """
        return self._drop(self._missing(owner, id, present))

    def lacks(self, present: Collection[str]) -> bool:
        """Whether the session has stored rows that are not among `present`."""
        return bool(self._missing("session", self.id, present))

    def _missing(self, owner: str, id: int, present: Collection[str]) -> set[int]:
        if self.change.fresh:
            return set()
        rows = self._db.execute(f"SELECT id, part_id FROM history_fts WHERE {owner} = ?", (id,))
        return {row for row, part in rows if part not in present} - self.change.changed.keys()

    def keep_messages(self, present: Collection[str]) -> None:
        """Remove the messages that are not among `present`; their rows must be gone."""
        if self.change.fresh:
            return
        rows = self._db.execute("SELECT id, message_id FROM message WHERE session = ?", (self.id,))
        self.change.dropped += [id for id, message in rows if message not in present]

    def _drop(self, ids: set[int]) -> bool:
        change = self.change
        ids = ids - change.gone
        for id in ids:
            change.changed.pop(id, None)
        change.gone |= ids
        self.saved.removed += len(ids)
        return bool(ids)

    def _ids(self, owner: str, id: int | str) -> set[int]:
        rows = self._db.execute(
            f"SELECT id FROM history_fts WHERE root = ? AND {owner} = ?", (self._root, id)
        )
        return {row for (row,) in rows}


def _weight(row: Row | None) -> int:
    if row is None:
        return 0
    body, output, cut = row.texts
    return len(body) + len(output or "") + len(cut or "") + 200


def rows_of(db: Connection, owner: str, ids: Iterable[int]) -> list[int]:
    """Give the ids of the rows that belong to these sessions or messages (`owner`), ascending."""
    found: set[int] = set()
    for id in ids:
        rows = db.execute(f"SELECT id FROM history_fts WHERE {owner} = ?", (id,))
        found.update(row for (row,) in rows)
    return sorted(found)
