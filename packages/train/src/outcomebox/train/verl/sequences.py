"""The sequences that an episode is trained as, from the messages of its row.

An episode whose prompts only ever append is one sequence: the first prompt, then everything behind
it, with the mask at 1 where the model wrote. Where a prompt begins anew (a template that leaves old
thoughts out once the user speaks does that), what the model saw is more than one sequence, and one
sequence would be a conversation that never was. The rule is: each is trained as it was seen, all of
them with the episode's reward. verl takes several outputs of one session, gives each the advantage
of the session, and counts the session once. Nothing is dropped, and nothing is put together that
the model did not see together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outcomebox.rollout.tokens import TokenSample, token_samples
from outcomebox.train.verl.sampler import Exchange, ids_digest


class Untrainable(Exception):
    """What a row holds is not what was sampled, or is nothing that could be trained on."""


@dataclass(frozen=True, slots=True)
class TrainedSequence:
    """One sequence of a prompt and a response.

    Attributes:
        prompt_ids: Ids before the first that was sampled.
        response_ids: Ids from there on.
        mask: 1 for an id that the model sampled, else 0; as long as ``response_ids``.
        logprobs: Of each response id, in nats, 0.0 where it was not sampled; None where the engine
            did not tell them.
    """

    prompt_ids: tuple[int, ...]
    response_ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...] | None


def sequences_of(
    messages: Sequence[Mapping[str, Any]], turns: Sequence[Exchange]
) -> list[TrainedSequence]:
    """The sequences of an episode, each turn of them checked against what was sent and sampled.

    Args:
        messages: The messages of its row.
        turns: What the servers saw, turn by turn.

    Raises:
        Untrainable: The row and the servers differ, or nothing was sampled.
    """
    try:
        samples = token_samples(messages)
    except ValueError as error:
        raise Untrainable(str(error)) from error
    if not samples:
        raise Untrainable("nothing was sampled in it")
    _check(list(_seen(samples)), turns)
    return [_sequence(sample) for sample in samples]


def _sequence(sample: TokenSample) -> TrainedSequence:
    start = sample.prompts[0]
    return TrainedSequence(
        sample.ids[:start],
        sample.ids[start:],
        sample.mask[start:],
        None if sample.logprobs is None else sample.logprobs[start:],
    )


def _seen(samples: Sequence[TokenSample]) -> Iterator[Exchange]:
    """The turns as the row tells them."""
    for sample in samples:
        for at, (start, length) in enumerate(zip(sample.prompts, sample.outputs, strict=True)):
            prompt, output = sample.ids[:start], sample.ids[start : start + length]
            if sum(sample.mask[start : start + length]) != length:
                raise Untrainable("the mask leaves out what was sampled")
            yield Exchange(ids_digest(prompt), ids_digest(output), start, at == 0)
        if sum(sample.mask) != sum(sample.outputs):
            raise Untrainable("the mask holds what was not sampled")


def _check(told: Sequence[Exchange], turns: Sequence[Exchange]) -> None:
    if len(told) != len(turns):
        raise Untrainable(f"the row has {len(told)} sampled turns and the servers {len(turns)}")
    for number, (row, server) in enumerate(zip(told, turns, strict=True)):
        for name in Exchange._fields:
            if getattr(row, name) != getattr(server, name):
                raise Untrainable(
                    f"turn {number}: {name} of the row is not what the server saw: the prompt "
                    "that would be trained is another than the one that was sampled behind"
                )
