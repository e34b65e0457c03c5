"""The shape of the index: its tables, its full-text table, and the views that others may use.

`history_fts` holds one narrow row a part and `history_text` its text, apart, so that
joins and time ranges never read the texts.  `history_fts_idx` is an FTS5 table over the
view `history_fts_row`, which deals the texts to one column for each sort of words: a
kind filter is then a column filter, a kind's weight a column's weight, and machine text
lies where a plain search does not look.

Texts are stored as said but for U+200B between characters of scripts without spaces
(see `text.segment`; an own U+200B is doubled).  Where folding changes a text beyond what
the tokenizer folds itself, its folded form stands beside it and is what is indexed.

Writers keep the full-text table in step by hand: `unindex` the rows, change what the
view is made of (`history_fts`, `history_text`, `message`), `index` them again.
"""

from __future__ import annotations

VERSION = 2

TABLES = """
CREATE TABLE state(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE root(
  id INTEGER PRIMARY KEY,
  source TEXT NOT NULL,
  path TEXT NOT NULL,
  identity TEXT NOT NULL DEFAULT '',
  stamp TEXT NOT NULL DEFAULT '',
  memory TEXT NOT NULL DEFAULT '',
  time_read INTEGER,
  time_verified INTEGER,
  error TEXT,
  gone INTEGER NOT NULL DEFAULT 0,
  skipped INTEGER NOT NULL DEFAULT 0,
  skipped_why TEXT,
  bytes INTEGER,
  UNIQUE(source, path)
);

CREATE TABLE project(
  id INTEGER PRIMARY KEY,
  root INTEGER NOT NULL REFERENCES root(id),
  project_id TEXT NOT NULL,
  worktree TEXT NOT NULL,
  directory TEXT NOT NULL,
  UNIQUE(root, project_id, worktree, directory)
);

CREATE TABLE session(
  id INTEGER PRIMARY KEY,
  root INTEGER NOT NULL REFERENCES root(id),
  key TEXT NOT NULL,
  session_id TEXT NOT NULL,
  project INTEGER NOT NULL REFERENCES project(id),
  parent_id TEXT,
  title TEXT NOT NULL,
  path TEXT NOT NULL,
  version TEXT,
  machine TEXT,
  mirror_source TEXT,
  mirror_id TEXT,
  time_created INTEGER NOT NULL,
  time_updated INTEGER NOT NULL,
  time_archived INTEGER,
  stamp TEXT NOT NULL,
  mark TEXT NOT NULL DEFAULT '',
  gone INTEGER NOT NULL DEFAULT 0,
  UNIQUE(root, key)
);
CREATE INDEX session_id ON session(session_id);
CREATE INDEX session_project ON session(project);

CREATE TABLE name(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);

CREATE TABLE message(
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session(id),
  message_id TEXT NOT NULL,
  role TEXT NOT NULL,
  agent INTEGER NOT NULL REFERENCES name(id),
  agent_name INTEGER REFERENCES name(id),
  machine TEXT,
  time_created INTEGER NOT NULL,
  provider TEXT,
  model TEXT,
  cost REAL,
  tokens_input INTEGER,
  tokens_output INTEGER,
  tokens_reasoning INTEGER,
  tokens_cache_read INTEGER,
  tokens_cache_write INTEGER
);
CREATE INDEX message_time ON message(session, time_created);
CREATE INDEX message_id ON message(message_id);

CREATE TABLE history_fts(
  id INTEGER PRIMARY KEY,
  root INTEGER NOT NULL REFERENCES root(id),
  part_id TEXT NOT NULL,
  session INTEGER NOT NULL REFERENCES session(id),
  project INTEGER NOT NULL REFERENCES project(id),
  message INTEGER REFERENCES message(id),
  kind TEXT NOT NULL,
  tool INTEGER REFERENCES name(id),
  status TEXT,
  machine TEXT,
  time_created INTEGER NOT NULL,
  copy INTEGER NOT NULL,
  echo INTEGER NOT NULL DEFAULT 0,
  lost INTEGER NOT NULL DEFAULT 0,
  compacted INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX history_fts_part ON history_fts(root, part_id);
CREATE INDEX history_fts_session ON history_fts(session, time_created);
CREATE INDEX history_fts_message ON history_fts(message);
CREATE INDEX history_fts_copy ON history_fts(copy);
CREATE INDEX history_fts_time ON history_fts(time_created);

CREATE TABLE history_text(
  id INTEGER PRIMARY KEY,
  body TEXT NOT NULL,
  output TEXT,
  cut TEXT,
  pieces TEXT,
  output_pieces TEXT,
  folded_body TEXT,
  folded_output TEXT,
  folded_cut TEXT
);

CREATE TABLE zone(block INTEGER PRIMARY KEY, low INTEGER NOT NULL, high INTEGER NOT NULL);

CREATE TABLE forgotten(
  source TEXT NOT NULL, level TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY(source, level, id)
) WITHOUT ROWID;
"""

