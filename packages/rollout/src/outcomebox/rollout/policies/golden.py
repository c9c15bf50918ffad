"""The policy that replays the golden list: shows that a task can be done and its check passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.interpret import render
from outcomebox.rollout.errors import GoldenError
from outcomebox.rollout.policy import Completion, EpisodeContext, Message, PolicyEpisode
from outcomebox.rollout.stage import GoldenLike
from outcomebox.rollout.turns import DONE


class GoldenPolicy:
    """Makes the golden calls, one a turn, as raw model text, and ends.

    A golden call that the server answers with an error is a fault of the task, whatever its check
    says then: the episode is a ``system_error`` of phase ``golden``.
    """

    name = "golden"
    simulated = True
    format = "qwen3_xml"

    def describe(self) -> Mapping[str, Any]:
        """Name and nature."""
        return {"name": self.name, "simulated": True}

    async def check(self) -> None:
        """Nothing to see."""

    def start(self, context: EpisodeContext) -> PolicyEpisode:
        """A replay of the task's golden list."""
        return Replay(context.golden)

    async def aclose(self) -> None:
        """Nothing to release."""


class Replay:
    """Some calls in order, then the end."""

    def __init__(self, calls: Sequence[GoldenLike]) -> None:
        self._left = list(calls)

    async def complete(self, messages: Sequence[Message]) -> Completion:
        """The next call, or the last message.

        Raises:
            GoldenError: The call before was answered with an error.
        """
        last = messages[-1]
        if last.get("is_error"):
            raise GoldenError(f"golden call {last['name']} was refused: {last['content']}")
        if not self._left:
            return Completion(f"That is done. {DONE}")
        call = self._left.pop(0)
        text = render(reasoning=None, content=None, tool_calls=[(call.tool, call.arguments)])
        return Completion(text, prompt_state="think_closed")
