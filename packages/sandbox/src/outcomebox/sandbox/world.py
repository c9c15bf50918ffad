"""A session in the ThinkingBox form: several tool servers, initialised, asked for effects.

The form keeps three tools of a server for the harness: ``__reserved__init`` takes its part of the
world state, ``__reserved__geteffects`` tells what is the case at the end, ``__reserved__teardown``
ends it. They are called from here; the agent sees the tools that its scenario lists, and reaches no
other.
"""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import orjson

from outcomebox.sandbox.box import Sandbox
from outcomebox.sandbox.connection import (
    DEFAULT_TOOL_DEADLINE_S,
    RESERVED,
    Connection,
    ToolResult,
    ToolSpec,
)
from outcomebox.sandbox.errors import SandboxFault, SessionOpenError, StateUnreadable, ToolFault
from outcomebox.sandbox.process import Process
from outcomebox.sandbox.servers import ServerSpec
from outcomebox.sandbox.session import unknown_tool
from outcomebox.sandbox.ungrouped import ungrouped

INIT, EFFECTS, TEARDOWN = (RESERVED + name for name in ("init", "geteffects", "teardown"))
HARNESS_DEADLINE_S = 120.0
"""Seconds that a reserved tool may take; what ThinkingBox's own proxy allows."""
TEARDOWN_DEADLINE_S = 5.0
BROKEN_TEARDOWN_DEADLINE_S = 1.0
"""The same where the session has ended in an error: most likely a server that hangs."""


