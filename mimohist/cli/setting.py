"""What the verbs share: configuration, clocks, the index opened, forms of output."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from mimohist import config, sources
from mimohist.errors import BadInput
from mimohist.kinds import Kind
from mimohist.refreshing import Places

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

CLOCKS = (lambda: int(time.time() * 1000), time.monotonic)


def settings(db: Path | None) -> config.Config:
    """Read the configuration; `--db` wins over everything."""
    found = config.load(os.environ, sources.ALL)
    return replace(found, db=db) if db else found


def places(found: config.Config, names: Sequence[str] = ()) -> Places:
    """Give where to look for sources; `names` are those asked for, else the configured ones."""
    unknown = [name for name in names if name not in sources.ALL]
    if unknown:
        have = ", ".join(sources.ALL)
        raise BadInput(f"no source {unknown[0]!r}; there are: {have}")
    return Places(tuple(names) or found.sources, os.environ, config.home(os.environ), found.roots)


def kinds(words: Sequence[str] | None) -> tuple[Kind, ...]:
    """Read kinds as typed; `all` is every one."""
    found: list[Kind] = []
    for word in words or ():
        for name in word.split(","):
            if name == "all":
                return tuple(Kind)
            try:
                found.append(Kind(name))
            except ValueError as error:
                have = ", ".join([*Kind, "all"])
                raise BadInput(f"no kind {name!r}; there are: {have}") from error
    return tuple(found)


def moment(text: str | None, *, end: bool) -> int | None:
    """Read a time as typed: the start of the span it names, or its end."""
    if text is None:
        return None
    from datetime import datetime

    from mimohist import when

    span = when.parse(text, datetime.now().astimezone())
    return when.millis(span.end if end else span.start)


def form(chosen: str, *, json: bool) -> str:
    """Settle the form of output: `auto` is human on a terminal and plain elsewhere."""
    if json:
        return "json"
    if chosen == "auto":
        return "human" if sys.stdout.isatty() else "plain"
    return chosen


def colored(chosen: str) -> bool:
    """Settle whether to use colours on stdout, as the environment's customs have it."""
    env = os.environ
    if chosen != "auto":
        return chosen == "always"
    if env.get("NO_COLOR"):
        return False
    if any(env.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    if env.get("CLICOLOR") == "0" or env.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def width() -> int:
    """Give how many cells a line has."""
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def write(lines: Iterable[str], end: str = "\n") -> int:
    """Write lines to stdout and say how many."""
    count = 0
    for line in lines:
        sys.stdout.write(line + end)
        count += 1
    return count


def say(text: str) -> None:
    """Tell something about the answer, on stderr."""
    sys.stderr.write(text + "\n")
