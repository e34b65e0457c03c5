"""How fast Claude Code's transcripts are read and indexed, beside MiMo Code's database.

    python -m tests.bench.claude [--megabytes 100] [--files 5000]

Tells text bytes a second of CPU for reading alone and for indexing, how much memory that takes,
what a look at thousands of unchanged files costs, and what one appended line does.  The same
texts are written both ways; the folder that it makes is its own and goes when it ends.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mimohist import store
from mimohist.backfill import Options, backfill
from mimohist.records import Message
from mimohist.refreshing import Places
from mimohist.sources.claude import Claude
from mimohist.sources.v1 import V1
from tests.bench.texts import Project, Scribe, vocabulary
from tests.claude_file import ClaudeFile, text, thinking
from tests.mimo_database import MimoDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mimohist.sources.source import Source

_LATER = 1_900_000_000_000
_MIMO_MEGABYTES = 30


def tell(line: str) -> None:
    """Say one result at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def turns(seed: int) -> Iterator[tuple[str, str, str, str, str]]:
    """Give turns without end: prompt, thought, command, output, answer."""
    rng = random.Random(seed)  # noqa: S311
    known = vocabulary(rng, 20_000)
    project = Project(rng, known, "p", "/home/dev/code/shop-api")
    while True:
        scribe = Scribe(rng, known, project, rng.sample(known.content[0], 40))
        for _ in range(150):
            output = rng.choice((scribe.log, scribe.code, scribe.listing))
            yield (
                scribe.prose(30),
                scribe.prose(80),
                scribe.command(),
                output(rng.choice((10, 60, 200))),
                scribe.prose(60),
            )


def write_claude(root: Path, megabytes: float, files: int = 8) -> int:
    """Write transcripts of about so many megabytes together; give their texts' bytes."""
    texts = 0
    source = turns(1)
    for number in range(files):
        file = ClaudeFile(root / "-home-dev" / f"{number:04d}.jsonl", "/home/dev")
        lines: list[str] = []
        file.line = lambda record, lines=lines: lines.append(json.dumps(record))  # type: ignore[method-assign,misc]
        size = 0
        with file.path.open("w") as out:
            for turn in source:
                prompt, thought, command, output, answer = turn
                id, call = f"m{file.count}", f"t{file.count}"
                file.user(prompt)
                file.assistant(thinking(thought), id=id)
                file.call(call, command=command, message=id)
                file.result(call, output)
                file.assistant(text(answer))
                out.write("\n".join(lines) + "\n")
                size += sum(map(len, lines))
                texts += sum(map(len, turn))
                lines.clear()
                if size >= megabytes * 1_000_000 / files:
                    break
    return texts


def write_mimo(path: Path, megabytes: float) -> int:
    """Write the same turns as a database; give their texts' bytes."""
    database = MimoDatabase(path)
    texts = 0
    session = database.session()
    for number, turn in enumerate(turns(1)):
        prompt, thought, command, output, answer = turn
        if number % 500 == 0:
            session = database.session()
        database.say(session, prompt)
        message = database.message(session, "assistant")
        database.reasoning(message, thought)
        database.tool(message, "bash", {"command": command}, output=output)
        database.say(session, answer, "assistant")
        texts += sum(map(len, turn))
        if texts >= megabytes * 1_000_000:
            break
    database.close()
    return texts


def read(source: Source) -> int:
    """Read all sessions; give the bytes of their texts."""
    total = 0
    for candidate in source.survey("").candidates:
        for item in source.load(candidate, "").messages:
            if isinstance(item, Message):
                total += sum(len(part.body) + len(part.output) for part in item.parts)
    return total


def index(source: Source, path: Path) -> None:
    """Bring the index at a path up to date."""
    db = store.open_writer(path)
    for _ in backfill(db, [source], Options(), lambda: _LATER):
        pass
    db.close()


def _measured(send: Any, run: Callable[..., object], arguments: tuple[object, ...]) -> None:  # noqa: ANN401
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    run(*arguments)
    spent = time.process_time() - begin
    send.send((spent, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024))


def alone(run: Callable[..., object], *arguments: object) -> tuple[float, float]:
    """Run in a process of its own; give its seconds of CPU and by how many MiB it grew."""
    context = get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_measured, args=(send, run, arguments))
    process.start()
    found: tuple[float, float] = receive.recv()
    process.join()
    return found


def rates(folder: Path, megabytes: float) -> None:
    """Compare reading and indexing with those of MiMo Code's database."""
    claude, mimo = folder / "claude", folder / "mimocode.db"
    said = {"claude": write_claude(claude, megabytes), "mimo": write_mimo(mimo, _MIMO_MEGABYTES)}
    sources: dict[str, Source] = {"claude": Claude(claude), "mimo": V1("mimo", mimo)}
    file = sum(path.stat().st_size for path in claude.rglob("*.jsonl"))
    tell(f"claude: {file / 1e6:.0f} MB of lines, {said['claude'] / 1e6:.0f} MB of text")
    speeds: dict[str, float] = {}
    for name, source in sources.items():
        for what, run, more in (("read", read, ()), ("index", index, (folder / f"{name}.db",))):
            seconds, grown = alone(run, source, *more)
            speeds[f"{name} {what}"] = speed = said[name] / seconds / 1e6
            tell(f"{name} {what}: {speed:.1f} MB of text a CPU second, grew by {grown:.0f} MiB")
    for what in ("read", "index"):
        share = speeds[f"claude {what}"] / speeds[f"mimo {what}"]
        tell(f"{what}: {share:.2f} of the rate of mimo")


def one_file(folder: Path, megabytes: float) -> None:
    """See how much memory one file of all the megabytes takes."""
    root = folder / "one"
    write_claude(root, megabytes, files=1)
    seconds, grown = alone(index, Claude(root), folder / "one.db")
    tell(f"one file of {megabytes} MB: {seconds:.1f} CPU seconds, grew by {grown:.0f} MiB")


def unchanged(folder: Path, files: int) -> None:
    """See what a look at many files costs, and one line appended to one of them."""
    root = folder / "many"
    write_claude(root, files * 0.002, files=files)
    path = folder / "many.db"
    index(Claude(root), path)
    places = Places(
        ("claude",), {"CLAUDE_CONFIG_DIR": str(folder / "none")}, folder, {"claude": (root,)}
    )
    reader = store.open_reader(path)
    looks = []
    for _ in range(5):
        begin = time.perf_counter()
        assert not places.changed(reader)
        looks.append(time.perf_counter() - begin)
    reader.close()
    tell(f"a look at {files} unchanged files: {min(looks) * 1000:.0f} ms")
    begin = time.perf_counter()
    index(Claude(root), path)
    tell(f"a backfill that finds nothing: {(time.perf_counter() - begin) * 1000:.0f} ms")
    chosen = ClaudeFile(root / "-home-dev" / "0000.jsonl", "/home/dev", session="appended")
    for _ in range(2):
        chosen.user("zorblax")
        begin = time.perf_counter()
        index(Claude(root), path)
        tell(f"one line appended: {(time.perf_counter() - begin) * 1000:.0f} ms")
    large = ClaudeFile(next((folder / "one").rglob("*.jsonl")), session="appended")
    large.user("zorblax")
    begin = time.perf_counter()
    index(Claude(folder / "one"), folder / "one.db")
    tell(f"one line appended to the large file: {(time.perf_counter() - begin) * 1000:.0f} ms")


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--files", type=int, default=5000)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="mimohist-bench-"))
    try:
        rates(folder, given.megabytes)
        one_file(folder, given.megabytes)
        unchanged(folder, given.files)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
