"""The sampler of training: verl's own servers, token ids in and token ids out.

One is made for each episode, because verl routes the turns of an episode to one server by a request
id, and because the budget of an episode is counted over its turns. It also keeps what was really
sent and sampled, by digest: what a row says is checked against that before it is trained on.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from outcomebox.rollout import PolicyError
from outcomebox.rollout.policies.tokens import ContextFull, Sampled
from outcomebox.train.verl.budget import Budget, Spending


class PromptTooLong(PolicyError):
    """A first prompt that does not fit: the settings' fault, not the agent's."""


class ServerManager(Protocol):
    """What verl gives an agent loop to generate with."""

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]
    ) -> Any:
        """Sample behind a prompt: ``token_ids``, ``log_probs``, ``stop_reason`` and more."""
        ...


class Exchange(NamedTuple):
    """A turn as the server saw it.

    Attributes:
        prompt: Digest of the prompt's ids.
        output: Digest of the sampled ids.
        prompt_tokens: How many ids the prompt has.
        anew: Whether it did not go on from the turn before.
    """

    prompt: bytes
    output: bytes
    prompt_tokens: int
    anew: bool


@dataclass
class Weights:
    """Which weights sampled an episode, as verl numbers them.

    Attributes:
        oldest: Step of the oldest weights; None where the server does not tell.
        newest: Step of the newest.
        preempted: How often a server put a turn off; None where it does not tell.
    """

    oldest: int | None = None
    newest: int | None = None
    preempted: int | None = None

    def saw(self, output: Any) -> None:
        """Take note of a server's output."""
        told = output.extra_fields
        low, high = told.get("min_global_steps"), told.get("max_global_steps")
        if low is not None:
            self.oldest = int(low) if self.oldest is None else min(self.oldest, int(low))
        if high is not None:
            self.newest = int(high) if self.newest is None else max(self.newest, int(high))
        if output.num_preempted is not None:
            self.preempted = (self.preempted or 0) + int(output.num_preempted)


@dataclass
class ServerSampler:
    """A model behind verl's servers, for one episode.

    Attributes:
        manager: Who finds a server.
        request_id: Keeps the turns of an episode on one server, where its prefix is cached.
        params: verl's sampling parameters: temperature, top_p, top_k, logprobs and the like.
        budget: The limits of the episode.
        ends: Ids that end a turn.
        turns: What was sent and sampled, turn by turn.
        weights: Which weights sampled it.
    """

    manager: ServerManager
    request_id: str
    params: Mapping[str, Any]
    budget: Budget
    ends: frozenset[int]
    turns: list[Exchange] = field(default_factory=list)
    weights: Weights = field(default_factory=Weights)
    _spending: Spending = field(default_factory=Spending)
    _standing: list[int] = field(default_factory=list)

    @property
    def restarts(self) -> int:
        """How many prompts did not go on from what stood."""
        return sum(turn.anew for turn in self.turns[1:])

    def describe(self) -> Mapping[str, Any]:
        """The sampling parameters, as a row records them."""
        return dict(self.params)

    async def check(self) -> None:
        """Nothing to see: verl started the servers before it asks for an episode."""

    async def aclose(self) -> None:
        """Nothing to release: the servers are verl's."""

    async def sample(self, prompt_ids: Sequence[int], *, seed: int) -> Sampled:
        """Sample one turn.

        Args:
            prompt_ids: The whole prompt.
            seed: The turn's seed, which is sent along.

        Raises:
            ContextFull: No budget is left for the turn.
            PromptTooLong: The first prompt does not fit.
            PolicyError: The server failed, or what it gave cannot be trained on.
        """
        prompt = list(prompt_ids)
        anew = not self.turns or prompt[: len(self._standing)] != self._standing
        response = self._spending.prompt(len(prompt), anew=anew)
        room = self.budget.room(len(prompt), response)
        if not self.turns:
            self._first_prompt(len(prompt), room)
        if room < 1:
            raise ContextFull(f"a prompt of {len(prompt)} tokens leaves no room for a turn")
        output = await self._generate(prompt, seed, room)
        ids = tuple(int(each) for each in output.token_ids)
        reason = self._finish_reason(ids, room, output.stop_reason)
        logprobs = self._logprobs(output, len(ids))
        self.weights.saw(output)
        self._spending.sampled(len(prompt), len(ids))
        self._standing = [*prompt, *ids]
        self.turns.append(Exchange(ids_digest(prompt), ids_digest(ids), len(prompt), anew))
        return Sampled(ids, logprobs, reason)

    def _first_prompt(self, tokens: int, room: int) -> None:
        most = self.budget.prompt_tokens
        if tokens > most:
            raise PromptTooLong(
                f"the first prompt has {tokens} tokens and prompt_tokens is {most}; raise it, or "
                "take the task out of the pool"
            )
        if room < 1:
            raise PromptTooLong(
                f"the first prompt has {tokens} tokens and leaves no room for an answer in "
                f"context_tokens {self.budget.context_tokens}; raise it"
            )

    async def _generate(self, prompt: list[int], seed: int, room: int) -> Any:
        params = {**self.params, "max_tokens": room, "seed": seed}
        try:
            output = await self.manager.generate(
                self.request_id, prompt_ids=prompt, sampling_params=params
            )
        except Exception as error:  # whatever breaks between here and the GPU is no agent's fault
            what = f"{type(error).__name__}: {error}"
            raise PolicyError(f"the rollout server failed: {what}") from error
        if output.routed_experts is not None:
            raise PolicyError(
                "the server replays expert routing, which is not trained with here; set "
                "actor_rollout_ref.rollout.enable_rollout_routing_replay=False"
            )
        return output

    def _finish_reason(self, ids: tuple[int, ...], room: int, stopped: str | None) -> str:
        """``stop`` or ``length``. verl says ``completed`` of both, so that the ids must tell."""
        if stopped in {"abort", "aborted"}:
            raise PolicyError("the rollout server aborted the turn")
        if not ids:
            raise PolicyError(f"the rollout server sampled nothing (it says {stopped!r})")
        if len(ids) > room:
            raise PolicyError(f"the rollout server sampled {len(ids)} tokens of at most {room}")
        if ids[-1] in self.ends:
            return "stop"
        if len(ids) == room:
            return "length"
        raise PolicyError(
            f"the rollout server ended a turn after {len(ids)} of {room} tokens with id {ids[-1]}, "
            "which ends no turn of this model; add it to eos_token_id of generation_config.json, "
            "or set rollout.max_model_len to context_tokens"
        )

    def _logprobs(self, output: Any, length: int) -> tuple[float, ...] | None:
        if output.log_probs is None or not len(output.log_probs):
            if self.params.get("logprobs"):
                raise PolicyError("the rollout server returned no log-probabilities")
            return None
        if len(output.log_probs) != length:
            raise PolicyError(
                f"the rollout server returned {len(output.log_probs)} log-probabilities for "
                f"{length} tokens"
            )
        return tuple(float(each) for each in output.log_probs)


def ids_digest(ids: Sequence[int]) -> bytes:
    """Sixteen bytes that tell sequences of ids apart."""
    return hashlib.blake2b(array("q", ids).tobytes(), digest_size=16).digest()
