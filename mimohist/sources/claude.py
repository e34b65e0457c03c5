"""Claude Code: `projects/<folder>/<session>.jsonl` in its configuration folder.

That is `$CLAUDE_CONFIG_DIR`, else `~/.claude`; some set-ups use `~/.config/claude`.  A
sub-agent's transcript is a session of its own below the one that started it: `agent-<id>.jsonl`
beside it (2.0.2x) or in `<session>/subagents/`, one of a workflow a level deeper.  Claude Code
deletes transcripts after 30 days (`cleanupPeriodDays`), so one that is gone was deleted by nobody.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mimohist.errors import SourceError
from mimohist.sources import files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mimohist.records import Mark, Message, Skipped
    from mimohist.sources.claude_head import Head
    from mimohist.sources.files import File
    from mimohist.sources.jsonl import Bookmark
    from mimohist.sources.source import Candidate, Reading, Survey

NAME = "claude"

_SIDE_LIMIT = 4 << 20
"""How many bytes of a tool's output in a file of its own are read."""


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Claude]:
    """Give the folders of projects that there are, and the configured ones."""
    own = environ.get("CLAUDE_CONFIG_DIR", "")
    usual = [Path(own)] if own else [home / ".claude", home / ".config" / "claude"]
    found = {folder / "projects": False for folder in usual}
    for root in roots:
        inner = root / "projects"
        found[inner if inner.is_dir() else root] = True
    for folder, asked_for in found.items():
        if asked_for or folder.is_dir():
            yield Claude(folder)


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each root's path with its stamp; those that cannot be looked at have none."""
    return files.glance(find(environ, home, roots))


class Claude:
    """One folder of projects."""

    name = NAME

    def __init__(self, root: Path) -> None:
        self.root = root

    def stamp(self) -> str:
        """Tell by `stat` alone what the transcripts look like."""
        return files.stamp(self._files())

    def survey(self, memory: str) -> Survey:
        """Look at every transcript once."""
        return files.survey(self._files(), memory)

    def load(self, candidate: Candidate, mark: str) -> Reading:
        """Read one transcript, from `mark` on if it only grew since."""
        from mimohist.sources import claude_head, jsonl, transcript
        from mimohist.sources.source import Reading

        path = self.root / candidate.key
        try:
            with path.open("rb") as file:
                place = jsonl.find(file, mark) if mark else None
                head = claude_head.head_of(file, path, place)
        except FileNotFoundError as error:
            raise LookupError(candidate.key) from error
        except OSError as error:
            session = claude_head.Head(path).session(candidate.at)
            return transcript.unreadable(session, candidate.key, error)
        return Reading(
            session=head.session(candidate.at),
            messages=transcript.guarded(
                self._messages(path, candidate, place, head), candidate.key
            ),
            whole=place is None,
            entire=False,
        )

    def peek(self, session: str, messages: Sequence[str]) -> Iterator[Message]:
        """Give nothing: a message's place in its file is not known."""
        del session, messages
        return iter(())

    def _messages(
        self, path: Path, candidate: Candidate, place: Bookmark | None, head: Head
    ) -> Iterator[Message | Skipped | Mark]:
        from hashlib import blake2b

        from mimohist.sources import transcript
        from mimohist.sources.claude_records import Records

        with path.open("rb") as file:
            reader = Records(
                prefix=blake2b(candidate.key.encode(), digest_size=5).hexdigest(),
                agent=head.agent,
                agent_name=head.agent_name,
                persisted=lambda name: _persisted(path, name),
                read=lambda at: transcript.record_at(file, at),
                state=place.state if place else {"time": head.begun(candidate.at)},
            )
            reader.head = head.state
            yield from transcript.messages(file, place.at if place else 0, reader, candidate.key)

    def _files(self) -> dict[str, File]:
        root = str(self.root)
        try:
            folders = os.scandir(root)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise SourceError(f"{root}: {why}") from error
        found: dict[str, File] = {}
        with folders:
            for folder in folders:
                if folder.is_dir():
                    _collect(folder.path, len(root) + 1, found)
        return found


def _collect(folder: str, start: int, found: dict[str, File]) -> None:
    """Look at one project's transcripts, those of sub-agents with them."""
    for entry in files.entries(folder):
        if entry.name.endswith(".jsonl"):
            file = files.seen(entry)
            if file:
                found[file.path[start:]] = file
        elif entry.is_dir():
            _collect_agents(os.path.join(entry.path, "subagents"), start, found, 3)  # noqa: PTH118


def _collect_agents(folder: str, start: int, found: dict[str, File], depth: int) -> None:
    for entry in files.entries(folder):
        if entry.name.startswith("agent-") and entry.name.endswith(".jsonl"):
            file = files.seen(entry)
            if file:
                found[file.path[start:]] = file
        elif depth and entry.is_dir():
            _collect_agents(entry.path, start, found, depth - 1)


def _persisted(path: Path, name: str) -> str | None:
    """Read a tool's output from the folder that belongs to the session, and from nowhere else."""
    folder = next((one for one in path.parents if one.name == "subagents"), None)
    owner = folder.parent if folder else path.with_suffix("")
    try:
        with (owner / "tool-results" / name).open("rb") as file:
            return file.read(_SIDE_LIMIT).decode("utf-8", "replace")
    except OSError:
        return None
