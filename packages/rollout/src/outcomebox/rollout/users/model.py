"""A user played by a model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.reward.chat import ChatAnswer, ChatEndpoint, ChatError, Usage
from outcomebox.rollout.errors import UserError, user_error
from outcomebox.rollout.policy import Message
from outcomebox.rollout.stage import UserBrief
from outcomebox.rollout.users.prompts import DESCRIPTION, Unusable, ask, read

TRIES = 3
"""How often a model is asked for one reply, each time with another seed."""


class ModelUser:
    """A model that knows what only the user knows.

    Args:
        endpoint: Where it is; its own retries are those of transport and of a busy server.
    """

    def __init__(self, endpoint: ChatEndpoint) -> None:
        self._endpoint = endpoint

    def describe(self) -> Mapping[str, Any]:
        """What a row records of it: model, address, settings and prompts; never a key."""
        return {"name": "model", **self._endpoint.describe(), "prompts": dict(DESCRIPTION)}

    async def check(self) -> None:
        """See that the endpoint answers.

        Raises:
            InputError: It does not.
        """
        await self._endpoint.check()

    def start(self, brief: UserBrief) -> _Played:
        """The played user of one episode.

        Args:
            brief: What the user is told.
        """
        return _Played(self._endpoint, brief)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()


class _Played:
    def __init__(self, endpoint: ChatEndpoint, brief: UserBrief) -> None:
        self._endpoint = endpoint
        self._brief = brief
        self._replies = 0
        self.usage = Usage()

    async def reply(self, messages: Sequence[Message]) -> str | None:
        asked = ask(self._brief, messages)
        problems: list[str] = []
        for attempt in range(TRIES):
            seed = _seed(self._brief.seed, self._replies, attempt)
            try:
                answer = await self._endpoint.chat(asked, seed=seed)
            except ChatError as error:
                raise user_error(error) from error
            self.usage = _sum(self.usage, answer.usage)
            try:
                text = _read(answer)
            except Unusable as error:
                problems.append(str(error))
                continue
            self._replies += 1
            return text
        raise UserError(
            f"the user model gave no usable reply in {TRIES} tries: {'; '.join(problems)}"
        )


def _read(answer: ChatAnswer) -> str:
    if answer.refusal:
        raise Unusable("the model refuses to play the user")
    if answer.finish_reason == "length":
        raise Unusable("it was cut at the token limit; raise max_tokens")
    return read(answer.content or "")


def _seed(episode: int, reply: int, attempt: int) -> int:
    """31 bits, as servers take them; another one for each reply and try."""
    digest = hashlib.sha256(f"{episode}\0{reply}\0{attempt}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        _plus(one.prompt_tokens, other.prompt_tokens),
        _plus(one.completion_tokens, other.completion_tokens),
    )


def _plus(one: int | None, other: int | None) -> int | None:
    """The sum of what is known."""
    return one if other is None else (one or 0) + other
