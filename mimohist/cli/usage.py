"""What is said about flags and verbs that are none."""

from __future__ import annotations

import shlex
from difflib import get_close_matches


def explained(error: Exception, arguments: list[str], verbs: list[str]) -> str:
    """Say in one line what is wrong with a command line, and what would be right."""
    text = str(getattr(error, "format_message", lambda: str(error))()).rstrip(".")
    text = text[:1].lower() + text[1:]
    option = getattr(error, "option_name", None)
    verb = arguments[0] if arguments else ""
    if option:
        near = getattr(error, "possibilities", None) or []
        text = f"no such option: {option}"
        if near:
            text += f" (did you mean {' or '.join(sorted(near)[:2])}?)"
        if verb == "search":
            words = [word for word in arguments[1:] if word != "--"]
            text += f"; to search for it: mimohist search -- {shlex.join(words)}"
        return text
    if text.startswith("no such command") and verb not in verbs:
        near = get_close_matches(verb, verbs, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        return f"no such verb: {verb!r}{hint}; there are: {', '.join(verbs)}"
    return f"{text}; see mimohist {verb + ' ' if verb in verbs else ''}--help"
