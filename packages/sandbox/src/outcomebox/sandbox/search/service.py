"""A search service for the time of a run: the embedded index, or a way to a real Typesense."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from outcomebox.sandbox.search.api import search_app
from outcomebox.sandbox.search.index import MAX_COLLECTIONS, Store
from outcomebox.sandbox.search.relay import Target, read_target, serve_relay
from outcomebox.sandbox.webserver import BACKLOG, web_server

# A client keeps its connection for as long as its session lives and may ask nothing for minutes;
# one that a server closes just then costs the client an error and a retry after seconds.
_KEEP_ALIVE_S = 3600
# At the end, for requests being answered.
_LAST_ANSWERS_S = 0.5


@dataclass(frozen=True, slots=True)
class SearchService:
    """A running search service.

    Attributes:
        host: Address it listens on, in the network of its listener.
        port: Its TCP port.
        store: The embedded collections; None where a real Typesense answers.
        target: The real Typesense; None where the embedded index answers.
    """

    host: str
    port: int
    store: Store | None
    target: Target | None

    @property
    def url(self) -> str:
        """Where clients reach it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    async def check(self) -> None:
        """Make sure, before a run, that somebody will answer; the embedded index always does.

        Raises:
            InputError: No healthy Typesense answers at the URL that was given.
        """
        if self.target is not None:
            await self.target.check()


@asynccontextmanager
async def search_service(
    listener: socket.socket | None = None,
    *,
    url: str | None = None,
    api_key: str | None = None,
    max_collections: int = MAX_COLLECTIONS,
) -> AsyncIterator[SearchService]:
    """Answer Typesense clients while the context is open, in the caller's event loop (asyncio).

    Nothing else is started: no process and no thread, but for the loop's own look-up of a host
    name in ``url``. Idle connections end with the context.

    Args:
        listener: A bound TCP socket to accept connections on; it may belong to another network
            namespace. It is taken over and closed at the end. None: a free port on loopback.
        url: A real Typesense to pass the bytes on to, instead of the embedded index. Its clients
            still name our address in their ``Host`` header.
        api_key: What clients of the embedded index must send; None: nothing.
        max_collections: How many collections the embedded index keeps; then the longest unused go.

    Raises:
        InputError: ``url`` is not one, or the embedded index cannot work with this Python.
    """
    target = None if url is None else read_target(url)
    listener = listener or _loopback()
    with listener:
        # Accepted sockets inherit it. asyncio sets it only where it knows that a socket is TCP, and
        # without it each answer of two segments waits 40 ms for the client's delayed ACK.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.setblocking(False)
        listener.listen(BACKLOG)
        host, port = listener.getsockname()[:2]
        if target is not None:
            async with (
                await anyio.abc.SocketListener.from_socket(listener) as connections,
                serve_relay(connections, target),
            ):
                yield SearchService(host, port, None, target)
            return
        store = Store(max_collections)
        try:
            serving = web_server(
                search_app(store, api_key=api_key),
                listener,
                keep_alive_s=_KEEP_ALIVE_S,
                last_answers_s=_LAST_ANSWERS_S,
            )
            async with serving:
                yield SearchService(host, port, store, None)
        finally:
            store.close()


def _loopback() -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.bind(("127.0.0.1", 0))
    except OSError:
        listener.close()
        raise
    return listener
