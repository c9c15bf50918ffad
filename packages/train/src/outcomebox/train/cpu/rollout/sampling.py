"""From logits to an id: temperature, top-k, top-p, and the log-probability that is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch  # pants: no-infer-dep


@dataclass(frozen=True)
class Sampling:
    """How a turn is sampled.

    Attributes:
        temperature: Logits are divided by it; 0 takes the likeliest id.
        top_k: Only so many of the likeliest ids; 0 for all.
        top_p: Only the likeliest ids that together have at least this probability.
        logprobs: Whether log-probabilities are told.
        max_tokens: Most ids; None for as many as fit.
        seed: Of this request alone; None to go on with the engine's own.
        stop: Ids that end the turn, beside the model's own.
        ignore_eos: Whether the model's own do not.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    logprobs: bool = False
    max_tokens: int | None = None
    seed: int | None = None
    stop: frozenset[int] = frozenset()
    ignore_eos: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """What verl's agent loops and servers pass on as ``sampling_params``.

        Args:
            given: By vLLM's names; -1 and None switch ``top_k`` off as 0 does.

        Raises:
            ValueError: One of them is unknown here or out of range. Nothing is left out in
                silence: what was sampled would not be what was asked for.
        """
        rest = dict(given)
        limit = rest.pop("max_tokens", None)
        also = rest.pop("max_new_tokens", None)
        made = cls(
            temperature=float(rest.pop("temperature", 1.0)),
            top_k=max(0, int(rest.pop("top_k", 0) or 0)),
            top_p=float(rest.pop("top_p", 1.0)),
            logprobs=bool(rest.pop("logprobs", False)),
            max_tokens=also if limit is None else limit,
            seed=rest.pop("seed", None),
            stop=frozenset(rest.pop("stop_token_ids", None) or ()),
            ignore_eos=bool(rest.pop("ignore_eos", False)),
        )
        if rest.pop("repetition_penalty", 1.0) != 1.0:
            raise ValueError("repetition_penalty is not 1.0: the actor's probabilities have none")
        if rest:
            raise ValueError(
                f"the rollout backend transformers knows no {', '.join(sorted(rest))}; "
                "leave it out, or use vllm"
            )
        if made.temperature < 0 or not 0 < made.top_p <= 1:
            raise ValueError(
                f"temperature {made.temperature} or top_p {made.top_p} is out of range; "
                "temperature is 0 or more, top_p above 0 and at most 1"
            )
        return made


def logprobs_of(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Log-probabilities of all ids, in nats, shape ``[vocabulary]``.

    They are ``log_softmax(logits / temperature)`` over *all* ids, as verl's actor computes them
    (``verl/utils/torch_functional.py: logprobs_from_logits`` on logits divided by the temperature),
    so that rollout and actor can be compared. vLLM's ``processed_logprobs``, verl's default there,
    are the same as long as top-k and top-p are off; with them on they are those of the ids that
    are left, which the actor's are not.

    Args:
        logits: Shape ``[vocabulary]``.
        sampling: A temperature of 0 counts as 1 here.
    """
    return torch.log_softmax(logits.float() / (sampling.temperature or 1.0), dim=-1)


def kept(logprobs: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Probabilities that are sampled from, shape ``[vocabulary]``: 0 for ids that are left out.

    Top-k is taken first, then top-p of what is left, as in vLLM. Of ids that are equally likely
    those with a lower number stay. One id always stays.

    Args:
        logprobs: Of all ids, shape ``[vocabulary]``.
        sampling: ``top_k`` and ``top_p``.
    """
    values, order = torch.sort(logprobs, descending=True, stable=True)
    if 0 < sampling.top_k < len(values):
        values, order = values[: sampling.top_k], order[: sampling.top_k]
    share = torch.softmax(values, dim=-1)
    if sampling.top_p < 1:
        before = torch.cumsum(share, dim=-1) - share
        share = torch.where(before < sampling.top_p, share, torch.zeros_like(share))
        share /= share.sum()
    return torch.zeros_like(logprobs).index_put((order,), share)


def choose(logprobs: torch.Tensor, sampling: Sampling, generator: torch.Generator) -> int:
    """Sample an id.

    Args:
        logprobs: Of all ids, shape ``[vocabulary]``; minus infinity for those that cannot be.
        sampling: How.
        generator: Where chance comes from.
    """
    if sampling.temperature == 0:
        return int(torch.argmax(logprobs))
    return int(torch.multinomial(kept(logprobs, sampling), 1, generator=generator))
