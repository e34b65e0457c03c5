"""Times as programs read them."""

from __future__ import annotations

from time import gmtime, strftime


def utc(at: int) -> str:
    """Write an epoch time in milliseconds as RFC 3339 in UTC, which sorts as text."""
    return f"{strftime('%Y-%m-%dT%H:%M:%S', gmtime(at // 1000))}.{at % 1000:03}Z"
