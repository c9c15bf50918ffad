"""What a check looks at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from outcomebox.reward.thinkingbox.chat import (
    MessageT,
    Text,
    ToolCallResponse,
    get_conversation_transcript,
    message,
)
from outcomebox.reward.thinkingbox.records import Record

NO_SESSION = "00000000-0000-0000-0000-000000000000"


@dataclass(kw_only=True)
class TestContext(Record):
    """An episode, as its check sees it.

    Attributes:
        response: The last thing the assistant said.
        tool_direct_responses: What tools said to the user in the assistant's place.
        effects: Server -> what its ``geteffects`` gave at the end.
        tool_calls: Every call with its answer.
        messages: The whole conversation.
        init_result: Server -> what its ``init`` gave beside the status.
        session_id: The session's id.
        metadata: The check's own notes; they are kept with the verdict.
    """

    __test__: ClassVar[bool] = False  # pytest must not take it for a test

    response: str = ""
    tool_direct_responses: list[str] = field(default_factory=list)
    effects: dict[str, Any] = field(default_factory=dict)
    tool_calls: list[ToolCallResponse] = field(default_factory=list)
    messages: list[MessageT] = field(default_factory=list)
    init_result: dict[str, Any] = field(default_factory=dict)
    session_id: str = NO_SESSION
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tool_calls = [ToolCallResponse.model_validate(each) for each in self.tool_calls]
        self.messages = [message(each) for each in self.messages]

    def transcript(self, limit: int = 0) -> str:
        """What user and assistant said; with a limit, from the limit-th last assistant message."""
        return get_conversation_transcript(self.messages, limit=limit)

    def query(self) -> str:
        """The first thing the user said.

        Raises:
            ValueError: The user said nothing.
        """
        for each in self.messages:
            if (
                isinstance(each, Text)
                and each.role == "user"
                and each.is_visible
                and not each.metadata.get("is_dummy")
            ):
                return each.content
        raise ValueError("the conversation has no message of the user")
