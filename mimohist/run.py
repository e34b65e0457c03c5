"""A search under way: what it looks for and where, the time it may take, the steps it took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mimohist.answers import Step
from mimohist.columns import sides
from mimohist.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

    from mimohist.alarm import Alarm
    from mimohist.answers import Query
    from mimohist.candidates import Row
    from mimohist.hits import Texts
    from mimohist.query import Term
    from mimohist.scope import Scope
    from mimohist.snippets import Finder


@dataclass(slots=True)
class Run:
    """One search under way: what it looks for, where, and the steps it took."""

    db: Connection
    query: Query
    clock: Callable[[], float]
    scope: Scope
    terms: tuple[Term, ...]
    without: tuple[Term, ...]
    finder: Finder
    texts: Texts
    started: float
    steps: list[Step] = field(default_factory=list)
    cut_off: bool = False
    veil: Callable[[str], str] | None = None
    """What is shown of a text goes through this before it is cut."""
    alarm: Alarm | None = None
    """Ends a single match that takes longer than the search may."""

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
