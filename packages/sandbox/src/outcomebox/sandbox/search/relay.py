"""Passes the bytes of TCP connections on to a real Typesense, which may be behind TLS."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import anyio
import anyio.abc
import h11
from anyio.streams.tls import TLSStream

from outcomebox.sandbox.errors import InputError

_log = logging.getLogger(__name__)

_CONNECT_S = 10.0
_AGAIN_S = 0.1
# TLS has no half-close: when a client is done sending, the rest of the answer gets so long.
_REST_OF_ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where a Typesense is.

    Attributes:
        url: As it was given.
        host: Name or address.
        port: TCP port.
        tls: Whether to speak TLS to it.
    """

    url: str
    host: str
    port: int
    tls: bool

    async def connect(self) -> anyio.abc.ByteStream:
        """Open a connection.

        Raises:
            OSError: Nobody answers there, or not in TLS.
            TimeoutError: Nobody answers in time.
        """
        with anyio.fail_after(_CONNECT_S):
            if not self.tls:
                return await anyio.connect_tcp(self.host, self.port)
            return await anyio.connect_tcp(
                self.host,
                self.port,
                ssl_context=ssl.create_default_context(),
                tls_hostname=self.host,
                tls_standard_compatible=False,
            )

    async def check(self) -> None:
        """Ask it whether it is well.

        Raises:
            InputError: Nobody answers there, or not a healthy Typesense.
        """
        try:
            with anyio.fail_after(2 * _CONNECT_S):
                async with await self.connect() as stream:
                    status, body = await _get(stream, "/health", self.host)
        except (OSError, TimeoutError, anyio.BrokenResourceError, h11.ProtocolError) as error:
            problem = f"{type(error).__name__}: {error}"
        else:
            if status == 200 and b'"ok"' in body:
                return
            problem = f"GET /health gave {status} and {body[:80]!r}"
        raise InputError(
            f"no healthy Typesense answers there ({problem}); start it, mend the URL, or leave the "
            "URL out to use the embedded search",
            field="search url",
            value=self.url,
        )


def read_target(url: str) -> Target:
    """Read the URL of a Typesense.

    Raises:
        InputError: It is not one, or has parts that a relay of bytes cannot honour.
    """

    def wrong(what: str) -> InputError:
        return InputError(
            f"{what}; give http://HOST:PORT or https://HOST:PORT", field="search url", value=url
        )

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise wrong(f"not a URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise wrong("not the URL of a Typesense")
    if parts.path not in {"", "/"} or parts.query or parts.fragment or parts.username is not None:
        raise wrong("a path, a query or a user in the URL would be lost")
    tls = parts.scheme == "https"
    return Target(url, parts.hostname, port or (443 if tls else 80), tls)


async def relay(client: anyio.abc.SocketStream, target: Target) -> None:
    """Join a client with the target until both have finished.

    A client whose target cannot be reached is hung up on at once, which it sees as a connection
    error; what comes of that is for whoever uses the client to say.
    """
    async with client:
        try:
            server = await target.connect()
        except (OSError, TimeoutError) as error:
            _log.warning("search: cannot reach %s: %r", target.url, error)
            return
        async with server, anyio.create_task_group() as group:
            group.start_soon(_pump, client, server, group.cancel_scope)
            group.start_soon(_pump, server, client, group.cancel_scope)


async def _pump(
    source: anyio.abc.ByteStream, sink: anyio.abc.ByteStream, both: anyio.CancelScope
) -> None:
    """Pass on what comes, then that no more comes; a broken connection ends both directions."""
    try:
        while True:
            try:
                data = await source.receive()
            except anyio.EndOfStream:
                break
            await sink.send(data)
        if isinstance(sink, TLSStream):
            await anyio.sleep(_REST_OF_ANSWER_S)
            both.cancel()
        elif isinstance(source, TLSStream):
            both.cancel()  # who has said goodbye in TLS reads no more
        else:
            await sink.send_eof()
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        both.cancel()


@asynccontextmanager
async def serve_relay(listener: anyio.abc.SocketListener, target: Target) -> AsyncIterator[None]:
    """Relay every connection to a listener while the context is open.

    In a task beside the caller's: a task group around the caller's own code would wrap whatever
    that raises.
    """

    async def accept() -> None:
        async with anyio.create_task_group() as connections:
            while True:
                try:
                    client = await listener.accept()
                except OSError as error:  # no descriptors left: some come back when others end
                    _log.warning("search: cannot accept a connection: %r", error)
                    await anyio.sleep(_AGAIN_S)
                    continue
                connections.start_soon(relay, client, target)

    task = asyncio.create_task(accept())
    try:
        yield
    finally:
        task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


async def _get(stream: anyio.abc.ByteStream, path: str, host: str) -> tuple[int, bytes]:
    """Status and body of one HTTP GET."""
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=64 * 1024)
    headers = [("Host", host), ("Connection", "close")]
    request = http.send(h11.Request(method="GET", target=path, headers=headers))
    await stream.send((request or b"") + (http.send(h11.EndOfMessage()) or b""))
    status, body = 0, b""
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            try:
                http.receive_data(await stream.receive())
            except anyio.EndOfStream:
                http.receive_data(b"")
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body = (body + event.data)[:1024]
        elif isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
            return status, body
