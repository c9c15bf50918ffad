"""MCP's messages about the tools of a live session, whatever carries them.

The protocol is answered here and not by the SDK's server, whose two supported lines differ in
everything that is needed; :mod:`outcomebox.sandbox.rpc` is the client's side of it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outcomebox.sandbox.connection import ToolResult, ToolSpec
from outcomebox.sandbox.errors import SandboxFault
from outcomebox.sandbox.rpc import PROTOCOL_VERSION, Message
from outcomebox.sandbox.service.refusals import RefusedRequest

PARSE_ERROR, _INVALID_REQUEST, _NOT_FOUND = -32700, -32600, -32601
_INVALID_PARAMS, _NO_ANSWER = -32602, -32000
_KNOWN = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


@dataclass(frozen=True)
class Served:
    """Whose tools are served.

    Attributes:
        name: What the server is called.
        tools: Gives its tools; raises RefusedRequest where there is no session.
        call: Calls one; raises RefusedRequest or SandboxFault where there is no answer.
        instructions: What a client may show its model, or a person.
    """

    name: str
    tools: Callable[[], Sequence[ToolSpec]]
    call: Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]
    instructions: str | None = None


async def answer(message: Any, served: Served) -> Message | None:
    """The answer to one message; None where none is due."""
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        if isinstance(message, dict) and ("result" in message or "error" in message):
            return None  # an answer: nothing was asked here
        return failure(None, _INVALID_REQUEST, "not a JSON-RPC request")
    number, method = message.get("id"), message["method"]
    if number is None:
        return None
    params = message.get("params") or {}
    if not isinstance(params, dict):
        return failure(number, _INVALID_PARAMS, "params must be an object")
    try:
        if method == "initialize":
            return _result(number, _initialised(params, served))
        if method == "ping":
            return _result(number, {})
        if method == "tools/list":
            return _result(number, {"tools": [_listed(tool) for tool in served.tools()]})
        if method == "tools/call":
            return await _called(number, params, served)
    except RefusedRequest as error:
        return failure(number, _INVALID_REQUEST, str(error))
    except SandboxFault as error:
        # Infrastructure: nothing that could be taken for what a tool says.
        return failure(number, _NO_ANSWER, str(error))
    return failure(number, _NOT_FOUND, f"there is no method {method}")


def failure(number: Any, code: int, message: str) -> Message:
    """A protocol error."""
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def _initialised(params: Message, served: Served) -> Message:
    wanted = params.get("protocolVersion")
    told: Message = {
        # Nothing of what is served here differs between the versions.
        "protocolVersion": wanted if wanted in _KNOWN else PROTOCOL_VERSION,
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": served.name, "version": "1"},
    }
    return told if served.instructions is None else {**told, "instructions": served.instructions}


def _listed(tool: ToolSpec) -> Message:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": dict(tool.input_schema),
        "annotations": {"readOnlyHint": not tool.writes},
    }


async def _called(number: Any, params: Message, served: Served) -> Message:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict | None):
        return failure(number, _INVALID_PARAMS, "tools/call needs a name and an object")
    said = await served.call(name, arguments or {})
    content = list(said.content) or [{"type": "text", "text": said.text}]
    told: Message = {"content": content, "isError": said.is_error}
    if (structured := said.structured or _object(said.text)) is not None:
        told["structuredContent"] = dict(structured)
    return _result(number, told)


def _object(text: str) -> Mapping[str, Any] | None:
    """A text that is a JSON object, read: clients of the API get it as structured content."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _result(number: Any, result: Message) -> Message:
    return {"jsonrpc": "2.0", "id": number, "result": result}
