"""MCP over a socket that is a server's standard input and output: one JSON message a line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage
from pydantic import TypeAdapter, ValidationError

# A model in mcp 1, a union of models in mcp 2; an adapter reads both.
_MESSAGE: TypeAdapter[Any] = TypeAdapter(JSONRPCMessage)
# Longest answer that is read; a server that never ends a line must not eat the memory.
MAX_LINE_BYTES = 64 * 1024 * 1024


@asynccontextmanager
async def stdio_streams(
    stdio: anyio.abc.SocketStream | anyio.abc.UNIXSocketStream,
) -> AsyncIterator[tuple[Any, Any]]:
    """The pair of message streams that an ``mcp.ClientSession`` is built on.

    Lines that are not JSON-RPC are passed on as exceptions (the client session drops them), since
    servers do print to standard output. When the server hangs up, the read stream ends.
    """
    incoming, read = anyio.create_memory_object_stream[Any](16)
    write, outgoing = anyio.create_memory_object_stream[Any](16)

    async def receive() -> None:
        pending = bytearray()
        async with incoming:
            while True:
                try:
                    data = await stdio.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return
                pending += data
                if b"\n" not in data:
                    if len(pending) > MAX_LINE_BYTES:
                        return
                    continue
                *lines, rest = bytes(pending).split(b"\n")
                pending = bytearray(rest)
                for line in lines:
                    if line.strip():
                        await incoming.send(_parse(line))

    async def send() -> None:
        async with outgoing:
            async for message in outgoing:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await stdio.send(text.encode() + b"\n")
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return  # the reading side sees the end too, and reports it

    async with anyio.create_task_group() as group:
        group.start_soon(receive)
        group.start_soon(send)
        try:
            yield read, write
        finally:
            group.cancel_scope.cancel()
            await read.aclose()
            await write.aclose()


def _parse(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(_MESSAGE.validate_json(line))
    except ValidationError as error:
        return error
