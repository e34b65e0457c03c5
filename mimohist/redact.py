"""Secrets made unreadable: keys, tokens, passwords, private keys, URLs with credentials.

Best effort by shape; what has no shape stays.  Time is linear in the text: a repeat is
bounded, or begins only where no character of its own class stands before it.  Redact whole texts
and cut afterwards: half a key has no shape, and is half a key.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mimohist.contexts import Context

_START = r"(?<![A-Za-z0-9_-])"
_END = r"(?![A-Za-z0-9])"
_NAMED = {
    "private-key": r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r".*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    "aws-key": rf"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{{16}}{_END}",
    "github-token": rf"{_START}(?:gh[pousr]_[A-Za-z0-9]{{36,}}|github_pat_[A-Za-z0-9_]{{22,}})",
    "gitlab-token": rf"{_START}gl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_-]{{20,}}",
    "slack-token": rf"{_START}xox[abeoprs]-[A-Za-z0-9-]{{10,}}",
    "google-key": rf"(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{{35}}{_END}",
    "stripe-key": rf"{_START}[rs]k_(?:live|test)_[A-Za-z0-9]{{16,}}",
    # A digit, for `sk-` also begins the names of style sheets.
    "api-key": rf"{_START}sk-(?=[A-Za-z_-]{{0,200}}[0-9])[A-Za-z0-9_-]{{20,}}",
    "npm-token": rf"{_START}npm_[A-Za-z0-9]{{36}}{_END}",
    "pypi-token": rf"{_START}pypi-[A-Za-z0-9_-]{{50,}}",
    "huggingface-token": rf"{_START}hf_[A-Za-z0-9]{{30,}}",
    "jwt": rf"{_START}eyJ[A-Za-z0-9_-]{{8,}}\.eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]{{8,}}",
}
_SHAPES = re.compile(
    "|".join(f"(?P<{kind.replace('-', '_')}>{pattern})" for kind, pattern in _NAMED.items()),
    re.DOTALL,
)

_HEADER = re.compile(
    r"((?<![A-Za-z])(?:proxy-)?authorization[\"']?\s{0,9}[:=]\s{0,9}[\"']?"
    r"(?:(?:bearer|basic|digest|token|apikey)\s{1,9})?)([^\s\"',;<>]{8,})"
    r"|((?<![A-Za-z])bearer\s{1,9})([A-Za-z0-9._~+/=-]{20,})",
    re.IGNORECASE,
)

_PASSWORD_IN_URL = re.compile(
    r"((?<![A-Za-z0-9])[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,128}:)([^\s/\"'<>]{1,256})(@)",
    re.IGNORECASE,
)
_TOKEN_IN_URL = re.compile(r"(://)([A-Za-z0-9_.~-]{20,256})(@)")

_NAME = (
    r"(?:password|passwd|passphrase|pwd|secret|api[_-]?key|apikey|access[_-]?key(?:[_-]?id)?"
    r"|secret[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key"
    r"|(?:access|auth|refresh|bearer|session|id)?[_-]?token|credentials?)"
)
_ASSIGNED = re.compile(
    # Before the name: export DB_, "aws-, myApp.  After it: the sign and an opening quote.
    rf"(?<![A-Za-z0-9_-])(?P<name>[A-Za-z0-9_-]{{0,60}}?{_NAME})\\?[\"']?"
    r"(?P<sign>\s{0,3}(?::=|=>|[:=])\s{0,3}|\s{1,3}(?=[\"']))(?P<quote>\\?[\"'`]?)"
    r"(?P<value>[^\s\"'`,;<>\\]{6,})",
    re.IGNORECASE,
)
_FLAG = re.compile(
    rf"((?<![A-Za-z0-9-])--(?:[a-z0-9]{{1,20}}-){{0,3}}{_NAME}[= ][\"']?)"
    r"([^\s\"'`-][^\s\"'`]{5,})",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"\$|[<{(\[]|%[a-z({]|\*+$|x+$|\.{3}|…|your|my[-_]|example|change_?me|placeholder|dummy|redacted"
    r"|(?:none|null|true|false|undefined|string|str|bytes|number|integer|boolean|optional|required"
    r"|secret|password|token|object|process|self|os|settings|config|env|args|this|request|import)\b",
    re.IGNORECASE,
)
_NAME_ONLY = re.compile(r"[A-Za-z_][A-Za-z_.\[\]()|?!]*$")
_SECRET_KEY = re.compile(rf"[A-Za-z0-9_-]{{0,60}}{_NAME}$", re.IGNORECASE)
_LONG = 24


def redact(text: str) -> str:
    """Put `[redacted:KIND]` in the place of what looks like a secret.

    KIND is a sort of key (`aws-key`, `jwt`, ...), `authorization`, `password` (in a URL) or
    `secret` (given to something so named: `API_KEY=...`, `password: ...`, `--token ...`).
    """
    text = _SHAPES.sub(_shape, text)
    text = _HEADER.sub(_header, text)
    if "://" in text:
        text = _PASSWORD_IN_URL.sub(_in_url, text)
        text = _TOKEN_IN_URL.sub(r"\1[redacted:password]\3", text)
    return _FLAG.sub(_flag, _ASSIGNED.sub(_assigned, text))


def _shape(found: re.Match[str]) -> str:
    kind = (found.lastgroup or "").replace("_", "-")
    return f"[redacted:{kind}]"


def _header(found: re.Match[str]) -> str:
    if found[1] is None:
        return f"{found[3]}[redacted:authorization]"
    return found[0] if _HARMLESS.match(found[2]) else f"{found[1]}[redacted:authorization]"


def _in_url(found: re.Match[str]) -> str:
    if _HARMLESS.match(found[2]):
        return found[0]
    return f"{found[1]}[redacted:password]{found[3]}"


def _flag(found: re.Match[str]) -> str:
    return found[0] if _HARMLESS.match(found[2]) else f"{found[1]}[redacted:secret]"


def _assigned(found: re.Match[str]) -> str:
    value = found["value"]
    if _HARMLESS.match(value) or not _is_secret(found, value):
        return found[0]
    return found[0][: found.start("value") - found.start()] + "[redacted:secret]"


def _is_secret(found: re.Match[str], value: str) -> bool:
    """Tell a secret from code that only handles one: `token = self.next`, `token: Token`."""
    if found["quote"] or (found["sign"] == "=" and found["name"].isupper()):
        return True
    if "(" in value:
        return False
    if not _NAME_ONLY.match(value):
        return any(char.isdigit() for char in value) or len(value) >= _LONG
    return found["name"].lower().endswith(("password", "passwd", "passphrase", "pwd")) and (
        found["sign"].strip() == ":" or found["sign"] == "="
    )


def redacted_value(value: Any) -> Any:  # noqa: ANN401 - decoded JSON
    """Give decoded JSON without secrets, those included that only their key tells."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _member(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_value(item) for item in value]
    return value


def _member(key: str, item: Any) -> Any:  # noqa: ANN401 - decoded JSON
    if isinstance(item, str) and len(item) >= 6 and _SECRET_KEY.match(key):  # noqa: PLR2004
        return item if _HARMLESS.match(item) else "[redacted:secret]"
    if key.lower() in {"authorization", "proxy-authorization", "cookie", "set-cookie"}:
        return "[redacted:authorization]"
    return redacted_value(item)


def redacted_context(context: Context) -> Context:
    """Give a window without secrets."""
    messages = tuple(
        replace(
            message,
            parts=tuple(replace(part, text=redact(part.text)) for part in message.parts),
        )
        for message in context.messages
    )
    return replace(context, title=redact(context.title), messages=messages)
