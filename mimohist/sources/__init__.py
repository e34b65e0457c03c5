"""Where sessions come from: one module a source, all of one shape.

To add a source, write a module with a class of the shape of `source.Source` and a function
`find`, and name it in `ALL`.  A module whose sources are dear to load may also have `glance`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mimohist.sources.source import Candidate, Reading, Source, Survey

    Finder = Callable[[Mapping[str, str], Path, Sequence[Path]], Iterator[Source]]

__all__ = ("ALL", "KEPT", "RESUME", "Candidate", "Reading", "Source", "Survey", "find", "glance")

ALL = (
    "mimo",
    "opencode",
    "claude",
    "codex",
    "gemini",
    "qwen",
    "pi",
    "omp",
    "openclaw",
    "kimi",
    "goose",
    "crush",
    "aider",
)
"""The sources in the order in which they are asked; each is a module of this package."""

RESUME: Mapping[str, tuple[str, ...]] = {
    "mimo": ("mimo", "-s"),
    "opencode": ("opencode", "-s"),
    "claude": ("claude", "--resume"),
    "codex": ("codex", "resume"),
    "gemini": ("gemini", "--resume"),
    "qwen": ("qwen", "--resume"),
    "pi": ("pi", "--session"),
    "omp": ("omp", "--resume"),
    "kimi": ("kimi", "--session"),
    "goose": ("goose", "session", "--resume", "--session-id"),
    "crush": ("crush", "--session"),
}
"""The command that reopens a session in its own program, the session's id to be added."""

_BY_PARENT = ("claude", "crush", "kimi")

KEPT: Mapping[str, tuple[str, ...]] = {
    "crush": (".crush/crush.db", ".opencode/opencode.db"),
    "aider": (".aider.chat.history.md",),
}
"""What a program keeps in the directory of a project, which nothing else need tell of."""


def resume(source: str, session: str, parent: str | None) -> tuple[str, ...] | None:
    """Give the command that reopens a session in its own program, None where there is none.

    Claude Code, Crush and Kimi open no session of a sub-agent: the one that started it is.
    """
    command = RESUME.get(source)
    if command is None:
        return None
    return (*command, parent if parent and source in _BY_PARENT else session)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the module holds
    """Give the classes of `source`, which a search that reads nothing need not load."""
    if name in __all__:
        return getattr(import_module("mimohist.sources.source"), name)
    raise AttributeError(name)


def find(
    name: str, environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[Source]:
    """Give the roots of one source that there are; `roots` are the configured extra ones."""
    finder: Finder = import_module(f"mimohist.sources.{name}").find
    return finder(environ, home, roots)


def glance(
    name: str, environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each root of one source with its stamp, as cheaply as the source can."""
    module = import_module(f"mimohist.sources.{name}")
    if hasattr(module, "glance"):
        yield from module.glance(environ, home, roots)
    else:
        for one in module.find(environ, home, roots):
            yield one.root, one.stamp()
