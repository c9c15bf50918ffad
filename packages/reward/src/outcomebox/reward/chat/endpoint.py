"""An endpoint that speaks the OpenAI protocol: requests, bounded retries, plain errors."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Any

import aiohttp
import anyio
import stamina

from outcomebox.reward.chat.answers import ChatAnswer, TextAnswer, chat_answer, text_answer
from outcomebox.reward.chat.connections import Connections
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
_SHOWN = 300
_BROKEN = (aiohttp.ClientError, OSError)
"""What a connection can break with; time that is out is an ``OSError`` too."""
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
        named = {name: _from_environment(variable) for name, variable in self.headers.items()}
        key = _from_environment(self.key_variable)
        remember(key, *named.values())
        authorization = {"Authorization": f"Bearer {key}"} if key else {}
        # The whole request has a limit of its own; this one is for silence.
        silence_s = self.quiet_s or self.timeout_s
        self._connections = Connections(self.base_url, authorization | named, silence_s=silence_s)
        self._pause_until = 0.0

    @property
    def address(self) -> str:
        """The address without what could be secret in it."""
        return self._connections.shown

    def describe(self) -> dict[str, Any]:
        """What a row records: never the key."""
        return {"model": self.model, "base_url": self.address, "settings": dict(self.settings)}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()

    async def check(self) -> None:
        """One cheap request, so that a run does not start against nothing.

        Raises:
            InputError: Nothing answers, or the key is refused.
        """
        try:
            async for attempt in stamina.retry_context(on=_BROKEN, attempts=2):
                with attempt:
                    async with self._connections.get("models", timeout_s=10.0) as answer:
                        await answer.read()
        except _BROKEN as error:
            raise InputError(
                redact(
                    f"the endpoint does not answer ({_told(error)}); start the server or mend the "
                    "address"
                ),
                field="base-url",
                value=self.address,
            ) from error
        if answer.status in {401, 403}:
            raise InputError(
                f"the endpoint refuses the key (HTTP {answer.status}); set the environment "
                f"variable {self.key_variable}",
                field="base-url",
                value=self.address,
            )
        if answer.status >= 500:
            raise InputError(
                f"the endpoint is down (HTTP {answer.status}); try again when it is up",
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

        async def once() -> Any:
            nonlocal failed_at
            began = monotonic() if failed_at is None else failed_at
            await self._pause()
            counts.waited_s += monotonic() - began
            counts.retries += failed_at is not None
            counts.requests += 1
            try:
                answer = _read(await self._post(path, sent), read, what)
            except (Transient, *_BROKEN) as error:
                self._note(error, counts)
                failed_at = monotonic()
                raise
            counts.tell(answer.usage)
            return answer

        try:
            try:
                return await once()
            except (Transient, *_BROKEN) as error:
                first: Exception | None = error
            # Only what failed pays for setting up retries, which begin with that failure.
            async for attempt in stamina.retry_context(
                on=_wait,
                attempts=self.attempts,
                timeout=None,
                wait_initial=0.2,
                wait_max=20.0,
            ):
                with attempt:
                    if first is not None:
                        failure, first = first, None
                        raise failure
                    return await once()
        except Transient as error:
            raise ChatError(redact(f"Transient: {error}"), status=error.status) from error
        except _BROKEN as error:
            raise ChatError(redact(_told(error))) from error
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
            aiohttp.ClientError: The connection failed.
            OSError: So did this.
        """
        with anyio.move_on_after(self.timeout_s) as limit:
            async with self._connections.post(path, sent) as answer:
                if answer.status == 200 and answer.content_type == "text/event-stream":
                    return await joined(answer.content.iter_any())
                asked_wait = _asked_wait(answer.headers.get("Retry-After", ""))
                return _whole(await answer.read(), answer.status, asked_wait)
        if limit.cancelled_caught:
            raise Transient(f"no whole answer within {self.timeout_s:g} s", None)
        raise AssertionError("unreachable")


def _whole(data: bytes, status: int, asked_wait: float | None) -> Any:
    """The JSON of an answer that came in one piece."""
    text = data.decode("utf-8", "replace")
    shown = text[:_SHOWN]
    if status in _RETRIED or status >= 500:
        raise Transient(f"HTTP {status}: {shown}", status, asked_wait)
    if status != 200:
        if says_too_long(status, text):
            raise ContextTooLong(redact(f"HTTP {status}: {shown}"), status=status)
        raise ChatError(redact(f"HTTP {status}: {shown}"), status=status)
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        # What a proxy or a dying server puts in an answer's place.
        raise Transient(f"the answer is not JSON: {shown!r}", None) from error
    told = error_in(body)
    if told is not None and not (isinstance(body, dict) and body.get("choices")):
        message, code = told
        raise Transient(f"the answer is an error: {message[:_SHOWN]}", code)
    return body


def _read(body: Any, read: Any, what: str) -> Any:
    try:
        return read(body)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ChatError(redact(f"not {what} ({error}): {str(body)[:_SHOWN]}")) from error


def _from_environment(variable: str) -> str:
    """A value for a header.

    Raises:
        InputError: It cannot stand in one.
    """
    value = os.environ.get(variable, "").strip()
    if not value.isprintable() or not value.isascii():
        raise InputError(
            "its value cannot stand in a header of HTTP: it holds a line end or a letter beyond "
            "ASCII; set it again",
            field=f"environment variable {variable}",
        )
    return value


def _told(error: Exception) -> str:
    """Kind and text of an error; some have no text."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _wait(error: Exception) -> bool | float:
    """Whether to try again, and after how many seconds where the endpoint says it."""
    if isinstance(error, Transient):
        return error.after_s or True
    return isinstance(error, _BROKEN)


def _asked_wait(text: str) -> float | None:
    """The seconds of a ``Retry-After`` header, given as such or as a date (RFC 9110, 10.2.3)."""
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
