"""A domain's sessions: one isolated live backend each, opened for one episode.

A session is a process of the domain's tool server with a database file, a frozen clock and a seed
of its own; nothing is shared with another session.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from outcomebox.sandbox.backends.base import Backend, Backing, Image
from outcomebox.sandbox.backends.sqlite import SQLITE
from outcomebox.sandbox.box import Sandbox
from outcomebox.sandbox.changes import TerminalState
from outcomebox.sandbox.connection import (
    DEFAULT_TOOL_DEADLINE_S,
    RESERVED,
    Connection,
    ToolResult,
    ToolSpec,
)
from outcomebox.sandbox.domain import Domain
from outcomebox.sandbox.process import Process
from outcomebox.sandbox.variables import DATABASE_VARIABLE, NOW_VARIABLE, SEED_VARIABLE


class Session:
    """One live session of a domain. Not shared between tasks of an event loop.

    Attributes:
        tools: What the agent may call.
        address: Where its database is: what the server was told as ``OUTCOMEBOX_DATABASE``.
    """

    def __init__(
        self, connection: Connection, address: str, process: Process | None, backing: Backing
    ) -> None:
        self.tools = tuple(visible(connection.tools))
        self.address = address
        self._names = {tool.name for tool in self.tools}
        self._connection = connection
        self._process = process
        self._backing = backing
        self._calls: list[tuple[str, int | None]] = []

    @property
    def database(self) -> Path:
        """The session's SQLite file, where its backend is SQLite."""
        return Path(self.address)

    @property
    def pid(self) -> int | None:
        """Process id of the session's tool server; None where it is this process."""
        return None if self._process is None else self._process.pid

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        deadline_s: float = DEFAULT_TOOL_DEADLINE_S,
    ) -> ToolResult:
        """Call a tool that the agent may call.

        Args:
            tool: Its name; any other is answered with an error that lists the names there are.
            arguments: Plain JSON values.
            deadline_s: Seconds it may take.

        Raises:
            ToolDeadline: No answer in time. The session is of no further use.
            ServerDied: The server ended before it answered.
        """
        if tool not in self._names:
            self._calls.append((tool, await self._backing.mark()))
            return unknown_tool(tool, self.tools)
        self._calls.append((tool, None))
        result = await self._connection.call(tool, arguments, deadline_s=deadline_s)
        self._calls[-1] = (tool, await self._backing.mark())
        return result

    async def so_far(self) -> TerminalState:
        """What the session has changed until now, for who looks on; not while a call is made.

        Raises:
            StateUnreadable: The database is missing or broken, or the server keeps it locked.
        """
        return await self._backing.so_far(self._calls)

    async def close(self) -> TerminalState:
        """End the server and read what it left in the database.

        Only committed work counts: the server is killed first, then the state is read on a fresh
        connection. May be called once, also after a call has failed.

        Raises:
            StateUnreadable: The database is missing or broken.
        """
        if self._process is not None:
            await self._process.kill()
        return await self._backing.terminal_state(self._calls)


def visible(tools: Mapping[str, ToolSpec]) -> list[ToolSpec]:
    """The tools that an agent may be shown: all but the harness's own."""
    return [tool for name, tool in tools.items() if not name.startswith(RESERVED)]


def unknown_tool(tool: str, tools: Sequence[ToolSpec]) -> ToolResult:
    """What an agent reads that calls a tool it was not given, whatever a server may have."""
    names = ", ".join(sorted(spec.name for spec in tools))
    return ToolResult(f"There is no tool {tool!r}. The tools are: {names}.", is_error=True)


async def start_domains(
    box: Sandbox, domains: Sequence[Domain], *, backend: Backend[Any] = SQLITE
) -> None:
    """Start the tool servers of some domains ahead of their first session.

    Args:
        box: Where.
        domains: Whose servers.
        backend: Where their databases are.

    Raises:
        SessionOpenError: A server cannot be started.
        InputError: A server is not there.
    """
    for domain in domains:
        async with backend.domain_image(domain).open() as backing:
            env = _variables(domain, backing, seed=0)
            await box.start(domain.server, env=env, files=backing.files)


@asynccontextmanager
async def open_session(
    box: Sandbox,
    domain: Domain,
    image: Image,
    *,
    seed: int,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Session]:
    """A fresh session over its own copy of ``image``; killed and removed on exit.

    Args:
        box: Where :func:`start_domains` has started the domain.
        domain: Whose server and clock.
        image: The initial state, of any backend.
        seed: What the server gets as its seed.
        env: More variables for this session's server.

    Raises:
        SessionOpenError: The session could not be brought up.
    """
    async with image.open() as backing:
        variables = {**_variables(domain, backing, seed=seed), **(env or {})}
        opening = box.connect(domain.server, seed=seed, env=variables, files=backing.files)
        async with opening as (connection, folder, process):
            backing.settle(folder)
            address = backing.address.replace("{folder}", str(folder))
            yield Session(connection, address, process, backing)


def _variables(domain: Domain, backing: Backing, *, seed: int) -> dict[str, str]:
    return {
        DATABASE_VARIABLE: backing.address,
        NOW_VARIABLE: domain.settings.now,
        SEED_VARIABLE: str(seed),
    }
