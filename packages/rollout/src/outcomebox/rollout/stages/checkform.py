"""A conversation in the ThinkingBox form, as test code sees it, and back.

Episodes hold chat messages; histories and test code have one message for each thing that was
thought, said, called or answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.rollout.stage import DIRECT, Message
from outcomebox.rollout.turns import says_done

THINK, SAY, FORWARD = "think", "text", "direct"
"""How test code tells what the assistant thought, said, and had a tool say in its place."""


def text(role: str, content: str, **metadata: Any) -> Message:
    """Something that was said."""
    return {"T": "Text", "metadata": metadata, "role": role, "content": content}


def check_messages(messages: Sequence[Message]) -> list[Message]:
    """Chat messages as test code sees them."""
    found: list[Message] = []
    for message in messages:
        role, content = message["role"], message.get("content")
        if role == "tool":
            found.append(_response(message["name"], message["tool_call_id"], content or ""))
            continue
        if role != "assistant":
            found.append(text(role, content or ""))
            continue
        if DIRECT in message:
            found.append(text("assistant", content or "", tag=FORWARD))
            continue
        if message.get("reasoning"):
            found.append(text("assistant", message["reasoning"], tag=THINK))
        if content:
            done = {"is_done": True} if says_done(content) else {}
            found.append(text("assistant", content, **done))
        if calls := message.get("tool_calls"):
            found.append(
                {
                    "T": "ParallelToolCall",
                    "metadata": {},
                    "tool_calls": [_call(call) for call in calls],
                }
            )
    return found


def check_calls(messages: Sequence[Message], end_turn: frozenset[str]) -> list[Message]:
    """Every call of the agent with its answer, as test code sees them.

    A call that ended the turn was made, and has an empty answer.

    Args:
        messages: The agent's own part of the conversation, as chat messages.
        end_turn: Tools that end the turn.
    """
    answers = {
        message["tool_call_id"]: message["content"]
        for message in messages
        if message["role"] == "tool"
    }
    found = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            name, key = call["name"], call["id"]
            if key not in answers and not (name in end_turn and call["executable"]):
                continue
            found.append(
                {
                    "tool_call": _call(call),
                    "tool_response": _response(name, key, answers.get(key, "")),
                }
            )
    return found


def last_said(messages: Sequence[Message]) -> str:
    """The last text of the assistant's own, as test code has it for ``response``."""
    for message in reversed(messages):
        if message["role"] == "assistant" and message.get("content") and DIRECT not in message:
            return str(message["content"])
    return ""


def forwarded(messages: Sequence[Message]) -> list[str]:
    """What tools said to the user in the assistant's place."""
    return [message["content"] for message in messages if DIRECT in message]


def chat_messages(history: Sequence[Mapping[str, Any]]) -> list[Message]:
    """A history as chat messages: what was thought, said and called in one turn is one message."""
    found: list[Message] = []
    for message in history:
        kind = message["T"]
        metadata = message.get("metadata") or {}
        if kind == "ToolResponse":
            found.append(
                {
                    "role": "tool",
                    "tool_call_id": message["id"],
                    "name": message["name"],
                    "content": message["content"],
                }
            )
        elif kind == "Text" and message["role"] != "assistant":
            found.append({"role": message["role"], "content": message["content"]})
        elif kind == "Text" and metadata.get("tag") == FORWARD:
            found.append({"role": "assistant", "content": message["content"], DIRECT: True})
        elif kind == "Text":
            name = "reasoning" if metadata.get("tag") == THINK else "content"
            turn = _turn(found, ("content", "tool_calls") if name == "content" else ())
            turn[name] = message["content"]
        else:
            calls = message["tool_calls"] if kind == "ParallelToolCall" else [message]
            turn = _turn(found, ("tool_calls",))
            turn["tool_calls"] = [
                {
                    "id": call["id"],
                    "name": call["name"],
                    "arguments": call.get("arguments") or {},
                    "status": "ok",
                    "executable": True,
                }
                for call in calls
            ]
    return found


def _turn(found: list[Message], ends: Sequence[str]) -> Message:
    """The assistant's turn to go on with: the last message, where it can take more."""
    last = found[-1] if found else None
    if (
        not ends
        or last is None
        or last["role"] != "assistant"
        or DIRECT in last
        or any(last.get(name) for name in ends)
        or says_done(last["content"])
    ):
        last = {"role": "assistant", "content": None}
        found.append(last)
    return last


def _call(call: Mapping[str, Any]) -> Message:
    metadata = {} if call["executable"] else {"error": call["status"]}
    return {
        "T": "ToolCall",
        "metadata": metadata,
        "name": call["name"],
        "arguments": dict(call["arguments"]),
        "id": call["id"],
    }


def _response(name: str, key: str, content: str) -> Message:
    return {"T": "ToolResponse", "metadata": {}, "name": name, "content": content, "id": key}
