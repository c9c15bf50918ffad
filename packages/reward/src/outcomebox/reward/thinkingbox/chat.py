"""The messages of a conversation, as test code sees them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from outcomebox.reward.thinkingbox.records import Record, one_of


def _call_id() -> str:
    return f"call_{uuid.uuid4().hex}"


@dataclass(kw_only=True)
class Message(Record):
    """What all messages have.

    Attributes:
        T: Name of the message's own class.
        metadata: More about it: ``tag``, ``is_dummy``, ``direct_response``, ``error``.
    """

    T: str = "Message"
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class Text(Message):
    """Something that was said, or thought."""

    T: Literal["Text"] = "Text"
    role: Literal["system", "user", "assistant"]
    content: str

    def __post_init__(self) -> None:
        one_of(self.role, ("system", "user", "assistant"), "role of a Text")
        if not isinstance(self.content, str):
            raise TypeError(f"content of a Text must be text, not {self.content!r}")

    @property
    def tag(self) -> Any:
        """``think`` for reasoning, ``direct`` for text that a tool put in, else ``text``."""
        return self.metadata.get("tag", "text")

    @property
    def is_visible(self) -> bool:
        """Whether the user sees it."""
        return bool(self.tag != "think")


@dataclass(kw_only=True)
class ToolCall(Message):
    """One call of a tool."""

    T: Literal["ToolCall"] = "ToolCall"
    name: str
    arguments: dict[str, Any]
    id: str = field(default_factory=_call_id)


@dataclass(kw_only=True)
class ParallelToolCall(Message):
    """Several calls made at once."""

    T: Literal["ParallelToolCall"] = "ParallelToolCall"
    tool_calls: list[ToolCall]

    def __post_init__(self) -> None:
        self.tool_calls = [ToolCall.model_validate(each) for each in self.tool_calls]


@dataclass(kw_only=True)
class ToolResponse(Message):
    """What a tool answered."""

    T: Literal["ToolResponse"] = "ToolResponse"
    name: str
    content: str
    id: str = field(default_factory=_call_id)


MessageT: TypeAlias = Text | ToolCall | ParallelToolCall | ToolResponse
_KINDS: Mapping[str, type[MessageT]] = {
    "Text": Text,
    "ToolCall": ToolCall,
    "ParallelToolCall": ParallelToolCall,
    "ToolResponse": ToolResponse,
}


def message(value: Any) -> MessageT:
    """A message, made of a mapping where it is not one already.

    Raises:
        TypeError: It is neither, or a field is missing.
        ValueError: There is no such kind of message.
    """
    if isinstance(value, (Text, ToolCall, ParallelToolCall, ToolResponse)):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f"a message is a mapping, not {type(value).__name__}")
    kind = value.get("T") or _kind_by_fields(value)
    one_of(kind, tuple(_KINDS), "T of a message")
    return _KINDS[kind].model_validate(value)


def _kind_by_fields(value: Mapping[str, Any]) -> str:
    if "role" in value:
        return "Text"
    if "tool_calls" in value:
        return "ParallelToolCall"
    return "ToolCall" if "arguments" in value else "ToolResponse"


@dataclass(kw_only=True)
class Conversation(Record):
    """Messages in their order."""

    messages: list[MessageT] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=lambda: {"usage": []})

    def __post_init__(self) -> None:
        self.messages = [message(each) for each in self.messages]


@dataclass(kw_only=True)
class ToolCallResponse(Record):
    """A call with its answer."""

    tool_call: ToolCall
    tool_response: ToolResponse

    def __post_init__(self) -> None:
        self.tool_call = ToolCall.model_validate(self.tool_call)
        self.tool_response = ToolResponse.model_validate(self.tool_response)


def get_conversation_transcript(
    messages: Sequence[Message],
    limit: int = 0,
    content_transform_fn: Callable[[str], str] | None = None,
) -> str:
    """What user and assistant said to each other, one paragraph a message.

    Args:
        messages: The conversation. Reasoning, system text, tool traffic and dummies are left out.
        limit: Begin at the ``limit``-th assistant message from the end; 0 for all.
        content_transform_fn: Applied to each text.

    Raises:
        ValueError: ``limit`` is negative.
    """
    if limit < 0:
        raise ValueError(f"limit must not be negative, not {limit}")
    said = [
        each
        for each in messages
        if isinstance(each, Text)
        and each.role != "system"
        and each.is_visible
        and not each.metadata.get("is_dummy")
    ]
    own = [index for index, each in enumerate(said) if each.role == "assistant"]
    if limit and len(own) >= limit:
        said = said[own[-limit] :]
    change = content_transform_fn or str
    return "\n\n".join(f"{each.role.capitalize()}: {change(each.content)}" for each in said)
