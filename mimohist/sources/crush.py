"""Crush, and the Go program opencode that it came from: one database for each project.

Crush's is `<project>/.crush/crush.db`, or in the folder that its option `data_directory` names; all
are listed in `projects.json` in `$CRUSH_GLOBAL_DATA`, else `$XDG_DATA_HOME/crush`, else
`~/.local/share/crush` (on Windows `%LOCALAPPDATA%/crush`).  The Go opencode's is
`<project>/.opencode/opencode.db`: it is looked for in the listed projects and configured roots.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.sources.places import shared_data, stamped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mimohist.sources.tables import Tables

NAME = "crush"

_FOLDERS = {".crush": "crush.db", ".opencode": "opencode.db"}


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Tables]:
    """Give the databases of the projects that Crush lists, and the configured ones."""
    for path, directory in _paths(environ, home, roots).items():
        from mimohist.sources.crush_database import Crush
        from mimohist.sources.tables import Tables

        yield Tables(NAME, path, Crush(directory))


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each database's path with its stamp."""
    return stamped(_paths(environ, home, roots))


def _paths(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> dict[Path, str]:
    """Give each database with its project's directory, "" where nothing tells it."""
    found: dict[Path, str] = {}
    for project, data in _listed(environ, home):
        for folder in (data, project / ".crush", project / ".opencode"):
            for path in _inside(folder):
                found.setdefault(path, str(project))
    for root in roots:
        if root.is_dir():
            places = [root, *(root / folder for folder in _FOLDERS)]
            inside = [path for place in places for path in _inside(place)]
        else:
            inside = []
        for path in inside or [root / "crush.db" if root.is_dir() else root]:
            folder = path.parent
            found.setdefault(path, str(folder.parent) if folder.name in _FOLDERS else "")
    return found


def _inside(folder: Path) -> Iterator[Path]:
    """Give the databases in a data folder; opencode.db elsewhere is another program's."""
    names = [_FOLDERS[folder.name]] if folder.name in _FOLDERS else ["crush.db"]
    for name in names:
        if (folder / name).exists():
            yield folder / name


def _listed(environ: Mapping[str, str], home: Path) -> Iterator[tuple[Path, Path]]:
    """Give the directory and the data folder of every project in Crush's list."""
    own, local = environ.get("CRUSH_GLOBAL_DATA", ""), environ.get("LOCALAPPDATA", "")
    folders = [Path(own)] if own else [shared_data(environ, home) / NAME]
    if local and not own:
        folders.append(Path(local) / NAME)
    for folder in folders:
        try:
            text = (folder / "projects.json").read_bytes()
        except OSError:
            continue
        import json

        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(listed, dict):
            listed = listed.get("projects")
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, dict) and (pair := _project(one)):
                yield pair


def _project(one: Mapping[str, object]) -> tuple[Path, Path] | None:
    """Read one entry; None when it names no project by its full path."""
    project, data = one.get("path"), one.get("data_dir")
    if not isinstance(project, str) or "\0" in project or not Path(project).is_absolute():
        return None
    named = data if isinstance(data, str) and data and "\0" not in data else ".crush"
    return Path(project), Path(project) / named
