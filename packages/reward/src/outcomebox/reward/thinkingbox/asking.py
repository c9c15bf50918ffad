"""What test code asks the runner for: a judge's answers and calls of the session's tools.

The grader has no key, no network and no model client. Questions travel up its channel, and nothing
is set up for them before the first one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.reward.thinkingbox.channel import UnansweredError, current
from outcomebox.reward.thinkingbox.chat import Message, Text
from outcomebox.reward.thinkingbox.judging import READS


class ThinkingBoxError(Exception):
    """A tool could not be called."""


class RunnersModel:
    """A judge's model, reached through the runner."""

    def get_completion_sync(
        self, *, conversation: Sequence[Message], update_conversation: bool = False
    ) -> list[Message]:
        """The model's reply to a conversation.

        Args:
            conversation: System text, then most often one text of the user.
            update_conversation: Accepted; the conversation is left as it is.

        Raises:
            UnansweredError: There is no model, or it could not be reached.
        """
        del update_conversation
        texts = [each for each in conversation if isinstance(each, Text)]
        system = "\n\n".join(each.content for each in texts if each.role == "system")
        said = [each for each in texts if each.role != "system"]
        user = (
            said[0].content
            if len(said) == 1
            else "\n\n".join(f"{each.role}: {each.content}" for each in said)
        )
        question = {"ask": "judge", "system": system, "user": user}
        reads = next((each.metadata[READS] for each in texts if READS in each.metadata), None)
        if reads is not None:
            question[READS] = reads
        answer = current().ask(question)
        return [Text(role="assistant", content=answer)]


class SessionClientFixture:
    """A fixture that calls tools of the session after the episode.

    Args:
        endpoint: Accepted; calls go through the runner, to the session it holds.
        timeout: Accepted; the runner has its own deadline per call.
    """

    def __init__(self, endpoint: str = "", timeout: float = 120.0) -> None:
        self.endpoint = endpoint
        self.timeout = timeout
        self.session_id: str | None = None

    def set_session(self, session_id: str) -> None:
        """Say which session is meant: the context's ``session_id``."""
        self.session_id = session_id

    def call_tool(self, server_name: str, tool_name: str, arguments: Mapping[str, Any]) -> str:
        """What a tool answers.

        Raises:
            RuntimeError: No session was set.
            ThinkingBoxError: There is no such tool or session, or the call failed.
        """
        if self.session_id is None:
            raise RuntimeError("no session is set; call set_session(x.session_id) first")
        try:
            return current().ask(
                {
                    "ask": "tool",
                    "server": server_name,
                    "tool": tool_name,
                    "arguments": dict(arguments),
                    "session_id": self.session_id,
                }
            )
        except UnansweredError as error:
            raise ThinkingBoxError(f"{server_name}.{tool_name}: {error}") from error

    def call_json_tool(
        self, server_name: str, tool_name: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any] | list[Any]:
        """What a tool answers, read as JSON.

        Raises:
            ValueError: It is no JSON object or array.
            ThinkingBoxError: As for :meth:`call_tool`.
        """
        text = self.call_tool(server_name, tool_name, arguments)
        found = json.loads(text)
        if not isinstance(found, (dict, list)):
            # Of all that is wrong here, the text is: it should have held something else.
            raise ValueError(  # noqa: TRY004
                f"{server_name}.{tool_name} gave no object or array but {text[:200]}"
            )
        return found
