"""What every request passes first: who may ask, and the figures of what was asked."""

from __future__ import annotations

import hmac
import time
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from outcomebox.sandbox.service.envelope import refused
from outcomebox.sandbox.service.metrics import Metrics
from outcomebox.sandbox.service.refusals import RefusedRequest

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN = "/health"
"""The one path that needs no token."""


class Guard:
    """An ASGI middleware.

    A page in a browser must not reach a service on its reader's own machine: a request from a page
    is refused, and on a loopback address so is one that was meant for another host.

    Args:
        app: What is guarded.
        endpoints: Paths that figures name; all others count as one.
        metrics: Where requests are counted.
        token: What clients must send as a bearer token; None: nothing.
        local: Whether the service listens on a loopback address.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        endpoints: Collection[str],
        metrics: Metrics,
        token: str | None,
        local: bool,
    ) -> None:
        self._app = app
        self._endpoints = frozenset(endpoints)
        self._metrics = metrics
        self._token = None if token is None else token.encode()
        self._local = local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        started, status = time.perf_counter(), 500
        path = "/" + scope["path"].strip("/")

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            if (why := self._refusal(path, Headers(scope=scope))) is not None:
                await refused(why)(scope, receive, noting)
            else:
                await self._app(scope, receive, noting)
        finally:
            endpoint = path if path in self._endpoints else "other"
            self._metrics.request(endpoint, status, time.perf_counter() - started)

    def _refusal(self, path: str, headers: Headers) -> RefusedRequest | None:
        origin = headers.get("origin")
        if origin is not None and _host(origin) not in LOOPBACK:
            return RefusedRequest("Pages may not use this service", 403)
        if self._local and _host("//" + headers.get("host", "localhost")) not in LOOPBACK:
            return RefusedRequest("This service answers for localhost alone", 403)
        if self._token is not None and path != OPEN:
            kind, _, token = headers.get("authorization", "").partition(" ")
            if kind != "Bearer" or not hmac.compare_digest(token.encode(), self._token):
                return RefusedRequest("Unauthorized", 401)
        return None


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
