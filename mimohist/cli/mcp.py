"""`mimohist mcp`."""

from __future__ import annotations

from mimohist.cli import options as o
from mimohist.cli import setting
from mimohist.errors import BadInput

HELP = """Serve the history to agents over MCP, on standard input and output.

\b
  mimohist mcp
  claude mcp add history -- mimohist mcp
  codex mcp add history -- mimohist mcp --db ~/index.db

There is one tool, `history`, with the operations search, around and get. It needs the extra
`mimohist[mcp]`.
"""


def mcp(db: o.Db = None) -> int:
    """Serve until the client goes; the flags are explained in `options`."""
    found = setting.settings(db)
    try:
        from mimohist.mcp_server import serve
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] == "mimohist":
            raise
        raise BadInput("the MCP server needs one more package: pip install 'mimohist[mcp]'") from (
            error
        )
    serve(lambda: setting.history(found))
    return 0
