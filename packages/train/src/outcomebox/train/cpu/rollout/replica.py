"""What verl starts servers by: one replica is one server."""

from __future__ import annotations

import ray  # pants: no-infer-dep
from verl.workers.rollout.replica import RolloutReplica  # pants: no-infer-dep

from outcomebox.train.cpu.rollout.names import NAME, server_name
from outcomebox.train.cpu.rollout.server import Server


class TransformersReplica(RolloutReplica):  # type: ignore[misc]  # verl has no types
    """A replica of the backend ``transformers``."""

    async def launch_servers(self) -> None:
        """Start the server, and wait until its model is loaded.

        Raises:
            ValueError: The replica is to be spread over several workers.
        """
        if self.world_size != 1:
            raise ValueError(
                f"the rollout backend {NAME} runs in one process, not in {self.world_size}; set "
                "actor_rollout_ref.rollout.tensor_model_parallel_size=1"
            )
        config = self.config
        context = config.max_model_len or config.prompt_length + config.response_length
        model = self.model_config
        server = (
            ray.remote(Server)
            .options(
                name=server_name(self.replica_rank),
                num_cpus=0,
                max_concurrency=self.max_concurrency,
            )
            .remote(
                getattr(model, "local_path", None) or model.path,
                context,
                config.seed + self.replica_rank,
            )
        )
        await server.ready.remote()
        self.servers = [server]
        self._server_handle = server
        self._server_address = f"{NAME}:{self.replica_rank}"
