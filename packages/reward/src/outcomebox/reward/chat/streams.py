"""Streamed answers, put together as the endpoint would have given them whole.

A stream is server-sent events (WHATWG HTML, 9.2.6) whose data are JSON chunks; it has ended well
only if a choice has a finish reason and ``[DONE]`` follows. Anything less is a cut-off answer, and
is asked for again: half an answer must never be taken for a short one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from outcomebox.reward.chat.answers import text_of
from outcomebox.reward.chat.errors import Transient, error_in

_LONGEST_LINE = 64 * 1024 * 1024


class Joined:
    """Chunks of a stream as one answer.

    Attributes:
        chunks: How many chunks with a choice have come.
        done: Whether the stream said that it is at its end.
    """

    def __init__(self) -> None:
        self.chunks = 0
        self.done = False
        self._body: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._calls: dict[int, dict[str, Any]] = {}

    def feed(self, data: str) -> None:
        """Take the data of one event.

        Raises:
            Transient: It is no chunk, or an error.
        """
        if data.strip() == "[DONE]":
            self.done = True
            return
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise Transient(f"a chunk of the stream is not JSON: {data[:100]!r}", None) from error
        if (error_told := error_in(chunk)) is not None:
            message, status = error_told
            raise Transient(f"the stream broke off with an error: {message}", status)
        if not isinstance(chunk, Mapping):
            raise Transient(f"a chunk of the stream is no object: {data[:100]!r}", None)
        for name in ("usage", "prompt_token_ids"):
            if chunk.get(name) is not None:
                self._body[name] = chunk[name]
        try:
            for choice in chunk.get("choices") or ():
                if choice.get("index", 0) == 0:
                    self._take(choice)
        except (AttributeError, TypeError, ValueError) as error:
            raise Transient(
                f"a chunk of the stream is not as it should be ({error}): {data[:100]!r}", None
            ) from error

    def body(self) -> dict[str, Any]:
        """The whole answer.

        Raises:
            Transient: The stream was cut off.
        """
        if not self.chunks:
            raise Transient("the stream ended before anything came", None)
        if not self._choice.get("finish_reason"):
            raise Transient("the stream was cut off: it has no finish reason", None)
        if not self.done:
            raise Transient("the stream was cut off: no [DONE] came", None)
        if self._calls:
            self._message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        choice = {**self._choice}
        if "text" not in choice:
            choice["message"] = {"role": "assistant", "content": None, **self._message}
        return {**self._body, "choices": [choice]}

    def _take(self, choice: Mapping[str, Any]) -> None:
        self.chunks += 1
        if choice.get("finish_reason"):
            self._choice["finish_reason"] = choice["finish_reason"]
        for name in ("token_ids", "prompt_token_ids"):
            if choice.get(name) is not None:
                self._choice[name] = [*self._choice.get(name, ()), *choice[name]]
        if isinstance(choice.get("text"), str):
            self._choice["text"] = self._choice.get("text", "") + choice["text"]
        self._take_logprobs(choice.get("logprobs"))
        delta = choice.get("delta") or {}
        for name in ("content", "reasoning_content", "reasoning", "refusal"):
            if (piece := text_of(delta.get(name), name)) is not None:
                self._message[name] = self._message.get(name, "") + piece
        for call in delta.get("tool_calls") or ():
            self._take_call(call)

    def _take_logprobs(self, told: Any) -> None:
        if not isinstance(told, Mapping):
            return
        kept = self._choice.setdefault("logprobs", {})
        for name in ("content", "tokens", "token_logprobs"):
            if told.get(name) is not None:
                kept[name] = [*kept.get(name, ()), *told[name]]

    def _take_call(self, told: Mapping[str, Any]) -> None:
        index = told.get("index")
        if not isinstance(index, int):
            # Without an index a new id begins a new call, and all else goes on with the last.
            new = bool(told.get("id")) or not self._calls
            index = max(self._calls, default=-1) + new
        call = self._calls.setdefault(
            index, {"id": None, "type": "function", "function": {"name": None, "arguments": ""}}
        )
        if told.get("id"):
            call["id"] = told["id"]
        given, function = told.get("function") or {}, call["function"]
        if given.get("name") and given["name"] != function["name"]:
            function["name"] = (function["name"] or "") + given["name"]
        if isinstance(given.get("arguments"), str):
            function["arguments"] += given["arguments"]
        elif given.get("arguments") is not None:
            function["arguments"] += json.dumps(given["arguments"], ensure_ascii=False)


async def joined(chunks: AsyncIterator[bytes]) -> dict[str, Any]:
    """The whole answer that a stream of bytes holds.

    Args:
        chunks: The body of the response, cut anywhere.

    Raises:
        Transient: It was cut off, or holds what is no stream of chunks.
    """
    answer, buffer = Joined(), bytearray()
    async for piece in chunks:
        buffer += piece
        # Only LF ends a line here: U+2028 and the like may stand unescaped in JSON text.
        *lines, rest = bytes(buffer).split(b"\n")
        buffer = bytearray(rest)
        if len(buffer) > _LONGEST_LINE:
            raise Transient(f"a line of the stream has over {_LONGEST_LINE} bytes", None)
        for line in lines:
            _feed(answer, line)
    _feed(answer, bytes(buffer))
    return answer.body()


def _feed(answer: Joined, line: bytes) -> None:
    field, _, value = line.rstrip(b"\r").partition(b":")
    if field == b"data" and not answer.done:
        answer.feed(value.decode("utf-8", "replace").removeprefix(" "))
