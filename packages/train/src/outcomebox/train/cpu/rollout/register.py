"""Makes the backend known to verl by its name."""

from __future__ import annotations

from typing import Any

from verl.workers.rollout import base  # pants: no-infer-dep
from verl.workers.rollout.replica import RolloutReplicaRegistry  # pants: no-infer-dep

from outcomebox.train.cpu.rollout.names import NAME

_ADAPTER = "outcomebox.train.cpu.rollout.adapter.TransformersRollout"


def register() -> None:
    """Register both ends, the replica and the adapter.

    Replicas have a registry. Adapters have a table that verl 0.9.0 and 0.9.1 keep to themselves,
    and no function to add to it.
    """
    RolloutReplicaRegistry.register(NAME, _replica)
    base._ROLLOUT_REGISTRY[NAME, "async"] = _ADAPTER  # noqa: SLF001 -- see above


def _replica() -> Any:
    from outcomebox.train.cpu.rollout.replica import TransformersReplica  # noqa: PLC0415

    return TransformersReplica
