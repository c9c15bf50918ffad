"""What the stand-in says, before it is put into the protocol's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class Refused(Exception):
    """A request that the stand-in cannot answer, with the HTTP status it gets."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class SaidCall:
    """A tool call; name and arguments are as the model wrote them, right or wrong.

    Attributes:
        id: Unique in the conversation.
        name: Tool name; None where the model gave none.
        arguments: JSON text, or what should have been.
    """

    id: str
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class Said:
    """One answer.

    Attributes:
        content: What is visible.
        reasoning: What was thought.
        calls: The tool calls.
    """

    content: str | None
    reasoning: str | None = None
    calls: tuple[SaidCall, ...] = ()

    @property
    def finish_reason(self) -> str:
        """``tool_calls`` or ``stop``."""
        return "tool_calls" if self.calls else "stop"

    @property
    def words(self) -> int:
        """Words of all of it, which stand for tokens."""
        texts = [self.content or "", self.reasoning or "", *(each.arguments for each in self.calls)]
        return sum(len(text.split()) for text in texts) + len(self.calls)


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, given as such or in parts."""
    content = message.get("content")
    if isinstance(content, Sequence) and not isinstance(content, str):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return "" if content is None else str(content)
