"""A search under way: what it looks for and where, the time it may take, the steps it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mimohist.answers import Step
from mimohist.columns import sides
from mimohist.kinds import Kind
from mimohist.text import said

if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

    from mimohist.alarm import Alarm
    from mimohist.answers import Query
    from mimohist.candidates import Row
    from mimohist.query import Term
    from mimohist.scope import Scope


class Texts:
    """The texts of rows as said; each is read once."""

    def __init__(self, db: Connection) -> None:
        self.db = db
        self._read: dict[int, tuple[str, str, str]] = {}

    def of(self, row: int) -> tuple[str, str, str]:
        """Give a row's body, output and cut-out machine text."""
        found = self._read.get(row)
        if found is None:
            body, output, cut = self.db.execute(
                "SELECT body, output, cut FROM history_text WHERE id = ?", (row,)
            ).fetchone()
            found = (said(body), said(output or ""), said(cut or ""))
            if len(self._read) < 512:  # noqa: PLR2004 - bounds memory, not behaviour
                self._read[row] = found
        return found


class Run:
    """One search under way: what it looks for, where, and the steps it took.

    Not a dataclass: every search would make it anew.  `terms` are to be there, `without` not to
    be; `cut_off` says that time ran out; `veil` is what shown texts go through before they are
    cut; `alarm` ends a single match that takes longer than the search may.
    """

    def __init__(
        self, db: Connection, query: Query, clock: Callable[[], float], scope: Scope
    ) -> None:
        self.db = db
        self.query = query
        self.clock = clock
        self.scope = scope
        self.texts = Texts(db)
        self.terms: tuple[Term, ...] = ()
        self.without: tuple[Term, ...] = ()
        self.started = clock()
        self.steps: list[Step] = []
        self.cut_off = False
        self.veil: Callable[[str], str] | None = None
        self.alarm: Alarm | None = None

    def aside(self, query: Query, scope: Scope) -> Run:
        """Give a search for the same words elsewhere, in the same time."""
        other = Run(self.db, query, self.clock, scope)
        other.terms, other.without = self.terms, self.without
        other.started, other.steps = self.started, self.steps
        return other

    def note(self, name: str, detail: str, count: int | None, since: float) -> None:
        """Remember a step for `--explain`."""
        self.steps.append(Step(name, detail, count, self.clock() - since))

    @property
    def late(self) -> bool:
        """Whether the time for scans is used up."""
        return self.clock() - self.started > self.query.seconds


def allowed_texts(run: Run, row: Row, kinds: tuple[Kind, ...]) -> list[str]:
    """Give the texts of a row in which these kinds may match."""
    body, output, cut = run.texts.of(row.id)
    in_body, in_output = sides(Kind(row.kind), kinds)
    found = [body] if in_body else []
    if in_output and output:
        found.append(output)
    if run.query.machine and cut:
        found.append(cut)
    return found
