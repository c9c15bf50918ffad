"""A policy of token ids: a sampler is given ids and gives ids, and nothing is encoded twice.

This is what training plugs into. The prompt of each turn is written behind the ids that stand, so
that what was sampled is what is trained; where the template would have written the past in another
way, the prompt begins anew and the row says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from outcomebox.interpret.tokens import (
    ChatTemplate,
    Tokenizer,
    TurnRefused,
    next_turn,
    prompt_state_of,
    read_ids,
)
from outcomebox.reward.chat import Usage
from outcomebox.rollout.errors import PolicyError
from outcomebox.rollout.policies.api import to_api
from outcomebox.rollout.policy import Completion, EpisodeContext, Message, PolicyEpisode
from outcomebox.rollout.tokens import Standing


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a sampler gives back.

    Attributes:
        ids: The sampled ids, the end of the turn included where the model wrote it.
        logprobs: The log-probability of each, in nats; None where the engine does not tell.
        finish_reason: ``stop``, or ``length`` where a limit cut it.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...] | None = None
    finish_reason: str = "stop"


class ContextFull(Exception):
    """The prompt leaves no room in the model's context."""


class TokenSampler(Protocol):
    """A model that takes token ids and gives token ids."""

    def describe(self) -> Mapping[str, Any]:
        """What a row records of it: name and settings, never a key."""
        ...

    async def check(self) -> None:
        """See before a run that it can sample at all.

        Raises:
            InputError: It cannot, with what to mend.
        """
        ...

    async def sample(self, prompt_ids: Sequence[int], *, seed: int) -> Sampled:
        """Sample one turn.

        Args:
            prompt_ids: The whole prompt.
            seed: The turn's seed: 31 bits, another one for each turn of an episode.

        Raises:
            ContextFull: The prompt leaves no room.
            PolicyError: No usable answer after retries.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


class TokenPolicy:
    """A policy over a sampler.

    Args:
        sampler: The model.
        template: Its chat template.
        tokenizer: Its tokenizer.
        name: What tables call it.
        format: The interpreter format of its text.
    """

    simulated = False

    def __init__(
        self,
        sampler: TokenSampler,
        template: ChatTemplate,
        tokenizer: Tokenizer,
        *,
        name: str,
        format: str = "qwen3_xml",  # noqa: A002 -- the interpreter's word
    ) -> None:
        self.name = name
        self.format = format
        self.sampler = sampler
        self.template = template
        self.tokenizer = tokenizer

    def describe(self) -> Mapping[str, Any]:
        """What the sampler tells."""
        return {"name": self.name, "simulated": False, **self.sampler.describe()}

    async def check(self) -> None:
        """See that the sampler can sample.

        Raises:
            InputError: It cannot.
        """
        await self.sampler.check()

    def start(self, context: EpisodeContext) -> PolicyEpisode:
        """One conversation."""
        return _Tokens(self, context)

    async def aclose(self) -> None:
        """Release what the sampler holds."""
        await self.sampler.aclose()


class _Tokens:
    def __init__(self, policy: TokenPolicy, context: EpisodeContext) -> None:
        self._policy = policy
        self._tools = [tool.openai() for tool in context.tools]
        self._seed = context.seed
        self._turn = 0
        self._standing = Standing()
        self._sampled: tuple[int, ...] = ()

    async def complete(self, messages: Sequence[Message]) -> Completion:
        policy = self._policy
        prompt = self._prompt(
            [to_api(message, thought="reasoning_content") for message in messages]
        )
        seed = (self._seed + 7919 * self._turn) & 0x7FFFFFFF
        self._turn += 1
        try:
            sampled = await policy.sampler.sample(prompt, seed=seed)
        except ContextFull:
            return Completion("", finish_reason="length", ids=(), logprobs=(), context_ids=())
        context = self._standing.context(prompt)
        self._standing.sampled(sampled.ids)
        self._sampled = sampled.ids
        try:
            text, _ = read_ids(sampled.ids, policy.tokenizer)
        except ValueError as error:
            raise PolicyError(
                f"the model sampled what its tokenizer does not have: {error}"
            ) from error
        return Completion(
            text,
            finish_reason=sampled.finish_reason,
            prompt_state=prompt_state_of(prompt, policy.tokenizer, policy.format),
            usage=Usage(len(prompt), len(sampled.ids)),
            ids=sampled.ids,
            logprobs=sampled.logprobs,
            context_ids=context.ids,
            restarts=context.restarts,
        )

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        """The next prompt, behind what stands wherever that can be."""
        template = self._policy.template
        tools = self._tools or None
        last = max(
            (at for at, each in enumerate(messages) if each["role"] == "assistant"), default=-1
        )
        try:
            if self._sampled and last >= 0:
                length = len(self._standing.ids) - len(self._sampled)
                try:
                    found = next_turn(
                        template,
                        prompt_ids=self._standing.ids[:length],
                        sampled_ids=self._sampled,
                        messages=messages[: last + 1],
                        new_messages=messages[last + 1 :],
                        tools=tools,
                        close=True,
                    )
                    return list(found.ids)
                except TurnRefused:
                    pass  # the template writes the past in another way: a new sample, as rows tell
            return template.ids(messages, tools=tools, generation=True)
        except TurnRefused as error:
            raise PolicyError(f"the chat template refuses the conversation: {error}") from error
