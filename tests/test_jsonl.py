"""Files of JSON lines: split, bounded, marked, and known again or not."""

from __future__ import annotations

import io
import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mimohist.sources import files, jsonl
from mimohist.text import clean

if TYPE_CHECKING:
    from pathlib import Path


def data(content: bytes, at: int = 0) -> list[bytes | None]:
    return [line.data for line in jsonl.lines(io.BytesIO(content), at)]


def test_lines_end_at_newlines_only() -> None:
    """U+2028, U+0085 and carriage returns may stand in a JSON string, or at a line's end."""
    content = 'a\u2028b\u0085c\n"x"\r\n'.encode()
    assert data(content) == ["a\u2028b\u0085c\n".encode(), b'"x"\r\n']


def test_a_last_line_without_its_end_is_told_apart() -> None:
    found = list(jsonl.lines(io.BytesIO(b'{"a":1}\n{"b":')))
    assert [(line.at, line.end, line.whole) for line in found] == [(0, 8, True), (8, 13, False)]


@given(st.lists(st.binary(max_size=40).map(lambda one: one.replace(b"\n", b""))))
def test_offsets_lead_back_to_the_lines(pieces: list[bytes]) -> None:
    content = b"".join(piece + b"\n" for piece in pieces)
    for line in jsonl.lines(io.BytesIO(content)):
        assert content[line.at : line.end] == line.data
        assert data(content, line.at)[0] == line.data


class Endless(io.RawIOBase):
    """A line that is made as it is read: a beginning, so many megabytes of base64, an end."""

    def __init__(self, begin: bytes, megabytes: int, end: bytes) -> None:
        self.pieces = [begin, *[b"iVBORw0KGgo4" * 87382] * megabytes, end]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self.pieces:
            return 0
        piece = self.pieces.pop(0)
        if len(piece) > len(buffer):
            self.pieces.insert(0, piece[len(buffer) :])
            piece = piece[: len(buffer)]
        buffer[: len(piece)] = piece
        return len(piece)


