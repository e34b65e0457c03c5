"""Databases in memory that tests may simply drop."""

from __future__ import annotations

import sqlite3


class Fleeting(sqlite3.Connection):
    """Closes itself when dropped; Python 3.13 warns of any other, and a warning fails a test."""

    def __del__(self) -> None:
        self.close()


def database() -> sqlite3.Connection:
    """Open an empty database."""
    return sqlite3.connect(":memory:", factory=Fleeting)
