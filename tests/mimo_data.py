"""What the rows of MiMo Code and opencode are made of: ids, JSON, the data of tool parts."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Version = Literal["v1", "v2"]

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Ids:
    """Makes ids of one of the two formats, deterministically; `seed` varies their tails.

    v2 is MiMo Code's since 0.1.12: a mark, 64 bits of time in hex, 9 random characters.
    v1 is opencode's: 48 bits of time, which wrap every 2^36 ms, and 14 random characters.
    """

    def __init__(self, version: Version, seed: int) -> None:
        self.version = version
        self._last = (0, 0)
        self._random = random.Random(seed)  # noqa: S311 - has to be repeatable

    def new(self, prefix: str, at: int) -> str:
        """Make an id for a time: `msg` and `prt` ascend with it, `ses` descends."""
        moment, count = self._last
        count = count + 1 if moment == at else 1
        self._last = (at, count)
        descending = prefix == "ses"
        number = at * 0x1000 + count
        bits, tail = (64, 9) if self.version == "v2" else (48, 14)
        number = (~number if descending else number) & ((1 << bits) - 1)
        mark = ("-" if descending else "g") if self.version == "v2" else ""
        rest = "".join(self._random.choices(_BASE62, k=tail))
        return f"{prefix}_{mark}{number:0{bits // 4}x}{rest}"


def compact(value: object) -> str:
    """Write JSON as both programs do: no spaces, no escapes but for lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def tool_data(
    tool: str,
    arguments: Mapping[str, Any] | None,
    *,
    at: int,
    output: str | None = None,
    error: str | None = None,
    status: str | None = None,
    **state: object,
) -> dict[str, Any]:
    """Make a tool part's data: `error` when given one, else `completed` unless `status` says.

    `state` (`metadata`, `attachments`, `title`, `time`...) goes into the part's state.
    """
    status = status or ("error" if error is not None else "completed")
    body: dict[str, Any] = {"status": status, "input": dict(arguments or {})}
    if status == "pending":
        body["raw"] = ""
    elif status == "running":
        body["time"] = {"start": at}
    elif status == "error":
        body |= {"error": error or "", "time": {"start": at, "end": at}}
    else:
        ends = {"start": at, "end": at}
        body |= {"output": output or "", "title": "", "metadata": {}, "time": ends}
    return {"type": "tool", "tool": tool, "callID": f"call_{at % 100_000}", "state": body | state}
