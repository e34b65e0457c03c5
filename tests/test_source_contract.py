"""What every source promises, whichever program's sessions it reads: see `tests/samples.py`."""

from __future__ import annotations

import json
import sqlite3
import tracemalloc
from contextlib import closing
from copy import deepcopy
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import pytest

from mimohist import sources
from mimohist.backfill import Ended, Failed, Stored, Unreadable
from mimohist.kinds import Kind
from mimohist.records import Mark, Message, Skipped
from tests.samples import SAMPLES, Sample
from tests.transcripts import Index, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mimohist.sources.source import Reading, Source

TEXTS = ("why does alpha drift?", "beta rounds it", "and gamma?", "delta too")
ROLES = {"user": Kind.USER_TEXT, "assistant": Kind.ASSISTANT_TEXT}

HOSTILE_TEXT = (
    "\x00\x07\x08 \x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \ud83d \udc00\ud83d \u202e\u2066 \r\n"
    "\u2028\u2029\x85\ufeff needle \uffff"
)

HOSTILE_VALUES: tuple[object, ...] = (
    None,
    True,
    -5,
    10**30,
    float("inf"),
    float("nan"),
    "",
    "\x00\ud83d\x1b[31m",
    "/etc/passwd",
    [],
    [None, 5, {}, "x"],
    {},
    {"text": 5, "type": []},
)

parametrized = pytest.mark.parametrize("name", sources.ALL)


def where(holds: Callable[[Sample], object]) -> pytest.MarkDecorator:
    """Run a test over the sources for whose samples something holds."""
    names = [name for name in sources.ALL if name in SAMPLES and holds(SAMPLES[name])]
    return pytest.mark.parametrize("name", names)


def sample(name: str) -> Sample:
    """Give a source's sample; that it has none is a fault of its own."""
    assert name in SAMPLES, f"the source {name!r} has no sample: add one to tests/samples.py"
    return SAMPLES[name]


def found(name: str, home: Path) -> list[Source]:
    """Give the roots of one source in a home directory."""
    return list(sources.find(name, {}, home, ()))


def load(name: str, home: Path) -> Iterator[Reading]:
    """Read every session of a source anew."""
    for one in found(name, home):
        for candidate in one.survey("").candidates:
            yield one.load(candidate, "")


def items(name: str, home: Path) -> list[Message | Skipped | Mark]:
    return [item for reading in load(name, home) for item in reading.messages]


def messages(name: str, home: Path) -> list[Message]:
    return [item for item in items(name, home) if isinstance(item, Message)]


def index_of(name: str, home: Path) -> Index:
    """Make an index beside the home that is filled from one source."""
    makers: list[Callable[[], Source]] = [lambda one=one: one for one in found(name, home)]  # type: ignore[misc]
    return Index(home.parent, *makers)


def tree(home: Path) -> dict[str, bytes]:
    """Give all files of a home, but for SQLite's own beside a database."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


# What is there


@parametrized
def test_every_source_has_a_sample(name: str) -> None:
    sample(name)


def test_every_sample_is_a_sources() -> None:
    assert set(SAMPLES) <= set(sources.ALL)


@parametrized
def test_an_empty_home_has_nothing(name: str, home: Path) -> None:
    assert found(name, home) == []
    assert list(sources.glance(name, {}, home, ())) == []
    assert tree(home) == {}


@parametrized
def test_the_usual_place_is_found_and_looks_the_same_twice(name: str, home: Path) -> None:
    """A glance gives the roots and stamps of the sources, which are named as their module is."""
    sample(name).make(home, TEXTS)
    (one,) = found(name, home)
    assert one.name == name
    assert list(sources.glance(name, {}, home, ())) == [(one.root, one.stamp())]
    assert one.stamp() == found(name, home)[0].stamp()


@parametrized
def test_a_root_that_was_found_can_be_configured(name: str, home: Path) -> None:
    """By it the same root is found again, once: in that home, and from elsewhere."""
    sample(name).make(home, TEXTS)
    (one,) = found(name, home)
    for place in (home, home / "elsewhere"):
        assert [two.root for two in sources.find(name, {}, place, (one.root,))] == [one.root]


# What is read


@parametrized
def test_what_was_said_is_read_in_order(name: str, home: Path) -> None:
    """Whole texts, of the kinds of those who said them, nobody's machine, in the order of times."""
    sample(name).make(home, TEXTS)
    (session,) = [reading.session for reading in load(name, home)]
    read = messages(name, home)
    said = [
        (message.role, part.kind, part.body, part.machine or message.machine)
        for message in sorted(read, key=lambda message: (message.at, message.id))
        for part in message.parts
        if part.kind in ROLES.values()
    ]
    assert said == [
        (role, ROLES[role], text, None)
        for role, text in zip(["user", "assistant"] * 2, TEXTS, strict=True)
    ]
    times = [message.at for message in read]
    assert times == sorted(times)
    assert session.at <= times[0]
    assert times[-1] <= session.updated + 60_000
    assert session.machine is None
    assert session.directory.startswith("/")