@pytest.mark.parametrize("prefix", ["data:image/png;base64,", "", "\\n", "\\u00e9"])
def test_a_line_of_40_mb_is_read_without_its_picture_in_little_memory(prefix: str) -> None:
    begin = f'{{"text":"see screenshot","data":"{prefix}'.encode()
    file = io.BufferedReader(Endless(begin, 40, b'==","after":"caption"}\n'))
    tracemalloc.start()
    (line,) = jsonl.lines(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert line.data
    record = json.loads(line.data)
    assert (record["text"], record["after"]) == ("see screenshot", "caption")
    assert len(record["data"]) < 100
    assert "[data-url:" in clean(record["data"])
    assert line.end > 40_000_000
    assert peak < 16_000_000


def test_pictures_among_long_text_are_left_out_and_the_text_stays() -> None:
    words = "lorem ipsum " * 100_000
    picture = "iVBORw0KGgo4" * 50_000
    record = [words, picture, "x" + words, f"data:image/png;base64,{picture}", words + "end"]
    content = json.dumps(record).encode() + b"\n[1]\n"
    first, second = data(content)
    assert first
    assert second == b"[1]\n"
    read = json.loads(first)
    assert (read[0], read[2], read[4]) == (record[0], record[2], record[4])
    assert len(read[1]) + len(read[3]) < 200


def test_a_line_too_long_even_so_costs_itself_only() -> None:
    content = b"[" + b"lorem ipsum " * 1_500_000 + b"]\n[2]\n"
    first, second = jsonl.lines(io.BytesIO(content))
    assert first.data is None
    assert first.end == len(content) - 4
    assert second.data == b"[2]\n"


def test_a_file_that_only_grew_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo\n")
    with path.open("rb") as file:
        mark = jsonl.bookmark(file, 8, {"known": [1]})
    path.write_bytes(b"one\ntwo\nthree\n")
    with path.open("rb") as file:
        assert jsonl.find(file, mark) == jsonl.Bookmark(8, {"known": [1]})


@pytest.mark.parametrize(
    "content",
    [b"BBB\ntwo\nthree\n", b"one\nTWO\nthree\n", b"one\n", b"", b"two\none\nand more of it\n"],
)
def test_a_file_that_was_rewritten_is_not(tmp_path: Path, content: bytes) -> None:
    """Also one that was cut and grew past its old size since."""
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo\n")
    with path.open("rb") as file:
        mark = jsonl.bookmark(file, 8, {})
    path.write_bytes(content)
    with path.open("rb") as file:
        assert jsonl.find(file, mark) is None


@pytest.mark.parametrize("mark", ["", "1", "[]", "{}", '{"at":"x","proof":""}', "\0", "null"])
def test_a_mark_of_something_else_is_none(mark: str) -> None:
    assert jsonl.find(io.BytesIO(b"one\n"), mark) is None


def test_a_long_file_is_proved_by_both_ends_of_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    content = b"".join(b"%06d\n" % number for number in range(3000))
    path.write_bytes(content)
    with path.open("rb") as file:
        mark = jsonl.bookmark(file, len(content), {})
    for place in (0, len(content) - 5):
        changed = bytearray(content)
        changed[place] = ord("x")
        with io.BytesIO(changed) as file:
            assert jsonl.find(file, mark) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2026-01-02T03:04:05.678Z", 1767323045678),
        ("2026-01-02T03:04:05Z", 1767323045000),
        ("2026-01-02T03:04:05.678901234Z", 1767323045678),
        ("2026-01-02T04:04:05.6+01:00", 1767323045600),
        ("2026-01-02 03:04:05", 1767323045000),
        (1767323045, 1767323045000),
        (1767323045.5, 1767323045500),
        (1767323045678, 1767323045678),
        ("yesterday", None),
        ("2026-13-02T03:04:05Z", None),
        (True, None),
        (None, None),
        ({}, None),
    ],
)
def test_times_are_read_as_they_are_written(given: object, expected: int | None) -> None:
    assert jsonl.epoch_ms(given) == expected


def test_bytes_that_are_no_text_cost_a_character_each() -> None:
    assert jsonl.decoded(b'"caf\xe9 \xff ok"') == "caf\ufffd \ufffd ok"


@pytest.mark.parametrize("line", [b'{"a":"\\p"}', b"{", b"", b"[" * 100_000, b"9" * 5000])
def test_what_is_no_json_is_one_error(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        jsonl.decoded(line)


def test_a_folder_that_is_not_there_has_nothing_in_it(tmp_path: Path) -> None:
    assert files.entries(str(tmp_path / "none")) == []


def test_stamps_tell_every_change(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    (tmp_path / "b").write_text("two")

    def stamp() -> str:
        found = (files.seen(entry) for entry in files.entries(str(tmp_path)))
        return files.stamp({file.path: file for file in found if file})

    seen = {stamp()}
    assert stamp() in seen
    (tmp_path / "a").write_text("three")
    seen.add(stamp())
    (tmp_path / "a").rename(tmp_path / "c")
    seen.add(stamp())
    (tmp_path / "b").unlink()
    seen.add(stamp())
    assert len(seen) == 4


def test_only_what_changed_comes_newest_first_and_memory_is_forgiving() -> None:
    stamps = {"old": ("1", 10), "new": ("2", 30), "mid": ("3", 20)}
    found, memory = files.changed(stamps, "")
    assert [one.key for one in found] == ["new", "mid", "old"]
    assert files.changed(stamps, memory) == ([], memory)
    again, _ = files.changed({**stamps, "old": ("9", 40)}, memory)
    assert [one.key for one in again] == ["old"]
    for broken in ("{", "[]", "3"):
        assert len(files.changed(stamps, broken)[0]) == 3
