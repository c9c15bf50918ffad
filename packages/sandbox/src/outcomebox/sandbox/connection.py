"""A connection to one tool server of a session: MCP on its process's standard streams."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from outcomebox.sandbox.errors import ServerDied, SessionOpenError, ToolDeadline
from outcomebox.sandbox.process import Process
from outcomebox.sandbox.rpc import (
    PROTOCOL_VERSION,
    HungUp,
    LineMessages,
    Messages,
    Peer,
    Refused,
    peer,
)

OPEN_DEADLINE_S = 60.0
DEFAULT_TOOL_DEADLINE_S = 20.0
RESERVED = "__reserved__"
"""Prefix of the tools that are the harness's alone."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the agent sees it.

    Attributes:
        name: Its name.
        description: What the model reads.
        input_schema: JSON Schema of its arguments.
        writes: False only where the server says that the tool changes nothing.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    writes: bool

    def openai(self) -> dict[str, Any]:
        """The tool as an OpenAI tool object."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": dict(self.input_schema),
            },
        }


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered.

    Attributes:
        text: The answer as the server gave it.
        is_error: Whether the server calls it an error; the agent reads it all the same.
        content: Its blocks as they came, for who passes them on; empty where no server answered.
        structured: Its structured content, likewise.
    """

    text: str
    is_error: bool
    content: Sequence[Any] = field(default=(), compare=False, repr=False)
    structured: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)


class Connection:
    """One server of one session. Made by :func:`connect`.

    Attributes:
        tools: All its tools, reserved ones included, by name; the harness's view.
    """

    def __init__(self, end: Peer, process: Process | None) -> None:
        self.tools: Mapping[str, ToolSpec] = {}
        self._end = end
        self._process = process

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, deadline_s: float
    ) -> ToolResult:
        """Call a tool, whatever it is.

        Raises:
            ToolDeadline: No answer in time. The connection is of no further use.
            ServerDied: The server ended before it answered.
        """
        params = {"name": tool, "arguments": arguments}
        try:
            with anyio.fail_after(deadline_s):
                result = await self._end.request("tools/call", params)
        except TimeoutError:
            raise ToolDeadline(
                f"tool {tool} gave no answer within {deadline_s:g} s", tool=tool
            ) from None
        except Refused as error:
            return ToolResult(str(error), is_error=True)
        except HungUp as error:
            raise ServerDied(await self.obituary(f"in tool {tool}"), tool=tool) from error
        content, structured = result.get("content"), result.get("structuredContent")
        return ToolResult(
            _text(content),
            result.get("isError") is True,
            content if isinstance(content, list) else (),
            structured if isinstance(structured, dict) else None,
        )

    async def initialise(self) -> None:
        """Shake hands.

        Raises:
            HungUp: The server is gone.
            Refused: It wants none of it.
        """
        client = {"name": "outcomebox", "version": "0"}
        await self._end.request(
            "initialize",
            {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client},
        )
        await self._end.notify("notifications/initialized")

    async def list_tools(self) -> dict[str, ToolSpec]:
        """Ask the server for its tools, in its order.

        Raises:
            SessionOpenError: It gave no usable list.
            HungUp: The server is gone.
            Refused: It answered with an error.
        """
        found: dict[str, ToolSpec] = {}
        params: dict[str, Any] = {}
        while True:
            page = await self._end.request("tools/list", params)
            for tool in page.get("tools") or ():
                spec = _spec(tool)
                if spec.name in found:
                    raise SessionOpenError(f"the tool server lists {spec.name} twice")
                found[spec.name] = spec
            if not page.get("nextCursor"):
                return found
            params = {"cursor": page["nextCursor"]}

    async def obituary(self, where: str) -> str:
        """How the server ended."""
        if self._process is None:
            return f"the server went away {where}"
        return await self._process.obituary(where)


def _spec(tool: Any) -> ToolSpec:
    try:
        name, schema = tool["name"], tool["inputSchema"]
        reads = (tool.get("annotations") or {}).get("readOnlyHint") is True
        return ToolSpec(name, tool.get("description") or "", schema, writes=not reads)
    except (KeyError, TypeError, AttributeError):
        raise SessionOpenError(
            f"the tool server lists what is no tool: {str(tool)[:300]}"
        ) from None


def _text(content: Any) -> str:
    """All content of a tool result as text; what is not text stands as JSON."""
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content, ensure_ascii=False)
    return "\n".join(
        item["text"]
        if isinstance(item, dict) and isinstance(item.get("text"), str)
        else json.dumps(item, ensure_ascii=False)
        for item in content
    )


@asynccontextmanager
async def connect(
    process: Process, *, tools: Mapping[str, ToolSpec] | None = None
) -> AsyncIterator[Connection]:
    """Speak MCP with a fresh process.

    Args:
        process: The process.
        tools: Its tools, where they are known; else it is asked.

    Raises:
        SessionOpenError: It did not answer, or ended.
    """
    async with connect_over(LineMessages(process.stream), process, tools=tools) as connection:
        yield connection


@asynccontextmanager
async def connect_over(
    messages: Messages, process: Process | None, *, tools: Mapping[str, ToolSpec] | None
) -> AsyncIterator[Connection]:
    """Speak MCP over any messages.

    Raises:
        SessionOpenError: The other side did not answer, or ended.
    """
    async with peer(messages) as end:
        connection = Connection(end, process)
        try:
            with anyio.fail_after(OPEN_DEADLINE_S):
                await connection.initialise()
                connection.tools = await connection.list_tools() if tools is None else tools
        except TimeoutError:
            raise SessionOpenError(
                f"the tool server did not answer within {OPEN_DEADLINE_S:.0f} s"
            ) from None
        except HungUp as error:
            raise SessionOpenError(await connection.obituary("while it started")) from error
        except Refused as error:
            raise SessionOpenError(f"the tool server refused to start: {error}") from error
        yield connection
