"""What a served session is made of: a world of tool servers, or a session of a domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from outcomebox.sandbox.changes import change_to_json
from outcomebox.sandbox.connection import DEFAULT_TOOL_DEADLINE_S, ToolResult, ToolSpec
from outcomebox.sandbox.session import Session, unknown_tool


class Live(Protocol):
    """A live session, as :class:`~outcomebox.sandbox.World` is one."""

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """What the agent may call."""
        ...

    @property
    def init_result(self) -> Mapping[str, Any]:
        """What the start of each server told."""
        ...

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, deadline_s: float = ...
    ) -> ToolResult:
        """Call a tool that the agent may call.

        Raises:
            ToolFault: No answer.
        """
        ...

    async def call_server(self, server: str, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call any tool of a server, for the harness.

        Raises:
            ToolFault: No answer.
            KeyError: There is no such server or tool.
        """
        ...

    async def effects(self) -> dict[str, Any]:
        """What is the case, by server.

        Raises:
            StateUnreadable: It cannot be told.
        """
        ...


class DomainLive:
    """A session of a domain as one of a server with the domain's name.

    Args:
        name: The domain.
        session: The session.
        tools: The tools that the agent may call, in order.
        told: What its start tells.
    """

    def __init__(
        self, name: str, session: Session, tools: Sequence[ToolSpec], told: Mapping[str, Any]
    ) -> None:
        self.tools = tools
        self.init_result: Mapping[str, Any] = {name: dict(told)}
        self._name = name
        self._session = session
        self._names = {tool.name for tool in tools}

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        deadline_s: float = DEFAULT_TOOL_DEADLINE_S,
    ) -> ToolResult:
        """Call a tool.

        Raises:
            ToolFault: No answer.
        """
        if tool not in self._names:
            return unknown_tool(tool, self.tools)
        return await self._session.call(tool, arguments, deadline_s=deadline_s)

    async def call_server(self, server: str, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call any tool of the domain.

        Raises:
            ToolFault: No answer.
            KeyError: There is no such server or tool.
        """
        if server != self._name or all(tool != each.name for each in self._session.tools):
            raise KeyError(tool)
        return await self._session.call(tool, arguments)

    async def effects(self) -> dict[str, Any]:
        """The changes against the initial state, row by row, and the names of altered tables.

        Raises:
            StateUnreadable: The database cannot be read.
        """
        state = await self._session.so_far()
        told = {
            "changes": [change_to_json(change) for change in state.changes],
            "schema_changes": list(state.schema_changes),
            "calls": list(state.calls),
        }
        return {self._name: told}
