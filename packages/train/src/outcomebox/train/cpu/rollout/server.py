"""The process that samples: what verl's load balancer and weight sync talk to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import torch  # pants: no-infer-dep
from verl.workers.rollout.replica import TokenOutput  # pants: no-infer-dep

from outcomebox.train.cpu.rollout.engine import Engine, Generated
from outcomebox.train.cpu.rollout.sampling import Sampling


class Server:
    """A server of the backend, made an actor by Ray.

    Args:
        folder: The model's folder.
        context: Most ids of prompt and answer together.
        seed: Where chance begins for requests that have no seed.
    """

    def __init__(self, folder: str, context: int, seed: int) -> None:
        self._engine = Engine.from_folder(folder, context=context, seed=seed)
        self._one_at_a_time = asyncio.Lock()
        self._steps: int | None = None

    async def generate(
        self,
        request_id: str,  # noqa: ARG002 -- verl's: there is nothing to find again by it
        prompt_ids: list[int],
        sampling_params: Mapping[str, Any],
        image_data: Any = None,
        video_data: Any = None,
    ) -> Any:
        """Sample a turn.

        Args:
            request_id: Of verl.
            prompt_ids: The whole prompt.
            sampling_params: By vLLM's names.
            image_data: None: this backend has only text.
            video_data: Likewise.

        Returns:
            verl's ``TokenOutput``. As with vLLM the stop reason is ``completed`` whether an end id
            or a limit ended the turn; the last id tells.
        """
        if image_data is not None or video_data is not None:
            raise ValueError("the rollout backend transformers takes only text; use vllm")
        sampling = Sampling.of(sampling_params)
        prompt = [int(each) for each in prompt_ids]
        async with self._one_at_a_time:
            steps = self._steps
            found: Generated = await asyncio.to_thread(self._engine.generate, prompt, sampling)
        return TokenOutput(
            token_ids=found.ids,
            log_probs=found.logprobs if sampling.logprobs else None,
            stop_reason="completed",
            extra_fields={"global_steps": steps},
        )

    async def load_weights(self, weights: Mapping[str, torch.Tensor], steps: int | None) -> None:
        """Take over weights between two requests.

        Args:
            weights: All of them, by name.
            steps: Updates that they have seen; None where it is not told.
        """
        async with self._one_at_a_time:
            await asyncio.to_thread(self._engine.load, weights)
            if steps is not None:
                self._steps = steps

    async def ready(self) -> None:
        """Answers once the model is loaded."""

    async def wake_up(self, **_: Any) -> None:
        """It never sleeps: there is no memory of a device to give back."""

    async def sleep(self, **_: Any) -> None:
        """See :meth:`wake_up`."""

    async def abort_all_requests(self, **_: Any) -> None:
        """Requests are let end: weights wait for them."""

    async def resume_generation(self) -> None:
        """Nothing was stopped."""

    async def clear_kv_cache(self) -> None:
        """Nothing is kept between two requests."""

    async def release_kv_cache(self) -> None:
        """See :meth:`clear_kv_cache`."""

    async def resume_kv_cache(self) -> None:
        """See :meth:`clear_kv_cache`."""

    async def start_profile(self, **_: Any) -> None:
        """There is no profiler here."""

    async def stop_profile(self) -> None:
        """See :meth:`start_profile`."""
