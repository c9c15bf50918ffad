"""From settings to what verl is told on its command line.

Each override knows the field of ``run.yaml`` that decides it. Those that are *bound* also stand in
``worker.json`` or tie verl to our code: after ``--`` they are refused, for two places that disagree
would train something else than the rows say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.train.config.hydra_text import hydra_value
from outcomebox.train.config.model import RunConfig

LOOP = "outcomebox"
"""Name of our agent loop in verl."""

AGENT_FILE = "agent.yaml"
"""In the run's folder: where verl finds the loop."""

CHECKPOINTS = "checkpoints"
"""Folder of checkpoints in the run's folder."""

_ACTOR = "actor_rollout_ref.actor"
_MODEL = "actor_rollout_ref.model"
_ROLLOUT = "actor_rollout_ref.rollout"
_RAY = "ray_kwargs.ray_init"


@dataclass(frozen=True, slots=True)
class Override:
    """One setting of verl.

    Attributes:
        key: Dotted name in verl's schema.
        value: What it is set to.
        field: The field of ``run.yaml`` that decides it; empty where none does.
        bound: Whether it may not be set otherwise after ``--``.
        add: Whether verl's schema leaves the key open.
    """

    key: str
    value: Any
    field: str = ""
    bound: bool = True
    add: bool = False

    @property
    def text(self) -> str:
        """As an argument of the command."""
        return f"{'++' if self.add else ''}{self.key}={hydra_value(self.value)}"


def overrides(
    config: RunConfig,
    *,
    train_file: Path,
    test_file: Path | None,
    settings_file: Path,
    environment: Mapping[str, str],
) -> tuple[Override, ...]:
    """Everything that verl is told, in the order of its sections.

    Args:
        config: The run.
        train_file: The pool's train side.
        test_file: Its test side; None where there is none.
        settings_file: ``worker.json``.
        environment: Variables that processes on other nodes need, none of them secret.
    """
    return (
        *_data(config, train_file, test_file, settings_file),
        *_model(config),
        *_actor(config),
        *_rollout(config),
        *_objective(config),
        *_trainer(config),
        *_ray(config, environment),
        *_started(config),
    )


def _data(
    config: RunConfig, train_file: Path, test_file: Path | None, settings_file: Path
) -> Sequence[Override]:
    groups, lengths = config.groups, config.lengths
    return (
        Override("data.train_files", str(train_file), "pool.path"),
        Override("data.val_files", str(test_file or train_file), "pool.path"),
        Override("data.custom_cls.path", "pkg://outcomebox.train.verl.dataset"),
        Override("data.custom_cls.name", "PoolDataset"),
        Override("data.settings_path", str(settings_file), "out", add=True),
        Override("data.return_raw_chat", True),
        Override("data.train_batch_size", groups.per_step, "groups.per_step"),
        Override("data.max_prompt_length", lengths.prompt, "lengths.prompt"),
        Override("data.max_response_length", lengths.response, "lengths.response"),
        Override("data.truncation", "error"),
        Override("data.filter_overlong_prompts", False),
        Override("data.seed", config.episodes.seed, "episodes.seed"),
        # The dataset counts how often it was drawn, which only one process can.
        Override("data.dataloader_num_workers", 0),
        Override("data.trust_remote_code", config.model.trust_remote_code, "model"),
    )


def _model(config: RunConfig) -> Sequence[Override]:
    model = config.model
    found = [
        Override(f"{_MODEL}.path", model.path, "model.path"),
        Override(f"{_MODEL}.trust_remote_code", model.trust_remote_code, "model.trust_remote_code"),
        Override(f"{_MODEL}.use_remove_padding", model.padding_removed, "model.padding_removed"),
        Override(f"{_MODEL}.use_fused_kernels", model.fused_head, "model.fused_head"),
        Override(
            f"{_MODEL}.enable_gradient_checkpointing", model.checkpointing, "model.checkpointing"
        ),
    ]
    if model.attention is not None:
        key = f"{_MODEL}.override_config.attn_implementation"
        found.append(Override(key, model.attention, "model.attention", add=True))
    return found


