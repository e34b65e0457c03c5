"""Every flag of every verb, declared once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mimohist.cli import complete


class Format(StrEnum):
    """How answers are written: `auto` is human on a terminal and plain elsewhere."""

    AUTO = "auto"
    HUMAN = "human"
    PLAIN = "plain"
    JSON = "json"


class TableFormat(StrEnum):
    """How rows are written."""

    AUTO = "auto"
    HUMAN = "human"
    PLAIN = "plain"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"


class ExportFormat(StrEnum):
    """How sessions are exported."""

    JSON = "json"
    JSONL = "jsonl"
    MD = "md"
    HTML = "html"


class Color(StrEnum):
    """When to use colours."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Order(StrEnum):
    """In which order hits come."""

    RANK = "rank"
    NEWEST = "newest"
    OLDEST = "oldest"


# Where and how

Db = Annotated[
    Path | None, Option("--db", metavar="PATH", help="The index to use. [env: MIMOHIST_DB]")
]
AsFormat = Annotated[Format, Option("--format", help="How to print the answer.")]
AsTable = Annotated[TableFormat, Option("--format", help="How to print the rows.")]
Json = Annotated[bool, Option("--json", help="The same as --format json.")]
Null = Annotated[bool, Option("-0", "--null", help="End plain records with NUL, for xargs -0.")]
Colors = Annotated[Color, Option("--color", help="When to use colours.")]
NoRefresh = Annotated[
    bool, Option("--no-refresh", help="Do not look for what is new in the sources first.")
]

# What to search

Words = Annotated[
    list[str],
    Argument(metavar="WORD...", help='Words that must all occur; a "phrase"; a prefix*.'),
]
AnyWord = Annotated[bool, Option("--any", help="Any of the words will do.")]
Without = Annotated[
    list[str] | None, Option("--not", metavar="WORD", help="Leave out what has this word.")
]
Fts = Annotated[bool, Option("--fts", help="Take the words as one raw FTS5 expression.")]
Regex = Annotated[
    bool, Option("-e", "--regex", help="Take each word as a regular expression, by lines.")
]
Fixed = Annotated[bool, Option("-F", "--fixed", help="Take each word as it is, by lines.")]
IgnoreCase = Annotated[
    bool, Option("-i", "--ignore-case", help="With -e and -F: letters in any case.")
]
Sources = Annotated[
    list[str] | None,
    Option(
        "-s",
        "--source",
        metavar="NAME",
        help="Only this source (repeatable).",
        autocompletion=complete.sources,
    ),
]
Projects = Annotated[
    list[str] | None,
    Option(
        "-p",
        "--project",
        metavar="DIR",
        help="Only sessions in this directory or below; . is here.",
        autocompletion=complete.projects,
    ),
]
Everywhere = Annotated[
    bool, Option("-g", "--global", help="All projects, also inside one that is known.")
]
Sessions = Annotated[
    list[str] | None,
    Option("--session", metavar="REF", help="Only this session.", autocompletion=complete.sessions),
]
Kinds = Annotated[
    list[str] | None,
    Option(
        "-k",
        "--kind",
        metavar="KIND",
        help="Only these kinds (repeatable; all for every one).",
        autocompletion=complete.kinds,
    ),
]
Tools = Annotated[
    list[str] | None,
    Option(
        "-t",
        "--tool",
        metavar="NAME",
        help="Only this tool (repeatable).",
        autocompletion=complete.tools,
    ),
]
Agents = Annotated[
    list[str] | None,
    Option("--agent", metavar="NAME", help="Only this agent or slice (repeatable)."),
]
Since = Annotated[
    str | None, Option("--since", metavar="WHEN", help="Not before: 3d, 2026-11, yesterday ...")
]
Until = Annotated[str | None, Option("--until", metavar="WHEN", help="Not after, likewise.")]
Machine = Annotated[
    bool, Option("-a", "--machine", help="Also what harnesses put in, not only what was said.")
]
Strict = Annotated[bool, Option("--strict", help="Never widen the search by itself.")]
Exact = Annotated[bool, Option("--exact", help="Rank and count all matches, however many.")]
Sort = Annotated[Order, Option("--sort", help="The order of the hits.")]
Limit = Annotated[
    int | None, Option("-n", "--limit", metavar="N", min=0, help="At most N; 0 for all. [10]")
]

# What to print

