"""Serving MCP's messages one at a time, without an event loop or a thread.

A session of a tool server lives for tenths of a second and makes about ten calls. The SDK's own
loop spends several times on them what the tools do, so a :class:`~.toolserver.ToolServer` answers
the few messages that there are by itself; the tools, their schemas and the checking of arguments
are the SDK's.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Coroutine
from typing import IO, Any, TypeVar

from outcomebox.sandbox._mcp import MCPServer, ToolError
from outcomebox.sandbox.rpc import PROTOCOL_VERSION, Message

_PARSE_ERROR, _INVALID_REQUEST, _NOT_FOUND, _INVALID_PARAMS = -32700, -32600, -32601, -32602
_log = logging.getLogger("outcomebox.toolserver")

_Value = TypeVar("_Value")


class BackendFailed(Exception):
    """The backend of a session failed: infrastructure, so that no answer may be given."""


def at_once(coroutine: Coroutine[Any, Any, _Value]) -> _Value:
    """The value of a coroutine that has nothing to wait for.

    Raises:
        RuntimeError: It waits for something.
    """
    try:
        coroutine.send(None)
    except StopIteration as done:
        value: _Value = done.value
        return value
    coroutine.close()
    raise RuntimeError("a tool of a ToolServer may not wait for anything; make it a plain function")


class Answers:
    """Answers the messages of one client.

    Args:
        server: The SDK's server, with all its tools.
        instructions: What a client may show its model about the server as a whole.
    """

    def __init__(self, server: MCPServer, instructions: str | None) -> None:
        self._server = server
        self._instructions = instructions
        self._listed = [
            tool.model_dump(mode="json", by_alias=True, exclude_none=True)
            for tool in at_once(server.list_tools())
        ]

    def answer(self, message: Any) -> Message | None:
        """The answer to one message; None where none is due.

        Raises:
            BackendFailed: There can be none.
        """
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return _error(None, _INVALID_REQUEST, "not a JSON-RPC request")
        number, method = message.get("id"), message["method"]
        if number is None:
            return None
        params = message.get("params") or {}
        if method == "initialize":
            return _result(number, self._initialised(params))
        if method == "ping":
            return _result(number, {})
        if method == "tools/list":
            return _result(number, {"tools": self._listed})
        if method == "tools/call":
            return self._called(number, params)
        return _error(number, _NOT_FOUND, f"there is no method {method}")

    def _initialised(self, params: Message) -> Message:
        wanted = params.get("protocolVersion")
        told: Message = {
            # Nothing of what is served here differs between the versions.
            "protocolVersion": wanted if isinstance(wanted, str) else PROTOCOL_VERSION,
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": self._server.name, "version": "1"},
        }
        return told if self._instructions is None else {**told, "instructions": self._instructions}

    def _called(self, number: Any, params: Message) -> Message:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            return _error(number, _INVALID_PARAMS, "tools/call needs a name and an object")
        try:
            said: Any = at_once(self._server.call_tool(name, arguments or {}))
        except Exception as error:  # noqa: BLE001 -- a tool's error is its answer, as in the SDK
            _reraise_backend_failure(error)
            if not isinstance(error, ToolError) or error.__cause__ is not None:
                _log.info("tool %s failed", name, exc_info=error)
            return _result(number, {"content": [_text(str(error))], "isError": True})
        # The SDK's first line gives the content, its second a result that holds it.
        content = getattr(said, "content", said)
        blocks = [block.model_dump(mode="json", exclude_none=True) for block in content]
        return _result(number, {"content": blocks, "isError": False})


def serve_lines(answer: Callable[[Any], Message | None], read: IO[bytes], write: IO[bytes]) -> None:
    """Answer a message a line until the input ends or nobody reads any more."""
    for line in read:
        if not line.strip():
            continue
        try:
            told = answer(json.loads(line))
        except ValueError as error:
            told = _error(None, _PARSE_ERROR, str(error))
        if told is None:
            continue
        # A lone surrogate (half a character of a model's output) becomes its own JSON escape.
        text = json.dumps(told, ensure_ascii=False).encode("utf-8", "backslashreplace")
        try:
            sys.stdout.flush()  # what a tool has printed stays in its own lines
            write.write(text + b"\n")
            write.flush()
        except BrokenPipeError:
            return


def _reraise_backend_failure(error: BaseException | None) -> None:
    while error is not None:
        if isinstance(error, BackendFailed):
            raise error
        error = error.__cause__


def _text(text: str) -> Message:
    return {"type": "text", "text": text}


def _result(number: Any, result: Message) -> Message:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def _error(number: Any, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
