"""Secrets made unreadable: keys, tokens, passwords, private keys, URLs with credentials.

Best effort by shape; what has no shape stays.  Every pattern is linear: no nested repeats.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimohist.answers import Answer
    from mimohist.contexts import Context

_END = r"(?![A-Za-z0-9_-])"
_KINDS = {
    "private-key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    "aws-key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "github-token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})" + _END,
    "gitlab-token": r"\bglpat-[A-Za-z0-9_-]{20,}" + _END,
    "slack-token": r"\bxox[abeprs]-[A-Za-z0-9-]{10,}" + _END,
    "google-key": r"\bAIza[A-Za-z0-9_-]{35}" + _END,
    "openai-key": r"\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}" + _END,
    "npm-token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "huggingface-token": r"\bhf_[A-Za-z0-9]{30,}\b",
    "stripe-key": r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}\b",
    "jwt": r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}" + _END,
}
_WHOLE = re.compile(
    "|".join(f"(?P<{kind.replace('-', '_')}>{pattern})" for kind, pattern in _KINDS.items()),
    re.DOTALL,
)
_AUTHORIZATION = re.compile(
    r"(?i)(\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+)([^\s\"',;]{8,})"
)
_CREDENTIALS = re.compile(
    r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{0,128}:)([^\s/@\"']{1,256})(@)", re.IGNORECASE
)
_ASSIGNED = re.compile(
    r"(?i)((?<![A-Za-z])(?:[A-Za-z0-9]{1,40}[_-]){0,6}"
    r"(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|access[_-]?token|auth[_-]?token"
    r"|client[_-]?secret|private[_-]?key|token)"
    r"[\"']?\s{0,3}(?::=|[:=])\s{0,3}[\"']?)"
    r"([^\s\"',;]{6,})"
)
_PLACEHOLDER = re.compile(
    r"(?i)^(?:\$|<|\{|\*+$|x+$|\.\.\.|your|example|changeme|none\b|null\b|true\b|false\b|\[redacted)"
)


def redact(text: str) -> str:
    """Put `[redacted:KIND]` in the place of what looks like a secret."""
    text = _WHOLE.sub(lambda found: f"[redacted:{(found.lastgroup or '').replace('_', '-')}]", text)
    text = _AUTHORIZATION.sub(r"\1[redacted:authorization]", text)
    text = _CREDENTIALS.sub(r"\1[redacted:password]\3", text)
    return _ASSIGNED.sub(_assigned, text)


def _assigned(found: re.Match[str]) -> str:
    if _PLACEHOLDER.match(found[2]) or "(" in found[2]:
        return found[0]
    return f"{found[1]}[redacted:secret]"


def redacted_answer(answer: Answer) -> Answer:
    """Give an answer without secrets; where a snippet changed, it marks no matches."""
    hits = []
    for hit in answer.hits:
        snippet = redact(hit.snippet)
        matches = hit.matches if snippet == hit.snippet else ()
        hits.append(hit._replace(snippet=snippet, matches=matches, title=redact(hit.title)))
    return answer._replace(hits=tuple(hits))


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