@parametrized
def test_kinds_roles_and_times_are_known_ones(name: str, home: Path) -> None:
    sample(name).make(home, TEXTS)
    for message in messages(name, home):
        assert message.role in ROLES
        assert message.id
        for part in message.parts:
            assert isinstance(part.kind, Kind)
            assert part.kind is not Kind.TITLE
            assert part.at >= 1_500_000_000_000
            assert (part.tool is None) == (part.kind in {*ROLES.values(), Kind.REASONING})


@parametrized
def test_ids_are_the_same_in_every_reading_and_no_two_alike(name: str, home: Path) -> None:
    sample(name).make(home, TEXTS)
    read = messages(name, home)
    assert read == messages(name, home)
    for ids in (
        [message.id for message in read],
        [part.id for message in read for part in message.parts],
    ):
        assert len(ids) == len(set(ids)) > 0


@parametrized
def test_what_it_takes_on_disk_is_told(name: str, home: Path) -> None:
    sample(name).make(home, TEXTS)
    index = index_of(name, home)
    with closing(index.db):
        index.run()
        ((bytes_,),) = index.db.execute("SELECT bytes FROM sources").fetchall()
    (one,) = found(name, home)
    files = [one.root] if one.root.is_file() else [f for f in one.root.rglob("*") if f.is_file()]
    assert 0 < bytes_ <= sum(file.stat().st_size for file in files)


@parametrized
def test_nothing_is_written_beside_or_into_it(name: str, home: Path) -> None:
    sample(name).make(home, TEXTS)
    before = tree(home)
    index = index_of(name, home)
    with closing(index.db):
        index.run()
    assert tree(home) == before


@where(lambda one: one.streams)
def test_messages_are_read_as_they_are_taken(name: str, home: Path) -> None:
    """A session of 8 MB is never held whole: what is held at once is a small part of it."""
    one = sample(name)
    texts = [f"{number} " + "words " * 333 for number in range(4000)]
    one.make(home, texts)
    (reading,) = load(name, home)
    assert iter(reading.messages) is reading.messages
    total = sum(map(len, texts))
    read = 0
    tracemalloc.start()
    try:
        for item in reading.messages:
            if isinstance(item, Message):
                read += sum(len(part.body) for part in item.parts)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert read >= total - 4000
    assert peak < total / 3


# The way to the index


@parametrized
def test_a_second_backfill_finds_nothing_and_says_nothing(name: str, home: Path) -> None:
    """Nor does a full comparison change what is stored."""
    sample(name).make(home, TEXTS)
    index = index_of(name, home)
    with closing(index.db):
        assert [event.new for event in index.run() if isinstance(event, Stored)] == [True]
        rows = index.db.execute("SELECT part_id, copy, kind FROM history_fts").fetchall()
        again = index.run()
        assert [event for event in again if not isinstance(event, Ended)] == []
        assert all(event.pending == 0 for event in again if isinstance(event, Ended))
        assert stored(index.run(verify=True)) == [(0, 0, 0)]
        assert index.db.execute("SELECT part_id, copy, kind FROM history_fts").fetchall() == rows
        for word in ("alpha", "beta", "gamma", "delta"):
            assert len(index.hits(word)) == 1


@where(lambda one: one.lines)
def test_a_torn_last_record_is_read_once_it_is_whole(name: str, home: Path) -> None:
    """Torn at many places, it costs nothing that stands before it, and nobody is told of it."""
    one = sample(name)
    one.make(home, TEXTS)
    (path,) = home.glob(one.lines)
    data = path.read_bytes()
    start = data.rindex(b"\n", 0, data.index(b"delta")) + 1
    index = index_of(name, home)
    with closing(index.db):
        for end in range(start + 1, data.index(b"\n", start), 97):
            path.write_bytes(data[:end])
            assert [one for one in index.run() if isinstance(one, Failed | Unreadable)] == []
            assert len(index.hits("gamma")) == 1
            assert index.hits("delta") == []
        path.write_bytes(data)
        index.run()
        assert [len(index.hits(word)) for word in ("alpha", "beta", "gamma", "delta")] == [1] * 4
        assert stored(index.run(verify=True)) == [(0, 0, 0)]


