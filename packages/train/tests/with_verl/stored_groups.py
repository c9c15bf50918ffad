"""verl's real store with groups of attempts in it, played from words instead of by a model.

A word has a sign for each attempt: ``1`` passed, ``0`` failed, ``E`` an ``EpisodeFault`` that the
agent loop reported, ``-`` lost without a word.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import transfer_queue as tq  # pants: no-infer-dep
import verl  # pants: no-infer-dep
from omegaconf import OmegaConf
from verl.experimental.agent_loop import AgentLoopOutput  # pants: no-infer-dep
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics  # pants: no-infer-dep
from verl.utils.tensordict_utils import list_of_dict_to_tensordict  # pants: no-infer-dep

from outcomebox.train import SETTINGS_VARIABLE, WorkerSettings
from outcomebox.train.groups.faults import report_fault

RESPONSE = [7, 8, 9]
ROLLOUT_LOG_PROBS = [-1.0, 0.0, -2.0]
MASK = [1, 0, 1]


@contextmanager
def store() -> Iterator[None]:
    """Ray and verl's store, on this machine."""
    import ray  # pants: no-infer-dep

    os.environ.update(
        RAY_raylet_start_wait_time_s="180", RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled"
    )
    # Ray's sockets want a short path.
    with tempfile.TemporaryDirectory(prefix="ob-ray-", dir="/tmp") as folder:  # noqa: S108
        ray.init(
            num_cpus=4,
            include_dashboard=False,
            logging_level="ERROR",
            log_to_driver=False,
            _temp_dir=folder,
        )
        try:
            config = Path(verl.__file__).parent / "trainer" / "config"
            settings = OmegaConf.load(config / "_generated_ppo_trainer.yaml").transfer_queue
            settings.backend.SimpleStorage.num_data_storage_units = 1
            settings.backend.SimpleStorage.total_storage_size = 1000
            tq.init(settings)
            try:
                yield
            finally:
                tq.close()
        finally:
            ray.shutdown()


def empty_store() -> None:
    """Take everything out."""
    for partition, items in (tq.kv_list() or {}).items():
        if items:
            tq.kv_clear(partition_id=partition, keys=list(items))


def stored() -> dict[str, list[str]]:
    """Names in each partition that has any, without verl's names of groups."""
    return {partition: sorted(items) for partition, items in (tq.kv_list() or {}).items() if items}


class Player:
    """Plays the next words when groups are asked for, as verl's agent loop stores them.

    Args:
        words: One for each group.
        partition: verl's partition.
        at_once: Whether groups end when they are asked for; else one at each :meth:`end_one`.
        log_probs: Whether the rollout gives log-probabilities.
    """

    def __init__(
        self,
        *words: str,
        partition: str = "train",
        at_once: bool = True,
        log_probs: bool = True,
    ) -> None:
        self.coming = list(words)
        self.partition = partition
        self.at_once = at_once
        self.log_probs = log_probs
        self.asked: list[int] = []
        self.words: dict[str, str] = {}
        self.under_way: list[str] = []

    def play(self, number: int) -> int:
        """verl's ``refill_fn``."""
        self.asked.append(number)
        for _ in range(number):
            uid = str(uuid.uuid4())
            self.words[uid] = self.coming.pop(0)
            self.under_way.append(uid)
            tag = {"is_prompt": True, "status": "pending", "global_steps": 1}
            tq.kv_put(key=uid, partition_id=self.partition, tag=tag)
        while self.at_once and self.under_way:
            self.end_one()
        return number

    def end_one(self) -> None:
        """All attempts of one group end."""
        uid = self.under_way.pop(0)
        word = self.words[uid]
        for session, sign in enumerate(word):
            if sign in "01":
                put_attempt(
                    uid,
                    session,
                    passed=sign == "1",
                    partition=self.partition,
                    log_probs=self.log_probs,
                )
            elif sign == "E":
                asyncio.run(
                    report_fault(
                        uid=uid,
                        session=session,
                        phase="open",
                        kind="SessionOpenError",
                        message="no sandbox",
                        task="lamps/coin",
                    )
                )
        status = "finished" if set(word) <= set("01") else "failure"
        tq.kv_put(key=uid, partition_id=self.partition, tag={"status": status})


def put_attempt(
    uid: str,
    session: int,
    *,
    passed: bool,
    partition: str = "train",
    log_probs: bool = True,
    **figures: Any,
) -> None:
    """Store a trajectory with the fields and tags that verl's agent loop gives it."""
    told = {
        "uid": "lamps/coin",
        "band": "intermediate",
        "outcome": "passed" if passed else "failed",
        "turns": 2,
        "sampled_tokens": sum(MASK),
        "parity_differences": 0,
        **figures,
    }
    output = AgentLoopOutput(
        prompt_ids=[1, 2],
        response_ids=RESPONSE,
        response_mask=MASK,
        reward_score=float(passed),
        num_turns=2,
        metrics=AgentLoopMetrics(),
        extra_fields={"outcomebox": told},
        **({"response_logprobs": ROLLOUT_LOG_PROBS} if log_probs else {}),
    )
    tag = {"status": "success", "seq_len": 5, "global_steps": 1}
    tq.kv_batch_put(
        keys=[f"{uid}_{session}_0"],
        fields=list_of_dict_to_tensordict([output.as_dict()]),
        tags=[tag],
        partition_id=partition,
    )


def run_settings(folder: Path, **changes: Any) -> WorkerSettings:
    """Settings of a run of two groups of four, written where the environment names them."""
    pool = folder / "train.yaml"
    pool.write_text("tasks: []\n")
    settings = WorkerSettings.model_validate(
        {
            "run_id": "run",
            "out": str(folder),
            "spec": {},
            "pool": {
                "path": str(pool),
                "sha256": hashlib.sha256(pool.read_bytes()).hexdigest(),
                "bands": {"lamps/coin": "intermediate"},
                "mixed_chances": {"lamps/coin": 0.75},
            },
            "model_path": "model",
            "turn_tokens": 8,
            "prompt_tokens": 64,
            "response_tokens": 64,
            "context_tokens": 128,
            "temperature": 1.0,
            "top_p": 1.0,
            "top_k": 0,
            "group_size": 4,
            "groups_per_step": 2,
            "predicted_useful_share": 0.5,
            "refill": {"max_rounds": 4, "max_wasted_groups": 8, "max_silence_s": 60},
            "verl_version": verl.__version__,
            "versions": {},
            **changes,
        }
    )
    file = folder / "worker.json"
    file.write_text(settings.to_text())
    os.environ[SETTINGS_VARIABLE] = str(file)
    return settings
