"""The `history` tool served over MCP on standard input and output, by the official SDK.

Only `mimohist mcp` imports this: the SDK is an extra, `mimohist[mcp]`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from mimohist import __version__, history_tool
from mimohist.errors import MimohistError
from mimohist.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mimohist.history import History


def server(make: Callable[[], History]) -> Server[Any]:
    """Make the server; `make` gives the `History` of one call, which runs in a thread."""

    async def list_tools(
        _context: object, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tool = types.Tool(
            name=history_tool.NAME,
            title="Past conversations",
            description=history_tool.DESCRIPTION,
            input_schema=history_tool.schema(),
            annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        )
        return types.ListToolsResult(tools=[tool])

    async def call_tool(
        _context: object, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name != history_tool.NAME:
            return _failed(f"no tool {params.name!r}; there is {history_tool.NAME!r}")
        # A search reads files and waits for the disk: other requests are answered meanwhile.
        return await asyncio.to_thread(_answered, make, params.arguments or {})

    return Server(
        "mimohist",
        version=__version__,
        instructions="Past conversations with coding agents on this machine; read only.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _answered(make: Callable[[], History], arguments: Mapping[str, Any]) -> types.CallToolResult:
    try:
        with make() as history:
            return _result(history_tool.answer(history, arguments))
    except (MimohistError, OSError) as error:
        return _failed(str(error))


def _result(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


def _failed(text: str) -> types.CallToolResult:
    words = types.TextContent(type="text", text=printable(text))
    return types.CallToolResult(content=[words], is_error=True)


def serve(make: Callable[[], History]) -> None:
    """Serve until standard input ends."""

    async def run() -> None:
        made = server(make)
        async with stdio_server() as (reading, writing):
            await made.run(reading, writing, made.create_initialization_options())

    asyncio.run(run())
