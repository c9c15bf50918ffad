"""The policy of training: the token policy of evaluation, over the sampler of the present episode.

All episodes of a process share one setting, as all episodes of a run do elsewhere, and so one
policy. Which episode is being played stands in a context variable, which asyncio keeps apart for
each task.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from outcomebox.rollout import EpisodeContext, PolicyEpisode
from outcomebox.rollout.policies.tokens import TokenPolicy
from outcomebox.train.verl.chat import Chat
from outcomebox.train.verl.sampler import ServerSampler


@dataclass
class Playing:
    """The episode of the present task.

    Attributes:
        sampler: Its sampler.
        tools: Its session's tools, as OpenAI tool objects; known once it has begun.
    """

    sampler: ServerSampler
    tools: list[dict[str, Any]] = field(default_factory=list)


PLAYING: ContextVar[Playing] = ContextVar("outcomebox_train_playing")
"""The episode that the running task plays."""


class TrainedPolicy:
    """The model that is trained, as the episode loop knows policies.

    Args:
        model: What rows call it: the base checkpoint.
        chat: Its template and tokenizer.
    """

    name = "trained"
    simulated = False

    def __init__(self, model: str, chat: Chat) -> None:
        self.format = chat.format
        self._model = model
        self._chat = chat

    def describe(self) -> Mapping[str, Any]:
        """The base checkpoint and the present episode's sampling parameters."""
        playing = PLAYING.get(None)
        told = {} if playing is None else playing.sampler.describe()
        return {"name": self.name, "simulated": False, "model": self._model, **told}

    async def check(self) -> None:
        """Nothing to see: verl started the servers before it asks for an episode."""

    def start(self, context: EpisodeContext) -> PolicyEpisode:
        """The model for the episode of the running task."""
        playing = PLAYING.get()
        playing.tools = [tool.openai() for tool in context.tools]
        chat = self._chat
        policy = TokenPolicy(
            playing.sampler, chat.template, chat.vocabulary, name=self.name, format=chat.format
        )
        return policy.start(context)

    async def aclose(self) -> None:
        """Nothing to release: the servers are verl's."""