LATE_INDEXES = {
    "history_fts_copy": "history_fts(copy)",
    "history_fts_time": "history_fts(time_created)",
}
"""Indexes that a first build makes at its end, by name: on what."""

COLUMNS = (
    "output",
    "said",
    "reply",
    "input",
    "error",
    "reasoning",
    "summary",
    "machine",
    "pieces",
    "more_pieces",
    "tags",
)
"""The FTS5 columns, in order: the first costs two bytes less for each word of each row than the
others, so it is the one with the most text.

`said` user text and titles; `reply` assistant text; `input` tool name and input;
`error` a failed tool's error text; `output`; `reasoning`; `summary` compaction summaries;
`machine` everything of a machine part, and what was cut out of human ones; `pieces`
camelCase pieces of the columns searched by default, `more_pieces` of output and
reasoning; `tags` one token a filter value: `s` session, `p` project, `r` root, `t` tool,
`a` agent slice or agent name, each with the row's number, and `k` kind without its `_`.
"""

_BODY = "coalesce(t.folded_body, t.body)"
_OUTPUT = "coalesce(t.folded_output, t.output)"
_CUT = "coalesce(t.folded_cut, t.cut)"
_HUMAN = "h.machine IS NULL"

ROW_VIEW = f"""
CREATE VIEW history_fts_row AS SELECT
  h.id AS id,
  CASE WHEN {_HUMAN} AND h.kind <> 'tool_error' THEN {_OUTPUT} END AS output,
  CASE WHEN {_HUMAN} AND h.kind IN ('user_text', 'title') THEN {_BODY} END AS said,
  CASE WHEN {_HUMAN} AND h.kind = 'assistant_text' THEN {_BODY} END AS reply,
  CASE WHEN {_HUMAN} AND h.kind IN ('tool_output', 'tool_error') THEN {_BODY} END AS input,
  CASE WHEN {_HUMAN} AND h.kind = 'tool_error' THEN {_OUTPUT} END AS error,
  CASE WHEN {_HUMAN} AND h.kind = 'reasoning' THEN {_BODY} END AS reasoning,
  CASE WHEN h.machine = 'summary' THEN {_BODY} END AS summary,
  CASE WHEN {_HUMAN} OR h.machine = 'summary' THEN {_CUT}
       ELSE {_BODY} || coalesce(char(10) || {_OUTPUT}, '') || coalesce(char(10) || {_CUT}, '')
  END AS machine,
  CASE WHEN NOT ({_HUMAN}) OR h.kind = 'reasoning' THEN NULL
       WHEN h.kind = 'tool_error'
       THEN nullif(coalesce(t.pieces, '') || ' ' || coalesce(t.output_pieces, ''), ' ')
       ELSE t.pieces END AS pieces,
  CASE WHEN NOT ({_HUMAN}) OR h.kind = 'tool_error' THEN NULL
       WHEN h.kind = 'reasoning' THEN t.pieces
       ELSE t.output_pieces END AS more_pieces,
  's' || h.session || ' p' || h.project || ' r' || h.root || ' k' || replace(h.kind, '_', '')
    || coalesce(' t' || h.tool, '') || coalesce(' a' || m.agent, '')
    || coalesce(' a' || m.agent_name, '') AS tags
FROM history_fts h JOIN history_text t ON t.id = h.id LEFT JOIN message m ON m.id = h.message;
"""

FTS_TABLE = f"""
CREATE VIRTUAL TABLE history_fts_idx USING fts5(
  {", ".join(COLUMNS)}, content='history_fts_row', content_rowid='id',
  tokenize='unicode61 remove_diacritics 2');
"""

INDEX_ROWS = f"""
INSERT INTO history_fts_idx(rowid, {", ".join(COLUMNS)})
SELECT id, {", ".join(COLUMNS)} FROM history_fts_row WHERE """
"""Puts rows into the full-text table; a condition on `id` must follow."""

UNINDEX_ROWS = f"""
INSERT INTO history_fts_idx(history_fts_idx, rowid, {", ".join(COLUMNS)})
SELECT 'delete', id, {", ".join(COLUMNS)} FROM history_fts_row WHERE """
"""Takes rows out of the full-text table, before anything they are made of changes."""

ZONE_BITS = 12
"""2^12 ids share a row of `zone`, which bounds their `time_created`."""

WIDEN_ZONES = f"""
INSERT INTO zone(block, low, high)
SELECT id >> {ZONE_BITS}, min(time_created), max(time_created) FROM history_fts
WHERE id BETWEEN :first AND :last GROUP BY 1
ON CONFLICT(block) DO UPDATE SET low = min(low, excluded.low), high = max(high, excluded.high);
"""
"""Takes the rows of an id range into their zones; a zone may be too wide, never too narrow."""


