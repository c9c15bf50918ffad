"""A model that answers one request at a time, and takes new weights between two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch  # pants: no-infer-dep

from outcomebox.train.cpu.rollout.sampling import Sampling, choose, logprobs_of


class Generated(NamedTuple):
    """A sampled turn.

    Attributes:
        ids: The sampled ids, the one that ended the turn included.
        logprobs: The log-probability of each, in nats.
    """

    ids: list[int]
    logprobs: list[float]


class Engine:
    """A causal language model of transformers.

    Args:
        model: The model, on the CPU, in the precision it is sampled in.
        context: Most ids of prompt and answer together.
        words: Ids that the tokenizer has; a model may have more, which are never sampled.
        seed: Where chance begins for requests that have no seed.
    """

    def __init__(self, model: Any, *, context: int, words: int, seed: int = 0) -> None:
        self._model = model.eval()
        self._context = context
        self._words = words
        self._ends = end_ids(model)
        self._generator = torch.Generator().manual_seed(seed)

    @classmethod
    def from_folder(cls, folder: str, *, context: int, seed: int = 0) -> Engine:
        """The model of a folder, in float32."""
        from transformers import (  # noqa: PLC0415  # pants: no-infer-dep -- seconds to import
            AutoModelForCausalLM,  # pants: no-infer-dep
            AutoTokenizer,  # pants: no-infer-dep
        )

        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="sdpa"
        )
        words = len(AutoTokenizer.from_pretrained(folder))
        return cls(model, context=context, words=words, seed=seed)

    def generate(self, prompt: Sequence[int], sampling: Sampling) -> Generated:
        """Sample a turn.

        Args:
            prompt: The whole prompt.
            sampling: How.

        Raises:
            ValueError: The prompt is empty, or leaves no room for an answer.
        """
        room = self._context - len(prompt)
        if not prompt or room < 1:
            raise ValueError(
                f"a prompt of {len(prompt)} ids leaves no room in a context of {self._context}"
            )
        limit = room if sampling.max_tokens is None else max(1, min(room, sampling.max_tokens))
        ends = sampling.stop if sampling.ignore_eos else sampling.stop | self._ends
        generator = self._generator
        if sampling.seed is not None:
            generator = torch.Generator().manual_seed(sampling.seed)
        found = Generated([], [])
        past, given = None, torch.tensor([list(prompt)])
        while len(found.ids) < limit:
            with torch.no_grad():
                out = self._model(given, past_key_values=past, use_cache=True, logits_to_keep=1)
            past = out.past_key_values
            logprobs = logprobs_of(out.logits[0, -1], sampling)
            able = logprobs.clone()
            able[self._words :] = float("-inf")
            chosen = choose(able, sampling, generator)
            found.ids.append(chosen)
            found.logprobs.append(float(logprobs[chosen]))
            if chosen in ends:
                break
            given = torch.tensor([[chosen]])
        return found

    def load(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Take over weights.

        Args:
            weights: All of the model's, by name; tied ones may be left out.

        Raises:
            ValueError: A weight is unknown or of another shape, or one is missing, so that the
                policy would be partly the old one.
        """
        own = self._model.state_dict()
        told = dict(weights)
        unknown = sorted(set(told) - set(own))
        if unknown:
            raise ValueError(f"the rollout model has no weight {unknown[0]} ({len(unknown)} such)")
        # A tied weight is the same memory under two names.
        there = {own[name].data_ptr() for name in told}
        missing = sorted(name for name, each in own.items() if each.data_ptr() not in there)
        if missing:
            raise ValueError(f"weight {missing[0]} did not come ({len(missing)} such)")
        for name, value in told.items():
            if value.shape != own[name].shape:
                raise ValueError(
                    f"weight {name} has shape {tuple(value.shape)}, not {tuple(own[name].shape)}"
                )
            own[name].data.copy_(value)


def end_ids(model: Any) -> frozenset[int]:
    """Ids that end a turn, by the model's generation settings, else by its configuration."""
    for settings in (getattr(model, "generation_config", None), model.config):
        told = getattr(settings, "eos_token_id", None)
        if told is not None:
            return frozenset(told if isinstance(told, list) else [told])
    return frozenset()
