"""The policy that does nothing: it passes exactly the tasks whose right end is no change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.rollout.policy import Completion, EpisodeContext, Message, PolicyEpisode
from outcomebox.rollout.turns import DONE


class NoopPolicy:
    """Ends the conversation at once."""

    name = "noop"
    simulated = True
    format = "qwen3_xml"

    def describe(self) -> Mapping[str, Any]:
        """Name and nature."""
        return {"name": self.name, "simulated": True}

    async def check(self) -> None:
        """Nothing to see."""

    def start(self, context: EpisodeContext) -> PolicyEpisode:  # noqa: ARG002 -- the protocol has it
        """The same for every episode."""
        return _Noop()

    async def aclose(self) -> None:
        """Nothing to release."""


class _Noop:
    async def complete(self, messages: Sequence[Message]) -> Completion:  # noqa: ARG002 -- likewise
        return Completion(f"I have nothing to do. {DONE}")
