"""A session service, from its listener to its last session."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address

import anyio

from outcomebox.sandbox.service.api import Api, service_app
from outcomebox.sandbox.service.guard import Guard
from outcomebox.sandbox.service.metrics import Metrics
from outcomebox.sandbox.service.offers import Offers
from outcomebox.sandbox.service.sessions import Sessions
from outcomebox.sandbox.ungrouped import ungrouped
from outcomebox.sandbox.webserver import web_server

_KEEP_ALIVE_S = 75
# At the end: for requests being answered.
_LAST_ANSWERS_S = 5.0
# Clients that open a connection for each request, and more than one at a time.
_CONNECTIONS_A_SESSION, _OTHER_CONNECTIONS = 8, 512
_LEAST_LOOK_S, _MOST_LOOK_S = 0.05, 15.0


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """What a service is run with.

    Attributes:
        most: Sessions at a time.
        wait_s: Seconds that a request waits for a place before it is answered 429.
        idle_s: Seconds after which a session that nobody uses is ended; None: never.
        token: What clients must send as a bearer token; None: nothing.
        server_tool: Whether ``call_tool`` takes ``__reserved__server_tool``.
    """

    most: int = 64
    wait_s: float = 5.0
    idle_s: float | None = 900.0
    token: str | None = None
    server_tool: bool = False


@dataclass(frozen=True, slots=True)
class SessionService:
    """A running service.

    Attributes:
        host: Address it listens on.
        port: Its TCP port.
        sessions: Its sessions.
    """

    host: str
    port: int
    sessions: Sessions

    @property
    def url(self) -> str:
        """Where clients reach it."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


@asynccontextmanager
async def session_service(
    offers: Offers, listener: socket.socket, settings: ServiceSettings
) -> AsyncIterator[SessionService]:
    """Serve sessions while the block is open; then all of them are ended (asyncio).

    At the end no more requests are taken, those being answered get some seconds, and each session's
    servers are torn down.

    Args:
        offers: Which sessions can be had.
        listener: A listening TCP socket; closed at the end.
        settings: Limits and the token.
    """
    host, port = listener.getsockname()[:2]
    metrics = Metrics()
    with ungrouped():
        async with anyio.create_task_group() as group:
            sessions = Sessions(group, offers, metrics, most=settings.most, wait_s=settings.wait_s)

            def figures() -> str:
                return metrics.text(
                    in_use=sessions.in_use, waiting=sessions.waiting, most=settings.most
                )

            app = service_app(Api(sessions, server_tool=settings.server_tool), figures)
            guard = Guard(
                app,
                endpoints=[getattr(route, "path", "") for route in app.routes],
                metrics=metrics,
                token=settings.token,
                local=is_loopback(host),
            )
            serving = web_server(
                guard,
                listener,
                keep_alive_s=_KEEP_ALIVE_S,
                last_answers_s=_LAST_ANSWERS_S,
                most_connections=_CONNECTIONS_A_SESSION * settings.most + _OTHER_CONNECTIONS,
            )
            try:
                async with serving:
                    if settings.idle_s is not None:
                        group.start_soon(_expire, sessions, settings.idle_s)
                    yield SessionService(host, port, sessions)
            finally:
                with anyio.CancelScope(shield=True):
                    await sessions.destroy_all()
                group.cancel_scope.cancel()


async def _expire(sessions: Sessions, idle_s: float) -> None:
    while True:
        await anyio.sleep(min(max(idle_s / 4, _LEAST_LOOK_S), _MOST_LOOK_S))
        await sessions.expire(idle_s)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
