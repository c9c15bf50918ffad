"""The few places where the two supported lines of the ``mcp`` package differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp import ClientSession
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ClientRequest,
    PaginatedRequestParams,
)

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.shared.exceptions import MCPError as ProtocolError
else:
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.shared.exceptions import MCPError as ProtocolError
    except ModuleNotFoundError:  # mcp 1
        from mcp.server.fastmcp import FastMCP as MCPServer
        from mcp.server.fastmcp.exceptions import ToolError
        from mcp.shared.exceptions import McpError as ProtocolError

__all__ = [
    "MCPServer",
    "ProtocolError",
    "ToolError",
    "call_tool",
    "is_hang_up",
    "list_tools",
    "result_is_error",
    "result_text",
    "serve",
    "tool_fields",
]

# JSON-RPC code with which the SDK answers pending requests when the transport has closed.
_CONNECTION_CLOSED = -32000


async def call_tool(client: ClientSession, name: str, arguments: dict[str, Any]) -> CallToolResult:
    """Send one ``tools/call`` and give back what the server answered.

    Not ``client.call_tool``: that lists the tools again in each session, to hold structured output
    against its schema, and an agent is shown what the server said, right or wrong.

    Raises:
        ProtocolError: The server answered with a protocol error, or hung up.
    """
    params = CallToolRequestParams(name=name, arguments=arguments)
    request: Any = CallToolRequest(method="tools/call", params=params)
    if isinstance(ClientRequest, type):  # mcp 1 has a model around all requests
        request = ClientRequest(request)
    return await client.send_request(request, CallToolResult)


async def list_tools(client: ClientSession) -> list[Any]:
    """All tools of a server, page by page.

    Raises:
        ProtocolError: The server answered with a protocol error, or hung up.
    """
    tools: list[Any] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(params=PaginatedRequestParams(cursor=cursor))
        tools += page.tools
        cursor = _either(page, "next_cursor", "nextCursor")
        if cursor is None:
            return tools


async def serve(server: MCPServer, read: Any, write: Any) -> None:
    """Serve one client over a pair of message streams until it closes them."""
    low: Any = _either(server, "_lowlevel_server", "_mcp_server")
    await low.run(read, write, low.create_initialization_options())


def is_hang_up(error: Exception) -> bool:
    """Whether a protocol error means that the server has gone."""
    data = getattr(error, "error", None)
    return getattr(data, "code", None) == _CONNECTION_CLOSED


def result_text(result: Any) -> str:
    """All content of a tool result as text; what is not text stands as JSON."""
    return "\n".join(
        item.text if item.type == "text" else item.model_dump_json(by_alias=True, exclude_none=True)
        for item in result.content
    )


def result_is_error(result: Any) -> bool:
    """Whether the server marked the result as an error."""
    return bool(_either(result, "is_error", "isError"))


def tool_fields(tool: Any) -> tuple[str, str, Mapping[str, Any], bool]:
    """Name, description, input schema and whether it writes, of a listed tool."""
    hints = tool.annotations
    reads = hints is not None and _either(hints, "read_only_hint", "readOnlyHint") is True
    return (
        tool.name,
        tool.description or "",
        _either(tool, "input_schema", "inputSchema"),
        not reads,
    )


def _either(item: Any, new: str, old: str) -> Any:
    return getattr(item, new) if hasattr(item, new) else getattr(item, old)
