"""Codex's texts: whose words a user's are, what a tool was given and gave back, what it cost.

Facts of codex-rs and of rollouts from 2025 to 0.15x.
"""

from __future__ import annotations

import json
import re

from mimohist.records import Machine, Usage
from mimohist.sources.jsonl import Record, record_in, records_in, text_in, whole_in
from mimohist.sources.turns import part_wrappers
from mimohist.text import clean, strings

_WRAPPERS = frozenset(
    {
        "user_instructions",
        "INSTRUCTIONS",
        "environment_context",
        "turn_aborted",
        "recommended_plugins",
        "user_shell_command",
        "user_action",
        "skill",
        "subagent_notification",
    }
)
_AGENTS_FILE = "# AGENTS.md instructions"
_IDE = ("# Context from my IDE setup:", "# Files mentioned by the user:")
_REQUEST = "## My request for Codex:"

_EXIT = re.compile(r"(?:^|\n)(?:Process exited with code|Exit code:) (-?\d+)")
_FAILED = re.compile(
    r"\s*(?:failed\b|aborted\b|exec_command failed|execution error|apply_patch verification failed"
    r"|patch rejected|unsupported call|error:|err:)",
    re.IGNORECASE,
)
_HEAD = 400


def whose(text: str) -> tuple[str, str, Machine | None]:
    """Tell what of a user's text was said, what the harness put in, and why, if all is its."""
    if text.lstrip().startswith(_AGENTS_FILE):
        return text, "", Machine.HARNESS
    said, cut = part_wrappers(text, _WRAPPERS)
    if not said.strip():
        return cut, "", Machine.HARNESS if cut else None
    if said.lstrip().startswith(_IDE) and _REQUEST in said:
        context, _, said = said.partition(_REQUEST)
        cut = "\n".join(piece for piece in (cut, context.strip()) if piece)
        said = said.strip()
        if not said:
            return cut, "", Machine.HARNESS
    return said, cut, None


def input_of(value: object) -> str:
    """Give the strings of a call's input: JSON in a string, a text, or an object."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return clean(str(value))
    return strings(untyped(value))


def untyped(value: object) -> object:
    """Leave out the word that says what an action is."""
    if isinstance(value, dict) and value.get("type") in ("exec", "search", "open_page"):
        return {key: value[key] for key in value if key != "type"}
    return value


def result_of(value: object) -> tuple[str, bool]:
    """Give what a tool gave back as text, and whether it failed, which no flag says."""
    failed = False
    if isinstance(value, str) and value.startswith("{"):
        try:
            inner = json.loads(value)
        except (ValueError, RecursionError):
            inner = None
        if isinstance(inner, dict) and "output" in inner:
            value = inner
    if isinstance(value, dict):
        code = record_in(value, "metadata").get("exit_code")
        failed = value.get("success") is False or (isinstance(code, int) and code != 0)
        value = value.get("output", value.get("content", value))
    if isinstance(value, list):
        texts = [
            text_in(block, "text") or strings({k: block[k] for k in block if k in _NAMES})
            for block in records_in(value)
        ]
        value = "\n".join(text for text in texts if text)
    text = clean(value) if isinstance(value, str) else strings(value)
    code = _EXIT.search(text, 0, _HEAD)
    return text, failed or bool(code and code[1] != "0") or bool(_FAILED.match(text))


_NAMES = ("name", "description", "title")


def review_of(output: Record) -> str:
    """Give what a review found."""
    texts = [text_in(output, "overall_explanation")]
    for finding in records_in(output.get("findings")):
        texts += [text_in(finding, "title"), text_in(finding, "body")]
    return "\n".join(text for text in texts if text)


def usage_of(tokens: Record) -> Usage | None:
    """Give what one answer cost."""
    if not tokens:
        return None
    return Usage(
        input=whole_in(tokens, "input_tokens"),
        output=whole_in(tokens, "output_tokens"),
        reasoning=whole_in(tokens, "reasoning_output_tokens"),
        cache_read=whole_in(tokens, "cached_input_tokens"),
    )
