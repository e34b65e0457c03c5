"""The tables of MiMo Code 0.1.13 and opencode 1.18.33, as those programs make them.

Taken from databases that the programs wrote (MiMo Code from source, 22 Aug 2026; opencode
release binary), columns in the order in which they stand there.  Kept apart by column so
that a builder can leave some out, as older programs did.
"""

from __future__ import annotations

Table = tuple[str, ...]
"""Column definitions, then table constraints, each as SQL."""

_ON_SESSION = "REFERENCES `session`(`id`) ON DELETE CASCADE"
_PROJECT_KEY = "FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE"
_TIMES = ("`time_created` integer NOT NULL", "`time_updated` integer NOT NULL")

_PART: Table = (
    "`id` text PRIMARY KEY",
    "`message_id` text NOT NULL",
    "`session_id` text NOT NULL",
    *_TIMES,
    "`data` text NOT NULL",
    (
        "CONSTRAINT `fk_part_message_id_message_id_fk`"
        " FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE"
    ),
)

_SHARE: Table = (
    "`session_id` text PRIMARY KEY",
    "`id` text NOT NULL",
    "`secret` text NOT NULL",
    "`url` text NOT NULL",
    *_TIMES,
    f"CONSTRAINT `fk_session_share` FOREIGN KEY (`session_id`) {_ON_SESSION}",
)

_CONTROL_ACCOUNT: Table = (
    "`email` text NOT NULL",
    "`url` text NOT NULL",
    "`access_token` text NOT NULL",
    "`refresh_token` text NOT NULL",
    "`token_expiry` integer",
    "`active` integer NOT NULL",
    *_TIMES,
    "CONSTRAINT `control_account_pk` PRIMARY KEY(`email`, `url`)",
)

_ACCOUNT: Table = (
    "`id` text PRIMARY KEY",
    "`email` text NOT NULL",
    "`url` text NOT NULL",
    "`access_token` text NOT NULL",
    "`refresh_token` text NOT NULL",
    "`token_expiry` integer",
    *_TIMES,
)

_EVENT: Table = (
    "`id` text PRIMARY KEY",
    "`aggregate_id` text NOT NULL",
    "`seq` integer NOT NULL",
    "`type` text NOT NULL",
    "`data` text NOT NULL",
)

_WORKSPACE: Table = (
    "`id` text PRIMARY KEY",
    "`type` text NOT NULL",
    "`name` text DEFAULT '' NOT NULL",
    "`branch` text",
    "`directory` text",
    "`extra` text",
    "`project_id` text NOT NULL",
)

MIMO: dict[str, Table] = {
    "project": (
        "`id` text PRIMARY KEY",
        "`worktree` text NOT NULL",
        "`vcs` text",
        "`name` text",
        "`icon_url` text",
        "`icon_color` text",
        *_TIMES,
        "`time_initialized` integer",
        "`sandboxes` text NOT NULL",
        "`commands` text",
    ),
    "session": (
        "`id` text PRIMARY KEY",
        "`project_id` text NOT NULL",
        "`parent_id` text",
        "`slug` text NOT NULL",
        "`directory` text NOT NULL",
        "`title` text NOT NULL",
        "`version` text NOT NULL",
        "`share_url` text",
        "`summary_additions` integer",
        "`summary_deletions` integer",
        "`summary_files` integer",
        "`summary_diffs` text",
        "`revert` text",
        "`permission` text",
        *_TIMES,
        "`time_compacting` integer",
        "`time_archived` integer",
        "`workspace_id` text",
        "`context_from` text",
        "`context_watermark` text",
        "`last_checkpoint_message_id` text",
        "`prompt` text",
        f"CONSTRAINT `fk_session_project_id_project_id_fk` {_PROJECT_KEY}",
    ),
    "message": (
        "`id` text PRIMARY KEY NOT NULL",
        f"`session_id` text NOT NULL {_ON_SESSION}",
        "`agent_id` text NOT NULL DEFAULT 'main'",
        *_TIMES,
        "`data` text NOT NULL",
    ),
    "part": _PART,
    "actor_registry": (
        f"`session_id` text NOT NULL {_ON_SESSION}",
        "`actor_id` text NOT NULL",
        "`mode` text NOT NULL",
        "`parent_actor_id` text",
        "`status` text NOT NULL",
        "`agent` text NOT NULL",
        "`description` text NOT NULL",
        "`context_mode` text NOT NULL",
        "`context_watermark` text",
        "`background` integer NOT NULL",
        "`tools` text",
        "`last_turn_time` integer NOT NULL",
        "`turn_count` integer NOT NULL DEFAULT 0",
        "`last_error` text",
        "`time_completed` integer",
        *_TIMES,
        "`last_outcome` text",
        "`lifecycle` text NOT NULL DEFAULT 'ephemeral'",
        "`instance_id` text NOT NULL DEFAULT ''",
        "`last_activity_time` integer",
        "PRIMARY KEY (`session_id`, `actor_id`)",
    ),
    "external_import": (
        "`source` text NOT NULL",
        "`source_key` text NOT NULL",
        "`session_id` text NOT NULL",
        "`source_path` text NOT NULL",
        "`source_mtime` integer NOT NULL",
        "`time_imported` integer NOT NULL",
        "`message_ids` text",
        "PRIMARY KEY (`source`, `source_key`)",
    ),
    "claude_import": (
        "`source_uuid` text PRIMARY KEY NOT NULL",
        "`session_id` text NOT NULL",
        "`source_path` text NOT NULL",
        "`source_mtime` integer NOT NULL",
        "`time_imported` integer NOT NULL",
        "`message_ids` text",
    ),
    "workspace": _WORKSPACE,
    "event": _EVENT,
    "session_share": _SHARE,
    "account": _ACCOUNT,
    "control_account": _CONTROL_ACCOUNT,
}

