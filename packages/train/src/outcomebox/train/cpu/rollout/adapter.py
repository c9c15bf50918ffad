"""The rollout's end in the actor's worker: it hands each update's weights to the server."""

from __future__ import annotations

import os
from typing import Any

import ray  # pants: no-infer-dep
import torch  # pants: no-infer-dep
from verl.workers.rollout.base import BaseRollout  # pants: no-infer-dep
from verl.workers.rollout.utils import ensure_async_iterator  # pants: no-infer-dep

from outcomebox.train.cpu.rollout.names import NAME, server_name


class TransformersRollout(BaseRollout):  # type: ignore[misc]  # verl has no types
    """The backend's adapter in verl's worker.

    Args:
        config: verl's rollout configuration.
        model_config: verl's model configuration.
        device_mesh: Of the worker.
        replica_rank: Which replica this worker feeds; -1 for the one of its own rank.
    """

    def __init__(
        self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = -1
    ) -> None:
        super().__init__(config, model_config, device_mesh)
        self._replica = int(os.environ["RANK"]) if replica_rank == -1 else replica_rank
        self._server: Any = None

    async def resume(self, tags: list[str]) -> None:
        """Nothing was released."""

    async def release(self) -> None:
        """There is no memory of a device to give back."""

    async def update_weights(
        self,
        weights: Any,
        global_steps: int | None = None,
        wire_format: str = "named_tensors",
        peft_config: Any = None,
        **_: Any,
    ) -> None:
        """Hand all weights to the server.

        Args:
            weights: Pairs of name and full tensor.
            global_steps: Updates that they have seen.
            wire_format: Only ``named_tensors``.
            peft_config: Only None.

        Raises:
            NotImplementedError: Something but full tensors is to be sent.
        """
        if wire_format != "named_tensors" or peft_config is not None:
            raise NotImplementedError(
                f"the rollout backend {NAME} takes whole weights only; leave LoRA and "
                "delta transfer off, or use vllm"
            )
        told = {}
        async for name, tensor in ensure_async_iterator(weights):
            # A copy: the next update changes the actor's own in place.
            told[name] = tensor.detach().to("cpu", torch.float32, copy=True)
        if self._server is None:
            self._server = ray.get_actor(server_name(self._replica))
        await self._server.load_weights.remote(told, global_steps)
