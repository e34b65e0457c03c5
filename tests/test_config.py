"""Defaults, `config.toml` and environment, in that order."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mimohist import config
from mimohist.config import Config
from mimohist.errors import BadInput
from mimohist.records import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SOURCES = ("mimo", "opencode", "claude")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Give an environment with a home and nothing else."""
    return {"HOME": str(tmp_path)}


@pytest.fixture
def load(tmp_path: Path, environ: Mapping[str, str]) -> Callable[[str | bytes], Config]:
    """Load a configuration whose file holds the given text."""

    def load(text: str | bytes) -> Config:
        path = tmp_path / ".config" / "mimohist" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return config.load(environ, SOURCES)

    return load


def test_without_a_file_there_are_defaults(tmp_path: Path, environ: Mapping[str, str]) -> None:
    """Nothing need be set: all sources, the original's four kinds, ten hits."""
    assert config.load(environ, SOURCES) == Config(
        db=tmp_path / ".local/share/mimohist/index.db",
        sources=SOURCES,
        kinds=(Kind.USER_TEXT, Kind.ASSISTANT_TEXT, Kind.TOOL_INPUT, Kind.TOOL_ERROR),
        index_kinds=(
            *(Kind.USER_TEXT, Kind.ASSISTANT_TEXT, Kind.REASONING),
            *(Kind.TOOL_INPUT, Kind.TOOL_OUTPUT, Kind.TOOL_ERROR),
        ),
        limit=10,
        redact=False,
        roots={},
    )


def test_a_file_sets_every_key(tmp_path: Path, load: Callable[[str], Config]) -> None:
    """`~` is the given home; other relative paths count from the file's folder."""
    text = """
        db = "~/index.db"
        sources = ["claude", "mimo", "claude"]
        kinds = ["reasoning", "user_text"]
        index_kinds = []
        limit = 0
        redact = true
        [roots]
        claude = ["~", "~/old", "beside", "/mnt/old/.claude/projects"]
    """
    assert load(text) == Config(
        db=tmp_path / "index.db",
        sources=("mimo", "claude"),
        kinds=(Kind.REASONING, Kind.USER_TEXT),
        index_kinds=(),
        limit=0,
        redact=True,
        roots={
            "claude": (
                tmp_path,
                tmp_path / "old",
                tmp_path / ".config/mimohist/beside",
                Path("/mnt/old/.claude/projects"),
            )
        },
    )


def test_an_empty_file_changes_nothing(
    environ: Mapping[str, str], load: Callable[[str], Config]
) -> None:
    """A file with nothing but comments, or a byte order mark, is the defaults."""
    defaults = config.load(environ, SOURCES)
    assert load("# nothing\n") == defaults
    assert load("\ufeff") == defaults


def test_the_environment_wins_over_the_file(
    tmp_path: Path, environ: dict[str, str], load: Callable[[str], Config]
) -> None:
    """`$MIMOHIST_DB` is where the index is, whatever the file says; empty means unset."""
    text = 'db = "/file.db"'
    environ["MIMOHIST_DB"] = ""
    assert load(text).db == Path("/file.db")
    environ["MIMOHIST_DB"] = "~/environment.db"
    assert load(text).db == tmp_path / "environment.db"
    environ["MIMOHIST_DB"] = "here.db"
    assert load(text).db == Path("here.db")


def test_xdg_says_where_files_are(tmp_path: Path, environ: dict[str, str]) -> None:
    """The XDG variables move both files; a relative one is ignored, as its rules say."""
    environ |= {"XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/etc/me"}
    assert config.index_path(environ) == Path("/data/mimohist/index.db")
    assert config.config_path(environ) == Path("/etc/me/mimohist/config.toml")
    environ |= {"XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": ""}
    assert config.index_path(environ) == tmp_path / ".local/share/mimohist/index.db"
    assert config.config_path(environ) == tmp_path / ".config/mimohist/config.toml"


