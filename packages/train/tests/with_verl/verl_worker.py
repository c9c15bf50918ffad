"""One of verl's own agent loop workers without Ray, for the tests of the adapters.

It makes the loops, plays whole groups and writes what it would put into its store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import verl
from hydra import compose, initialize_config_dir
from transformers import AutoTokenizer
from verl.trainer.ppo.v1 import agent_loop_tq
from verl.workers.rollout.replica import TokenOutput

from outcomebox.train.settings import SETTINGS_VARIABLE, WorkerSettings
from outcomebox.train.verl import agent_loop as our_loop
from outcomebox.train.verl.chat import chat_of
from outcomebox.train.verl.dataset import PoolDataset
from train_episodes import (
    MOVE,
    Server,
    Turn,
    make_run,
)

AGENTS = "- {name: outcomebox, _target_: outcomebox.train.verl.agent_loop.OutcomeboxLoop}\n"
Worker: Any = agent_loop_tq.AgentLoopWorkerTQ.__ray_metadata__.modified_class


class Store:
    """Stands for verl's store of trajectories, and keeps what is put into it."""

    def __init__(self) -> None:
        self.tags: dict[str, dict[str, Any]] = {}
        self.fields: dict[str, dict[str, Any]] = {}

    async def async_kv_put(self, key: str, partition_id: str, tag: dict[str, Any]) -> None:
        self.tags[key] = {**tag, "partition": partition_id}

    async def async_kv_batch_put(
        self, keys: list[str], fields: Any, tags: list[dict[str, Any]], partition_id: str
    ) -> None:
        for at, key in enumerate(keys):
            self.tags[key] = {**tags[at], "partition": partition_id}
            self.fields[key] = {
                name: value[at] if isinstance(value, torch.Tensor) else value[at].data
                for name, value in fields.items()
            }


class Asked:
    """A handle of a reward worker that must not be asked."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"verl asked a reward worker: {name}")


class Verl:
    """One of verl's agent loop workers, made without Ray."""

    def __init__(self, settings: WorkerSettings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self.config = composed(settings)
        self.tokenizer = AutoTokenizer.from_pretrained(settings.model_path)
        self.server = Server(chat_of(settings, self.tokenizer).vocabulary, {}, make=token_output)
        self.worker = Worker.__new__(Worker)
        for name, value in {
            "config": self.config,
            "rollout_config": self.config.actor_rollout_ref.rollout,
            "llm_client": self.server,
            "tokenizer": self.tokenizer,
            "processor": None,
            "hf_model_type": "qwen3",
            "dataset_cls": PoolDataset,
            "tools": [],
            "mm_processor_kwargs": {},
            "reward_loop_worker_handles": [Asked()],
            "distillation_enabled": False,
        }.items():
            setattr(self.worker, name, value)

    async def group(
        self, name: str, *scripts: Sequence[Turn], validate: bool = False, **fields: Any
    ) -> dict[str, dict[str, Any]]:
        """Play a group, one script an attempt; returns what verl puts into its store."""
        for session, script in enumerate(scripts):
            self.server.scripts[f"{name}_{session}"] = script
        extra = {"draw": 0, "side": "test" if validate else "train", **fields.pop("extra", {})}
        uid = fields.pop("uid_task", MOVE)
        prompt = {
            "uid": name,
            "uid_task": uid,
            "raw_prompt": [{"role": "user", "content": uid}],
            "agent_name": "outcomebox",
            "data_source": "outcomebox",
            "reward_model": {"ground_truth": uid},
            "extra_info": extra,
            "index": 0,
            "global_steps": 1,
            "__rollout_n__": len(scripts),
            **fields,
        }
        params = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "logprobs": True}
        trajectory = {"step": 1, "sample_index": 0, "rollout_n": 0, "validate": validate}
        await self.worker._run_prompt(prompt, params, trajectory)
        return {
            key: value for key, value in self.store.fields.items() if key.startswith(f"{name}_")
        }


def token_output(ids: Sequence[int], **changes: Any) -> TokenOutput:
    """An output of verl's own class."""
    plain: dict[str, Any] = {
        "log_probs": [-0.01 * (at % 90 + 1) for at in range(len(ids))],
        "stop_reason": "completed",
        "extra_fields": {"global_steps": 3, "min_global_steps": 3, "max_global_steps": 3},
    }
    return TokenOutput(token_ids=list(ids), **{**plain, **changes})


def composed(settings: WorkerSettings, *more: str) -> Any:
    """verl's configuration for a run, from verl's own schema."""
    folder = Path(verl.__file__).parent / "trainer" / "config"
    with initialize_config_dir(str(folder), version_base=None):
        return compose(
            "ppo_trainer",
            overrides=[
                f"data.train_files={settings.pool.path}",
                f"data.val_files={settings.pool.test_path}",
                "data.custom_cls.path=pkg://outcomebox.train.verl.dataset",
                "data.custom_cls.name=PoolDataset",
                "data.dataloader_num_workers=0",
                "data.shuffle=False",
                f"data.max_prompt_length={settings.prompt_tokens}",
                f"data.max_response_length={settings.response_tokens}",
                f"actor_rollout_ref.model.path={settings.model_path}",
                "actor_rollout_ref.rollout.name=vllm",
                "actor_rollout_ref.rollout.n=2",
                "reward.custom_reward_function.path=pkg://outcomebox.train.verl.reward",
                "reward.custom_reward_function.name=compute",
                *more,
            ],
        )


def started(
    folder: Path, model: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any
) -> WorkerSettings:
    """A run whose processes find its settings by the environment."""
    settings = make_run(folder, model, verl_version=verl.__version__, **changes)
    monkeypatch.setenv(SETTINGS_VARIABLE, str(folder / "worker.json"))
    return settings


def in_a_process(work: Any) -> Any:
    """Run in an event loop of its own, as in a process of verl's, and close what it opened."""

    async def whole() -> Any:
        try:
            return await work
        finally:
            await our_loop.close_process()

    return asyncio.run(whole())