def said(column: str) -> str:
    """Write SQL for a stored text as it was said, without the separators of `text.segment`."""
    own = "char(64976)"
    zero = "char(8203)"
    return (
        f"replace(replace(replace({column}, {zero} || {zero}, {own}), {zero}, ''), {own}, {zero})"
    )


SOURCES_VIEW = """
CREATE VIEW sources AS SELECT
  r.source AS source, r.path AS path,
  (SELECT count(*) FROM session s WHERE s.root = r.id) AS sessions,
  (SELECT count(*) FROM history_fts h WHERE h.root = r.id) AS parts,
  (SELECT min(s.time_created) FROM session s WHERE s.root = r.id) AS time_first,
  (SELECT max(s.time_updated) FROM session s WHERE s.root = r.id) AS time_last,
  r.bytes AS bytes, r.time_read AS time_read, r.skipped AS skipped, r.skipped_why AS skipped_why,
  (SELECT count(*) FROM history_fts h WHERE h.root = r.id AND h.lost > 0) AS cut_parts,
  (SELECT count(*) FROM session s WHERE s.root = r.id AND s.gone) AS gone_sessions,
  r.gone AS gone, r.error AS error
FROM root r;
"""

VIEWS = f"""{SOURCES_VIEW}
CREATE VIEW projects AS SELECT
  r.source AS source, p.project_id AS project_id, p.worktree AS worktree, p.directory AS directory,
  count(s.id) AS sessions, min(s.time_created) AS time_first, max(s.time_updated) AS time_last
FROM project p JOIN root r ON r.id = p.root LEFT JOIN session s ON s.project = p.id
GROUP BY p.id;

CREATE VIEW sessions AS SELECT
  r.source AS source, s.session_id AS session_id, s.title AS title, p.directory AS project,
  p.project_id AS project_id, p.worktree AS worktree, s.parent_id AS parent_id,
  s.time_created AS time_created, s.time_updated AS time_updated, s.time_archived AS time_archived,
  (SELECT count(*) FROM message m WHERE m.session = s.id) AS messages,
  (SELECT count(*) FROM history_fts h WHERE h.session = s.id AND h.kind <> 'title') AS parts,
  s.machine AS machine, s.version AS version, s.path AS path, s.gone AS gone,
  CASE WHEN s.mirror_source IS NOT NULL THEN s.mirror_source || '/' || s.mirror_id END AS mirrors
FROM session s JOIN project p ON p.id = s.project JOIN root r ON r.id = s.root;

CREATE VIEW messages AS SELECT
  r.source AS source, s.session_id AS session_id, m.message_id AS message_id, m.role AS role,
  a.text AS agent, n.text AS agent_name, m.machine AS machine, m.time_created AS time_created,
  m.provider AS provider, m.model AS model, m.cost AS cost, m.tokens_input AS tokens_input,
  m.tokens_output AS tokens_output, m.tokens_reasoning AS tokens_reasoning,
  m.tokens_cache_read AS tokens_cache_read, m.tokens_cache_write AS tokens_cache_write
FROM message m JOIN session s ON s.id = m.session JOIN root r ON r.id = s.root
JOIN name a ON a.id = m.agent LEFT JOIN name n ON n.id = m.agent_name;

CREATE VIEW parts AS SELECT
  r.source AS source, s.session_id AS session_id, s.title AS title, p.directory AS project,
  m.message_id AS message_id, h.part_id AS part_id, m.role AS role, a.text AS agent,
  h.kind AS kind, l.text AS tool, h.status AS status, h.machine AS machine,
  h.time_created AS time_created,
  CASE WHEN h.kind NOT LIKE 'tool%' THEN {said("t.body")} END AS text,
  CASE WHEN h.kind LIKE 'tool%' THEN {said("t.body")} END AS input,
  {said("t.output")} AS output,
  {said("t.cut")} AS machine_text,
  h.lost AS lost
FROM history_fts h JOIN history_text t ON t.id = h.id
JOIN session s ON s.id = h.session JOIN project p ON p.id = h.project JOIN root r ON r.id = h.root
LEFT JOIN message m ON m.id = h.message LEFT JOIN name a ON a.id = m.agent
LEFT JOIN name l ON l.id = h.tool;
"""

FROM_1 = f"""
ALTER TABLE root ADD COLUMN bytes INTEGER;
DROP INDEX IF EXISTS history_fts_project;
DROP INDEX message_time;
CREATE INDEX message_time ON message(session, time_created);
DROP VIEW sources;
{SOURCES_VIEW}
"""
"""What an index of version 1 lacks."""
