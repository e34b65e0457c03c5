"""The house has floors, and a module imports only from floors below its own.

On one floor there may be several families; a family's modules may import each other,
and nothing else of their floor.
"""

from __future__ import annotations

import ast
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

FLOORS = (
    {
        "words": "alarm alphabet answers contexts directories errors kinds records redact schema"
        " text"
    },
    {
        "index": "store store_*",
        "query": "query",
        "when": "when",
        "refs": "refs",
        "trajectory": "trajectory",
        "sources": "sources sources.source sources.stamps",
    },
    {
        "search": "search around asking candidates columns hits naming patterns run scan scope"
        " snippets stretches",
        "each source": "sources.*",
    },
    {
        "backfill": "backfill backfill_* follow forgetting refreshing reindexing",
        "export": "exporting pages",
    },
    {"render": "render render.*", "config": "config"},
    {"library": "history"},
    {"the history tool": "history_tool tool_texts mcp_server"},
    {"command line": "cli cli.*"},
    {"process": "__main__"},
)
"""From the ground up; names are below `mimohist.`, and `*` stands for any module of a package."""

OUTSIDE = {
    "typer": "cli cli.*",
    "rich": "render.human render.lines render.tables cli.*",
    "sqlite_utils": "store store_*",
    "mcp": "mcp_server",
}
"""Which modules may import what is not the standard library's."""


class Place(NamedTuple):
    """Where a module lives: floor counted from 0, and family."""

    floor: int
    family: str


def name_of(path: Path) -> str:
    """Give a module's name below the package: `sources.mimo`, `sources` for its `__init__`."""
    parts = path.relative_to(ROOT / "mimohist").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted((ROOT / "mimohist").rglob("*.py"))}
INSIDE = [name for name in MODULES if name]


def fits(name: str, patterns: str) -> bool:
    """Tell whether one of the blank-separated patterns is the module's."""
    return any(fnmatchcase(name, pattern) for pattern in patterns.split())


def place(name: str) -> Place | None:
    """Find a module in the house."""
    for floor, families in enumerate(FLOORS):
        for family, patterns in families.items():
            if fits(name, patterns):
                return Place(floor, family)
    return None


def imports(source: str) -> list[str]:
    """List what a module's text imports, in full: in functions and for types alone too."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def own(imported: str) -> str | None:
    """Give the module of ours that an import names, None for others and for the version."""
    package, _, name = imported.partition(".")
    if package != "mimohist" or name == "__version__":
        return None
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def climbs(name: str, source: str) -> list[str]:
    """List the imports of a module that are not from floors below it or its own family."""
    here = place(name)
    assert here is not None, f"{name} has no place in the house: add it to FLOORS"
    found = []
    for imported in imports(source):
        target = own(imported)
        if target is None:
            continue
        there = place(target)
        if there is None or not (there.floor < here.floor or there == here):
            found.append(f"{name} (floor {here.floor}, {here.family}) imports {imported}")
    return found


@pytest.mark.parametrize("name", INSIDE)
def test_every_module_has_a_place(name: str) -> None:
    """A new module says on which floor it lives."""
    assert place(name), f"mimohist.{name} has no place in the house: add it to FLOORS in {__file__}"


@pytest.mark.parametrize("name", INSIDE)
def test_imports_go_down(name: str) -> None:
    """A module imports from floors below it and from its own family, and from nowhere else."""
    assert climbs(name, MODULES[name].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", INSIDE)
def test_each_library_has_its_rooms(name: str) -> None:
    """Typer is the command line's, Rich the terminal's, sqlite-utils the index writer's."""
    foreign = (
        {imported.partition(".")[0] for imported in imports(MODULES[name].read_text("utf-8"))}
        - sys.stdlib_module_names
        - {"mimohist"}
    )
    assert [package for package in foreign if not fits(name, OUTSIDE.get(package, ""))] == []


@pytest.mark.parametrize(
    ("name", "source", "caught"),
    [
        ("records", "import mimohist.search", True),
        ("records", "from mimohist import search", True),
        ("refs", "def f():\n    from mimohist.when import parse", True),
        ("query", "if TYPE_CHECKING:\n    from mimohist.config import Config", True),
        ("errors", "from mimohist import History", True),
        ("search", "from mimohist.snippets import cut", False),
        ("search", "from mimohist.sources import RESUME", False),
        ("search", "from mimohist import __version__", False),
        ("search", "import sqlite3, json", False),
    ],
)
def test_the_rule_itself(name: str, source: str, caught: bool) -> None:  # noqa: FBT001 - a case
    """Upward imports are seen however they are written."""
    assert bool(climbs(name, source)) == caught
