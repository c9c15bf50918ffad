"""The conversation of a trial, as checks of either form read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Message = dict[str, Any]


class Talk:
    """What was said and called, in order.

    Args:
        policy: What the agent was told.
        query: The user's first message.
        history: Messages before it, in the ThinkingBox form.
    """

    def __init__(self, policy: str, query: str, history: list[Message] | None = None) -> None:
        self.last_words = ""
        self.chat: list[Message] = [
            {"role": "system", "content": policy},
            {"role": "user", "content": query},
        ]
        self.form: list[Message] = [
            _text("system", policy),
            *(history or ()),
            _text("user", query),
        ]
        self.calls: list[Message] = []

    def said(self, role: str, text: str) -> None:
        """Somebody said something."""
        self.chat.append({"role": role, "content": text})
        self.form.append(_text(role, text))
        if role == "assistant":
            self.last_words = text

    def called(self, name: str, arguments: Mapping[str, Any], answer: str) -> None:
        """A tool was called."""
        key = f"call_{len(self.calls)}"
        call = {"id": key, "name": name, "arguments": dict(arguments)}
        self.chat += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": key, "name": name, "content": answer},
        ]
        asked = {"T": "ToolCall", "metadata": {}, **call}
        told = {"T": "ToolResponse", "metadata": {}, "id": key, "name": name, "content": answer}
        self.form += [{"T": "ParallelToolCall", "metadata": {}, "tool_calls": [asked]}, told]
        self.calls.append({"tool_call": asked, "tool_response": told})


def _text(role: str, content: str) -> Message:
    return {"T": "Text", "metadata": {}, "role": role, "content": content}