class World:
    """One live session of several servers. Not shared between tasks of an event loop.

    Attributes:
        session_id: Its name, as servers that ask for it are told.
        tools: What the agent may call, in the scenario's order.
        init_result: What each server's init returned, without the status.
    """

    def __init__(
        self,
        session_id: str,
        connections: Mapping[str, Connection],
        processes: Sequence[Process],
        tools: Mapping[str, _Route],
    ) -> None:
        self.session_id = session_id
        self.tools = tuple(route.spec for route in tools.values())
        self.init_result: dict[str, Any] = {}
        self._connections = connections
        self._routes = tools
        self._processes = processes

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of its servers; none of those that live in this process."""
        return tuple(process.pid for process in self._processes)

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU that its servers have used; known once it has ended."""
        return sum(process.cpu_s for process in self._processes)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        deadline_s: float = DEFAULT_TOOL_DEADLINE_S,
    ) -> ToolResult:
        """Call a tool that the scenario lists.

        Args:
            tool: Its name; any other is answered with an error that lists the names there are.
            arguments: Plain JSON values.
            deadline_s: Seconds it may take.

        Raises:
            ToolDeadline: No answer in time. The session is of no further use.
            ServerDied: A server ended before it answered.
        """
        route = self._routes.get(tool)
        if route is None:
            return unknown_tool(tool, self.tools)
        return await route.connection.call(tool, arguments, deadline_s=deadline_s)

    def server_of(self, tool: str) -> str | None:
        """The server that answers a tool that the scenario lists."""
        route = self._routes.get(tool)
        return None if route is None else route.server

    async def call_server(self, server: str, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call any tool of a server: for the harness and for checks, never for an agent.

        Raises:
            ToolFault: No answer.
            KeyError: There is no such server, or it has no such tool.
        """
        connection = self._connections[server]
        if tool not in connection.tools:
            raise KeyError(tool)
        return await connection.call(tool, arguments, deadline_s=HARNESS_DEADLINE_S)

    async def effects(self) -> dict[str, Any]:
        """Ask each server what is the case; empty for one that tells nothing.

        Raises:
            StateUnreadable: A server gave no answer, or none that is a JSON object.
        """
        found: dict[str, Any] = {}
        for name, connection in self._connections.items():
            found[name] = {}
            if EFFECTS not in connection.tools:
                continue
            try:
                result = await self._reserved(name, EFFECTS, {})
            except ToolFault as error:
                raise StateUnreadable(f"{name} gave no effects: {error}") from error
            try:
                told = orjson.loads(result.text)
            except orjson.JSONDecodeError:
                told = None
            if result.is_error or not isinstance(told, dict):
                raise StateUnreadable(f"{name} gave no effects: {result.text[:500]}")
            if told.get("status") == "error":
                raise StateUnreadable(f"{name} gave no effects: {told.get('message')}")
            found[name] = told
        return found

    async def _reserved(self, server: str, tool: str, arguments: dict[str, Any]) -> ToolResult:
        connection = self._connections[server]
        properties = connection.tools[tool].input_schema.get("properties") or {}
        if "session_id" in properties:
            arguments["session_id"] = self.session_id
        return await connection.call(tool, arguments, deadline_s=HARNESS_DEADLINE_S)

    async def _initialise(self, world_state: Mapping[str, Any]) -> None:
        for name, config in world_state.items():
            self.init_result[name] = {}
            if INIT not in self._connections[name].tools:
                continue
            try:
                result = await self._reserved(name, INIT, {"config": config})
            except ToolFault as error:
                raise SessionOpenError(f"{name} was not initialised: {error}") from error
            told = _init_answer(result)
            if told is None:
                raise SessionOpenError(f"{name} was not initialised: {result.text[:1000]}")
            self.init_result[name] = told

    async def _tear_down(self, deadline_s: float) -> None:
        for name, connection in self._connections.items():
            if TEARDOWN not in connection.tools:
                continue
            # What a server fails to clean up dies with its process; nothing depends on it.
            with anyio.move_on_after(deadline_s):
                try:
                    await self._reserved(name, TEARDOWN, {})
                except SandboxFault:
                    continue


async def replay_history(
    world: World, history: Sequence[Mapping[str, Any]], *, builtin: Collection[str] = ()
) -> tuple[str, ...]:
    """Make the tool calls of an earlier conversation again, to bring the world to where it was.

    Args:
        world: A fresh world.
        history: Its messages, in the ThinkingBox form.
        builtin: Tools that no server answers; they are passed over, as are calls that failed then.

    Returns:
        A warning for each call that failed now; the form has the episode go on.

    Raises:
        ToolFault: A server hung or died.
    """
    warnings = []
    for message in history:
        calls = message.get("tool_calls") if message.get("T") == "ParallelToolCall" else [message]
        for call in calls or []:
            if call.get("T") != "ToolCall" or (call.get("metadata") or {}).get("error"):
                continue
            if call["name"] in builtin:
                continue
            result = await world.call(call["name"], call.get("arguments") or {})
            if result.is_error:
                warnings.append(f"history: {call['name']} failed: {result.text[:300]}")
    return tuple(warnings)


@dataclass(frozen=True, slots=True)
class _Route:
    spec: ToolSpec
    server: str
    connection: Connection


def _init_answer(result: ToolResult) -> dict[str, Any] | None:
    """What init returned, without its status; None unless it says that all is well."""
    try:
        told = json.loads(result.text)
    except ValueError:
        return None
    if result.is_error or not isinstance(told, dict):
        return None
    if told and told.pop("status", None) != "ok":
        return None
    return told


@asynccontextmanager
async def open_world(
    box: Sandbox,
    specs: Mapping[str, ServerSpec],
    world_state: Mapping[str, Any],
    tools: Sequence[str],
    *,
    seed: int,
    session_id: str,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[World]:
    """A fresh, initialised session of several servers; all gone on exit.

    Args:
        box: Where the servers have been started.
        specs: The servers by name.
        world_state: What each server's init gets, by server, in order; names the servers in use.
        tools: The tools the agent may call. Where two servers have one, the later server's counts.
        seed: The servers' seed.
        session_id: What servers that ask for it are told.
        env: More variables for this session's servers.

    Raises:
        SessionOpenError: A server could not be brought up or initialised, or has no such tool.
    """
    with ungrouped():
        async with AsyncExitStack() as stack:
            connections: dict[str, Connection] = {}
            processes: list[Process] = []
            for name in world_state:
                if name not in specs:
                    raise SessionOpenError(f"no tool server {name} is configured")
                opening = box.connect(specs[name], seed=seed, env=env)
                connections[name], _, process = await stack.enter_async_context(opening)
                processes += [process] if process is not None else []
            world = World(session_id, connections, processes, _routes(connections, tools))
            left_s = BROKEN_TEARDOWN_DEADLINE_S
            try:
                await world._initialise(world_state)  # noqa: SLF001 -- the two make one thing
                yield world
                left_s = TEARDOWN_DEADLINE_S
            finally:
                with anyio.CancelScope(shield=True):
                    await world._tear_down(left_s)  # noqa: SLF001


def _routes(connections: Mapping[str, Connection], tools: Sequence[str]) -> dict[str, _Route]:
    routes = {}
    for name in tools:
        if name.startswith(RESERVED):
            raise SessionOpenError(f"the scenario shows the agent {name}, which is the harness's")
        having = [server for server, each in connections.items() if name in each.tools]
        if not having:
            raise SessionOpenError(f"no server of the scenario has the tool {name}")
        connection = connections[having[-1]]
        routes[name] = _Route(agent_view(connection.tools[name]), having[-1], connection)
    return routes


def agent_view(spec: ToolSpec) -> ToolSpec:
    """A tool as the form shows it to agents: references put in place, no titles at the top.

    Raises:
        SessionOpenError: A reference goes nowhere or round in a circle.
    """
    schema = _inlined(spec.input_schema, spec.input_schema, ())
    schema.pop("$defs", None)
    for part in (schema, *(schema.get("properties") or {}).values()):
        if isinstance(part, dict):
            part.pop("title", None)
    return ToolSpec(spec.name, spec.description, schema, spec.writes)


def _inlined(node: Any, root: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_inlined(item, root, inside) for item in node]
    if not isinstance(node, dict):
        return copy.copy(node)
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return {name: _inlined(value, root, inside) for name, value in node.items()}
    if reference in inside:
        raise SessionOpenError(f"a tool's schema refers to itself by {reference}")
    target: Any = root
    for part in reference.removeprefix("#/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        target = target.get(key) if isinstance(target, dict) else None
    if target is None or not reference.startswith("#/"):
        raise SessionOpenError(f"a tool's schema refers to {reference}, which is not in it")
    return _inlined(target, root, (*inside, reference))
