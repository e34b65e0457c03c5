"""The wheel holds what an installed program needs, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mimohist import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
DATA = f"mimohist-{__version__}.data/data/"
INFO = f"mimohist-{__version__}.dist-info/"

COMPLETIONS = {
    "share/bash-completion/completions/mimohist": "mimohist.bash",
    "share/zsh/site-functions/_mimohist": "_mimohist",
    "share/fish/vendor_completions.d/mimohist.fish": "mimohist.fish",
}
"""Where the shells look, below the prefix, and what is found there."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """Build the wheel with the build backend alone, as an installer does without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        yield archive


def test_every_module_is_shipped(wheel: zipfile.ZipFile) -> None:
    """What is in the package folder is in the wheel: modules, named queries, the typing mark."""
    here = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "mimohist").rglob("*")
        if path.suffix in {".py", ".sql", ".typed"}
    }
    assert {name for name in wheel.namelist() if name.startswith("mimohist/")} == here
    assert any(name.startswith("mimohist/queries/") for name in here)
    assert "mimohist/py.typed" in here


def test_completions_are_where_shells_look(wheel: zipfile.ZipFile) -> None:
    """Each shell's folder below the prefix holds the committed script."""
    shipped = {
        name.removeprefix(DATA): wheel.read(name)
        for name in wheel.namelist()
        if name.startswith(DATA)
    }
    assert shipped == {
        place: (ROOT / "completions" / name).read_bytes() for place, name in COMPLETIONS.items()
    }


def test_nothing_else_is_shipped(wheel: zipfile.ZipFile) -> None:
    """No tests, no checks and no caches."""
    expected = ("mimohist/", DATA, INFO)
    assert [name for name in wheel.namelist() if not name.startswith(expected)] == []
    assert [name for name in wheel.namelist() if "__pycache__" in name or ".pyc" in name] == []


def test_it_asks_for_three_libraries(wheel: zipfile.ZipFile) -> None:
    """Typer before pydantic, Rich, sqlite-utils; the rest comes only by an extra."""
    metadata = Parser().parsestr(wheel.read(INFO + "METADATA").decode())
    needed = metadata.get_all("Requires-Dist", [])
    assert [line for line in needed if "extra ==" not in line] == [
        "rich>=14.3",
        "sqlite-utils>=4.2",
        "typer<0.29,>=0.27",
    ]
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"


def test_one_command_is_installed(wheel: zipfile.ZipFile) -> None:
    """`mimohist` starts `mimohist.__main__`."""
    points = wheel.read(INFO + "entry_points.txt").decode()
    assert points == "[console_scripts]\nmimohist = mimohist.__main__:main\n"
