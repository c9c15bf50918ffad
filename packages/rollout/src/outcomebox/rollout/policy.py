"""What a policy is: messages in, one completion out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from outcomebox.interpret import PromptState
from outcomebox.reward.chat import StructuredCall, Usage
from outcomebox.rollout.stage import AnyTask, GoldenLike
from outcomebox.sandbox import ToolSpec

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer of a policy: raw text, or what an endpoint has already taken apart.

    Attributes:
        text: What the model wrote, to be read by the interpreter; the visible content only where
            ``structured`` is set.
        finish_reason: ``stop``, ``length`` or ``tool_calls``, as OpenAI-compatible servers say it.
        structured: Calls that the endpoint has read, or None for raw text.
        reasoning: The endpoint's reasoning field, where ``structured`` is set.
        prompt_state: Where the prompt left the model, for raw text.
        usage: Tokens spent.
        ids: The sampled token ids, where the policy knows them.
        logprobs: The log-probability of each of them, in nats, where it knows them.
        context_ids: The ids of the prompt that stand behind those of the turn before, prompt and
            output; all of them in the first turn.
        restarts: Whether the prompt does not go on from the turn before: ``context_ids`` is then
            the whole prompt, and a new sample for training.
        raw: The model's output, special tokens included, where ``structured`` is set and the
            endpoint tells it all the same.
    """

    text: str
    finish_reason: str = "stop"
    structured: tuple[StructuredCall, ...] | None = None
    reasoning: str | None = None
    prompt_state: PromptState = "assistant_start"
    usage: Usage = field(default_factory=Usage)
    ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    context_ids: tuple[int, ...] | None = None
    restarts: bool = False
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class EpisodeContext:
    """What a policy is told when an episode starts.

    Attributes:
        task: The task. Only policies that say ``simulated`` may look at its golden list; a real one
            sees messages and tools alone.
        tools: The tools of the session.
        seed: Seed of the episode, the same in every run with one run seed.
        repetition: Index of the attempt, from 0.
        golden: The golden calls, for policies that say ``simulated``.
    """

    task: AnyTask
    tools: Sequence[ToolSpec]
    seed: int
    repetition: int
    golden: Sequence[GoldenLike] = ()


@runtime_checkable
class PolicyEpisode(Protocol):
    """A policy during one episode."""

    async def complete(self, messages: Sequence[Message]) -> Completion:
        """The next assistant turn.

        Raises:
            PolicyError: No usable answer after retries.
        """
        ...


@runtime_checkable
class Policy(Protocol):
    """A policy, shared by all episodes of a run.

    Attributes:
        name: What tables call it.
        simulated: Whether it reads the golden list instead of being a model; every output says so.
        format: The interpreter format of its raw text.
    """

    @property
    def name(self) -> str:
        """See the attributes above."""
        ...

    @property
    def simulated(self) -> bool:
        """See the attributes above."""
        ...

    @property
    def format(self) -> str:
        """See the attributes above."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What a row records of it: name and settings, never a key."""
        ...

    async def check(self) -> None:
        """See before a run that it can answer at all.

        Raises:
            InputError: It cannot, with what to mend.
        """
        ...

    def start(self, context: EpisodeContext) -> PolicyEpisode:
        """The policy for one episode."""
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...
