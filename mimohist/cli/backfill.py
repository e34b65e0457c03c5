"""`mimohist backfill`."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mimohist.backfill import (
    Began,
    Ended,
    Event,
    Failed,
    Options,
    Removed,
    Stored,
    Unreadable,
    Vanished,
)
from mimohist.cli import options as o
from mimohist.cli import setting
from mimohist.errors import SourceError
from mimohist.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mimohist.history import History

HELP = """Index what is new in the sources since the last time.

\b
  mimohist backfill
  mimohist backfill mimo -v
  */15 * * * *  mimohist backfill --max-seconds 300      (in a crontab)

Silent when all is well and no terminal looks on. Stop it anywhere; run it again.
"""


@dataclass(slots=True)
class Tally:
    """What a run did, in numbers."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    vanished: int = 0
    skipped: int = 0
    pending: int = 0
    failed: list[str] = field(default_factory=list)
    fates: Counter[str] = field(default_factory=Counter)

    def take(self, event: Event) -> None:
        """Count one event."""
        match event:
            case Stored():
                self.added += event.new
                changed = event.added or event.changed or event.removed
                self.updated += bool(not event.new and changed)
                self.unchanged += not event.new and not changed
                self.fates += event.fates
            case Unreadable():
                self.skipped += 1
            case Removed():
                self.removed += 1
            case Vanished():
                self.vanished += event.sessions
            case Failed():
                self.failed.append(event.why)
            case Ended():
                self.unchanged += event.unchanged
                self.pending += event.pending


def backfill(
    source: o.SourceNames = None,
    since: o.Since = None,
    dry_run: o.DryRun = False,
    verify: o.Verify = False,
    accept_deletions: o.AcceptDeletions = False,
    follow: o.Follow = False,
    max_seconds: o.MaxSeconds = None,
    wait: o.Wait = 0.0,
    verbose: o.Verbose = False,
    quiet: o.Silent = False,
    as_json: o.Json = False,
    db: o.Db = None,
) -> int:
    """Run one backfill; the flags are explained in `options`."""
    found = setting.settings(db)
    history = setting.history(found, source or ())
    clock = setting.CLOCKS[1]
    end = None if max_seconds is None else clock() + max_seconds
    options = Options(
        kinds=frozenset(found.index_kinds),
        stop=lambda: end is not None and clock() > end,
        verify=verify,
        accept_deletions=accept_deletions,
        since=setting.moment(since, end=False),
    )
    if dry_run:
        return _dry_run(history)
    if follow:
        from mimohist.cli.following import follow_and_tell

        return follow_and_tell(history, options, wait=wait, verbose=verbose)
    tally = run_and_tell(
        history, options=options, wait=wait, verbose=verbose, quiet=quiet or as_json
    )
    if as_json:
        _print_json(tally)
    return 2 if tally.failed else 0


def run_and_tell(
    history: History,
    *,
    options: Options | None = None,
    wait: float = 0.0,
    verbose: bool = False,
    quiet: bool = False,
) -> Tally:
    """Run a backfill under the lock, with progress on a terminal, and say what must be said."""
    options = options or Options(kinds=frozenset(history.config.index_kinds))
    tally = Tally()
    each: defaultdict[str, Tally] = defaultdict(Tally)
    clock = setting.CLOCKS[1]
    began = clock()
    shown = sys.stderr.isatty() and not quiet and not verbose
    with closing(history.run(options, wait)) as events:
        for event in _with_progress(events) if shown else events:
            tally.take(event)
            each[event.source].take(event)
            tell(event, verbose=verbose, quiet=quiet)
    if verbose or (sys.stderr.isatty() and not quiet):
        if len(each) > 1:
            for name, one in each.items():
                setting.say(f"{name}: {_summary(one)}")
        setting.say(f"{_summary(tally)}, {clock() - began:.1f} s")
        if verbose:
            for fate, count in sorted(tally.fates.items()):
                setting.say(f"  {count:8}  {fate}")
    return tally


def tell(event: Event, *, verbose: bool, quiet: bool) -> None:
    """Say on stderr what must be said of an event, and with `verbose` what may be."""
    match event:
        case Failed():
            setting.say(f"mimohist: {printable(event.why)}")
        case Vanished() if not quiet:
            setting.say(
                f"mimohist: {printable(event.root)}: {event.sessions} sessions are gone from it;"
                " they stay indexed (--accept-deletions removes them)"
            )
        case Unreadable() if verbose:
            setting.say(
                f"{printable(event.skipped.where)}: {printable(event.skipped.why)}; skipped"
            )
        case Stored() if verbose and (event.added or event.changed or event.removed):
            setting.say(
                f"{event.source}/{printable(event.session)}: {event.added} added,"
                f" {event.changed} changed, {event.removed} removed"
            )
        case Removed() if verbose:
            setting.say(f"{event.source}/{printable(event.session)}: deleted at its source")


def _summary(tally: Tally) -> str:
    skipped = f", {tally.skipped} records skipped (-v shows them)" if tally.skipped else ""
    removed = f", {tally.removed} removed" if tally.removed else ""
    pending = f", {tally.pending} left for the next run" if tally.pending else ""
    return (
        f"{tally.added} sessions added, {tally.updated} updated, {tally.unchanged} unchanged"
        f"{removed}{skipped}{pending}"
    )


def _print_json(tally: Tally) -> None:
    from mimohist.render.json import line

    values: dict[str, Any] = {
        name: getattr(tally, name)
        for name in ("added", "updated", "unchanged", "removed", "vanished", "skipped", "pending")
    }
    values["failed"] = tally.failed
    values["parts"] = dict(sorted(tally.fates.items()))
    sys.stdout.write(line(values) + "\n")


def _with_progress(events: Iterable[Event]) -> Iterator[Event]:
    """Draw a bar a source on stderr while events pass."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    paper = Console(stderr=True, color_system="standard" if setting.colored("auto") else None)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=paper,
        transient=True,
    )
    with bar:
        task = None
        for event in events:
            match event:
                case Began() if event.sessions:
                    task = bar.add_task(event.source, total=event.sessions)
                case Stored() if task is not None:
                    bar.advance(task)
            yield event


def _dry_run(history: History) -> int:
    status = 0
    for source in history.places.find():
        try:
            survey = source.survey("")
        except SourceError as error:
            setting.say(f"mimohist: {error}")
            status = 2
            continue
        place = printable(str(source.root))
        sys.stdout.write(f"{source.name}\t{len(survey.candidates)} sessions\t{place}\n")
    return status
