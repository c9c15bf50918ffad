"""Sessions inside the caller's process, for tool servers of our own where nothing can hang.

The same tools over the same protocol, but no process stands between: a tool that loops stalls
everybody, and one that ends the process ends everybody. For servers written with
:class:`~outcomebox.sandbox.toolserver.ToolServer` alone, whose state is per session by make.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio

from outcomebox.sandbox._mcp import from_session_message, to_session_message
from outcomebox.sandbox.connection import Connection, ToolSpec, connect_over
from outcomebox.sandbox.errors import InputError, SessionOpenError
from outcomebox.sandbox.rpc import HungUp, Message
from outcomebox.sandbox.servers import ServerSpec
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
    server = _server(spec)
    to_server, for_server = anyio.create_memory_object_stream[Any](16)
    to_client, for_client = anyio.create_memory_object_stream[Any](16)
    failed: list[Exception] = []
    ended = anyio.Event()

    async def serve() -> None:
        try:
            await server.serve_session({**spec.env, **env}, for_server, to_client)
        except Exception as error:  # noqa: BLE001 -- handed to the session it belongs to
            failed.append(error)
        finally:
            to_client.close()
            ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        opening = connect_over(_Memory(to_server, for_client), None, tools=tools)
        try:
            async with opening as connection:
                yield connection
        except SessionOpenError as error:
            with anyio.move_on_after(1.0):  # it hangs up before it has told why
                await ended.wait()
            if failed:
                raise SessionOpenError(f"the server did not come up: {failed[0]}") from failed[0]
            raise error from None
        finally:
            group.cancel_scope.cancel()
            for stream in (to_server, for_server, to_client, for_client):
                stream.close()


class _Memory:
    """Messages to and from a server in this process."""

    def __init__(self, to_server: Any, for_client: Any) -> None:
        self._to_server = to_server
        self._for_client = for_client

    async def send(self, message: Message) -> None:
        """Send one.

        Raises:
            HungUp: The server is gone.
        """
        try:
            await self._to_server.send(to_session_message(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise HungUp from error

    async def received(self) -> AsyncIterator[Message]:
        """Messages as they come, until the server hangs up."""
        try:
            async for message in self._for_client:
                yield from_session_message(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return


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
