"""A history as `aider/io.py` (0.86) appends to it, call by call."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

BANNER = (
    "Aider v0.86.1",
    "Main model: gpt-4o with diff edit format",
    "Git repo: .git with 12 files",
)


class AiderFile:
    """One file; `ending` is that of its lines, `spaces` what aider ends its own with."""

    def __init__(self, path: Path, ending: str = "\n", spaces: str = "  ") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.ending = ending
        self.spaces = spaces

    def append(self, text: str) -> None:
        with self.path.open("ab") as file:
            file.write(text.replace("\n", self.ending).encode("utf-8", "surrogatepass"))

    def begin(self, time: str = "2025-08-01 10:11:12", banner: tuple[str, ...] = BANNER) -> None:
        self.append(f"\n# aider chat started at {time}\n\n")
        self.aside(*banner)

    def user(self, said: str) -> None:
        lines = f"{self.spaces}\n#### ".join(said.split("\n"))
        self.append(f"\n#### {lines}{self.spaces}\n")

    def answer(self, said: str) -> None:
        self.append(f"\n{said.strip()}\n\n")

    def aside(self, *lines: str) -> None:
        for line in lines:
            self.append(f"> {line.strip()}{self.spaces}\n")