def _actor(config: RunConfig) -> Sequence[Override]:
    optim, loss, parallel = config.optim, config.loss, config.parallel
    engine = f"{_ACTOR}.fsdp_config"
    found = [
        Override(f"{_ACTOR}.strategy", parallel.strategy, "parallel.strategy"),
        Override(f"{_ACTOR}.ppo_mini_batch_size", mini_batch(config), "optim.updates_per_step"),
        Override(f"{_ACTOR}.ppo_epochs", 1, bound=False),
        Override(f"{_ACTOR}.use_dynamic_bsz", config.model.padding_removed, "model"),
        Override(
            f"{_ACTOR}.ppo_max_token_len_per_gpu",
            parallel.tokens_per_gpu,
            "parallel.tokens_per_gpu",
        ),
        Override(f"{_ACTOR}.optim.lr", optim.lr, "optim.lr"),
        Override(f"{_ACTOR}.optim.weight_decay", optim.weight_decay, "optim.weight_decay"),
        Override(f"{_ACTOR}.optim.lr_warmup_steps", optim.warmup_steps, "optim.warmup_steps"),
        Override(f"{_ACTOR}.optim.lr_scheduler_type", optim.schedule, "optim.schedule"),
        Override(f"{_ACTOR}.optim.clip_grad", optim.grad_clip, "optim.grad_clip"),
        Override(f"{_ACTOR}.grad_clip", optim.grad_clip, "optim.grad_clip"),
        Override(f"{_ACTOR}.loss_agg_mode", loss.aggregation, "loss.aggregation"),
        Override(f"{_ACTOR}.clip_ratio_low", loss.clip_low, "loss.clip_low"),
        Override(f"{_ACTOR}.clip_ratio_high", loss.clip_high, "loss.clip_high"),
        Override(f"{_ACTOR}.use_kl_loss", loss.kl is not None, "loss.kl"),
        Override(f"{_ACTOR}.entropy_coeff", 0, bound=False),
        Override(
            f"{_ACTOR}.ulysses_sequence_parallel_size", parallel.sequence, "parallel.sequence"
        ),
        Override(
            f"{engine}.ulysses_sequence_parallel_size", parallel.sequence, "parallel.sequence"
        ),
        Override(f"{engine}.param_offload", parallel.offload, "parallel.offload"),
        Override(f"{engine}.optimizer_offload", parallel.offload, "parallel.offload"),
        Override("actor_rollout_ref.ref.fsdp_config.param_offload", parallel.offload, "parallel"),
    ]
    if loss.kl is not None:
        found.append(Override(f"{_ACTOR}.kl_loss_coef", loss.kl, "loss.kl"))
    if not config.model.padding_removed:
        size = micro_batch(config)
        found += [
            Override(key, size, "parallel.tokens_per_gpu")
            for key in (
                f"{_ACTOR}.ppo_micro_batch_size_per_gpu",
                f"{_ROLLOUT}.log_prob_micro_batch_size_per_gpu",
                "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu",
            )
        ]
    if config.cluster.device == "cpu":
        found += [
            Override(f"{engine}.dtype", "float32", "cluster.device"),
            Override(f"{engine}.model_dtype", "fp32", "cluster.device"),
            # Without it the forward pass runs in bfloat16, which the engine does not sample with.
            *(
                Override(f"{engine}.mixed_precision.{name}", "fp32", "cluster.device", add=True)
                for name in ("param_dtype", "reduce_dtype", "buffer_dtype")
            ),
            Override(f"{engine}.use_torch_compile", False, "cluster.device"),
            Override(f"{_ACTOR}.use_torch_compile", False, "cluster.device"),
        ]
    return found


