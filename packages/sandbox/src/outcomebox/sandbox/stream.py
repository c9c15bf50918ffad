"""A socket as a byte stream that may be given up at any moment."""

from __future__ import annotations

import asyncio
import socket

import anyio
import anyio.abc

# What is read ahead of whoever consumes it, in bytes.
_AHEAD = 1 << 20


class SocketStream(anyio.abc.ByteStream):
    """A connected stream socket, on the event loop's own transport.

    anyio's wrapper of a Unix socket waits for it anew each time, and a wait that is cancelled in
    the moment its data arrives ends in an error of the loop; sessions are given up in just that
    moment, since the server is killed then.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def of(cls, connected: socket.socket) -> SocketStream:
        """A stream on a connected socket, which is its own from then on."""
        connected.setblocking(False)
        return cls(*await asyncio.open_connection(sock=connected, limit=_AHEAD))

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Some bytes, at least one.

        Raises:
            anyio.EndOfStream: The other side has closed.
            anyio.BrokenResourceError: The connection broke.
        """
        try:
            data = await self._reader.read(max_bytes)
        except ConnectionError as error:
            raise anyio.BrokenResourceError from error
        if not data:
            raise anyio.EndOfStream
        return data

    async def send(self, item: bytes) -> None:
        """Send all bytes.

        Raises:
            anyio.ClosedResourceError: It was closed here.
            anyio.BrokenResourceError: The other side is gone.
        """
        if self._writer.is_closing():
            raise anyio.ClosedResourceError
        self._writer.write(item)
        try:
            await self._writer.drain()
        except ConnectionError as error:
            raise anyio.BrokenResourceError from error

    async def send_eof(self) -> None:
        """Say that nothing more will be sent."""
        self._writer.write_eof()

    async def aclose(self) -> None:
        """Close it, with whatever was not sent yet."""
        self._writer.transport.abort()
