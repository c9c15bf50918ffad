"""An endpoint that speaks the OpenAI protocol: requests, bounded retries, plain errors."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from time import monotonic
from typing import Any

import anyio
import httpx
import stamina

from outcomebox.reward.chat.answers import ChatAnswer, TextAnswer, chat_answer, text_answer
from outcomebox.reward.chat.clients import Clients
from outcomebox.reward.chat.errors import (
    ChatError,
    ContextTooLong,
    Transient,
    error_in,
    says_too_long,
)
from outcomebox.reward.chat.streams import joined
from outcomebox.reward.chat.traffic import Counts, counts_of
from outcomebox.reward.secrets import redact, remember
from outcomebox.sandbox.errors import InputError

_LONGEST_WAIT_S = 60.0
_PLAIN_QUERY = frozenset({"api-version"})
"""Names in an address's query whose values are no secrets."""
_SHOWN = 300
_RETRIED = frozenset({408, 409, 425, 429})


@dataclass
class ChatEndpoint:
    """A model behind ``<base_url>/chat/completions`` or ``<base_url>/completions``.

    One is shared by all episodes of a run: connections are pooled, and when the endpoint asks for a
    pause, all of them make it.

    Attributes:
        base_url: Such as ``http://127.0.0.1:8000/v1``; a query in it goes along with each request.
        model: The name the server knows the model by.
        key_variable: Environment variable that holds the key; the key itself is never stored.
        settings: More fields of each request (temperature, max_tokens ...).
        timeout_s: Seconds a request may take, its whole answer included.
        attempts: Tries a request gets in all.
        headers: More headers: name -> environment variable that holds the value.
        stream: Whether answers are streamed; they are put together before anybody sees them.
        quiet_s: Seconds a stream may be silent; None for no other limit than ``timeout_s``.
        role: Whose requests these are, for the counts of traffic.
    """

    base_url: str
    model: str
    key_variable: str = "OPENAI_API_KEY"
    settings: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float = 300.0
    attempts: int = 5
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: bool = False
    quiet_s: float | None = None
    role: str = "policy"

    def __post_init__(self) -> None:
        url = httpx.URL(self.base_url)
        headers = {}
        key = os.environ.get(self.key_variable)
        if key:
            headers["Authorization"] = f"Bearer {key}"
        for name, variable in self.headers.items():
            headers[name] = os.environ.get(variable, "")
            remember(headers[name])
        # A name without a password is how some services are given a token.
        remember(key, url.password or url.username, *_secrets_in_query(url))
        self._pause_until = 0.0

        def client(limits: httpx.Limits) -> httpx.AsyncClient:
            return httpx.AsyncClient(
                base_url=str(url.copy_with(query=None)).rstrip("/") + "/",
                params=url.params,
                headers=headers,
                verify=_tls(),
                # The whole request has a limit of its own; this one is for silence.
                timeout=httpx.Timeout(self.quiet_s or self.timeout_s, connect=10.0, pool=None),
                limits=limits,
            )

        self._clients = Clients(client)

    @property
    def address(self) -> str:
        """The address without what could be secret in it."""
        return str(httpx.URL(self.base_url).copy_with(userinfo=b"", query=None))

    def describe(self) -> dict[str, Any]:
        """What a row records: never the key."""
        return {"model": self.model, "base_url": self.address, "settings": dict(self.settings)}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._clients.aclose()

    async def check(self) -> None:
        """One cheap request, so that a run does not start against nothing.

        Raises:
            InputError: Nothing answers, or the key is refused.
        """
        try:
            async for attempt in stamina.retry_context(on=httpx.TransportError, attempts=2):
                with attempt, self._clients.borrowed() as client:
                    answer = await client.get("models", timeout=10.0)
        except httpx.HTTPError as error:
            raise InputError(
                redact(
                    f"the endpoint does not answer ({type(error).__name__}: {error}); start the "
                    "server or mend the address"
                ),
                field="base-url",
                value=self.address,
            ) from error
        if answer.status_code in {401, 403}:
            raise InputError(
                f"the endpoint refuses the key (HTTP {answer.status_code}); set the environment "
                f"variable {self.key_variable}",
                field="base-url",
                value=self.address,
            )
        if answer.status_code >= 500:
            raise InputError(
                f"the endpoint is down (HTTP {answer.status_code}); try again when it is up",
                field="base-url",
                value=self.address,
            )

    async def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        **more: Any,
    ) -> ChatAnswer:
        """One chat completion.

        Args:
            messages: The conversation, as the protocol has it.
            tools: The offered tools.
            **more: More fields of the request.

        Raises:
            ContextTooLong: The conversation does not fit the model's context.
            ChatError: The endpoint is down, answers with an error after retries, filters the
                content, or gives something that is not a chat completion.
        """
        body: dict[str, Any] = {"messages": list(messages), **self.settings, **more}
        if tools:
            body["tools"] = list(tools)
        answer: ChatAnswer = await self._ask(
            "chat/completions", body, chat_answer, "a chat completion"
        )
        return answer

    async def complete(self, prompt: str | Sequence[int], **more: Any) -> TextAnswer:
        """One raw completion.

        Args:
            prompt: Text, or the ids of its tokens where the server takes them (vLLM, sglang).
            **more: More fields of the request.

        Raises:
            ContextTooLong: The prompt does not fit the model's context.
            ChatError: As :meth:`chat`.
        """
        given = prompt if isinstance(prompt, str) else list(prompt)
        body = {"prompt": given, **self.settings, **more}
        answer: TextAnswer = await self._ask("completions", body, text_answer, "a completion")
        return answer

    async def _ask(self, path: str, body: Mapping[str, Any], read: Any, what: str) -> Any:
        """Ask until there is an answer that can be read, or no try is left.

        An endpoint that is busy is asked again, after as many seconds as it says (at most 60).
        """
        sent = {"model": self.model, **body}
        if self.stream:
            sent |= {"stream": True, "stream_options": {"include_usage": True}}
        counts = counts_of(self.role)
        failed_at: float | None = None
        try:
            async for attempt in stamina.retry_context(
                on=_wait,
                attempts=self.attempts,
                timeout=None,
                wait_initial=0.2,
                wait_max=20.0,
            ):
                with attempt:
                    began = monotonic() if failed_at is None else failed_at
                    await self._pause()
                    counts.waited_s += monotonic() - began
                    counts.retries += failed_at is not None
                    counts.requests += 1
                    try:
                        answer = await self._post(path, sent)
                        return _read(answer, read, what)
                    except (Transient, httpx.TransportError) as error:
                        self._note(error, counts)
                        failed_at = monotonic()
                        raise
        except Transient as error:
            raise ChatError(redact(f"Transient: {error}"), status=error.status) from error
        except httpx.HTTPError as error:
            raise ChatError(redact(f"{type(error).__name__}: {error}")) from error
        raise AssertionError("no try was made")

    async def _pause(self) -> None:
        """Wait as long as the endpoint has asked everybody to."""
        while (left := self._pause_until - monotonic()) > 0:  # noqa: ASYNC110 -- others lengthen it
            await anyio.sleep(left)

    def _note(self, error: Exception, counts: Counts) -> None:
        """Count a failure, and have all requests wait where the endpoint asks for it."""
        if not isinstance(error, Transient) or error.status is None:
            counts.broken += 1
        elif error.status == 429:
            counts.rate_limited += 1
        else:
            counts.server_errors += 1
        if isinstance(error, Transient) and error.after_s:
            self._pause_until = max(self._pause_until, monotonic() + error.after_s)

    async def _post(self, path: str, sent: Mapping[str, Any]) -> Any:
        """The JSON of one answer.

        Raises:
            Transient: Another try may help.
            ChatError: It would not.
            httpx.TransportError: The connection failed.
        """
        with anyio.move_on_after(self.timeout_s) as limit:
            async with AsyncExitStack() as stack:
                client = stack.enter_context(self._clients.borrowed())
                answer = await stack.enter_async_context(client.stream("POST", path, json=sent))
                if answer.status_code == 200 and "text/event-stream" in _kind(answer):
                    return await joined(answer.aiter_bytes())
                await answer.aread()
                return self._whole(answer)
        if limit.cancelled_caught:
            raise Transient(f"no whole answer within {self.timeout_s:g} s", None)
        raise AssertionError("unreachable")

    def _whole(self, answer: httpx.Response) -> Any:
        status, shown = answer.status_code, answer.text[:_SHOWN]
        if status in _RETRIED or status >= 500:
            raise Transient(f"HTTP {status}: {shown}", status, _asked_wait(answer))
        if status != 200:
            if says_too_long(status, answer.text):
                raise ContextTooLong(redact(f"HTTP {status}: {shown}"), status=status)
            raise ChatError(redact(f"HTTP {status}: {shown}"), status=status)
        try:
            body = answer.json()
        except ValueError as error:
            # What a proxy or a dying server puts in an answer's place.
            raise Transient(f"the answer is not JSON: {shown!r}", None) from error
        told = error_in(body)
        if told is not None and not (isinstance(body, dict) and body.get("choices")):
            message, code = told
            raise Transient(f"the answer is an error: {message[:_SHOWN]}", code)
        return body