def _rollout(config: RunConfig) -> Sequence[Override]:
    engine, sampling, lengths = config.rollout, config.sampling, config.lengths
    top_k = sampling.top_k or -1  # verl's word for off
    found = [
        Override(f"{_ROLLOUT}.name", engine.backend, "rollout.backend"),
        Override(f"{_ROLLOUT}.mode", "async"),
        Override(f"{_ROLLOUT}.n", config.groups.size, "groups.size"),
        Override(f"{_ROLLOUT}.temperature", sampling.temperature, "sampling.temperature"),
        Override(f"{_ROLLOUT}.top_p", sampling.top_p, "sampling.top_p"),
        Override(f"{_ROLLOUT}.top_k", top_k, "sampling.top_k"),
        Override(f"{_ROLLOUT}.do_sample", True),
        Override(f"{_ROLLOUT}.val_kwargs.n", 1, bound=False),
        Override(f"{_ROLLOUT}.val_kwargs.do_sample", True, bound=False),
        Override(f"{_ROLLOUT}.val_kwargs.temperature", sampling.temperature, bound=False),
        Override(f"{_ROLLOUT}.val_kwargs.top_p", sampling.top_p, bound=False),
        Override(f"{_ROLLOUT}.val_kwargs.top_k", top_k, bound=False),
        Override(f"{_ROLLOUT}.calculate_log_probs", True),
        Override(f"{_ROLLOUT}.logprobs_mode", _logprobs_mode(config), "sampling", bound=False),
        Override(f"{_ROLLOUT}.max_model_len", lengths.context, "lengths"),
        Override(f"{_ROLLOUT}.dtype", engine.dtype, "rollout.dtype"),
        Override(
            f"{_ROLLOUT}.tensor_model_parallel_size", config.parallel.tensor, "parallel.tensor"
        ),
        Override(f"{_ROLLOUT}.gpu_memory_utilization", engine.gpu_memory, "rollout.gpu_memory"),
        Override(f"{_ROLLOUT}.max_num_seqs", engine.sequences, "rollout.sequences"),
        Override(
            f"{_ROLLOUT}.max_num_batched_tokens", engine.batched_tokens, "rollout.batched_tokens"
        ),
        Override(f"{_ROLLOUT}.enforce_eager", engine.eager, "rollout.eager"),
        Override(f"{_ROLLOUT}.free_cache_engine", engine.release_cache, "rollout.release_cache"),
        Override(f"{_ROLLOUT}.agent.default_agent_loop", LOOP),
        Override(f"{_ROLLOUT}.agent.agent_loop_config_path", f"{config.out}/{AGENT_FILE}", "out"),
        # Each holds a sandbox with the tasks' servers, which a node needs once.
        Override(f"{_ROLLOUT}.agent.num_workers", config.cluster.nodes, "cluster.nodes"),
    ]
    if config.cluster.device == "cpu":
        bucket = f"{_ROLLOUT}.checkpoint_engine.update_weights_bucket_megabytes"
        found.append(Override(bucket, 16, "cluster.device", bound=False))
        if engine.backend == "vllm":
            found.append(
                Override(f"{_ROLLOUT}.enable_sleep_mode", False, "cluster.device", add=True)
            )
    return found


def _objective(config: RunConfig) -> Sequence[Override]:
    return (
        Override("algorithm.adv_estimator", "grpo", bound=False),
        Override(
            "algorithm.norm_adv_by_std_in_grpo", config.loss.divide_by_std, "loss.divide_by_std"
        ),
        Override("algorithm.use_kl_in_reward", False, "loss.kl"),
        Override("algorithm.filter_groups.enable", config.groups.drop_uniform, "groups"),
        Override("algorithm.filter_groups.metric", "reward"),
        Override("critic.enable", False),
        Override("reward.custom_reward_function.path", "pkg://outcomebox.train.verl.reward"),
        Override("reward.custom_reward_function.name", "compute"),
        # It is never asked: the loop hands the reward over with the episode.
        Override("reward.num_workers", 1, bound=False),
    )


