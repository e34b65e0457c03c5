"""What `mimohist` alone says: the verbs, and what state the index is in."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING

from mimohist import store
from mimohist.cli import setting
from mimohist.cli.setting import short
from mimohist.errors import MimohistError
from mimohist.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping


def welcome(verbs: Mapping[str, str]) -> None:
    """Print the verbs with a line on each, and how the index stands."""
    lines = ["Search every past conversation with a coding agent.", ""]
    lines += [f"  mimohist {verb:10}{text}" for verb, text in verbs.items()]
    lines += ["", printable(_state()), "", "mimohist VERB --help tells more of each."]
    sys.stdout.write("\n".join(lines) + "\n")


def _state() -> str:
    try:
        found = setting.settings(None)
        reader = store.open_reader(found.db)
    except MimohistError as error:
        return f"Index: {short(str(error))}."
    try:
        sessions, parts, read = reader.execute(
            "SELECT (SELECT count(*) FROM session), (SELECT count(*) FROM history_fts),"
            " (SELECT max(time_read) FROM root)"
        ).fetchone()
    finally:
        reader.close()
    at = datetime.fromtimestamp((read or 0) / 1000).astimezone()
    path = short(str(found.db))
    return f"Index: {path}: {sessions} sessions, {parts} parts,\n       read {at:%Y-%m-%d %H:%M}."
