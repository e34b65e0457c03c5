"""Rollouts of Codex, whichever way they are written: lines, lines compressed, one document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mimohist.sources import jsonl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

_DOCUMENT_LIMIT = 64 << 20


def records(file: BinaryIO, path: Path, at: int) -> Iterator[jsonl.Record]:
    """Give the records of a rollout, of a whole document too; bad ones are passed over."""
    if path.name.endswith(".json"):
        yield from _document(file)
        return
    for line in jsonl.lines(file, at):
        try:
            record = jsonl.decoded(line.data or b"")
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _document(file: BinaryIO) -> Iterator[jsonl.Record]:
    data = file.read(_DOCUMENT_LIMIT + 1)
    if len(data) > _DOCUMENT_LIMIT:
        raise OSError(f"a document of more than {_DOCUMENT_LIMIT >> 20} MiB")
    try:
        document = jsonl.decoded(data)
    except ValueError as error:
        raise OSError(f"not JSON: {error}") from error
    if isinstance(document, dict):
        session = jsonl.record_in(document, "session")
        if session:
            yield session
        yield from jsonl.records_in(document.get("items"))


def opened(path: Path) -> BinaryIO:
    """Open a rollout, its compression undone; such a file cannot be sought in.

    Raises `OSError`, also when nothing here can undo the compression.
    """
    if not path.name.endswith(".zst"):
        return path.open("rb")
    from mimohist.sources.zstd import unpacked

    return unpacked(path)
