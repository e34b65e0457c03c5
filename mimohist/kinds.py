"""What a row of the index is, and why a text counts as the harness's."""

from __future__ import annotations

from enum import StrEnum


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