OPENCODE: dict[str, Table] = {
    "project": (
        *MIMO["project"][:5],
        "`icon_url_override` text",
        *MIMO["project"][5:],
    ),
    "session": (
        "`id` text PRIMARY KEY",
        "`project_id` text NOT NULL",
        "`workspace_id` text",
        "`parent_id` text",
        "`slug` text NOT NULL",
        "`directory` text NOT NULL",
        "`path` text",
        "`title` text NOT NULL",
        "`version` text NOT NULL",
        "`share_url` text",
        "`summary_additions` integer",
        "`summary_deletions` integer",
        "`summary_files` integer",
        "`summary_diffs` text",
        "`metadata` text",
        "`cost` real DEFAULT 0 NOT NULL",
        "`tokens_input` integer DEFAULT 0 NOT NULL",
        "`tokens_output` integer DEFAULT 0 NOT NULL",
        "`tokens_reasoning` integer DEFAULT 0 NOT NULL",
        "`tokens_cache_read` integer DEFAULT 0 NOT NULL",
        "`tokens_cache_write` integer DEFAULT 0 NOT NULL",
        "`revert` text",
        "`permission` text",
        "`agent` text",
        "`model` text",
        *_TIMES,
        "`time_compacting` integer",
        "`time_archived` integer",
        f"CONSTRAINT `fk_session_project_id_project_id_fk` {_PROJECT_KEY}",
    ),
    "message": (
        "`id` text PRIMARY KEY",
        "`session_id` text NOT NULL",
        *_TIMES,
        "`data` text NOT NULL",
        (
            "CONSTRAINT `fk_message_session_id_session_id_fk`"
            f" FOREIGN KEY (`session_id`) {_ON_SESSION}"
        ),
    ),
    "part": _PART,
    "session_message": (
        "`id` text PRIMARY KEY",
        "`session_id` text NOT NULL",
        "`type` text NOT NULL",
        "`seq` integer NOT NULL",
        *_TIMES,
        "`data` text NOT NULL",
        (
            "CONSTRAINT `fk_session_message_session_id_session_id_fk`"
            f" FOREIGN KEY (`session_id`) {_ON_SESSION}"
        ),
    ),
    "workspace": (*_WORKSPACE, "`time_used` integer NOT NULL"),
    "event": _EVENT,
    "session_share": _SHARE,
    "account": _ACCOUNT,
    "control_account": _CONTROL_ACCOUNT,
    "credential": (
        "`id` text PRIMARY KEY",
        "`integration_id` text",
        "`label` text NOT NULL",
        "`value` text NOT NULL",
        "`connector_id` text",
        "`method_id` text",
        "`active` integer",
        *_TIMES,
    ),
}

INDEXES: dict[str, tuple[str, ...]] = {
    "session_project_idx": ("session", "project_id"),
    "session_workspace_idx": ("session", "workspace_id"),
    "session_parent_idx": ("session", "parent_id"),
    "session_context_from_idx": ("session", "context_from"),
    "message_session_time_created_id_idx": ("message", "session_id", "time_created", "id"),
    "message_session_agent_idx": ("message", "session_id", "agent_id", "id"),
    "part_message_id_id_idx": ("part", "message_id", "id"),
    "part_session_idx": ("part", "session_id"),
    "actor_registry_session_agent_idx": ("actor_registry", "session_id", "agent"),
    "actor_registry_session_parent_idx": ("actor_registry", "session_id", "parent_actor_id"),
    "actor_registry_status_idx": ("actor_registry", "status"),
    "actor_registry_status_last_turn_idx": ("actor_registry", "status", "last_turn_time"),
    "session_message_session_seq_idx": ("session_message", "session_id", "seq"),
    "session_message_time_created_idx": ("session_message", "time_created"),
}
"""Index name to its table and columns; there is none on `time_updated` in either program."""


def tables(shape: dict[str, Table], without: frozenset[str] = frozenset()) -> list[str]:
    """Write CREATE TABLE statements of a shape, less the tables and `table.column`s of `without`.

    Raises ValueError when `without` names something that is not there.
    """
    known = {*shape, *(f"{table}.{name}" for table in shape for name in columns(shape[table]))}
    if unknown := without - known:
        raise ValueError(f"no such table or column to leave out: {', '.join(sorted(unknown))}")
    statements = []
    for table, lines in shape.items():
        if table not in without:
            kept = [line for line in lines if f"{table}.{_column(line)}" not in without]
            body = ",\n\t".join(kept)
            statements.append(f"CREATE TABLE `{table}` (\n\t{body}\n)")
    return statements


def indexes(shape: dict[str, Table], without: frozenset[str] = frozenset()) -> list[str]:
    """Write the CREATE INDEX statements for those indexes whose table and columns are all there."""
    statements = []
    for name, (table, *keys) in INDEXES.items():
        if table in without or table not in shape:
            continue
        there = set(columns(shape[table])) - {key for key in keys if f"{table}.{key}" in without}
        if there.issuperset(keys):
            listed = ",".join(f"`{key}`" for key in keys)
            statements.append(f"CREATE INDEX `{name}` ON `{table}` ({listed})")
    return statements


def columns(table: Table) -> list[str]:
    """Give the column names of a table, constraints passed over."""
    return [name for line in table if (name := _column(line))]


def _column(line: str) -> str:
    return line.split("`", 2)[1] if line.startswith("`") else ""
