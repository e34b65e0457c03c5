"""Full-text search over the sessions of coding agents.

`History` is the library: `from mimohist import History`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mimohist.history import History

__all__ = ("History", "__version__")

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Load `History` when it is asked for: a program's start need not."""
    if name == "History":
        from mimohist.history import History

        return History
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
