"""The token ids of an episode as its row holds them, and the samples that a trainer takes from it.

Each assistant message has the ids that were sampled (``ids``), their log-probabilities
(``logprobs``) and the ids of the prompt that no earlier turn has (``context_ids``): what a row
holds grows with the conversation, not with its square.
:func:`token_samples` puts them together again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from outcomebox.rollout.policy import Completion


class Context(NamedTuple):
    """A prompt against what stands.

    Attributes:
        ids: The ids behind what stands; all of them, where it does not go on from there.
        restarts: Whether it does not.
    """

    ids: tuple[int, ...]
    restarts: bool


@dataclass
class Standing:
    """The ids of an episode so far, prompt and outputs."""

    ids: list[int] = field(default_factory=list)

    def context(self, prompt_ids: Sequence[int]) -> Context:
        """What a prompt adds; it stands from now on.

        Args:
            prompt_ids: The whole prompt of the next turn.
        """
        length = len(self.ids)
        restarts = list(prompt_ids[:length]) != self.ids
        added = tuple(prompt_ids if restarts else prompt_ids[length:])
        self.ids = list(prompt_ids)
        return Context(added, restarts)

    def sampled(self, ids: Sequence[int]) -> None:
        """Put what was sampled behind the prompt."""
        self.ids += ids


def recorded_tokens(completion: Completion) -> dict[str, Any]:
    """The fields of a message that hold a completion's tokens; none where they are not known."""
    if completion.ids is None:
        return {}
    fields: dict[str, Any] = {"ids": list(completion.ids)}
    if completion.logprobs is not None:
        fields["logprobs"] = list(completion.logprobs)
    if completion.context_ids is not None:
        fields["context_ids"] = list(completion.context_ids)
    if completion.restarts:
        fields["restarts"] = True
    return fields


@dataclass(frozen=True)
class TokenSample:
    """What an engine was given and has sampled, as one sequence.

    Attributes:
        ids: Every id.
        mask: 1 for an id that was sampled, else 0; as long as ``ids``.
        logprobs: The log-probability of each sampled id, 0.0 for the others; None where the engine
            did not return them all.
        prompts: For each turn the length of the prompt that it was sampled behind.
        outputs: For each turn how many ids were sampled.
    """

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...] | None
    prompts: tuple[int, ...]
    outputs: tuple[int, ...]


def token_samples(messages: Sequence[Mapping[str, Any]]) -> list[TokenSample]:
    """The samples of an episode: one, and one more for each prompt that began anew.

    Args:
        messages: The messages of a row.

    Raises:
        ValueError: A turn has no ids, or its prompt is not known; the message tells which.
    """
    parts: list[list[tuple[list[int], list[int], list[float] | None]]] = []
    for number, message in enumerate(messages):
        if message.get("role") != "assistant" or "finish_reason" not in message:
            continue  # of the task's own history
        if "ids" not in message or "context_ids" not in message:
            raise ValueError(f"messages[{number}] has no token ids; the policy did not tell them")
        if not message["ids"] and not message["context_ids"]:
            continue  # the context was full: the engine was not asked
        turn = (message["context_ids"], message["ids"], message.get("logprobs"))
        if message.get("restarts") or not parts:
            parts.append([turn])
        else:
            parts[-1].append(turn)
    return [_sample(part) for part in parts]


def _sample(turns: Sequence[tuple[list[int], list[int], list[float] | None]]) -> TokenSample:
    ids: list[int] = []
    mask: list[int] = []
    logprobs: list[float] = []
    prompts, outputs = [], []
    known = True
    for context, sampled, values in turns:
        ids += context
        prompts.append(len(ids))
        ids += sampled
        outputs.append(len(sampled))
        mask += [0] * len(context) + [1] * len(sampled)
        known = known and values is not None and len(values) == len(sampled)
        logprobs += [0.0] * len(context) + list(values or ())
    return TokenSample(
        tuple(ids),
        tuple(mask),
        tuple(logprobs) if known else None,
        tuple(prompts),
        tuple(outputs),
    )
