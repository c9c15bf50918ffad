"""The words that verl knows in settings which its schema leaves open to any text.

A wrong one composes, passes verl's own validation and fails (or is ignored) hours later, in a
process on another machine. A test compares each list with the registry it is taken from.
"""

from __future__ import annotations

from collections.abc import Mapping

ADVANTAGES = (
    "gae",
    "gdpo",
    "gpg",
    "grpo",
    "grpo_passk",
    "grpo_vectorized",
    "opo",
    "optimal_token_baseline",
    "reinforce_plus_plus",
    "reinforce_plus_plus_baseline",
    "remax",
    "rloo",
    "rloo_vectorized",
    "tir_optimal_token_baseline",
)
LOSS_MODES = (
    "bypass_mode",
    "cispo",
    "clip_cov",
    "dppo_kl",
    "dppo_tv",
    "dro",
    "geo_mean",
    "gpg",
    "gspo",
    "kl_cov",
    "sapo",
    "vanilla",
)
LOSS_AGGREGATIONS = (
    "token-mean",
    "token-sum",
    "seq-mean-token-sum",
    "seq-mean-token-mean",
    "seq-mean-token-sum-norm",
)
PENALTIES = ("kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3", "full")
"""Each may also end in ``+``, which makes its gradient unbiased."""
STRATEGIES = ("fsdp", "fsdp2")
"""Of the engines whose settings the launcher writes."""
ROLLOUTS = ("sglang", "transformers", "trtllm", "vllm")
"""``transformers`` is ours."""
TRAINER_MODES = ("outcomebox",)
"""Ours: verl's own modes would train on groups with holes."""
REWARD_MANAGERS = ("dapo", "gdpo", "naive", "rate_limited", "remote")
TRACKERS = (
    "clearml",
    "console",
    "file",
    "mlflow",
    "rl_insight",
    "swanlab",
    "tensorboard",
    "trackio",
    "vemlp_wandb",
    "wandb",
)
PRECISIONS = ("fp16", "float16", "fp32", "float32", "bf16", "bfloat16")
ENGINE_DTYPES = ("auto", "half", "float16", "bfloat16", "float", "float32")
LOGPROBS = ("raw_logits", "raw_logprobs", "processed_logits", "processed_logprobs")
SCHEDULES = ("constant", "cosine")
OPTIMIZERS = (
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
)
"""Of ``torch.optim``, without those that want a closure or sparse gradients."""

WORDS: Mapping[str, tuple[str, ...]] = {
    "actor_rollout_ref.actor.strategy": STRATEGIES,
    "actor_rollout_ref.actor.loss_agg_mode": LOSS_AGGREGATIONS,
    "actor_rollout_ref.actor.policy_loss.loss_mode": LOSS_MODES,
    "actor_rollout_ref.actor.kl_loss_type": (*PENALTIES, *(f"{each}+" for each in PENALTIES)),
    "actor_rollout_ref.actor.optim.lr_scheduler_type": SCHEDULES,
    "actor_rollout_ref.actor.optim.optimizer": OPTIMIZERS,
    "actor_rollout_ref.actor.fsdp_config.dtype": PRECISIONS,
    "actor_rollout_ref.actor.fsdp_config.model_dtype": PRECISIONS,
    "actor_rollout_ref.model.fused_kernel_options.impl_backend": ("torch", "triton"),
    "actor_rollout_ref.ref.strategy": STRATEGIES,
    "actor_rollout_ref.rollout.name": ROLLOUTS,
    "actor_rollout_ref.rollout.mode": ("async",),
    "actor_rollout_ref.rollout.dtype": ENGINE_DTYPES,
    "actor_rollout_ref.rollout.logprobs_mode": LOGPROBS,
    "actor_rollout_ref.rollout.scheduling_policy": ("fcfs", "priority"),
    "algorithm.adv_estimator": ADVANTAGES,
    "algorithm.filter_groups.metric": ("reward",),
    "algorithm.kl_penalty": (*PENALTIES, *(f"{each}+" for each in PENALTIES)),
    "algorithm.kl_ctrl.type": ("fixed", "adaptive"),
    "data.truncation": ("error", "left", "middle", "right"),
    "reward.reward_manager.name": REWARD_MANAGERS,
    "trainer.device": ("cpu", "cuda", "npu"),
    "trainer.logger": TRACKERS,
    "trainer.resume_mode": ("auto", "disable", "resume_path"),
    "trainer.v1.trainer_mode": TRAINER_MODES,
    "trainer.v1.sampler.max_off_policy_strategy": ("drop", "wait"),
}
"""Key of verl's schema -> what may stand there; where a list stands, each of its entries."""
