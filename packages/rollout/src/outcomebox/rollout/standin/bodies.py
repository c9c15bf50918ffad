"""Answers in the words of the OpenAI protocol, whole or as the chunks of a stream."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from outcomebox.rollout.standin.said import Said, SaidCall, text_of

NATURE = "stand-in: no model"
"""Stands in every answer, as ``system_fingerprint``."""
DONE = b"data: [DONE]\n\n"
_PIECE = 24


def digest_of(request: Mapping[str, Any]) -> str:
    """SHA-256 of a request, whatever the order of its fields."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def completion(request: Mapping[str, Any], said: Said, digest: str) -> dict[str, Any]:
    """A whole chat completion; words are counted in the place of tokens."""
    message: dict[str, Any] = {"role": "assistant", "content": said.content}
    if said.reasoning is not None:
        message["reasoning_content"] = said.reasoning
    if said.calls:
        message["tool_calls"] = [_call(call) for call in said.calls]
    choice = {"index": 0, "message": message, "finish_reason": said.finish_reason}
    return {
        **_head(request, digest, "chat.completion"),
        "choices": [choice],
        "usage": _usage(request, said),
    }


def events(request: Mapping[str, Any], said: Said, digest: str) -> Iterator[dict[str, Any]]:
    """The chunks of a streamed chat completion, without the ``[DONE]`` behind them."""
    head = _head(request, digest, "chat.completion.chunk")

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(said.reasoning or ""):
        yield chunk({"reasoning_content": piece})
    for piece in _pieces(said.content or ""):
        yield chunk({"content": piece})
    for index, call in enumerate(said.calls):
        begun = {**_call(call), "function": {"name": call.name, "arguments": ""}}
        yield chunk({"tool_calls": [{"index": index, **begun}]})
        for piece in _pieces(call.arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, said.finish_reason)
    if (request.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": _usage(request, said)}


def event(chunk: Mapping[str, Any]) -> bytes:
    """A chunk as a server-sent event."""
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


def error(message: str, status: int) -> bytes:
    """An error's body."""
    return json.dumps({"error": {"message": message, "type": NATURE, "code": status}}).encode()


def _head(request: Mapping[str, Any], digest: str, kind: str) -> dict[str, Any]:
    return {
        "id": f"stand-in-{digest[:24]}",
        "object": kind,
        "created": 0,
        "model": request.get("model"),
        "system_fingerprint": NATURE,
    }


def _call(call: SaidCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _usage(request: Mapping[str, Any], said: Said) -> dict[str, int]:
    prompt = sum(len(text_of(message).split()) for message in request["messages"])
    spent = said.words
    return {"prompt_tokens": prompt, "completion_tokens": spent, "total_tokens": prompt + spent}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]
