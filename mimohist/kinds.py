"""What a row of the index is, and why a text counts as the harness's."""

from __future__ import annotations

from enum import StrEnum

from mimohist.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Kind(StrEnum):
    """What a row of the index is; the first six are the words of MiMo Code's history tool."""

    USER_TEXT = "user_text"
    ASSISTANT_TEXT = "assistant_text"
    REASONING = "reasoning"
    TOOL_INPUT = "tool_input"
    TOOL_OUTPUT = "tool_output"
    TOOL_ERROR = "tool_error"
    TITLE = "title"


class Machine(StrEnum):
    """Why a text counts as the harness's and not as somebody's words.

    Every reason but `summary` hides the text from a plain search; summaries are
    shown, labelled and ranked below what they sum up.
    """

    SYNTHETIC = "synthetic"
    IGNORED = "ignored"
    HOOK = "hook"
    SPAWN = "spawn"
    SYSTEM_AGENT = "system_agent"
    REVERTED = "reverted"
    CHECKPOINT = "checkpoint"
    HARNESS = "harness"
    SUMMARY = "summary"


PENDING = frozenset({"pending", "running"})
"""Tool states whose parts are shown from the source but not indexed yet."""


def kinds_named(words: Iterable[Kind | str]) -> tuple[Kind, ...]:
    """Read kinds as typed, commas between them; `all` is every one.

    Raises `BadInput` for a name that is none.
    """
    found: list[Kind] = []
    for word in words:
        for name in word.split(","):
            if name == "all":
                return tuple(Kind)
            try:
                found.append(Kind(name))
            except ValueError as error:
                have = ", ".join([*Kind, "all"])
                raise BadInput(f"no kind {name!r}; there are: {have}") from error
    return tuple(found)