@parametrized
def test_hostile_text_reaches_the_index_whole(name: str, home: Path) -> None:
    """Control bytes, NUL, lone surrogates, escapes and bidi marks: it is stored and is found."""
    sample(name).make(home, (HOSTILE_TEXT, HOSTILE_TEXT, "after"))
    index = index_of(name, home)
    with closing(index.db):
        index.run()
        hits = index.hits("needle")
        assert {hit.kind for hit in hits} == set(ROLES.values())
        for hit in hits:
            hit.snippet.encode()
        assert len(index.hits("after")) == 1
    for message in messages(name, home):
        for part in message.parts:
            part.body.encode()
            assert "\x00" not in part.body


# Records of another shape


def places(value: object) -> Iterator[tuple[str | int, ...]]:
    """Give the path to every value inside a decoded JSON value, and to itself."""
    yield ()
    inner: Any = value
    keys: Any = (
        value if isinstance(value, dict) else range(len(inner) if isinstance(value, list) else 0)
    )
    for key in keys:
        for rest in places(inner[key]):
            yield (key, *rest)


def changed(value: object, path: tuple[str | int, ...], new: object) -> object:
    """Give a copy of a decoded JSON value with one value replaced."""
    if not path:
        return new
    made: Any = deepcopy(value)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return made


def spoilt(text: str) -> Iterator[str]:
    """Give a JSON text with each of its values replaced by each hostile one, in turn."""
    value = json.loads(text)
    for path in places(value):
        for new in HOSTILE_VALUES:
            yield json.dumps(changed(value, path, new))


def storable(value: object) -> None:
    """Check that SQLite can take every value of a record."""
    if is_dataclass(value):
        for field in fields(value):
            storable(getattr(value, field.name))
    elif isinstance(value, tuple):
        for one in value:
            storable(one)
    elif isinstance(value, str):
        value.encode()
    elif isinstance(value, int):
        assert -(1 << 63) <= value < 1 << 63


def drained(name: str, home: Path) -> None:
    """Read all there is, and look at what it gave."""
    try:
        for reading in load(name, home):
            storable(reading.session)
            for item in reading.messages:
                storable(item)
    except LookupError:
        pass  # what is spoilt may be what makes it a session


def variants(one: Sample, home: Path) -> Iterator[None]:
    """Spoil the sample's file in every way, one after the other."""
    if one.database:
        (path,) = home.glob(one.database)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            for table, column in one.cells:
                sql = f"SELECT rowid, {column} FROM {table}"
                for row, text in db.execute(sql).fetchall():
                    update = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
                    for new in spoilt(text):
                        db.execute(update, (new, row))
                        yield
                    db.execute(update, (text, row))
        return
    (path,) = home.glob(one.lines or one.document)
    lines = path.read_text().splitlines() if one.lines else [path.read_text()]
    for number, line in enumerate(lines):
        for new in spoilt(line):
            path.write_text("\n".join((*lines[:number], new, *lines[number + 1 :], "")))
            yield


@where(lambda one: one.lines or one.document or one.database)
def test_values_of_another_type_anywhere_break_nothing(name: str, home: Path) -> None:
    """Each value of each record may be anything: nothing is raised, and all can be stored."""
    one = sample(name)
    one.make(home, TEXTS[:2])
    tried = 0
    for _ in variants(one, home):
        drained(name, home)
        tried += 1
    assert tried > 100


@where(lambda one: one.lines)
def test_spoilt_records_do_not_keep_others_from_the_index(name: str, home: Path) -> None:
    """All spoilt forms of a record in one file: those before and after them are still found."""
    one = sample(name)
    one.make(home, TEXTS)
    (path,) = home.glob(one.lines)
    lines = path.read_text().splitlines()
    bad = [new for line in lines[1:] for new in spoilt(line)]
    path.write_text("\n".join((*lines[:-4], *bad, *lines[-4:], "")))
    index = index_of(name, home)
    with closing(index.db):
        index.run()
        for word in ("alpha", "beta"):
            assert index.hits(word)
        assert stored(index.run()) == []
