"""Full-text search over the sessions of coding agents."""

from __future__ import annotations

__version__ = "0.1.0"
