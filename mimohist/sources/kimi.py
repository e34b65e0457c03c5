"""Kimi: kimi-cli (to 1.52) and Kimi Code, `sessions/<project>/<session>/` in their folders.

kimi-cli's folder is `$KIMI_SHARE_DIR`, else `~/.kimi`; Kimi Code's is `~/.kimi-code`.  A session is
read from its log (`wire.jsonl`); one that has none (before 0.5x) from the model's context, and
then bears the times at which its file was written; contexts that were left behind
(`context_<n>.jsonl`) are sessions below it.  So are sub-agents with a log of their own.  What
compaction made of a conversation is not in kimi-cli's log.  Neither program deletes by itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mimohist.errors import SourceError
from mimohist.sources import files
from mimohist.sources.folder import Folder
from mimohist.sources.stamps import reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import BinaryIO

    from mimohist.sources.files import File
    from mimohist.sources.jsonl import Bookmark
    from mimohist.sources.kimi_head import Head
    from mimohist.sources.kimi_parts import Parts
    from mimohist.sources.source import Candidate

NAME = "kimi"

_BLANK = 128
"""A log of no more bytes holds nothing but the line that says its version."""

_AGENTS = ("subagents", "agents")


def find(environ: Mapping[str, str], home: Path, roots: Sequence[Path]) -> Iterator[Kimi]:
    """Give the folders of Kimi that there are, and the configured ones."""
    own = environ.get("KIMI_SHARE_DIR", "")
    found = {Path(own) if own else home / ".kimi": False, home / ".kimi-code": False}
    found.update(dict.fromkeys(roots, True))
    for place, asked_for in found.items():
        if asked_for or (place / "sessions").is_dir():
            yield Kimi(place, NAME)


def glance(
    environ: Mapping[str, str], home: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Give each root's path with its stamp; those that cannot be looked at have none."""
    return files.glance(find(environ, home, roots))


class Kimi(Folder["Head"]):
    """One folder of Kimi's; a session's key is its folder below `sessions`."""

    def __init__(self, root: Path, name: str) -> None:
        super().__init__(root, name)
        self._told: dict[str, str] = {}
        self._directories: tuple[str, dict[str, str]] = ("", {})

    def files(self) -> dict[str, File]:
        """Look at every transcript, those of sub-agents with them."""
        place = self.root / "sessions"
        root = str(place if place.is_dir() else self.root)
        try:
            os.scandir(root).close()
        except OSError as error:
            raise SourceError(f"{root}: {reason(error)}") from error
        found: dict[str, File] = {}
        self._told.clear()
        for project in files.entries(root):
            if not project.is_dir():
                continue
            for entry in files.entries(project.path):
                key = f"{project.name}/{entry.name}"
                if entry.is_dir():
                    self._session(entry.path, key, found)
                elif key.endswith(".jsonl") and (file := files.seen(entry)):
                    found.setdefault(key.removesuffix(".jsonl"), file)
        return found

    def _session(self, place: str, key: str, found: dict[str, File]) -> None:
        """Look at one session's transcripts, or at one of its sub-agents'."""
        inside = {entry.name: entry for entry in files.entries(place)}
        for name in ("state.json", "metadata.json"):
            if name in inside and (file := files.seen(inside[name])):
                self._told[key] = f"{file.size} {file.written}"
                break
        log = files.seen(inside["wire.jsonl"]) if "wire.jsonl" in inside else None
        if log and log.size > _BLANK:
            found[key] = log
        else:
            for name, entry in inside.items():
                file = files.seen(entry) if _is_context(name) else None
                if file and file.size:
                    stem = name.removesuffix(".jsonl")
                    found[key if stem == "context" else f"{key}/{stem}"] = file
        for name in _AGENTS:
            if name not in inside:
                continue
            for entry in files.entries(inside[name].path):
                if entry.is_dir():
                    main = name == "agents" and entry.name == "main"
                    self._session(entry.path, key if main else f"{key}/{entry.name}", found)

    def beside(self, key: str) -> str:
        """Tell of the file that holds a session's title, which may change by itself."""
        return self._told.get(key, "")

    def head(self, file: BinaryIO | None, key: str, path: Path, place: Bookmark | None) -> Head:
        """Read what is to be known before the messages."""
        from mimohist.sources import kimi_head

        project, owner, *inner = key.split("/")
        folder = path.parent
        if folder.parent.name in _AGENTS:
            folder = folder.parent.parent
        known = self._where()
        head = kimi_head.Head(
            path=path,
            owner=owner,
            inner="-".join(inner),
            folder=folder,
            directory=known.get(project) or known.get(owner) or "",
            state=dict(place.state.get("head", {})) if place else {},
        )
        if inner:
            meta = kimi_head.document(path.parent / "meta.json")
            head.state.update(_named("-".join(inner), meta))
        if file:
            kimi_head.learn(head, file, place.at if place else 0)
        return head

    def reader(
        self, file: BinaryIO, candidate: Candidate, head: Head, place: Bookmark | None
    ) -> Parts:
        """Give what makes the lines of a log, or of a context, into messages."""
        from hashlib import blake2b

        from mimohist.sources import transcript
        from mimohist.sources.kimi_records import Context, Wire

        log = head.path.name == "wire.jsonl"
        state = place.state if place else {"time": head.begun(candidate.at)}
        if not log:
            state = {**state, "time": max(state.get("time", 0), candidate.at)}
        reader = (Wire if log else Context)(
            prefix=blake2b(candidate.key.encode(), digest_size=6).hexdigest(),
            head=head.state,
            rest=lambda at: transcript.records_from(file, at),
            state=state,
        )
        if isinstance(reader, Wire):
            reader.elsewhere = lambda id: f"{candidate.key}/{id}" in self._known
        return reader

    def _where(self) -> dict[str, str]:
        """Give the directories of sessions, read again when the lists of them changed."""
        from mimohist.sources import kimi_head
        from mimohist.sources.stamps import size_and_time

        lists = [str(self.root / name) for name in ("kimi.json", "session_index.jsonl")]
        stamp = repr([size_and_time(one) for one in lists])
        if self._directories[0] != stamp:
            self._directories = (stamp, kimi_head.directories(self.root))
        return self._directories[1]


def _is_context(name: str) -> bool:
    number = name.removeprefix("context").removesuffix(".jsonl")
    return len(name) == len(number) + 13 and (  # both were there
        not number or number.removeprefix("_sub").removeprefix("_").isdigit()
    )


def _named(inner: str, meta: dict[str, Any]) -> dict[str, Any]:
    """Give the slice of a sub-agent, and its kind as its folder tells."""
    from mimohist.sources.jsonl import text_in
    from mimohist.text import clean

    if inner.startswith("context_") and not inner.startswith("context_sub_"):
        return {}
    name = clean(text_in(meta, "subagent_type"))
    return {"agent": f"agent-{inner}", "agent_name": name or None}
