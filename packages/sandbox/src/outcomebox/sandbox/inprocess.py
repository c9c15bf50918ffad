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
from mcp import ClientSession

from outcomebox.sandbox.connection import OPEN_DEADLINE_S, Connection, ToolSpec
from outcomebox.sandbox.errors import InputError, SessionOpenError
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
    failed: list[BaseException] = []

    async def serve() -> None:
        try:
            await server.serve_session({**spec.env, **env}, for_server, to_client)
        except Exception as error:  # noqa: BLE001 -- handed to the session it belongs to
            failed.append(error)
            await to_client.aclose()

    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        try:
            async with ClientSession(for_client, to_server) as client:
                connection = Connection(client, None)
                try:
                    with anyio.fail_after(OPEN_DEADLINE_S):
                        await client.initialize()
                        listed = tools if tools is not None else await connection.list_tools()
                        connection.tools = listed
                except Exception as error:
                    cause = failed[0] if failed else error
                    raise SessionOpenError(f"the server did not come up: {cause}") from cause
                yield connection
        finally:
            group.cancel_scope.cancel()
            for stream in (to_server, for_server, to_client, for_client):
                stream.close()


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
