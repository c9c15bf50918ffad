"""The few places where the two supported lines of the ``mcp`` package differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

try:
    from mcp.shared.exceptions import MCPError as ProtocolError
except ImportError:  # mcp 1
    from mcp.shared.exceptions import McpError as ProtocolError

__all__ = ["ProtocolError", "is_hang_up", "result_is_error", "result_text", "tool_fields"]

# JSON-RPC code with which the SDK answers pending requests when the transport has closed.
_CONNECTION_CLOSED = -32000


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
