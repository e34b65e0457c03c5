"""A program with a terminal of its own, which a test types at."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios


class Terminal:
    """A program with a terminal of its own, 120 columns and 40 lines, that a test types at."""

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self.child, self.master = pty.fork()
        if self.child == 0:
            os.chdir("/")
            os.execvpe(command[0], command, environ)  # noqa: S606 - as a terminal would
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.said = b""

    def _read(self) -> bool:
        """Take in what is said next; give False at the end, and after a minute of silence."""
        ready, _, _ = select.select([self.master], [], [], 60)
        try:
            piece = os.read(self.master, 65536) if ready else b""
        except OSError:
            piece = b""
        self.said += piece
        return bool(piece)

    def wait_for(self, text: str) -> None:
        while text.encode() not in self.said:
            assert self._read(), self.said

    def type(self, keys: str) -> None:
        self.said = b""
        os.write(self.master, keys.encode())

    def rest(self) -> str:
        while self._read():
            pass
        return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", self.said.decode("utf-8", "replace"))

    def close(self) -> int:
        os.close(self.master)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
