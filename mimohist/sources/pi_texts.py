"""pi's texts: whose words a user's are, what a message's content says and cost.

Facts of pi-mono 0.73 (`core/messages`, `core/agent-session`, `cli/file-processor`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mimohist.records import Machine, Usage
from mimohist.sources.jsonl import Record, blocks_in, number_in, record_in, text_in, whole_in
from mimohist.sources.turns import own_words
from mimohist.text import clean, data_url

if TYPE_CHECKING:
    from collections.abc import Iterator

_WRAPPERS = frozenset({"skill", "file"})
"""What pi writes out before a prompt: a skill's text for `/skill:name`, a file's for `@name`."""

_SUMMARIES = (
    "The conversation history before this point was compacted into the following summary:",
    "The following is a summary of a branch that this conversation came back from:",
)


def whose(text: str) -> tuple[str, str, Machine | None]:
    """Tell what of a user's text was said, what the harness put in, and why, if all is its."""
    if text.startswith(_SUMMARIES):
        return text, "", Machine.SUMMARY
    return own_words(text, _WRAPPERS)


def texts_in(content: object) -> Iterator[str]:
    """Give the texts of a message's content."""
    for block in blocks_in(content):
        if block.get("type") == "text":
            yield text_in(block, "text")


def output_of(content: object) -> str:
    """Give what a tool gave back as text; images are named and left out."""
    found = []
    for block in blocks_in(content):
        if block.get("type") == "text":
            found.append(clean(text_in(block, "text")))
        elif block.get("type") == "image":
            found.append(data_url(clean(text_in(block, "mimeType")) or "image"))
    return "\n".join(text for text in found if text)


def usage_of(message: Record) -> Usage | None:
    """Give what an answer cost, None when it does not say."""
    usage = record_in(message, "usage")
    if not usage:
        return None
    return Usage(
        cost=number_in(record_in(usage, "cost"), "total"),
        input=whole_in(usage, "input"),
        output=whole_in(usage, "output"),
        cache_read=whole_in(usage, "cacheRead"),
        cache_write=whole_in(usage, "cacheWrite"),
    )
