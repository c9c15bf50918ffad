"""The scripted user: says what the task lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.reward.chat import Usage
from outcomebox.rollout.policy import Message
from outcomebox.rollout.stage import UserBrief

_NOTHING_TO_ADD = (
    "I have nothing to add to what I told you. Please do what your policy allows, and finish."
)


class ScriptedUser:
    """Says the replies that the task lists, each once.

    The first unused reply is said whose pattern is found in what the agent said last. Where none
    fits, the user says so once, and leaves when the agent asks in vain again.
    """

    def describe(self) -> Mapping[str, Any]:
        """What a row records of it."""
        return {"name": "scripted"}

    async def check(self) -> None:
        """Nothing to see."""

    def start(self, brief: UserBrief) -> _Scripted:
        """The scripted user of one episode.

        Args:
            brief: What the user is told; only its replies are looked at.
        """
        return _Scripted(brief)

    async def aclose(self) -> None:
        """Nothing to release."""


class _Scripted:
    def __init__(self, brief: UserBrief) -> None:
        self._left = list(brief.replies)
        self._asked_in_vain = 0
        self.usage = Usage()

    async def reply(self, messages: Sequence[Message]) -> str | None:
        said = str(messages[-1].get("content") or "")
        for index, reply in enumerate(self._left):
            if reply.fits(said):
                del self._left[index]
                self._asked_in_vain = 0
                return reply.say
        self._asked_in_vain += 1
        return _NOTHING_TO_ADD if self._asked_in_vain == 1 else None
