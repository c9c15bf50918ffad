"""A connection to one tool server of a session: an MCP client on its process's stdio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from mcp import ClientSession

from outcomebox.sandbox import _mcp
from outcomebox.sandbox.errors import ServerDied, SessionOpenError, ToolDeadline
from outcomebox.sandbox.process import Process
from outcomebox.sandbox.transport import stdio_streams

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
    """

    text: str
    is_error: bool


class Connection:
    """One server of one session. Made by :func:`connect`.

    Attributes:
        tools: All its tools, reserved ones included, by name; the harness's view.
    """

    def __init__(self, client: ClientSession, process: Process | None) -> None:
        self.tools: Mapping[str, ToolSpec] = {}
        self._client = client
        self._process = process

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, deadline_s: float
    ) -> ToolResult:
        """Call a tool, whatever it is.

        Raises:
            ToolDeadline: No answer in time. The connection is of no further use.
            ServerDied: The server ended before it answered.
        """
        try:
            with anyio.fail_after(deadline_s):
                result = await _mcp.call_tool(self._client, tool, dict(arguments))
        except TimeoutError:
            raise ToolDeadline(
                f"tool {tool} gave no answer within {deadline_s:g} s", tool=tool
            ) from None
        except _mcp.ProtocolError as error:
            if not _mcp.is_hang_up(error):
                return ToolResult(str(error), is_error=True)
            raise ServerDied(await self._obituary(f"in tool {tool}"), tool=tool) from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise ServerDied(await self._obituary(f"in tool {tool}"), tool=tool) from error
        return ToolResult(_mcp.result_text(result), _mcp.result_is_error(result))

    async def list_tools(self) -> dict[str, ToolSpec]:
        """Ask the server for its tools, in its order.

        Raises:
            SessionOpenError: It gave no usable list.
        """
        found: dict[str, ToolSpec] = {}
        for tool in await _mcp.list_tools(self._client):
            spec = ToolSpec(*_mcp.tool_fields(tool))
            if spec.name in found:
                raise SessionOpenError(f"the tool server lists {spec.name} twice")
            found[spec.name] = spec
        return found

    async def _obituary(self, where: str) -> str:
        if self._process is None:
            return f"the server went away {where}"
        return await self._process.obituary(where)


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
    async with (
        stdio_streams(process.stream) as (read, write),
        ClientSession(read, write) as client,
    ):
        connection = Connection(client, process)
        try:
            with anyio.fail_after(OPEN_DEADLINE_S):
                await client.initialize()
                connection.tools = await connection.list_tools() if tools is None else tools
        except TimeoutError:
            raise SessionOpenError(
                f"the tool server did not answer within {OPEN_DEADLINE_S:.0f} s"
            ) from None
        except (
            _mcp.ProtocolError,
            anyio.ClosedResourceError,
            anyio.BrokenResourceError,
        ) as error:
            words = await process.obituary("while it started")
            raise SessionOpenError(words) from error
        yield connection
