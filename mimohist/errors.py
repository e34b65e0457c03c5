"""What can go wrong and be told in one line.

MimohistError
├── BadInput       words, times, refs, filters or configuration that cannot be understood
├── NotFound       a well-formed ref that names nothing
├── NoIndex        there is nothing to search yet
├── IndexUnusable  our own index is damaged, or newer than this program
├── SourceError    another program's sessions cannot be read
└── Busy           another process is writing the index
"""

from __future__ import annotations


class MimohistError(Exception):
    """An expected failure; its text is shown to the user as it is.

    `status` is the exit status of the process that ends with it.
    """

    status = 2


class BadInput(MimohistError):
    """The words, time, reference, filter or configuration given cannot be understood."""


class NotFound(MimohistError):
    """A well-formed reference names nothing that is indexed; grep's "no match"."""

    status = 1


class NoIndex(MimohistError):
    """There is nothing to search yet."""


class IndexUnusable(MimohistError):
    """The index file is damaged, is not ours, or was made by a newer program."""


class SourceError(MimohistError):
    """A source cannot be had: missing, unreadable, locked too long, corrupt, of unknown shape."""


class Busy(MimohistError):
    """Another process holds the lock; trying later helps (EX_TEMPFAIL)."""

    status = 75
