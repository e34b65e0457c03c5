"""Kimi's texts: whose words a user's are, what a tool was given and gave back.

Facts of kimi-cli 1.52 (`soul/message`, `soul/compaction`, `notifications/llm`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mimohist.records import Machine, Usage
from mimohist.sources.jsonl import Record, blocks_in, text_in, whole_in
from mimohist.sources.turns import own_words
from mimohist.text import clean, data_url, strings

if TYPE_CHECKING:
    from collections.abc import Iterator

_WRAPPERS = frozenset(
    {"system", "system-reminder", "notification", "task-notification", "git-context"}
)
_COMPACTED = "<system>Previous context has been compacted"
_CHECKPOINT = "<system>CHECKPOINT "
_FAILED = "<system>ERROR:"


def whose(text: str) -> tuple[str, str, Machine | None]:
    """Tell what of a user's text was said, what the harness put in, and why, if all is its."""
    return own_words(text, _WRAPPERS)


def blocks_of(content: object) -> Iterator[Record]:
    """Give the blocks of a content, which may also be one block alone."""
    return blocks_in([content] if isinstance(content, dict) else content)


def texts_in(content: object) -> list[str]:
    """Give the texts of a content, cleaned."""
    return [clean(text_in(block, "text")) for block in blocks_of(content) if "text" in block]


def prompt_in(record: Record) -> object:
    """Give the content of a prompt as Kimi Code writes it, None where there is none."""
    return next((record[key] for key in _INPUT if key in record), None)


_INPUT = ("input", "user_input", "prompt", "content", "text")


def is_summary(content: object) -> bool:
    """Whether a user's content is what compaction left of the conversation."""
    return next(iter(texts_in(content)), "").startswith(_COMPACTED)


def is_checkpoint(content: object) -> bool:
    """Whether a user's content is but a place to go back to."""
    return next(iter(texts_in(content)), "").startswith(_CHECKPOINT)


def input_of(value: object) -> str:
    """Give the strings of a call's input: JSON in a string, a text, or an object."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return clean(str(value))
    return strings(value)


def output_of(value: object) -> tuple[str, bool]:
    """Give what a tool gave back as text, and whether it failed.

    `value` is a string, a list of blocks, or an object that holds either beside a message.
    """
    if not isinstance(value, dict):
        texts = [_shown(block) for block in blocks_of(value)]
        return "\n".join(text for text in texts if text), bool(texts) and texts[0].startswith(
            _FAILED
        )
    failed = value.get("is_error") is True or value.get("isError") is True
    given = value.get("output", value.get("content"))
    output = output_of(given)[0] if isinstance(given, str | list) else strings(given)
    message = clean(text_in(value, "message"))
    if message and (failed or not output):
        output = f"{message}\n{output}".rstrip("\n")
    return output, failed


def _shown(block: Record) -> str:
    if "text" in block:
        return clean(text_in(block, "text"))
    type = clean(text_in(block, "type"))
    return data_url(type.removesuffix("_url")) if type.endswith("_url") else ""


def usage_of(tokens: Record) -> Usage | None:
    """Give what one step cost, in the words of either program."""
    if not tokens:
        return None
    names = (
        ("input_other", "inputOther"),
        ("output", "output"),
        ("input_cache_read", "inputCacheRead"),
        ("input_cache_creation", "inputCacheCreation"),
    )
    counts = [
        next((whole_in(tokens, one) for one in pair if one in tokens), None) for pair in names
    ]
    return Usage(input=counts[0], output=counts[1], cache_read=counts[2], cache_write=counts[3])
