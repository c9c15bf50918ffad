"""A chat endpoint that speaks the OpenAI protocol: requests, bounded retries, plain errors."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx
import stamina

from outcomebox.sandbox.errors import InputError

_LONGEST_WAIT_S = 60.0
_SHOWN = 300


class ChatError(Exception):
    """No usable answer after retries.

    Attributes:
        status: The HTTP status that settled it; None where there was none.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class _Transient(Exception):
    """An answer worth another try: 408, 409, 429 or 5xx."""

    def __init__(self, message: str, status: int, after_s: float | None) -> None:
        super().__init__(message)
        self.status = status
        self.after_s = after_s


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one exchange; None where nobody counts."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class StructuredCall:
    """A tool call that the endpoint itself has read out of the model's output.

    Attributes:
        name: Tool name.
        arguments: The arguments as JSON text, as the endpoint gave them.
        id: The endpoint's id of the call.
    """

    name: str
    arguments: str
    id: str


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The first choice of a chat completion."""

    content: str | None
    reasoning: str | None
    tool_calls: tuple[StructuredCall, ...]
    finish_reason: str
    usage: Usage
    refusal: str | None = None


@dataclass
class ChatEndpoint:
    """A model behind ``<base_url>/chat/completions``.

    Attributes:
        base_url: Such as ``http://127.0.0.1:8000/v1``.
        model: The name the server knows the model by.
        key_variable: Environment variable that holds the key; the key itself is never stored.
        settings: More fields of the request (temperature, max_tokens ...).
        timeout_s: Seconds a request may take.
        attempts: Tries a request gets in all.
    """

    base_url: str
    model: str
    key_variable: str = "OPENAI_API_KEY"
    settings: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float = 300.0
    attempts: int = 5

    def __post_init__(self) -> None:
        headers = {}
        key = os.environ.get(self.key_variable)
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self._client = httpx.AsyncClient(
            base_url=self.base_url.rstrip("/") + "/",
            headers=headers,
            verify=_tls(),
            timeout=httpx.Timeout(self.timeout_s, connect=10.0),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        )

    @property
    def address(self) -> str:
        """The address without what could be secret in it."""
        return str(httpx.URL(self.base_url).copy_with(userinfo=b"", query=None))

    def describe(self) -> dict[str, Any]:
        """What a row records: never the key."""
        return {"model": self.model, "base_url": self.address, "settings": dict(self.settings)}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def check(self) -> None:
        """One cheap request, so that a run does not start against nothing.

        Raises:
            InputError: Nothing answers, or the key is refused.
        """
        try:
            async for attempt in stamina.retry_context(on=httpx.TransportError, attempts=2):
                with attempt:
                    answer = await self._client.get("models", timeout=10.0)
        except httpx.HTTPError as error:
            raise InputError(
                f"the endpoint does not answer ({type(error).__name__}: {error}); start the server "
                "or mend the address",
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

        An endpoint that is busy is asked again, after as many seconds as it says (at most 60).

        Raises:
            ChatError: The endpoint is down, answers with an error after retries, filters the
                content, or gives something that is not a chat completion.
        """
        body: dict[str, Any] = {
            "model": self.model,
            "messages": list(messages),
            **self.settings,
            **more,
        }
        if tools:
            body["tools"] = list(tools)
        try:
            async for attempt in stamina.retry_context(
                on=_wait,
                attempts=self.attempts,
                timeout=None,
                wait_initial=0.2,
                wait_max=20.0,
            ):
                with attempt:
                    answer = self._settled(await self._client.post("chat/completions", json=body))
        except _Transient as error:
            raise ChatError(f"Transient: {error}", status=error.status) from error
        except httpx.HTTPError as error:
            raise ChatError(f"{type(error).__name__}: {error}") from error
        if answer.status_code != 200:
            raise ChatError(
                f"HTTP {answer.status_code}: {self._shown(answer)}", status=answer.status_code
            )
        return self._answer(answer)

    def _settled(self, answer: httpx.Response) -> httpx.Response:
        status = answer.status_code
        if status in {408, 409, 429} or status >= 500:
            raise _Transient(f"HTTP {status}: {self._shown(answer)}", status, _asked_wait(answer))
        return answer

    def _shown(self, answer: httpx.Response) -> str:
        """The start of what an endpoint said; some repeat the key they were given."""
        text = answer.text
        key = self._client.headers.get("Authorization", "").removeprefix("Bearer ")
        return (text.replace(key, "***") if key else text)[:_SHOWN]

    def _answer(self, answer: httpx.Response) -> ChatAnswer:
        try:
            body = answer.json()
            choice = body["choices"][0]
            message = choice["message"]
            calls = tuple(
                StructuredCall(
                    call["function"]["name"],
                    call["function"]["arguments"] or "",
                    call.get("id") or "",
                )
                for call in message.get("tool_calls") or ()
            )
            usage = body.get("usage") or {}
            result = ChatAnswer(
                content=message.get("content"),
                reasoning=message.get("reasoning_content") or message.get("reasoning"),
                tool_calls=calls,
                finish_reason=choice.get("finish_reason") or "stop",
                usage=Usage(usage.get("prompt_tokens"), usage.get("completion_tokens")),
                refusal=message.get("refusal"),
            )
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise ChatError(f"not a chat completion ({error!r}): {self._shown(answer)}") from error
        if result.finish_reason == "content_filter":
            raise ChatError("the endpoint's content filter stopped the answer")
        return result


@cache
def _tls() -> ssl.SSLContext:
    """The usual context, made once: it takes longer than everything else about a client."""
    return httpx.create_ssl_context()


def _wait(error: Exception) -> bool | float:
    """Whether to try again, and after how many seconds where the endpoint says it."""
    if isinstance(error, _Transient):
        return True if error.after_s is None else error.after_s
    return isinstance(error, httpx.TransportError)


def _asked_wait(answer: httpx.Response) -> float | None:
    """The seconds of a ``Retry-After`` header; a date in it is not read."""
    text = answer.headers.get("retry-after", "")
    try:
        seconds = float(text)
    except ValueError:
        return None
    return min(seconds, _LONGEST_WAIT_S) if seconds >= 0 else None
