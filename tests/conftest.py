"""What every test stands on: a home of its own, the program run as a process, properties."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# A busy machine is not a fault of the code, and a test that failed must fail again.
settings.register_profile("mimohist", deadline=None, derandomize=True)
settings.load_profile("mimohist")


class Ended(NamedTuple):
    """How a run of the program ended."""

    status: int
    out: str
    err: str


class Program(Protocol):
    """Runs the program in the test's home; `tty` gives it a terminal of `width` columns."""

    def __call__(
        self,
        *arguments: str,
        stdin: str = "",
        tty: bool = False,
        width: int = 80,
        cwd: str = "/",
        environ: Mapping[str, str] | None = None,
    ) -> Ended: ...


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Give an empty home directory."""
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def database(home: Path) -> Path:
    """Give where MiMo Code's database lies in the test's home; nothing is there yet."""
    folder = home / ".local/share/mimocode"
    folder.mkdir(parents=True)
    return folder / "mimocode.db"


@pytest.fixture
def mimohist(home: Path) -> Program:
    """Give the program, run as a process of its own."""
    base = {
        "HOME": str(home),
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "TZ": "UTC",
        "LANG": "C.UTF-8",
    }

    def run(
        *arguments: str,
        stdin: str = "",
        tty: bool = False,
        width: int = 80,
        cwd: str = "/",
        environ: Mapping[str, str] | None = None,
    ) -> Ended:
        env = {**base, "COLUMNS": str(width), **(environ or {})}
        command = [sys.executable, "-m", "mimohist", *arguments]
        if tty:
            return _on_a_terminal(command, env, cwd)
        ended = subprocess.run(
            command,
            input=stdin.encode(),
            env=env,
            cwd=cwd,
            capture_output=True,
            check=False,
            timeout=120,
        )
        return Ended(
            ended.returncode,
            ended.stdout.decode("utf-8", "surrogateescape"),
            ended.stderr.decode("utf-8", "surrogateescape"),
        )

    return run


def _on_a_terminal(command: list[str], env: Mapping[str, str], cwd: str) -> Ended:
    """Run with stdout and stderr on a terminal; what both say comes together in `out`."""
    master, slave = pty.openpty()
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env=env, cwd=cwd
    )
    os.close(slave)
    said = b""
    while True:
        ready, _, _ = select.select([master], [], [], 60)
        if not ready:
            child.kill()
            break
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        said += piece
    os.close(master)
    return Ended(child.wait(), said.decode("utf-8", "replace").replace("\r\n", "\n"), "")
