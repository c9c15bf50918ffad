"""A run of which a test plays episodes, without verl."""

from __future__ import annotations

from typing import Any

from outcomebox.train.settings import WorkerSettings
from outcomebox.train.verl.budget import Budget
from outcomebox.train.verl.chat import Chat
from outcomebox.train.verl.numbering import Asked
from outcomebox.train.verl.process import Played, ProcessWorker
from outcomebox.train.verl.sampler import ServerSampler
from train_episodes import MOVE, Server, Turn, asked, rows_of


class Run:
    """A run of which a test plays episodes."""

    def __init__(self, settings: WorkerSettings, chat: Chat) -> None:
        self.settings = settings
        self.chat = chat
        self.worker = ProcessWorker(settings, chat, stride=2)
        self.server = Server(chat.vocabulary, {})
        self._groups = 0

    def sampler(self, asked: Asked) -> ServerSampler:
        """The sampler of an episode."""
        told = self.settings
        budget = Budget(
            told.prompt_tokens, told.response_tokens, told.turn_tokens, told.context_tokens
        )
        params = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "logprobs": True}
        name = f"{asked.group}_{asked.session}"
        return ServerSampler(self.server, name, params, budget, self.chat.ends)

    async def play(self, *turns: Turn, uid: str = MOVE, **changes: Any) -> Played:
        """An episode in which the model writes these turns."""
        wanted = asked(uid, **{"group": f"g{self._groups}", "draw": self._groups, **changes})
        self._groups += 1
        self.server.scripts[f"{wanted.group}_{wanted.session}"] = turns
        return await self.worker.play(wanted, self.sampler(wanted))

    @property
    def last(self) -> dict[str, Any]:
        """The row that was stored last."""
        return rows_of(self.settings)[-1]
