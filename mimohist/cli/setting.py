"""What the verbs share: configuration, clocks, the index opened, forms of output."""

from __future__ import annotations

import os
import re
import sys
import time
from typing import TYPE_CHECKING

from mimohist import config, sources
from mimohist.history import History
from mimohist.history import moment as moment_of
from mimohist.history import places as places_of
from mimohist.kinds import Kind, kinds_named
from mimohist.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

CLOCKS = (lambda: int(time.time() * 1000), time.monotonic)


def settings(db: Path | None) -> config.Config:
    """Read the configuration; `--db` wins over everything."""
    found = config.load(os.environ, sources.ALL)
    return found._replace(db=db) if db else found


def history(found: config.Config, names: Sequence[str] = ()) -> History:
    """Give the library's object that this run works with; `names` are the sources asked for."""
    return History(found, places_of(found, os.environ, names))


def kinds(words: Sequence[str] | None) -> tuple[Kind, ...]:
    """Read kinds as typed; `all` is every one."""
    return kinds_named(words or ())


def moment(text: str | None, *, end: bool) -> int | None:
    """Read a time as typed: the start of the span it names, or its end."""
    return None if text is None else moment_of(text, end=end)


def texts(refs: Sequence[str]) -> list[str]:
    """Give the refs typed, each once; `-` stands for those on standard input."""
    found: list[str] = []
    for text in refs:
        if text == "-":
            found += [line.strip() for line in sys.stdin.read().replace("\0", "\n").split("\n")]
        else:
            found.append(text)
    return [text for text in dict.fromkeys(found) if text]


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


def short(text: str) -> str:
    """Write the user's home directory as `~` in a text that names paths of it."""
    home = os.environ.get("HOME", "").rstrip("/")
    return re.sub(rf"(?<![^\s'\"(]){re.escape(home)}/", "~/", text) if home else text


def say(text: str) -> None:
    """Tell something about the answer, on stderr; paths and names in it are made printable."""
    sys.stderr.write(printable(text) + "\n")
