"""What the user has set: defaults < `config.toml` < environment, as one frozen `Config`.

    db          = "~/.local/share/mimohist/index.db"
    sources     = ["mimo"]                                  # which are read; all, if not said
    kinds       = ["user_text", "assistant_text", "tool_input", "tool_error"]
    index_kinds = ["user_text", "assistant_text"]           # what is stored; all six, if not said
    limit       = 10                                        # hits of a search; 0 for all
    redact      = false

    [roots]                                                 # further places of a source's sessions
    mimo = ["/mnt/old/mimocode.db"]

The environment is an argument, never the process's own.  A path that begins with `~` is
the user's; another relative one counts from the folder of the file that it is written in.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from mimohist.errors import BadInput
from mimohist.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DEFAULT_KINDS = (Kind.USER_TEXT, Kind.ASSISTANT_TEXT, Kind.TOOL_INPUT, Kind.TOOL_ERROR)
"""What a search looks at first: the kinds that MiMo Code's history tool indexed."""

ALL_KINDS = tuple(kind for kind in Kind if kind is not Kind.TITLE)
"""What `kinds` and `index_kinds` may name; titles are always indexed and searched."""

DEFAULT_LIMIT = 10
KEYS = ("db", "sources", "kinds", "index_kinds", "limit", "redact", "roots")


class Config(NamedTuple):
    """The settings of one run; flags are laid over it with `_replace`.

    `db` is the index's path.  `sources` are those to read, in the order of the program's
    list.  `roots` are further databases or folders by source.  `limit` 0 means all.
    """

    db: Path
    sources: tuple[str, ...]
    kinds: tuple[Kind, ...] = DEFAULT_KINDS
    index_kinds: tuple[Kind, ...] = ALL_KINDS
    limit: int = DEFAULT_LIMIT
    redact: bool = False
    roots: Mapping[str, tuple[Path, ...]] = MappingProxyType({})


def load(environ: Mapping[str, str], known_sources: Sequence[str]) -> Config:
    """Read the configuration, `known_sources` being the names that may stand in it.

    Raises `BadInput` for a file that cannot be read or is not TOML, an unknown key or
    name, a value of the wrong type, and for a `$MIMOHIST_CONFIG` that is not there.
    """
    path = config_path(environ)
    try:
        document = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        if environ.get("MIMOHIST_CONFIG"):
            raise BadInput(f"{path}: no such file; it is named by $MIMOHIST_CONFIG") from error
        return Config(db=index_path(environ), sources=tuple(known_sources))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    return settings(path, _decode(path, document), environ, known_sources)


def settings(
    path: Path,
    values: Mapping[str, object],
    environ: Mapping[str, str],
    known_sources: Sequence[str],
) -> Config:
    """Check the decoded file that stands at `path`; raises `BadInput` as `load` does."""
    return _Table(path, home(environ), values).config(environ, known_sources)


def home(environ: Mapping[str, str]) -> Path:
    """Give the user's home directory: `$HOME`, else what the system knows."""
    if found := environ.get("HOME"):
        return Path(found)
    import pwd  # only where HOME is unset, as in some units and containers

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError as error:
        raise BadInput("no home directory is known; set HOME") from error


def config_path(environ: Mapping[str, str]) -> Path:
    """Give where the configuration is, or would be."""
    if named := environ.get("MIMOHIST_CONFIG"):
        return _expanded(named, home(environ))
    return _xdg(environ, "XDG_CONFIG_HOME", ".config") / "mimohist" / "config.toml"


def index_path(environ: Mapping[str, str]) -> Path:
    """Give where the index is when no file says otherwise."""
    if named := environ.get("MIMOHIST_DB"):
        return _expanded(named, home(environ))
    return _xdg(environ, "XDG_DATA_HOME", ".local/share") / "mimohist" / "index.db"


