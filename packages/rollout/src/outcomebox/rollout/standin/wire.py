"""One HTTP/1.1 connection, close enough to the socket to break it in every way there is."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

import anyio
import h11
from anyio.abc import SocketAttribute, SocketStream

_LARGEST = 64 * 1024 * 1024
_GONE = (anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError)
Headers = Sequence[tuple[str, str]]


class Hung(Exception):
    """The connection has ended; nothing more is to be said on it."""


class Wire:
    """A connection of a client.

    Args:
        stream: The accepted connection.
    """

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.SERVER)

    async def request(self) -> tuple[str, str, bytes]:
        """Method, path and body of the next request.

        Raises:
            Hung: There is none, or what came is no HTTP.
        """
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        elif self._http.our_state is not h11.IDLE:
            raise Hung
        head, body = None, bytearray()
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise Hung from error
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._receive())
            elif isinstance(event, h11.Request):
                head = event
                if self._http.they_are_waiting_for_100_continue:
                    await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > _LARGEST:
                    raise Hung
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                path = head.target.decode("ascii", "replace").partition("?")[0]
                return head.method.decode("ascii"), path, bytes(body)
            else:
                raise Hung

    async def whole(self, status: int, body: bytes, kind: str, headers: Headers = ()) -> None:
        """A whole answer."""
        await self.head(status, kind, [("content-length", str(len(body))), *headers])
        await self.piece(body)
        await self.end()

    async def head(self, status: int, kind: str, headers: Headers = ()) -> None:
        """The head of an answer; without a content-length its pieces are sent as chunks."""
        told = [("content-type", kind), *headers]
        await self._send(h11.Response(status_code=status, headers=told))

    async def piece(self, data: bytes) -> None:
        """Some of the body."""
        await self._send(h11.Data(data=data))

    async def end(self) -> None:
        """The end of the body."""
        await self._send(h11.EndOfMessage())

    def reset(self) -> None:
        """Have the connection end with a reset (RST) when it is closed.

        Raises:
            Hung: Always: the caller is to close it now.
        """
        raw: socket.socket = self._stream.extra(  # noqa: S610 -- a socket, no query
            SocketAttribute.raw_socket
        )
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Hung

    async def _receive(self) -> bytes:
        try:
            return await self._stream.receive()
        except anyio.EndOfStream:
            return b""
        except _GONE as error:
            raise Hung from error

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            try:
                await self._stream.send(data)
            except _GONE as error:
                raise Hung from error
