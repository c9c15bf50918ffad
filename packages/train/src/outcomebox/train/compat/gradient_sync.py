"""Gradients reduced after each micro-batch.

verl 0.9.0 puts the reduction off until the last micro-batch of an update. Until then every rank
holds the gradients of the whole model, unsharded: at 27 billion parameters more than a device has.
Reduced one by one they add up to the same sum, at the price of more communication.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


@contextmanager
def synced(engine: Any, *, is_last_micro_batch: bool) -> Iterator[None]:  # noqa: ARG001
    """Leaves FSDP as it is: a backward pass reduces.

    Args:
        engine: verl's engine.
        is_last_micro_batch: What verl's own rule looks at.
    """
    yield


def install(module: ModuleType) -> None:
    """Change verl's ``workers.engine.fsdp.transformer_impl``."""
    module.FSDPEngine._gradient_sync_context = synced  # noqa: SLF001 -- the function pinned
