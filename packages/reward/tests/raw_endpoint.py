"""An endpoint that sends what a test scripts byte by byte: a TCP server on loopback, no model."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc

Piece = bytes | float
"""Bytes to send, or seconds to wait."""

RESET = b"\0RESET"
"""In place of a piece: the connection is reset."""


@dataclass
class RawEndpoint:
    """A running server.

    Attributes:
        url: Its address, as ``base_url``.
        script: The pieces of each answer, in order; the last answer for ever.
        asked: Head and JSON body of each request.
    """

    url: str
    script: list[Sequence[Piece]]
    asked: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def bodies(self) -> list[Any]:
        """The JSON bodies of the requests."""
        return [body for _, body in self.asked]


def whole(body: Any, status: str = "200 OK", **headers: str) -> list[Piece]:
    """An answer that is there at once."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    told = {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in told.items())
    return [f"HTTP/1.1 {status}\r\n{head}Connection: close\r\n\r\n".encode() + data]


def streamed(*pieces: Piece) -> list[Piece]:
    """The beginning of a stream of events, and pieces of it; it ends where the connection does."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    return [head, *pieces]


def event(**chunk: Any) -> bytes:
    """One event with a JSON chunk."""
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def delta(finish: str | None = None, **fields: Any) -> bytes:
    """One event of a chat completion."""
    return event(choices=[{"index": 0, "delta": fields, "finish_reason": finish}])


DONE = b"data: [DONE]\n\n"


@asynccontextmanager
async def raw_endpoint(*script: Sequence[Piece]) -> AsyncIterator[RawEndpoint]:
    """A server that answers so, one request a connection."""

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            data = b""
            while b"\r\n\r\n" not in data:
                data += await stream.receive()
            head, _, rest = data.partition(b"\r\n\r\n")
            text = head.decode("latin-1")
            length = next(
                (
                    int(line.partition(":")[2])
                    for line in text.split("\r\n")
                    if line.lower().startswith("content-length:")
                ),
                0,
            )
            while len(rest) < length:
                rest += await stream.receive()
            endpoint.asked.append((text, json.loads(rest) if rest else None))
            answer = endpoint.script.pop(0) if len(endpoint.script) > 1 else endpoint.script[0]
            try:
                for piece in answer:
                    if piece == RESET:
                        raw = stream.extra(anyio.abc.SocketAttribute.raw_socket)  # noqa: S610 -- no Django
                        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        return
                    if isinstance(piece, bytes):
                        await stream.send(piece)
                    else:
                        await anyio.sleep(piece)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the client did not wait

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 -- no Django
    endpoint = RawEndpoint(f"http://127.0.0.1:{port}/v1", [list(each) for each in script])
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        try:
            yield endpoint
        finally:
            group.cancel_scope.cancel()
