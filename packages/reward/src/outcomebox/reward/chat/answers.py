"""What an endpoint's answer says, whatever it leaves out or writes in its own way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outcomebox.reward.chat.errors import ChatError, Transient

_FINISH: Mapping[str, str] = {
    "max_tokens": "length",
    "model_length": "length",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
}
"""What some servers say in place of the protocol's words."""

_BROKEN = frozenset(
    {"abort", "aborted", "cancelled", "error", "insufficient_system_resource", "network_error"}
)
"""Finish reasons of answers that the server gave up: never a short answer."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one exchange; None where nobody counts.

    Attributes:
        prompt_tokens: Of the whole prompt, cached ones included.
        completion_tokens: Of the answer, reasoning included.
        cached_tokens: Those of the prompt that the endpoint had cached.
        reasoning_tokens: Those of the answer that were reasoning.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class StructuredCall:
    """A tool call that the endpoint itself has read out of the model's output.

    Attributes:
        name: Tool name; empty where the endpoint gave none.
        arguments: The arguments as JSON text, as the endpoint gave them.
        id: The endpoint's id of the call; empty where it gave none.
    """

    name: str
    arguments: str
    id: str


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The first choice of a chat completion.

    Attributes:
        content: What is visible.
        reasoning: What the endpoint says was thought.
        tool_calls: The calls that the endpoint has read.
        finish_reason: ``stop``, ``length``, ``tool_calls`` or what else the endpoint says.
        usage: Tokens spent.
        refusal: The model's refusal, where the endpoint tells it apart.
        ids: The sampled token ids, where the endpoint returns them (vLLM: ``return_token_ids``).
        prompt_ids: The ids of the whole prompt, likewise.
        logprobs: The log-probability of each sampled token, in nats.
        raw: The model's output as it was sampled, special tokens included, where the endpoint
            returns each token's bytes with its log-probability.
    """

    content: str | None
    reasoning: str | None
    tool_calls: tuple[StructuredCall, ...]
    finish_reason: str
    usage: Usage
    refusal: str | None = None
    ids: tuple[int, ...] | None = None
    prompt_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """The first choice of a raw completion.

    Attributes:
        text: What was sampled, as the endpoint decodes it.
        finish_reason: ``stop``, ``length`` or what else the endpoint says.
        usage: Tokens spent.
        ids: The sampled token ids, where the endpoint returns them.
        logprobs: The log-probability of each, in nats, where it returns them.
    """

    text: str
    finish_reason: str
    usage: Usage
    ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None


def chat_answer(body: Any) -> ChatAnswer:
    """The first choice of a chat completion.

    Raises:
        ChatError: The content was filtered.
        Transient: The endpoint gave the answer up.
        TypeError, ValueError: It is no chat completion.
    """
    choice = _choice(body)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise TypeError("choices[0] has no message")
    logprobs, raw = _told_logprobs(choice.get("logprobs"))
    return ChatAnswer(
        content=text_of(message.get("content"), "content"),
        reasoning=text_of(
            message.get("reasoning_content") or message.get("reasoning"), "reasoning"
        ),
        tool_calls=tuple(_call(each) for each in message.get("tool_calls") or ()),
        finish_reason=_finish(choice, default="tool_calls" if message.get("tool_calls") else None),
        usage=usage_of(body.get("usage")),
        refusal=text_of(message.get("refusal"), "refusal"),
        ids=_ids(choice.get("token_ids")),
        prompt_ids=_ids(body.get("prompt_token_ids") or choice.get("prompt_token_ids")),
        logprobs=logprobs,
        raw=raw,
    )


