"""Values for the shell to complete, from the index; whatever goes wrong completes nothing."""

from __future__ import annotations

import os

from mimohist.kinds import Kind


def _column(sql: str) -> list[tuple[str, str]]:
    try:
        from mimohist import sources, store
        from mimohist.config import load
        from mimohist.text import printable

        found = load(os.environ, sources.ALL)
        db = store.open_reader(found.db)
        try:
            pairs = [(str(value), str(note or "")) for value, note in db.execute(sql)]
        finally:
            db.close()
        if found.redact:
            from mimohist.redact import redact

            pairs = [(value, redact(note)) for value, note in pairs]
        return [(value, " ".join(printable(note).split())[:60]) for value, note in pairs]
    except Exception:  # noqa: BLE001 - a shell's line is no place for complaints
        return []


def _starting(found: list[tuple[str, str]], typed: str) -> list[tuple[str, str]]:
    return [pair for pair in found if pair[0].lower().startswith(typed.lower())]


def sources(incomplete: str) -> list[tuple[str, str]]:
    """Give the sources in the index."""
    return _starting(
        _column("SELECT source, count(*) || ' root(s)' FROM root GROUP BY 1"), incomplete
    )


def projects(incomplete: str) -> list[tuple[str, str]]:
    """Give the directories that sessions ran in."""
    sql = "SELECT DISTINCT directory, '' FROM project WHERE directory <> '' ORDER BY 1"
    return _starting(_column(sql), incomplete)


def sessions(incomplete: str) -> list[tuple[str, str]]:
    """Give the fifty newest sessions with their titles."""
    sql = "SELECT session_id, title FROM session ORDER BY time_updated DESC LIMIT 50"
    return _starting(_column(sql), incomplete)


def tools(incomplete: str) -> list[tuple[str, str]]:
    """Give the tools that were called."""
    sql = (
        "SELECT n.text, '' FROM name n WHERE EXISTS"
        " (SELECT 1 FROM history_fts h WHERE h.tool = n.id LIMIT 1) ORDER BY 1"
    )
    return _starting(_column(sql), incomplete)


def kinds(incomplete: str) -> list[tuple[str, str]]:
    """Give the kinds."""
    return _starting([*((str(kind), "") for kind in Kind), ("all", "every kind")], incomplete)


def queries(incomplete: str) -> list[tuple[str, str]]:
    """Give the named queries."""
    try:
        from mimohist.asking import named_queries
        from mimohist.config import config_path

        folder = config_path(os.environ).parent / "queries"
        return _starting(
            [(name, note) for name, (note, _) in named_queries(folder).items()], incomplete
        )
    except Exception:  # noqa: BLE001 - a shell's line is no place for complaints
        return []
