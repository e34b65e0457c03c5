"""The process: `mimohist`, and `python -m mimohist`.

Everything here is about starting and ending fast and with an honest status; what
the program does is in `mimohist.cli`.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_READS = frozenset({"search", "around", "sql"})
_BUG = 2
_INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line and end the process with its status.

    A bug ends with 2: Python's own 1 would mean that nothing was found.
    """
    if hasattr(signal, "SIGPIPE"):
        # `mimohist search x | head` ends as grep does, without a traceback, with 141.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    reads = len(sys.argv) > 1 and sys.argv[1] in _READS
    if reads:
        # A search is over before there is any garbage; collecting costs a tenth of its time.
        gc.disable()
    try:
        status = _run()
    except KeyboardInterrupt:
        status = _INTERRUPTED
    except Exception:  # noqa: BLE001 - the last handler there is
        import traceback  # no search pays for it

        traceback.print_exc()
        status = _BUG
    _leave(status, at_once=reads)


def _run() -> int:
    from mimohist.cli import main as run  # after the garbage collector is off

    return run()


def _leave(status: int, *, at_once: bool) -> NoReturn:
    """End the process, telling when the answer could not be written.

    `at_once` skips the interpreter's tidying, a sixth of the time of a search, which
    has nothing open that the kernel does not close as well.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        sys.stderr.write(f"mimohist: the answer could not be written: {error.strerror}\n")
        # Python would try again while tidying, fail again, and end with 120.
        os._exit(_BUG)
    if at_once:
        if sys.stderr is not None:
            sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    main()
