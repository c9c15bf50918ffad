"""Connections to one endpoint: kept open between requests, and used by all of a run's episodes."""

from __future__ import annotations

import json
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
import orjson
from yarl import URL

from outcomebox.reward.secrets import remember

PATHS = ("chat/completions", "completions", "models")
"""What an endpoint is asked for, below its address."""
_KEPT_S = 4.0
"""An idle connection is closed before the server does it: uvicorn, and with it vLLM, after five."""
_PLAIN_QUERY = frozenset({"api-version"})
"""Names in an address's query whose values are no secrets."""


class Connections:
    """The connections to one address.

    Args:
        address: Such as ``http://127.0.0.1:8000/v1``; a query in it goes along with each request.
        headers: What every request carries. A user or a password in the address takes the place of
            an ``Authorization`` header.
        silence_s: Seconds without a byte after which a connection counts as broken.

    Attributes:
        shown: The address without what could be secret in it.
    """

    def __init__(self, address: str, headers: Mapping[str, str], *, silence_s: float) -> None:
        url = URL(address)
        # A name without a password is how some services are given a token.
        remember(url.password or url.user, *_secrets_in_query(url))
        self._headers = {"Content-Type": "application/json", **headers}
        if url.user is not None or url.password is not None:
            basic = b64encode(f"{url.user or ''}:{url.password or ''}".encode()).decode()
            self._headers["Authorization"] = f"Basic {basic}"
        base = url.with_user(None).with_query(None)
        self._urls = {path: base.joinpath(path).with_query(url.query) for path in PATHS}
        self._proxy = _proxy(base)
        remember(URL(self._proxy).password if self._proxy else None)
        self.shown = str(base)
        self._silence_s = silence_s
        self._session: aiohttp.ClientSession | None = None

    def post(
        self, path: str, body: Mapping[str, Any]
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Send JSON to one of ``PATHS``.

        Raises:
            aiohttp.ClientError: The connection failed; raised on entering the answer's context.
        """
        return self._open().post(self._urls[path], data=_json(body), allow_redirects=False)

    def get(
        self, path: str, *, timeout_s: float
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Ask for one of ``PATHS``.

        Raises:
            aiohttp.ClientError: As :meth:`post`.
        """
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        return self._open().get(self._urls[path], timeout=timeout, allow_redirects=False)

    async def aclose(self) -> None:
        """Close them."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        """The session, made in the event loop that uses it."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                # How many are asked at a time is the caller's to bound.
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_S),
                # An episode must not depend on what an earlier one was told to remember.
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=10.0, sock_read=self._silence_s
                ),
                proxy=self._proxy,
            )
        return self._session


def holds_secret(address: str) -> bool:
    """Whether an address holds a user, a password or a query that may be a secret.

    Args:
        address: The whole address.

    Raises:
        ValueError: It is no address.
    """
    url = URL(address)
    if not url.host:
        raise ValueError("no host in it")
    return url.user is not None or url.password is not None or bool(_secrets_in_query(url))


def _secrets_in_query(url: URL) -> list[str]:
    return [value for name, value in url.query.items() if name not in _PLAIN_QUERY]


def _proxy(url: URL) -> str | None:
    """The proxy that the environment names for an address; ``.netrc`` is not read."""
    if urllib.request.proxy_bypass(url.host or ""):
        return None
    return urllib.request.getproxies().get(url.scheme)


def _json(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        # Integers of more than 64 bits, and halves of surrogate pairs that a model wrote.
        return json.dumps(body, allow_nan=False).encode()
