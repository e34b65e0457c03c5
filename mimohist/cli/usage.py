"""What is said about flags and verbs that are none."""

from __future__ import annotations

import re
import shlex
from difflib import get_close_matches

_WHOLE = re.compile(r"is not a valid int(?:eger)?(?: range)?")
_NUMBER = re.compile(r"is not a valid float(?: range)?")


def explained(error: Exception, arguments: list[str], verbs: list[str]) -> str:
    """Say in one line what is wrong with a command line, and what would be right."""
    text = str(getattr(error, "format_message", lambda: str(error))()).rstrip(".")
    text = text[:1].lower() + text[1:]
    option = getattr(error, "option_name", None)
    verb = arguments[0] if arguments else ""
    if option:
        near = get_close_matches(option, getattr(error, "possibilities", None) or [], n=1)
        text = f"no such option: {option}"
        if near:
            text += f" (did you mean {near[0]}?)"
        if verb == "search":
            words = [word for word in arguments[1:] if word != "--"]
            return f"{text}; to search for it: mimohist search -- {shlex.join(words)}"
        return text if near else f"{text}; see {_help(verb, verbs)}"
    if text.startswith("no such command") and verb not in verbs:
        near = get_close_matches(verb, verbs, n=1)
        if near:
            return f"no such verb: {verb!r} (did you mean {near[0]}?); see mimohist --help"
        found = shlex.join(arguments)
        return f"no such verb: {verb!r}; to search for it: mimohist search {found}"
    text = _WHOLE.sub("is not a whole number", _NUMBER.sub("is not a number", text))
    return f"{text}; see {_help(verb, verbs)}"


def _help(verb: str, verbs: list[str]) -> str:
    return f"mimohist {verb + ' ' if verb in verbs else ''}--help"