def _trainer(config: RunConfig) -> Sequence[Override]:
    cluster, schedule, trackers = config.cluster, config.schedule, config.trackers
    found = [
        Override("trainer.use_v1", True),
        Override("trainer.v1.trainer_mode", "outcomebox"),
        Override("trainer.v1.sampler.sync_refill_failed_groups", True),
        Override("trainer.device", cluster.device, "cluster.device"),
        Override("trainer.nnodes", cluster.nodes, "cluster.nodes"),
        Override("trainer.n_gpus_per_node", cluster.gpus, "cluster.gpus"),
        Override("trainer.total_training_steps", schedule.steps, "schedule.steps"),
        # verl stops at whichever comes first; an epoch has one step at least.
        Override("trainer.total_epochs", schedule.steps, "schedule.steps"),
        Override("trainer.save_freq", schedule.save_every, "schedule.save_every"),
        Override("trainer.test_freq", schedule.validate_every or -1, "schedule.validate_every"),
        Override("trainer.val_before_train", schedule.validate_every > 0, "schedule"),
        Override("trainer.resume_mode", "auto", bound=False),
        Override("trainer.default_local_dir", f"{config.out}/{CHECKPOINTS}", "out"),
        Override("trainer.project_name", trackers.project, "trackers.project"),
        Override("trainer.experiment_name", run_name(config), "trackers.name"),
        Override("trainer.logger", list(trackers.to), "trackers.to"),
    ]
    if schedule.keep is not None:
        found.append(
            Override("trainer.max_actor_ckpt_to_keep", schedule.keep, "schedule.keep", bound=False)
        )
    if cluster.device == "cpu":
        storage = "transfer_queue.backend.SimpleStorage"
        found.append(Override(f"{storage}.num_data_storage_units", 1, bound=False))
    return found


def _ray(config: RunConfig, environment: Mapping[str, str]) -> Sequence[Override]:
    cluster = config.cluster
    found = []
    if cluster.ray_address is not None:
        found.append(Override(f"{_RAY}.address", cluster.ray_address, "cluster", add=True))
    else:
        found.append(Override(f"{_RAY}.num_cpus", cluster.cpus, "cluster.cpus"))
        found.append(Override(f"{_RAY}.include_dashboard", False, bound=False, add=True))
        if cluster.device == "cpu":
            found.append(Override(f"{_RAY}.num_gpus", cluster.gpus, "cluster.gpus", add=True))
        if cluster.ray_temp is not None:
            found.append(
                Override(f"{_RAY}._temp_dir", cluster.ray_temp, "cluster.ray_temp", add=True)
            )
    for name, value in sorted(environment.items()):
        key = f"{_RAY}.runtime_env.env_vars.{name}"
        found.append(Override(key, str(value), "env", add=True))
    return found


def _started(config: RunConfig) -> Sequence[Override]:
    return (
        Override("hydra.run.dir", f"{config.out}/hydra", "out"),
        Override("hydra.output_subdir", None),
    )


def mini_batch(config: RunConfig) -> int:
    """Groups of one update; the fraction is cut off, and refused where there is one."""
    return max(1, config.groups.per_step // config.optim.updates_per_step)


def micro_batch(config: RunConfig) -> int:
    """Conversations of one forward pass, where they are padded to one length.

    The most that ``tokens_per_gpu`` holds and that divide a rank's share of an update, for verl
    splits that evenly.
    """
    ranks = max(1, config.cluster.world // config.parallel.sequence)
    share = max(1, mini_batch(config) * config.groups.size // ranks)
    most = max(1, config.parallel.tokens_per_gpu // config.lengths.context)
    return max(size for size in range(1, share + 1) if share % size == 0 and size <= most)


def run_name(config: RunConfig) -> str:
    """What the run is called in rows and trackers."""
    return config.trackers.name or Path(config.out).name


def _logprobs_mode(config: RunConfig) -> str:
    """What the engine's log-probabilities are of.

    The actor computes log softmax(logits / temperature) over the whole vocabulary. At temperature 1
    the engine's raw ones are the same; its processed ones are renormalised over what top-k and
    top-p leave.
    """
    return "raw_logprobs" if config.sampling.temperature == 1.0 else "processed_logprobs"
