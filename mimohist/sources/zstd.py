"""Files compressed with Zstandard: read by Python 3.14 itself, or by the package `zstandard`."""

from __future__ import annotations

import io
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path

READERS = "unpacked"

_MODULES = ("compression.zstd", "zstandard")


def reader() -> str | None:
    """Name the module that can read such files, None when there is none."""
    for name in _MODULES:
        try:
            if find_spec(name):
                return name
        except ModuleNotFoundError:
            continue
    return None


class _Stream(io.RawIOBase):
    """What a decompressor gives, to be read forward only; its faults are `OSError`."""

    def __init__(self, inner: Any) -> None:  # noqa: ANN401 - either module's reader
        self._inner = inner

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - as the base class has it
        try:
            data = self._inner.read(len(buffer))
        except Exception as error:  # each module has an error class of its own
            raise OSError(f"not to be decompressed: {error}") from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._inner.close()
        super().close()


def unpacked(path: Path) -> BinaryIO:
    """Open a compressed file; raises `OSError`, also when nothing can decompress it."""
    name = reader()
    if name is None:
        raise OSError("compressed with zstd: install mimohist[zstd], or use Python 3.14 or later")
    module: Any = import_module(name)
    if name == "compression.zstd":
        inner = module.ZstdFile(path)
    else:
        inner = module.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True)
    return io.BufferedReader(_Stream(inner), 1 << 20)