def text_answer(body: Any) -> TextAnswer:
    """The first choice of a raw completion.

    Raises:
        ChatError: The content was filtered.
        Transient: The endpoint gave the answer up.
        TypeError, ValueError: It is no completion.
    """
    choice = _choice(body)
    text = choice.get("text")
    if not isinstance(text, str):
        raise TypeError("choices[0] has no text")
    told = choice.get("logprobs")
    values = told.get("token_logprobs") if isinstance(told, Mapping) else None
    return TextAnswer(
        text,
        _finish(choice, default=None),
        usage_of(body.get("usage")),
        _ids(choice.get("token_ids")),
        None if values is None else tuple(float(value) for value in values),
    )


def usage_of(told: Any) -> Usage:
    """The tokens that an endpoint counts; what it leaves out or writes wrongly is not known."""
    if not isinstance(told, Mapping):
        return Usage()
    return Usage(
        _count(told, "prompt_tokens"),
        _count(told, "completion_tokens"),
        _count(told.get("prompt_tokens_details"), "cached_tokens"),
        _count(told.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _choice(body: Any) -> Mapping[str, Any]:
    if not isinstance(body, Mapping):
        raise TypeError(f"a JSON object is due, not {type(body).__name__}")
    choices = body.get("choices")
    if not isinstance(choices, Sequence) or not choices or not isinstance(choices[0], Mapping):
        raise ValueError("it has no choices")
    choice: Mapping[str, Any] = choices[0]
    return choice


def _finish(choice: Mapping[str, Any], *, default: str | None) -> str:
    reason = choice.get("finish_reason") or default or "stop"
    if not isinstance(reason, str):
        raise TypeError(f"finish_reason is {reason!r}")
    if reason == "content_filter":
        raise ChatError("the endpoint's content filter stopped the answer")
    if reason in _BROKEN:
        raise Transient(f"the endpoint gave the answer up (finish_reason {reason!r})", None)
    return _FINISH.get(reason, reason)


def _call(told: Any) -> StructuredCall:
    """A call; what the model wrote wrongly stays wrong, for the agent to be told."""
    if not isinstance(told, Mapping):
        raise TypeError(f"a tool call is {told!r}")
    function = told.get("function")
    if not isinstance(function, Mapping):
        raise TypeError("a tool call has no function")
    name, arguments, given = function.get("name"), function.get("arguments"), told.get("id")
    if not isinstance(arguments, str):
        # Some servers hand the object out instead of its text.
        arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    return StructuredCall(
        name if isinstance(name, str) else "", arguments, given if isinstance(given, str) else ""
    )


def text_of(told: Any, field: str) -> str | None:
    """Text, given as such or in parts.

    Args:
        told: What stands in the field.
        field: Its name, for errors.

    Raises:
        ValueError: It is no text.
    """
    if told is None or isinstance(told, str):
        return told
    if isinstance(told, Sequence):
        parts = [part.get("text") for part in told if isinstance(part, Mapping)]
        if len(parts) == len(told) and all(isinstance(part, str) for part in parts):
            return "".join(part for part in parts if part)
    raise ValueError(f"{field} is {type(told).__name__}, not text")


def _ids(told: Any) -> tuple[int, ...] | None:
    if told is None:
        return None
    if not isinstance(told, Sequence) or not all(type(each) is int for each in told):
        raise ValueError("token ids are not a list of whole numbers")
    return tuple(told)


def _told_logprobs(told: Any) -> tuple[tuple[float, ...] | None, str | None]:
    """Log-probabilities of the sampled tokens, and the text that their bytes make."""
    content = told.get("content") if isinstance(told, Mapping) else None
    if not isinstance(content, Sequence) or not content:
        return None, None
    values = tuple(float(each["logprob"]) for each in content)
    pieces = [each.get("bytes") for each in content]
    if not all(isinstance(piece, Sequence) for piece in pieces):
        return values, None
    # An output that was cut can end in the middle of a character.
    return values, b"".join(bytes(piece) for piece in pieces).decode("utf-8", "replace")


def _count(told: Any, name: str) -> int | None:
    value = told.get(name) if isinstance(told, Mapping) else None
    return value if type(value) is int and value >= 0 else None
