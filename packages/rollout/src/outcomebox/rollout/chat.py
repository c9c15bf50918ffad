"""A chat endpoint that speaks the OpenAI protocol: requests, bounded retries, plain errors."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import stamina

from outcomebox.rollout.policy import StructuredCall, Usage
from outcomebox.sandbox import InputError


class ChatError(Exception):
    """No usable answer after retries."""


class _Transient(Exception):
    """An answer worth another try: 408, 409, 429 or 5xx."""


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The first choice of a chat completion."""

    content: str | None
    reasoning: str | None
    tool_calls: tuple[StructuredCall, ...]
    finish_reason: str
    usage: Usage


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
            timeout=httpx.Timeout(self.timeout_s, connect=10.0),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        )

    def describe(self) -> dict[str, Any]:
        """What a row records: never the key."""
        return {
            "model": self.model,
            "base_url": str(httpx.URL(self.base_url).copy_with(userinfo=b"", query=None)),
            "settings": dict(self.settings),
        }

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
                value=self.base_url,
            ) from error
        if answer.status_code in {401, 403}:
            raise InputError(
                f"the endpoint refuses the key (HTTP {answer.status_code}); set the environment "
                f"variable {self.key_variable}",
                field="base-url",
                value=self.base_url,
            )
        if answer.status_code >= 500:
            raise InputError(
                f"the endpoint is down (HTTP {answer.status_code}); try again when it is up",
                field="base-url",
                value=self.base_url,
            )

    async def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        **more: Any,
    ) -> ChatAnswer:
        """One chat completion.

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
                on=(httpx.TransportError, _Transient),
                attempts=self.attempts,
                timeout=None,
                wait_initial=0.2,
                wait_max=20.0,
            ):
                with attempt:
                    answer = _settled(await self._client.post("chat/completions", json=body))
        except (httpx.HTTPError, _Transient) as error:
            raise ChatError(f"{type(error).__name__.strip('_')}: {error}") from error
        if answer.status_code != 200:
            raise ChatError(f"HTTP {answer.status_code}: {answer.text[:300]}")
        return _answer(answer)


def _settled(answer: httpx.Response) -> httpx.Response:
    if answer.status_code in {408, 409, 429} or answer.status_code >= 500:
        raise _Transient(f"HTTP {answer.status_code}: {answer.text[:300]}")
    return answer


def _answer(answer: httpx.Response) -> ChatAnswer:
    try:
        body = answer.json()
        choice = body["choices"][0]
        message = choice["message"]
        calls = tuple(
            StructuredCall(
                call["function"]["name"], call["function"]["arguments"] or "", call.get("id") or ""
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
        )
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ChatError(f"not a chat completion ({error!r}): {answer.text[:300]}") from error
    if result.finish_reason == "content_filter":
        raise ChatError("the endpoint's content filter stopped the answer")
    return result
