"""A web server inside the caller's event loop, for as long as a block is entered."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httptools  # noqa: F401 -- uvicorn's quicker parser, which it takes where it is
import uvicorn

BACKLOG = 2048
"""Requests that may wait to be accepted: all sessions of a run begin at once."""

# At the end, for what is left to notice that it was cut off.
_LAST_WORDS_S = 0.2


@asynccontextmanager
async def web_server(
    app: Any,
    listener: socket.socket,
    *,
    keep_alive_s: int,
    last_answers_s: float,
    most_connections: int | None = None,
) -> AsyncIterator[None]:
    """Serve an ASGI application while the block is open (asyncio).

    No process, no thread and no signal handler; nobody is woken where nothing comes.

    Args:
        app: The application, without a lifespan of its own.
        listener: A bound and listening TCP socket; closed at the end.
        keep_alive_s: Seconds that an idle connection is kept.
        last_answers_s: Seconds that requests being answered are given at the end.
        most_connections: Connections at a time; one more is answered 503.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        date_header=False,
        timeout_keep_alive=keep_alive_s,
        backlog=BACKLOG,
        limit_concurrency=most_connections,
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
            with anyio.move_on_after(last_answers_s):
                await server.shutdown(sockets=[listener])
            state = server.server_state
            for connection in list(state.connections):
                connection.transport.abort()  # a request that its client never finishes
            if state.tasks:
                await asyncio.wait(state.tasks, timeout=_LAST_WORDS_S)


def listening(host: str, port: int) -> socket.socket:
    """A TCP socket that listens there.

    Args:
        host: An address, or a name that stands for one.
        port: The port; 0 for a free one.

    Raises:
        OSError: It cannot be had.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted sockets inherit it. asyncio sets it only where it knows that a socket is TCP, and
        # without it each answer of two segments waits 40 ms for the client's delayed ACK.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener
