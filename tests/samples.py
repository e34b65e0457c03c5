"""One small session of every source, where its program would keep it: see `SAMPLES`.

`tests/test_source_contract.py` runs over them.  To add a source, write a function that makes a
session out of texts, and name it here with what sort of file that gives.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from tests import crush_data, gemini_file, goose_data
from tests.aider_data import AiderFile
from tests.claude_file import ClaudeFile
from tests.codex_file import CodexFile
from tests.crush_data import CrushDatabase
from tests.gemini_file import GeminiFile, QwenFile
from tests.goose_data import GooseDatabase
from tests.kimi_file import KimiFile
from tests.mimo_database import MimoDatabase, OpencodeDatabase
from tests.pi_file import PiFile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


class Sample(NamedTuple):
    """How a source's session is made, and what its file is.

    `make` writes one session into a home directory: `texts` in turn of a user and of a model, the
    user first, then (where the builder can) a call of a tool and what it gave back.  One of these
    says what was written, as a pattern below the home: `lines` a file of JSON lines that only
    grows, `document` a file of JSON, `database` an SQLite file, with JSON in `cells` (table,
    column); none of them, that it is no JSON.  `streams` is False for a program whose session
    has to be decoded whole.
    """

    make: Callable[[Path, Sequence[str]], None]
    lines: str = ""
    document: str = ""
    database: str = ""
    cells: tuple[tuple[str, str], ...] = ()
    streams: bool = True


def _database(made: MimoDatabase, texts: Sequence[str]) -> None:
    session = made.session()
    for number, text in enumerate(texts):
        made.say(session, text, "assistant" if number % 2 else "user")
    made.tool(made.message(session, "assistant"), "bash", {"command": "ls"}, output="a.py")
    made.close()


def _mimo(home: Path, texts: Sequence[str]) -> None:
    folder = home / ".local/share/mimocode"
    folder.mkdir(parents=True)
    _database(MimoDatabase(folder / "mimocode.db"), texts)


def _opencode(home: Path, texts: Sequence[str]) -> None:
    folder = home / ".local/share/opencode"
    folder.mkdir(parents=True)
    _database(OpencodeDatabase(folder / "opencode.db"), texts)


def _claude(home: Path, texts: Sequence[str]) -> None:
    file = ClaudeFile(home / ".claude/projects/-w-x/7b1f0a52-0000-4000-8000-000000000001.jsonl")
    for number, text in enumerate(texts):
        if number % 2:
            file.assistant({"type": "text", "text": text})
        else:
            file.user(text)
    file.call("c1", command="ls")
    file.result("c1", "a.py")


def _codex(home: Path, texts: Sequence[str]) -> None:
    file = CodexFile(home / ".codex")
    for number, text in enumerate(texts):
        (file.agent if number % 2 else file.user)(text)
    file.call("c1", {"command": "ls"})
    file.result("c1", "a.py")


def _tree(sessions: Path, texts: Sequence[str]) -> None:
    file = PiFile(sessions)
    for number, text in enumerate(texts):
        (file.says if number % 2 else file.user)(text)
    file.call("c1", command="ls")
    file.result("c1", "a.py")


def _pi(home: Path, texts: Sequence[str]) -> None:
    _tree(home / ".pi/agent/sessions", texts)


def _omp(home: Path, texts: Sequence[str]) -> None:
    _tree(home / ".omp/agent/sessions", texts)


def _openclaw(home: Path, texts: Sequence[str]) -> None:
    _tree(home / ".openclaw/agents/main/sessions", texts)


def _kimi(home: Path, texts: Sequence[str]) -> None:
    file = KimiFile(home / ".kimi")
    for number, text in enumerate(texts):
        if number % 2:
            file.step()
            file.says(text)
        else:
            file.user(text)
    file.call("c1", '{"command": "ls"}')
    file.result("c1", "a.py")


def _gemini(home: Path, texts: Sequence[str]) -> None:
    file = GeminiFile(home)
    file.line({"$set": {"directories": [gemini_file.DIRECTORY]}})
    for number, text in enumerate(texts):
        (file.says if number % 2 else file.user)(text)
    file.says("", toolCalls=[gemini_file.call("run_shell_command", output="a.py", command="ls")])


def _qwen(home: Path, texts: Sequence[str]) -> None:
    file = QwenFile(home)
    for number, text in enumerate(texts):
        (file.says if number % 2 else file.user)(text)
    file.call("c1", "run_shell_command", command="ls")
    file.result("c1", "a.py")


def _goose(home: Path, texts: Sequence[str]) -> None:
    db = GooseDatabase(home / ".local/share/goose/sessions/sessions.db")
    session = db.session()
    for number, text in enumerate(texts):
        db.message(session, "assistant" if number % 2 else "user", goose_data.text(text))
    db.message(session, "assistant", goose_data.request("c1", "shell", command="ls"))
    db.message(session, "user", goose_data.response("c1", [goose_data.text("a.py")]))
    db.close()


def _crush(home: Path, texts: Sequence[str]) -> None:
    project = home / "shop"
    db = CrushDatabase(project / ".crush/crush.db")
    listed = home / ".local/share/crush/projects.json"
    listed.parent.mkdir(parents=True)
    entry = {"path": str(project), "data_dir": str(project / ".crush")}
    listed.write_text(json.dumps({"projects": [entry]}))
    session = db.session()
    for number, text in enumerate(texts):
        db.message(session, "assistant" if number % 2 else "user", crush_data.text(text))
    db.message(session, "assistant", crush_data.call("c1", "bash", command="ls"))
    db.message(session, "tool", crush_data.result("c1", "a.py"))
    db.close()


def _aider(home: Path, texts: Sequence[str]) -> None:
    file = AiderFile(home / ".aider.chat.history.md")
    file.begin()
    for number, text in enumerate(texts):
        (file.answer if number % 2 else file.user)(text)


_V1 = (("message", "data"), ("part", "data"))

SAMPLES: Mapping[str, Sample] = {
    "mimo": Sample(_mimo, database=".local/share/mimocode/mimocode.db", cells=_V1),
    "opencode": Sample(_opencode, database=".local/share/opencode/opencode.db", cells=_V1),
    "claude": Sample(_claude, lines=".claude/projects/*/*.jsonl"),
    "codex": Sample(_codex, lines=".codex/sessions/*/*/*/*.jsonl"),
    "gemini": Sample(_gemini, lines=".gemini/tmp/*/chats/*.jsonl"),
    "qwen": Sample(_qwen, lines=".qwen/projects/*/chats/*.jsonl"),
    "pi": Sample(_pi, lines=".pi/agent/sessions/*/*.jsonl"),
    "omp": Sample(_omp, lines=".omp/agent/sessions/*/*.jsonl"),
    "openclaw": Sample(_openclaw, lines=".openclaw/agents/main/sessions/*/*.jsonl"),
    "kimi": Sample(_kimi, lines=".kimi/sessions/*/*/wire.jsonl"),
    "goose": Sample(
        _goose,
        database=".local/share/goose/sessions/sessions.db",
        cells=(("messages", "content_json"), ("messages", "metadata_json")),
    ),
    "crush": Sample(_crush, database="shop/.crush/crush.db", cells=(("messages", "parts"),)),
    "aider": Sample(_aider),
}
"""By the source's name, as `mimohist.sources.ALL` has it."""
