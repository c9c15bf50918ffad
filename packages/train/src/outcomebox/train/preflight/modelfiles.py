"""The base checkpoint: its files, and whether it can be cut as the run cuts it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from outcomebox.sandbox import InputError
from outcomebox.train.preflight.context import Context

_SEQUENCE = "parallel.sequence"
_TENSOR = "parallel.tensor"
_LEAST_HEAD = 32
"""Of vLLM's attention on a CPU."""


def check_model(context: Context) -> str:
    """Weights are all there, heads can be dealt to GPUs, and the context is long enough.

    Raises:
        InputError: One of them is not so.
    """
    plan = context.plan
    config = context.model_config
    size = _weights(context, Path(plan.config.model.path))
    heads = _number(context, config, "num_attention_heads")
    shared = int(config.get("num_key_value_heads") or heads)
    sequence, tensor = plan.config.parallel.sequence, plan.config.parallel.tensor
    if heads % sequence or (shared % sequence and sequence % shared):
        raise context.wrong(
            _SEQUENCE,
            f"cannot deal the model's {heads} attention heads ({shared} of keys and values) to "
            f"the GPUs of a sequence; write one of {_fitting(heads, shared)}",
            sequence,
        )
    if heads % tensor or (shared % tensor and tensor % shared):
        raise context.wrong(
            _TENSOR,
            f"cannot deal the model's {heads} attention heads ({shared} of keys and values) to "
            f"the GPUs of a replica; write one of {_fitting(heads, shared)}",
            tensor,
        )
    _engine(context, config, heads)
    most = config.get("max_position_embeddings")
    context_tokens = plan.config.lengths.context
    if isinstance(most, int) and context_tokens > most:
        raise context.wrong(
            "lengths.response",
            f"makes conversations of {context_tokens} tokens with the prompt, and the model takes "
            f"{most}; lower prompt and response by {context_tokens - most} together",
            plan.config.lengths.response,
        )
    return f"{config.get('model_type', 'a model')}, {size / 1e9:.1f} GB of weights, {heads} heads"


def _engine(context: Context, config: Mapping[str, Any], heads: int) -> None:
    """What an engine cannot run."""
    plan = context.plan.config
    if plan.rollout.backend != "vllm" or plan.cluster.device != "cpu":
        return
    width = config.get("head_dim") or int(config.get("hidden_size") or 0) // heads
    if width < _LEAST_HEAD:
        raise context.wrong(
            "rollout.backend",
            f"cannot run heads of {width} numbers on a CPU, {_LEAST_HEAD} at the least; write "
            "transformers, or take a model with wider heads",
            plan.rollout.backend,
        )


def _weights(context: Context, folder: Path) -> int:
    """Bytes of the weights, of which no file may be missing."""
    for name in ("model.safetensors.index.json", "pytorch_model.bin.index.json"):
        index = folder / name
        if not index.is_file():
            continue
        try:
            named = sorted(
                set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
            )
        except (ValueError, KeyError, AttributeError) as error:
            raise InputError(
                f"is no index of weights ({error!r}); download it again", file=index
            ) from error
        missing = [each for each in named if not (folder / each).is_file()]
        if missing:
            raise context.wrong(
                "model.path",
                f"lacks {len(missing)} of {len(named)} files of weights, {missing[0]} first; "
                "download it again",
                str(folder),
            )
        return sum((folder / each).stat().st_size for each in named)
    alone = [*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin")]
    if not alone:
        raise context.wrong(
            "model.path", "holds no weights; name the folder of a checkpoint", str(folder)
        )
    return sum(file.stat().st_size for file in alone)


def _number(context: Context, config: Mapping[str, Any], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or value < 1:
        raise context.wrong(
            "model.path", f"has no {name} in its config.json; name a language model", value
        )
    return value


def _fitting(heads: int, shared: int) -> str:
    found = [n for n in range(1, heads + 1) if not heads % n and (not shared % n or not n % shared)]
    return ", ".join(map(str, found))