def _xdg(environ: Mapping[str, str], variable: str, default: str) -> Path:
    """Give an XDG base directory; the specification says to ignore a relative one."""
    named = environ.get(variable, "")
    return Path(named) if os.path.isabs(named) else home(environ) / default  # noqa: PTH117 - a str


def _expanded(text: str, user: Path) -> Path:
    """Resolve a leading `~` by the given home, which `Path.expanduser` would not take."""
    if text == "~" or text.startswith("~/"):
        return user / text[2:]
    return Path(text).expanduser() if text.startswith("~") else Path(text)


def _decode(path: Path, document: bytes) -> dict[str, object]:
    import tomllib  # most users have no file

    try:
        return tomllib.loads(document.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 at byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: not TOML: {error}") from error


class _Table(NamedTuple):
    """A decoded file and what is needed to complain about it."""

    path: Path
    home: Path
    values: Mapping[str, object]

    def config(self, environ: Mapping[str, str], known_sources: Sequence[str]) -> Config:
        for key in self.values:
            if key not in KEYS:
                raise self._unknown("key", key, KEYS)
        chosen = self._names("sources", "source", known_sources, known_sources)
        return Config(
            db=self._db(environ),
            sources=tuple(name for name in known_sources if name in chosen),
            kinds=self._kinds(),
            index_kinds=tuple(map(Kind, self._names("index_kinds", "kind", ALL_KINDS, ALL_KINDS))),
            limit=self._limit(),
            redact=self._redact(),
            roots=self._roots(known_sources),
        )

    def _db(self, environ: Mapping[str, str]) -> Path:
        db = self.values.get("db", "")
        if not isinstance(db, str) or ("db" in self.values and not db):
            raise self._wrong("db", "a path in quotes")
        return self._place(db) if db and not environ.get("MIMOHIST_DB") else index_path(environ)

    def _kinds(self) -> tuple[Kind, ...]:
        kinds = self._names("kinds", "kind", ALL_KINDS, DEFAULT_KINDS)
        if not kinds:
            raise self._wrong("kinds", "a list of at least one kind")
        return tuple(map(Kind, kinds))

    def _limit(self) -> int:
        limit = self.values.get("limit", DEFAULT_LIMIT)
        # To Python, true is a number.
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            raise self._wrong("limit", "a number, 0 for all")
        return limit

    def _redact(self) -> bool:
        redact = self.values.get("redact", False)
        if not isinstance(redact, bool):
            raise self._wrong("redact", "true or false")
        return redact

    def _roots(self, known_sources: Sequence[str]) -> dict[str, tuple[Path, ...]]:
        table = self.values.get("roots", {})
        if not isinstance(table, dict):
            raise self._wrong("roots", "a table: [roots]")
        for source in table:
            if source not in known_sources:
                raise self._unknown("source", source, known_sources)
        return {
            source: tuple(map(self._place, self._strings(f"roots.{source}", paths)))
            for source, paths in table.items()
        }

    def _names(
        self, key: str, what: str, known: Sequence[str], default: Sequence[str]
    ) -> tuple[str, ...]:
        """Give the names listed under `key`, each once."""
        if key not in self.values:
            return tuple(default)
        names = self._strings(key, self.values[key])
        for name in names:
            if name not in known:
                raise self._unknown(what, name, known)
        return tuple(dict.fromkeys(names))

    def _strings(self, key: str, value: object) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(key, 'a list: ["...", "..."]')
        return value

    def _place(self, text: str) -> Path:
        return self.path.parent / _expanded(text, self.home)

    def _wrong(self, key: str, right: str) -> BadInput:
        return BadInput(f"{self.path}: `{key}` must be {right}")

    def _unknown(self, what: str, name: str, known: Iterable[str]) -> BadInput:
        from difflib import get_close_matches  # only for the complaint

        words = [str(word) for word in known]
        shown = name if name.isprintable() else ascii(name)
        near = get_close_matches(name, words, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(words)}"
        return BadInput(f"{self.path}: unknown {what} `{shown}`; {hint}")
