"""A search service for the time of a run: the embedded index, or a way to a real Typesense."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import httptools  # noqa: F401 -- uvicorn's quicker parser, which it takes where it is
import uvicorn

from outcomebox.sandbox.search.api import search_app
from outcomebox.sandbox.search.index import MAX_COLLECTIONS, Store
from outcomebox.sandbox.search.relay import Target, read_target, serve_relay

# A client keeps its connection for as long as its session lives and may ask nothing for minutes;
# one that a server closes just then costs the client an error and a retry after seconds.
_KEEP_ALIVE_S = 3600
# At the end: for requests being answered, then for what is left to notice that it was cut off.
_LAST_ANSWERS_S = 0.5
_LAST_WORDS_S = 0.2
# Requests that may wait to be accepted: all sessions of a run begin at once.
_BACKLOG = 2048


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
        listener.listen(_BACKLOG)
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
            async with _serve(listener, store, api_key):
                yield SearchService(host, port, store, None)
        finally:
            store.close()


@asynccontextmanager
async def _serve(listener: socket.socket, store: Store, api_key: str | None) -> AsyncIterator[None]:
    config = uvicorn.Config(
        search_app(store, api_key=api_key),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        backlog=_BACKLOG,
    )
    config.load()
    server = uvicorn.Server(config)
    # The steps of Server.serve() without its main loop, which would wake ten times a second to look
    # for the signals that it takes away from the caller.
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listener])
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(_LAST_ANSWERS_S):
                await server.shutdown(sockets=[listener])
            state = server.server_state
            for connection in list(state.connections):
                connection.transport.abort()  # a request that its client never finishes
            if state.tasks:
                await asyncio.wait(state.tasks, timeout=_LAST_WORDS_S)


def _loopback() -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.bind(("127.0.0.1", 0))
    except OSError:
        listener.close()
        raise
    return listener
