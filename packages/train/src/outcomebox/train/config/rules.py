"""What the sections of a run ask of each other."""

from __future__ import annotations

from typing import Any

from outcomebox.sandbox import InputError
from outcomebox.train.config.model import RunConfig


def check_rules(config: RunConfig, file: str) -> None:
    """See that the sections fit each other.

    Args:
        config: The run.
        file: Where it stands.

    Raises:
        InputError: The first pair that does not fit.
    """

    def wrong(field: str, message: str, value: Any = None) -> InputError:
        return InputError(message, file=file, field=field, value=value)

    cluster, parallel, groups = config.cluster, config.parallel, config.groups
    if cluster.nodes > 1 and cluster.ray_address is None:
        raise wrong(
            "cluster.ray_address",
            f"is missing, and a new Ray cluster has one node, not {cluster.nodes}; start Ray on "
            "each (outcomebox-train ray-start) and write auto",
        )
    if config.rollout.backend == "transformers" and cluster.device != "cpu":
        raise wrong(
            "rollout.backend",
            "samples on CPU cores only; write vllm, or cluster.device: cpu",
            "transformers",
        )
    if cluster.device == "cpu":
        if parallel.sequence > 1:
            raise wrong("parallel.sequence", "needs GPUs; write 1 on a CPU", parallel.sequence)
        if parallel.tensor > 1:
            raise wrong("parallel.tensor", "needs GPUs; write 1 on a CPU", parallel.tensor)
        if config.model.padding_removed:
            raise wrong(
                "model.padding_removed", "needs flash-attn, which needs a GPU; write false", True
            )
    if groups.per_step % config.optim.updates_per_step:
        raise wrong(
            "optim.updates_per_step",
            f"does not divide groups.per_step ({groups.per_step}); write one that does",
            config.optim.updates_per_step,
        )
    if groups.max_rounds > 1 and groups.drop_uniform and groups.max_wasted == 0:
        raise wrong(
            "groups.max_wasted",
            "lets no group be thrown away, and drop_uniform throws them away; raise it, or write "
            "drop_uniform: false",
            0,
        )
    _no_interpolation(config.model_dump(mode="json"), "", file)


def _no_interpolation(value: Any, field: str, file: str) -> None:
    """Hydra would fill in what stands between ``${`` and ``}``."""
    if isinstance(value, dict):
        for name, each in value.items():
            _no_interpolation(each, f"{field}.{name}" if field else name, file)
    elif isinstance(value, list):
        for each in value:
            _no_interpolation(each, field, file)
    elif isinstance(value, str) and "${" in value:
        raise InputError(
            "holds ${, which verl's configuration would fill in; write the value itself",
            file=file,
            field=field,
            value=value,
        )