ListSessions = Annotated[
    bool, Option("-l", "--sessions", help="Print the sessions that match, once each.")
]
Ids = Annotated[bool, Option("--ids", help="Print the refs of the messages only.")]
Paths = Annotated[bool, Option("--paths", help="Print the files that match only, once each.")]
Count = Annotated[bool, Option("-c", "--count", help="Print how many parts match.")]
Quiet = Annotated[bool, Option("-q", "--quiet", help="Print nothing; only the exit status.")]
Explain = Annotated[bool, Option("--explain", help="Tell on stderr what was looked for and how.")]

# Windows

Refs = Annotated[
    list[str],
    Argument(metavar="REF...", help="Messages or sessions; - reads refs, one a line."),
]
Context = Annotated[
    int, Option("-C", "--context", metavar="N", min=0, help="N messages on either side.")
]
Before = Annotated[
    int | None, Option("-B", "--before", metavar="N", min=0, help="N messages before.")
]
After = Annotated[int | None, Option("-A", "--after", metavar="N", min=0, help="N messages after.")]
All = Annotated[bool, Option("--all", help="The whole session.")]
Full = Annotated[bool, Option("--full", help="Whole outputs and reasoning, not their beginnings.")]
Agent = Annotated[
    str | None,
    Option("--agent", metavar="NAME", help="This agent or slice; all for every one."),
]
MaxBytes = Annotated[
    int | None,
    Option("--max-bytes", metavar="N", min=1, help="Cut at a message, keeping the anchor."),
]
Pager = Annotated[bool, Option("--pager/--no-pager", help="Page what does not fit a terminal.")]

# Sessions

SessionRefs = Annotated[
    list[str],
    Argument(
        metavar="REF...",
        help="Sessions, or messages of them; - reads refs, one a line.",
        autocompletion=complete.sessions,
    ),
]
Slice = Annotated[
    str | None,
    Option("--agent", metavar="NAME", help="This agent or slice; all for every one. [main]"),
]
Compacted = Annotated[
    bool, Option("--compacted", help="Only what the model last saw: after compaction.")
]
Step = Annotated[
    int | None,
    Option("--step", metavar="N", min=1, help="What the model had seen after its N-th answer."),
]
Redact = Annotated[
    bool | None,
    Option("--redact/--no-redact", help="Replace keys, tokens and passwords.", show_default=False),
]
AsExport = Annotated[ExportFormat, Option("--format", help="What to write.")]

# Writing

SourceNames = Annotated[
    list[str] | None,
    Argument(metavar="SOURCE...", help="Only these.", autocompletion=complete.sources),
]
OneSource = Annotated[
    str | None,
    Option(
        "--source",
        metavar="NAME",
        help="Read only this source again.",
        autocompletion=complete.sources,
    ),
]
Wait = Annotated[
    float, Option("--wait", metavar="SECONDS", min=0, help="Wait for another run to end.")
]
Verbose = Annotated[bool, Option("-v", "--verbose", help="Tell what is read and what skipped.")]
Silent = Annotated[bool, Option("-q", "--quiet", help="No progress and no summary.")]
DryRun = Annotated[bool, Option("--dry-run", help="Say what would be done; change nothing.")]
Verify = Annotated[bool, Option("--verify", help="Compare everything, however long it takes.")]
AcceptDeletions = Annotated[
    bool, Option("--accept-deletions", help="Remove what vanished from its source here too.")
]
Follow = Annotated[bool, Option("--follow", help="Stay, and take in changes as they are written.")]
MaxSeconds = Annotated[
    float | None,
    Option("--max-seconds", metavar="N", min=0, help="End after this time; the next run goes on."),
]
Check = Annotated[bool, Option("--check", help="Only verify; status 1 when it is unsound.")]
QueryText = Annotated[
    str | None,
    Argument(
        metavar="[QUERY]",
        help="SQL, - for stdin, or the name of a query.",
        autocompletion=complete.queries,
    ),
]
Params = Annotated[
    list[str] | None, Option("-P", "--param", metavar="NAME=VALUE", help="Bind :NAME (repeatable).")
]
ListQueries = Annotated[bool, Option("--list", help="List the named queries.")]
Timeout = Annotated[
    float, Option("--timeout", metavar="SECONDS", min=0.001, help="Give up after this time.")
]
Copies = Annotated[bool, Option("--copies", help="Also every copy of the same text.")]
WholeSession = Annotated[
    bool, Option("--session", help="REF is a whole session, to be forgotten with all it holds.")
]
