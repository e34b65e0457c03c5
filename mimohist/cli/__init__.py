"""The command line: flags made into values, values given to the core, answers to a renderer.

Only the verb that was asked for is imported.  `main` is the one place where errors become
exit statuses.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from mimohist import __version__
from mimohist.errors import MimohistError

if TYPE_CHECKING:
    from collections.abc import Sequence

VERBS = {
    "search": "Find messages by their words, best match first.",
    "around": "Show a message with its neighbours.",
    "export": "Write whole sessions: JSON, Markdown, a web page.",
    "backfill": "Index what is new in the sources.",
    "reindex": "Rebuild the search tables from what is stored.",
    "sql": "Ask the index in SQL, read only.",
    "forget": "Remove something from the index for good.",
    "mcp": "Serve the history to agents, over MCP.",
}

_ERROR = 2
_INTERRUPTED = 130


class Outcome(NamedTuple):
    """How a verb ended, for the process to say."""

    status: int


def app(verbs: Sequence[str]) -> typer.Typer:
    """Make the application with these verbs."""
    made = typer.Typer(
        name="mimohist",
        help="Search every past conversation with a coding agent.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
        epilog="mimohist VERB --help tells more of each.",
    )
    made.callback(invoke_without_command=True)(_top)
    for verb in verbs:
        module = import_module(f"mimohist.cli.{verb}")
        made.command(verb, help=module.HELP, short_help=VERBS[verb])(getattr(module, verb))
    return made


def _top(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    if version:
        sys.stdout.write(f"mimohist {__version__}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        from mimohist.cli.welcome import welcome

        welcome(VERBS)


def main() -> int:
    """Run the command line; give the exit status."""
    _set_streams()
    arguments = sys.argv[1:]
    asked = arguments[0] if arguments and arguments[0] in VERBS else None
    completing = "_MIMOHIST_COMPLETE" in os.environ
    if completing:
        # Typer's own script for zsh evaluates what it is given, and titles are not ours.
        if os.environ["_MIMOHIST_COMPLETE"] not in ("complete_bash", "complete_fish"):
            return _failed("completions for bash, zsh and fish come with the program", _ERROR)
        words = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()
        asked = next((word for word in words[1:2] if word in VERBS), None)
    bare = arguments in (["--version"], [])
    verbs = [asked] if asked else [] if bare and not completing else list(VERBS)
    made = app(verbs)
    if completing:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    return _run(made, arguments)


def _run(made: typer.Typer, arguments: list[str]) -> int:  # noqa: PLR0911 - one an error
    try:
        status = made(arguments, prog_name="mimohist", standalone_mode=False)
    except MimohistError as error:
        from mimohist.cli.setting import short

        return _failed(short(str(error)), error.status)
    except (KeyboardInterrupt, typer.Abort):
        return _INTERRUPTED
    except typer.Exit as ended:
        return int(ended.exit_code)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        return _failed(f"{name}{(error.strerror or str(error)).lower()}", _ERROR)
    except Exception as error:  # noqa: BLE001 - the one place where errors become statuses
        if not hasattr(error, "format_message"):
            return _bug(error)
        from mimohist.cli.usage import explained

        return _failed(explained(error, arguments, list(VERBS)), _ERROR)
    return status if isinstance(status, int) else 0


def _failed(text: str, status: int) -> int:
    from mimohist.text import printable

    line = " ".join(printable(text).split())
    sys.stderr.write(f"mimohist: {line}\n")
    if os.environ.get("MIMOHIST_DEBUG"):
        import traceback

        traceback.print_exc()
    return status


def _bug(error: Exception) -> int:
    """Tell of a fault of this program's own; never with 1, which would mean "no hits"."""
    if "no such module: fts5" in str(error):
        from mimohist.store import NO_FTS5

        return _failed(NO_FTS5, _ERROR)
    return _failed(
        f"a bug in mimohist: {type(error).__name__}: {error}"
        " (MIMOHIST_DEBUG=1 shows where; please report it)",
        _ERROR,
    )


def _set_streams() -> None:
    """Write UTF-8 whatever the locale says, and odd file names as they came."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
