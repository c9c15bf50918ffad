"""Messages of a row as chat APIs and chat templates take them."""

from __future__ import annotations

import json

from outcomebox.rollout.policy import Message


def to_api(message: Message, *, raw: bool = False, thought: str = "") -> Message:
    """A message of a row as the chat API takes it.

    Args:
        message: As the episode holds it.
        raw: Give assistant turns back as the text the model wrote, and tool answers as user text,
            for a server that does not know tool calls.
        thought: The field in which the model's reasoning is given back; empty: it is left out.
    """
    role = message["role"]
    if role == "tool":
        if raw:
            return {
                "role": "user",
                "content": f"<tool_response>\n{message['content']}\n</tool_response>",
            }
        return {
            "role": "tool",
            "tool_call_id": message["tool_call_id"],
            "content": message["content"],
        }
    if role != "assistant":
        return {"role": role, "content": message["content"]}
    if raw:
        return {"role": role, "content": message.get("raw") or message["content"] or ""}
    result: Message = {"role": role, "content": message["content"] or ""}
    if thought and message.get("reasoning"):
        result[thought] = message["reasoning"]
    if message.get("tool_calls"):
        result["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
            }
            for call in message["tool_calls"]
        ]
    return result