def test_a_named_file_is_read(tmp_path: Path, environ: dict[str, str]) -> None:
    """`$MIMOHIST_CONFIG` names another file, and one that is not there is an error."""
    environ["MIMOHIST_CONFIG"] = "~/mine.toml"
    with pytest.raises(BadInput, match=r"mine\.toml: no such file"):
        config.load(environ, SOURCES)
    (tmp_path / "mine.toml").write_text("limit = 3")
    assert config.load(environ, SOURCES).limit == 3


def test_home_is_known_without_the_variable() -> None:
    """A unit or container without HOME still has a home."""
    assert config.home({}) == Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert config.home({"HOME": "/home/me"}) == Path("/home/me")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('kind = ["user_text"]', "unknown key `kind`; did you mean `kinds`?"),
        ("colour = 1", "unknown key `colour`; known: db, sources, kinds, index_kinds, limit,"),
        ('kinds = ["user_txt"]', "unknown kind `user_txt`; did you mean `user_text`?"),
        ('index_kinds = ["title"]', "unknown kind `title`; "),
        ('sources = ["mimmo"]', "unknown source `mimmo`; did you mean `mimo`?"),
        ("[roots]\nxyz = []", "unknown source `xyz`; known: mimo, opencode, claude"),
        ("db = 1", "`db` must be a path in quotes"),
        ('db = ""', "`db` must be a path in quotes"),
        ("limit = -1", "`limit` must be a number, 0 for all"),
        ("limit = true", "`limit` must be a number, 0 for all"),
        ('limit = "10"', "`limit` must be a number, 0 for all"),
        ("redact = 1", "`redact` must be true or false"),
        ('kinds = "user_text"', '`kinds` must be a list: ["...", "..."]'),
        ("kinds = []", "`kinds` must be a list of at least one kind"),
        ("index_kinds = [1]", '`index_kinds` must be a list: ["...", "..."]'),
        ("roots = 1", "`roots` must be a table: [roots]"),
        ('[roots]\nmimo = "/a"', '`roots.mimo` must be a list: ["...", "..."]'),
        ("limit = ", "not TOML: "),
        (b"# caf\xe9", "not UTF-8 at byte 5"),
    ],
)
def test_a_mistake_is_told_with_the_file_and_what_is_right(
    load: Callable[[str | bytes], Config], text: str | bytes, complaint: str
) -> None:
    """An unknown key is an error and not a shrug."""
    with pytest.raises(BadInput) as raised:
        load(text)
    message = str(raised.value)
    assert f"config.toml: {complaint}" in message
    assert "\n" not in message


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, environ: Mapping[str, str]) -> None:
    """A folder in the file's place is an error; a file in the folder's place is no file."""
    folder = tmp_path / ".config" / "mimohist" / "config.toml"
    folder.mkdir(parents=True)
    with pytest.raises(BadInput, match=r"config\.toml: cannot be read: "):
        config.load(environ, SOURCES)
    folder.rmdir()
    folder.parent.rmdir()
    folder.parent.write_text("")
    assert config.load(environ, SOURCES).limit == 10


def test_the_processs_own_environment_is_not_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, environ: Mapping[str, str]
) -> None:
    """What a caller passes is all that counts."""
    for name in ("MIMOHIST_DB", "MIMOHIST_CONFIG", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, "/elsewhere")
    assert config.load(environ, SOURCES).db == tmp_path / ".local/share/mimohist/index.db"


VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from((*config.KEYS, "kind", "a\nb")), VALUES, max_size=3))
def test_any_document_is_a_config_or_bad_input(values: dict[str, object]) -> None:
    """Whatever a file holds, nothing but a `BadInput` of one line is raised."""
    complaint = ""
    try:
        read = config.settings(Path("/c/config.toml"), values, {"HOME": "/home/me"}, SOURCES)
        assert read.db.is_absolute()
        assert set(read.sources) <= set(SOURCES)
    except BadInput as error:
        complaint = str(error)
    assert "\n" not in complaint
