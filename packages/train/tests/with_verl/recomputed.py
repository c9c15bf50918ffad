"""Log-probabilities of sampled ids, computed again by plain transformers, and how weights changed.

``python recomputed.py ORDER.json`` with ``{"base": DIR, "checkpoints": {STEP: FILE}, "samples":
[{"weights": STEP, "ids": [...], "mask": [...], "logprobs": [...]}]}`` prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed.tensor
from transformers import AutoModelForCausalLM

State = dict[str, torch.Tensor]


def shard(file: str) -> State:
    """The whole weights of a run of one rank, as verl saves them."""
    saved = torch.load(file, map_location="cpu", weights_only=False)
    return {name: getattr(value, "_local_tensor", value) for name, value in saved.items()}


def largest_change(before: State, after: State) -> float:
    """The largest change of any weight."""
    assert set(before) == set(after), set(before) ^ set(after)
    return max(float((before[name] - after[name]).abs().max()) for name in before)


def largest_difference(model: Any, sample: dict[str, Any]) -> float:
    """How far a sample's log-probabilities are from a model's, in nats."""
    ids = torch.tensor([sample["ids"]])
    with torch.no_grad():
        values = torch.log_softmax(model(ids).logits[0, :-1].float(), -1)
    found = values.gather(1, ids[0, 1:, None])[:, 0]
    mask = torch.tensor(sample["mask"][1:], dtype=torch.bool)
    told = torch.tensor(sample["logprobs"][1:])
    return float((found - told)[mask].abs().max())


def main(file: str) -> None:
    """Compute what was ordered."""
    order = json.loads(Path(file).read_text(encoding="utf-8"))
    model = AutoModelForCausalLM.from_pretrained(order["base"], dtype=torch.float32).eval()
    base = {name: value.clone() for name, value in model.state_dict().items()}
    states = {0: base} | {int(step): shard(path) for step, path in order["checkpoints"].items()}
    steps = sorted(states)
    own: dict[int, float] = {}
    first: dict[int, float] = {}
    for step in steps:
        samples = [each for each in order["samples"] if each["weights"] == step]
        for state, into in ((states[step], own), (base, first)):
            model.load_state_dict(state)
            differences = [largest_difference(model, each) for each in samples]
            into[step] = max(differences, default=0.0)
    told = {
        "own": own,
        "first": first,
        "changes": {
            after: largest_change(states[before], states[after])
            for before, after in zip(steps, steps[1:], strict=False)
        },
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
