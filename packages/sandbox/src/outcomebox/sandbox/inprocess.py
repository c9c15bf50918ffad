"""Sessions inside the caller's process, for tool servers of our own where nothing can hang.

The same tools over the same protocol, but no process stands between: a tool that loops stalls
everybody, and one that ends the process ends everybody. For servers written with
:class:`~outcomebox.sandbox.toolserver.ToolServer` alone, whose state is per session by make.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import anyio.lowlevel

from outcomebox.sandbox.connection import Connection, ToolSpec, connect_over
from outcomebox.sandbox.errors import InputError, SessionOpenError
from outcomebox.sandbox.rpc import HungUp, Message
from outcomebox.sandbox.servers import ServerSpec
from outcomebox.sandbox.serving import BackendFailed
from outcomebox.sandbox.toolserver import ToolServer


@asynccontextmanager
async def connect_in_process(
    spec: ServerSpec, env: Mapping[str, str], *, tools: Mapping[str, ToolSpec] | None
) -> AsyncIterator[Connection]:
    """A session of a tool server in this process.

    Args:
        spec: The server; its module or file must have a ``ToolServer`` named ``server``.
        env: The session's variables, seen by it alone.
        tools: Its tools, where they are known.

    Raises:
        InputError: The module has no such server.
        SessionOpenError: The server did not come up.
    """
    try:
        with _server(spec).session({**spec.env, **env}) as answer:
            async with connect_over(_Here(answer), None, tools=tools) as connection:
                yield connection
    except BackendFailed as error:
        raise SessionOpenError(f"the server did not come up: {error}") from error


class _Here:
    """Messages to a server in this process, each answered when it is sent."""

    def __init__(self, answer: Callable[[Any], Message | None]) -> None:
        self._answer = answer
        self._give, self._take = anyio.create_memory_object_stream[Message](math.inf)

    async def send(self, message: Message) -> None:
        """Send one.

        Raises:
            HungUp: Its backend has failed.
        """
        await anyio.lowlevel.checkpoint()
        try:
            # As it comes over a line: a server may not hold on to the caller's own objects.
            told = self._answer(json.loads(json.dumps(message)))
        except BackendFailed as error:
            self._give.close()
            raise HungUp from error
        if told is not None:
            self._give.send_nowait(told)

    async def received(self) -> AsyncIterator[Message]:
        """Messages as they come, until the server hangs up."""
        with self._take, self._give:
            async for message in self._take:
                yield message


@cache
def _server_of(module: str | None, file: str | None) -> ToolServer:
    loaded: ModuleType
    if module is not None:
        loaded = importlib.import_module(module)
    else:
        spec = importlib.util.spec_from_file_location("outcomebox_tool_server", str(file))
        if spec is None or spec.loader is None:
            raise InputError("is not a Python file", file=file)
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = loaded
        spec.loader.exec_module(loaded)
    server = getattr(loaded, "server", None)
    if not isinstance(server, ToolServer):
        raise InputError(
            "mode inprocess is for servers made with outcomebox.sandbox.toolserver (a ToolServer "
            "named `server`); use mode fork",
            file=module or file,
        )
    return server


def _server(spec: ServerSpec) -> ToolServer:
    found = spec.python_arguments
    if found is None:
        raise InputError(
            "mode inprocess is for Python servers; use mode process",
            field=spec.name,
            value=spec.command,
        )
    words = found[1]
    if words[0] == "-m":
        return _server_of(words[1], None)
    return _server_of(None, str(Path(words[0]).resolve()))