def holds_secret(address: str) -> bool:
    """Whether an address holds a user, a password or a query that may be a secret.

    Args:
        address: The whole address.

    Raises:
        ValueError: It is no address.
    """
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL as error:
        raise ValueError(str(error)) from error
    return bool(url.userinfo or _secrets_in_query(url))


def _secrets_in_query(url: httpx.URL) -> list[str]:
    return [value for name, value in url.params.multi_items() if name not in _PLAIN_QUERY]


def _read(body: Any, read: Any, what: str) -> Any:
    try:
        return read(body)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ChatError(redact(f"not {what} ({error}): {str(body)[:_SHOWN]}")) from error


def _kind(answer: httpx.Response) -> str:
    kind: str = answer.headers.get("content-type", "")
    return kind.lower()


@cache
def _tls() -> ssl.SSLContext:
    """The usual context, made once: it takes longer than everything else about a client."""
    return httpx.create_ssl_context()


def _wait(error: Exception) -> bool | float:
    """Whether to try again, and after how many seconds where the endpoint says it."""
    if isinstance(error, Transient):
        return error.after_s or True
    return isinstance(error, httpx.TransportError)


def _asked_wait(answer: httpx.Response) -> float | None:
    """The seconds of a ``Retry-After`` header, given as such or as a date (RFC 9110, 10.2.3)."""
    text = answer.headers.get("retry-after", "")
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = max(0.0, (moment - datetime.now(UTC)).total_seconds())
    return min(seconds, _LONGEST_WAIT_S) if seconds >= 0 else None
