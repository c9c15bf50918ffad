"""A fused head inside FSDP2's root unit.

verl makes an untied ``lm_head`` a unit of its own. FSDP2 gathers a unit's weights when that unit's
``forward`` is called, and reduces their gradients behind it. verl's fused kernels never call it:
they read ``lm_head.weight`` in the model's own ``forward``. What they get is the shard, wherever it
lies (in main memory, where parameters are offloaded): most families then fail, a sharded and a
plain tensor in one product, and those that gather by hand (Qwen3.5, Qwen3-VL) train a head whose
gradient each rank takes from its own data alone, without an error.

The root unit is gathered all the while that the model's ``forward`` runs and until its backward
pass, so a head that belongs to it is on the right device, in the compute type, and reduced.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

FUSED = frozenset({"forward_with_torch_backend", "forward_with_triton_backend"})
"""Names of verl's ``forward`` functions with a fused head, in each family of models."""


def is_fused(model: Any) -> bool:
    """Whether verl gave a model's class a ``forward`` that reads the head's weight by itself."""
    forward = type(model).forward
    from_verl = str(getattr(forward, "__module__", "")).startswith("verl.models.transformers.")
    return from_verl and getattr(forward, "__name__", "") in FUSED


def without_fused_head(select: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """The units that verl chooses, less the head of a model whose head is fused."""

    @wraps(select)
    def chosen(model: Any, layers: Any) -> list[Any]:
        units = select(model, layers)
        if not is_fused(model):
            return units
        head = model.get_output_embeddings()
        return [unit for unit in units if unit is not head]

    return chosen


def install(module: ModuleType) -> None:
    """Change verl's ``utils.fsdp_utils``."""
    original = module._select_fsdp2_wrap_targets  # noqa: SLF001 -- the function pinned
    module._select_fsdp2_wrap_targets = without_fused_head(original)  # type: ignore[attr-defined]  # noqa: SLF001
