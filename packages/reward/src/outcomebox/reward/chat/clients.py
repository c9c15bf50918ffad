"""HTTP clients of one endpoint: many requests in flight, few connections a client.

A client's pool walks over all its connections whenever a request begins or ends. With hundreds in
one pool that walk costs more than the requests, so they are spread over several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx

_A_CLIENT = 32
"""Requests that one client has in flight; its pool keeps twice as many connections."""


class Clients:
    """Clients, made as they are needed.

    Args:
        make: Makes one.
    """

    def __init__(self, make: Callable[[httpx.Limits], httpx.AsyncClient]) -> None:
        self._make = make
        self._clients: list[httpx.AsyncClient] = []
        self._busy: list[int] = []

    @contextmanager
    def borrowed(self) -> Iterator[httpx.AsyncClient]:
        """A client for one request: the first that has room, so that connections are used again."""
        place = next((at for at, busy in enumerate(self._busy) if busy < _A_CLIENT), None)
        if place is None:
            place = len(self._clients)
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=2 * _A_CLIENT)
            self._clients.append(self._make(limits))
            self._busy.append(0)
        self._busy[place] += 1
        try:
            yield self._clients[place]
        finally:
            self._busy[place] -= 1

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._clients:
            await client.aclose()
