"""A judge model: votes on what it is asked, each readable or none at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import anyio

from outcomebox.reward.chat import ChatAnswer, ChatEndpoint, ChatError, Usage
from outcomebox.reward.errors import JudgeError
from outcomebox.reward.judging.cache import Kept, MemoryCache, VoteCache
from outcomebox.reward.judging.prompt import Unreadable
from outcomebox.reward.judging.settings import JudgeSettings

_REFUSES_FORM = frozenset({400, 404, 415, 422})
"""Statuses with which servers refuse a field of the request."""

_NEXT_TRY = 1_000_003
"""Between the seeds of a vote's tries, so that no try has the seed of another vote."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Something to vote on.

    Attributes:
        messages: The conversation that asks it.
        reading: Name and version of how replies are read.
        read: Raises :class:`Unreadable` for a reply that is no answer.
        form: ``response_format`` to ask for; None for none.
    """

    messages: Sequence[Mapping[str, str]]
    reading: str
    read: Callable[[str], object]
    form: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Vote:
    """A readable reply.

    Attributes:
        said: The reply.
        seed: The seed that it was asked for with.
        form: ``json_schema`` if the server held the model to the form, else ``text``.
        tries: Replies it took; all before it were unreadable.
        cached: Whether it was given earlier, or to somebody else.
        usage: Tokens of all its tries.
    """

    said: str
    seed: int | None
    form: str
    tries: int
    cached: bool = False
    usage: Usage = field(default_factory=Usage)

    def to_json(self) -> dict[str, Any]:
        """What a cache keeps."""
        return {
            "said": self.said,
            "seed": self.seed,
            "form": self.form,
            "tries": self.tries,
            "tokens": [self.usage.prompt_tokens, self.usage.completion_tokens],
        }

    @classmethod
    def from_json(cls, kept: Kept) -> Vote:
        """The vote that a cache kept."""
        return cls(
            kept["said"], kept["seed"], kept["form"], kept["tries"], True, Usage(*kept["tokens"])
        )


class JudgeModel:
    """A model behind an endpoint, its votes cached.

    Args:
        settings: The model and how it is asked.
        cache: Where votes are kept; in memory by default. Closed with this.
    """

    def __init__(self, settings: JudgeSettings, cache: VoteCache | None = None) -> None:
        self.settings = settings
        self.cache = MemoryCache() if cache is None else cache
        self._endpoint = ChatEndpoint(
            base_url=settings.base_url,
            model=settings.model,
            key_variable=settings.key_variable,
            settings=settings.request(),
            timeout_s=settings.timeout_s,
            attempts=settings.attempts,
        )
        self._takes_form = settings.protocol != "text"
        self._limit = anyio.CapacityLimiter(settings.concurrency)
        self._asking: WeakValueDictionary[tuple[str, int], anyio.Lock] = WeakValueDictionary()

    def describe(self) -> dict[str, Any]:
        """What a row records: neither the host nor the key."""
        settings = self.settings
        return {
            "name": "model",
            "model": settings.model,
            "endpoint": "OpenAI chat completions",
            "protocol": settings.protocol,
            "votes": settings.votes,
            "temperature": settings.temperature,
            "seed": settings.seed,
            "tries": settings.tries,
            "max_tokens": settings.max_tokens,
        }

    async def check(self) -> None:
        """See that the endpoint answers.

        Raises:
            InputError: It does not.
        """
        await self._endpoint.check()

    async def aclose(self) -> None:
        """Close the connections and the cache."""
        await self._endpoint.aclose()
        self.cache.close()

    async def votes(self, inquiry: Inquiry, count: int | None = None) -> tuple[Vote, ...]:
        """As many votes as the settings say, or ``count``, in their order.

        All are asked for even if one is not to be had, so that the next time only that one is.

        Raises:
            JudgeError: One is not to be had.
        """
        number = self.settings.votes if count is None else count
        key = self.key(inquiry)
        found: dict[int, Vote | JudgeError] = {}

        async def one(index: int) -> None:
            try:
                found[index] = await self._vote(inquiry, key, index)
            except JudgeError as error:
                found[index] = error

        async with anyio.create_task_group() as group:
            for index in range(number):
                group.start_soon(one, index)
        votes = []
        for index in range(number):
            vote = found[index]
            if isinstance(vote, JudgeError):
                raise vote
            votes.append(vote)
        return tuple(votes)

    def key(self, inquiry: Inquiry) -> str:
        """A digest of all that decides a vote: model, settings, prompt, question and text."""
        asked = {
            "model": self.settings.model,
            "settings": self.settings.request(),
            "seed": self.settings.seed,
            "reading": inquiry.reading,
            "messages": list(inquiry.messages),
        }
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    async def _vote(self, inquiry: Inquiry, key: str, index: int) -> Vote:
        lock = self._asking.setdefault((key, index), anyio.Lock())
        async with lock:
            kept = self._kept(inquiry, key, index)
            if kept is not None:
                return kept
            async with self._limit:
                vote = await self._ask(inquiry, index)
            first = Vote.from_json(self.cache.put(key, index, vote.to_json()))
        return vote if first.to_json() == vote.to_json() else first

    def _kept(self, inquiry: Inquiry, key: str, index: int) -> Vote | None:
        kept = self.cache.get(key, index)
        if kept is None:
            return None
        vote = Vote.from_json(kept)
        try:
            inquiry.read(vote.said)
        except Unreadable:
            self.cache.drop(key, index)
            return None
        return vote

    async def _ask(self, inquiry: Inquiry, index: int) -> Vote:
        unreadable: list[dict[str, str]] = []
        usage = Usage()
        for number in range(self.settings.tries):
            seed = self._seed(index, number)
            answer, form = await self._complete(inquiry, seed)
            said = _content(answer)
            usage = _sum(usage, answer.usage)
            try:
                inquiry.read(said)
            except Unreadable as error:
                unreadable.append({"said": said[:2000], "why": str(error)})
                continue
            return Vote(said, seed, form, number + 1, usage=usage)
        last = unreadable[-1]
        raise JudgeError(
            f"the judge's answer is unreadable after {self.settings.tries} tries: {last['why']}; "
            f"it said {last['said'][:200]!r}",
            {"unreadable": unreadable},
        )

    def _seed(self, index: int, number: int) -> int | None:
        seed = self.settings.seed
        return None if seed is None else (seed + index + number * _NEXT_TRY) % 2**31

    async def _complete(self, inquiry: Inquiry, seed: int | None) -> tuple[ChatAnswer, str]:
        more: dict[str, Any] = {} if seed is None else {"seed": seed}
        try:
            if inquiry.form is not None and self._takes_form:
                try:
                    answer = await self._endpoint.chat(
                        inquiry.messages, response_format=inquiry.form, **more
                    )
                except ChatError as error:
                    if error.status not in _REFUSES_FORM:
                        raise
                else:
                    return answer, "json_schema"
            answer = await self._endpoint.chat(inquiry.messages, **more)
        except ChatError as error:
            raise JudgeError(f"the judge gave no answer: {error}") from error
        if inquiry.form is not None:
            # Only now is it known that the form was what the server refused.
            self._takes_form = False
        return answer, "text"


def _sum(one: Usage, other: Usage) -> Usage:
    def both(first: int | None, second: int | None) -> int | None:
        return second if first is None else first if second is None else first + second

    return Usage(
        both(one.prompt_tokens, other.prompt_tokens),
        both(one.completion_tokens, other.completion_tokens),
    )


def _content(answer: ChatAnswer) -> str:
    """What the model said.

    Raises:
        JudgeError: It refused, was cut off, or said nothing.
    """
    if answer.refusal:
        raise JudgeError(f"the judge refused to answer: {str(answer.refusal)[:200]!r}")
    if answer.finish_reason == "length":
        raise JudgeError(
            "the judge's answer was cut off; raise --judge-option max_tokens, or the server's limit"
        )
    if not isinstance(answer.content, str) or not answer.content.strip():
        raise JudgeError(
            f"the judge answered with nothing (finish_reason {answer.finish_reason!r})"
        )
    return answer.content
