"""What is to be known of a session of Kimi's before its messages: id, place, time, title."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import md5
from typing import TYPE_CHECKING, Any

from mimohist.records import Session
from mimohist.sources import jsonl
from mimohist.sources.jsonl import record_in, records_in, text_in
from mimohist.sources.kimi_texts import is_checkpoint, is_summary, prompt_in, texts_in, whose
from mimohist.sources.transcript import first_line, last_time, place
from mimohist.text import clean

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

_PROBED = 200
"""How many lines are looked at for the first thing that was said."""

_TIME = re.compile(rb'"(?:timestamp|time)":\s*([0-9.]{9,20})')
_SIDE_LIMIT = 4 << 20
"""How many bytes of a file beside the transcripts are read."""

_CWD = ("workDir", "work_dir", "cwd", "path")
_UNTITLED = frozenset({"", "Untitled", "New Session"})


@dataclass(slots=True)
class Head:
    """The header of one transcript; `state` is what a later reading is to be told.

    `owner` is the session's id, `inner` names a transcript of a sub-agent, or an earlier
    context, in its folder `folder`; `directory` is where it ran, as far as is known.
    """

    path: Path
    owner: str
    inner: str
    folder: Path
    directory: str
    state: dict[str, Any] = field(default_factory=dict)
    updated: int | None = None

    def begun(self, seen: int) -> int:
        """Give when the conversation began (epoch ms), `seen` if nothing tells."""
        return int(self.state.setdefault("at", self.updated or seen))

    def session(self, seen: int) -> Session:
        """Make it a session; `seen` (epoch ms) is when its file was written."""
        state = self.state
        at = self.begun(seen)
        title, archived = ("", None) if self.inner else self._told(seen)
        directory, project = place(self.directory or state.get("cwd", ""))
        return Session(
            id=f"{self.owner}-{self.inner}" if self.inner else self.owner,
            title=title or state.get("said") or state.get("agent_name") or "",
            titled=bool(title),
            directory=directory,
            project_id=project,
            at=at,
            updated=max(at, self.updated or at),
            path=str(self.path),
            parent_id=self.owner if self.inner else None,
            archived=archived,
        )

    def _told(self, seen: int) -> tuple[str, int | None]:
        """Give the title and when it was archived, as the session's folder tells."""
        told = {**document(self.folder / "metadata.json"), **document(self.folder / "state.json")}
        titles = (first_line(text_in(told, key)) for key in ("custom_title", "title"))
        title = next((one for one in titles if one not in _UNTITLED), "")
        if told.get("archived") is not True:
            return title, None
        return title, jsonl.epoch_ms(told.get("archived_at")) or seen


def learn(head: Head, file: BinaryIO, at: int) -> None:
    """Read a header from byte `at` on."""
    state = head.state
    for line in jsonl.lines(file, at):
        if state.get("lines", 0) >= _PROBED or (state.get("said") and state.get("model")):
            break
        if not line.whole:
            continue
        state["lines"] = state.get("lines", 0) + 1
        try:
            record = jsonl.decoded(line.data or b"")
        except ValueError:
            continue
        if isinstance(record, dict):
            _learn(state, record)
    head.updated = last_time(file, _TIME)


def _learn(state: dict[str, Any], record: jsonl.Record) -> None:
    at = jsonl.epoch_ms(record.get("timestamp", record.get("time")))
    if at:
        state.setdefault("at", at)
    if str(record.get("type")).startswith(("config.", "usage.")):
        for key, name in (("model", "model"), ("model", "modelAlias"), ("cwd", "cwd")):
            if told := clean(text_in(record, name)):
                state[key] = told
    if not state.get("said"):
        state["said"] = _opening(_prompt(record))


def _prompt(record: jsonl.Record) -> object:
    """Give what a user said in a record of any sort, None where none did."""
    message = record_in(record, "message")
    if message.get("type") == "TurnBegin":
        return record_in(message, "payload").get("user_input")
    if record.get("type") == "turn.prompt":
        return prompt_in(record)
    return record.get("content") if record.get("role") == "user" else None


def _opening(content: object) -> str:
    if is_summary(content) or is_checkpoint(content):
        return ""
    for text in texts_in(content):
        said, _, machine = whose(text)
        if machine is None and said.strip():
            return first_line(said)
    return ""


def document(path: Path) -> jsonl.Record:
    """Read a small JSON object, an empty one where there is none."""
    try:
        with path.open("rb") as file:
            found = jsonl.decoded(file.read(_SIDE_LIMIT))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def directories(root: Path) -> dict[str, str]:
    """Give the directories of sessions: by the folder's name (kimi-cli), by the session's id."""
    found: dict[str, str] = {}
    for one in records_in(document(root / "kimi.json").get("work_dirs")):
        path, system = clean(text_in(one, "path")), text_in(one, "kaos")
        digest = md5(path.encode(), usedforsecurity=False).hexdigest()
        found[digest if system in ("", "local") else f"{system}_{digest}"] = path
    try:
        file = (root / "session_index.jsonl").open("rb")
    except OSError:
        return found
    with file:
        for line in jsonl.lines(file):
            try:
                record = jsonl.decoded(line.data or b"")
            except ValueError:
                continue
            if not isinstance(record, dict):
                continue
            id = next((text_in(record, key) for key in ("sessionId", "session_id", "id")), "")
            cwd = next((text_in(record, key) for key in _CWD if text_in(record, key)), "")
            if id and cwd:
                found[id] = clean(cwd)
    return found
