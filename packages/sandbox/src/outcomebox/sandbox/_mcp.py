"""The few places where the two supported lines of the ``mcp`` package differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage
from pydantic import TypeAdapter

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
else:
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ModuleNotFoundError:  # mcp 1
        from mcp.server.fastmcp import FastMCP as MCPServer
        from mcp.server.fastmcp.exceptions import ToolError

__all__ = ["MCPServer", "ToolError", "from_session_message", "serve", "to_session_message"]

# A model in mcp 1, a union of models in mcp 2; an adapter reads both.
_MESSAGE: TypeAdapter[Any] = TypeAdapter(JSONRPCMessage)


def to_session_message(message: dict[str, Any]) -> Any:
    """A JSON-RPC message as the SDK's servers take it."""
    return SessionMessage(_MESSAGE.validate_python(message))


def from_session_message(message: Any) -> dict[str, Any]:
    """The JSON-RPC message that an SDK's server sends."""
    plain: dict[str, Any] = message.message.model_dump(
        mode="json", by_alias=True, exclude_unset=True
    )
    return plain


async def serve(server: MCPServer, read: Any, write: Any) -> None:
    """Serve one client over a pair of message streams until it closes them."""
    held: Any = server
    low = getattr(held, "_lowlevel_server", None) or held._mcp_server  # noqa: SLF001
    await low.run(read, write, low.create_initialization_options())
