"""``run.yaml``: what a training run is, in as few words as decide it.

Every field but the paths has a value in each preset. What verl calls many things (a length stands
in five of its keys) is one field here, and :mod:`outcomebox.train.config.overrides` writes it to
all of them.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from outcomebox.sandbox import BUNDLED
from outcomebox.train.config.variables import check_names, check_plain

Positive = Annotated[int, Field(gt=0)]
NotNegative = Annotated[int, Field(ge=0)]
Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1)]


class Section(BaseModel):
    """A part of the settings: fields are known by name, and numbers are no texts."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())


class ModelSection(Section):
    """The policy that is trained.

    Attributes:
        path: Folder of the base checkpoint, with ``config.json``, tokenizer and weights.
        format: How it writes calls and reasoning: ``qwen3_xml``, ``hermes`` ...
        profile: Whose reading of them decides, the same that evaluation uses: ``vllm-0.24`` ...
        chat_template: File that replaces its own template.
        enable_thinking: Of the template; it is not told by default.
        attention: Attention of the training side; verl's own choice by default.
        fused_head: Logits and loss in one kernel, which long sequences need.
        checkpointing: Activations are computed again in the backward pass.
        padding_removed: Sequences are packed without padding.
        trust_remote_code: Whether code in the model's folder may run.
    """

    path: Text
    format: Text = "qwen3_xml"
    profile: Text = "vllm-0.24"
    chat_template: Text | None = None
    enable_thinking: bool | None = None
    attention: Text | None = None
    fused_head: bool = False
    checkpointing: bool = True
    padding_removed: bool = True
    trust_remote_code: bool = False


class PoolSection(Section):
    """The tasks that are trained on, and those that never may be.

    Attributes:
        path: Folder of a selection, or its ``train.yaml``.
        benchmark: Tasks that are kept for evaluation: files of uids (text, YAML, a pool), task
            files and folders of our own form, domains, or hydrated rows of the ThinkingBox form.
        no_benchmark: Says that there is none to keep apart; one of the two must be said.
    """

    path: Text
    benchmark: tuple[Text, ...] = ()
    no_benchmark: bool = False

    @model_validator(mode="after")
    def _said(self) -> Self:
        if self.no_benchmark == bool(self.benchmark):
            raise ValueError(
                "benchmark must name the tasks that are kept for evaluation; where there are "
                "none, say no_benchmark: true instead"
            )
        return self


class EpisodeSection(Section):
    """What episodes are made of besides the policy, as the probe's were.

    Attributes:
        tasks: Selectors of tasks: domains, files, folders.
        dataset: Folder of the ThinkingBox form.
        servers: Its ``servers.yaml``.
        server_python: What ``{python}`` in it stands for.
        clock: Frozen moment of its servers.
        list_file: A YAML list of its tasks.
        agent: Its agent.
        user_may_end: Whether its simulated user may end the conversation.
        user_options: Of a model that plays the user; none for the scripted one.
        judge: ``model``, where checks ask a judge.
        judge_options: Its settings.
        judge_cache: File in which its votes are kept.
        max_turns: Assistant turns of an episode; each task's own limit by default.
        seed: Of episodes and of the order of tasks.
    """

    tasks: tuple[Text, ...] = BUNDLED
    dataset: Text | None = None
    servers: Text | None = None
    server_python: Text | None = None
    clock: Text | None = None
    list_file: Text | None = None
    agent: Text = "think"
    user_may_end: bool = False
    user_options: dict[str, str] = Field(default_factory=dict)
    judge: Text | None = None
    judge_options: dict[str, str] = Field(default_factory=dict)
    judge_cache: Text | None = None
    max_turns: Positive | None = None
    seed: NotNegative = 0


class GroupSection(Section):
    """What a step is made of.

    Attributes:
        size: Attempts at one task.
        per_step: Groups of a step.
        drop_uniform: Drop groups whose attempts all end alike, and sample others in their place.
        max_rounds: Rounds of sampling for one step, the first included.
        max_wasted: Groups of one step that may be thrown away.
        max_silence: Seconds without a group that ends, after which a run is given up.
    """

    size: Annotated[int, Field(ge=2)]
    per_step: Positive
    drop_uniform: bool = True
    max_rounds: Positive = 10
    max_wasted: NotNegative = 200
    max_silence: Positive = 7200


class LengthSection(Section):
    """Most tokens, in ids of the model's tokenizer.

    Attributes:
        prompt: Of the first prompt: system text, tools, query.
        response: Behind it: all turns of the model, answers of tools, messages of the user.
        turn: Of one turn of the model.
    """

    prompt: Positive
    response: Positive
    turn: Positive

    @property
    def context(self) -> int:
        """Of the whole conversation."""
        return self.prompt + self.response

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.turn > self.response:
            raise ValueError(
                f"turn ({self.turn}) is more than response ({self.response}), which holds all "
                "turns; lower turn or raise response"
            )
        return self


class SamplingSection(Section):
    """How turns are sampled.

    Attributes:
        temperature: More than 0; GRPO has nothing to compare in groups of equal answers.
        top_p: Nucleus; 1 for off.
        top_k: Likeliest tokens; 0 for off.
    """

    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    top_k: NotNegative = 0


class OptimSection(Section):
    """The update.

    Attributes:
        lr: Learning rate.
        weight_decay: Of AdamW.
        grad_clip: Largest norm of the gradient.
        warmup_steps: Steps in which the rate rises.
        schedule: ``constant`` or ``cosine``.
        updates_per_step: Mini-batches that a step's groups are dealt to.
    """

    lr: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    weight_decay: Rate = 0.0
    grad_clip: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    warmup_steps: NotNegative = 0
    schedule: Literal["constant", "cosine"] = "constant"
    updates_per_step: Positive = 1


class LossSection(Section):
    """The objective.

    Attributes:
        aggregation: How token losses become one number.
        clip_low: Lower clip of the probability ratio.
        clip_high: Upper clip.
        kl: Weight of the KL term against the base model; null for none.
        divide_by_std: Divide advantages by the group's standard deviation, as in the GRPO paper.
    """

    aggregation: Literal[
        "token-mean",
        "token-sum",
        "seq-mean-token-sum",
        "seq-mean-token-mean",
        "seq-mean-token-sum-norm",
    ] = "token-mean"
    clip_low: Annotated[float, Field(gt=0, lt=1)] = 0.2
    clip_high: Annotated[float, Field(gt=0)] = 0.2
    kl: Annotated[float, Field(gt=0)] | None = None
    divide_by_std: bool = True


class ClusterSection(Section):
    """Where it runs.

    Attributes:
        nodes: Machines.
        gpus: GPUs of each; on ``cpu`` the processes that take part.
        device: ``cuda`` or ``cpu``.
        ray_address: Of a Ray cluster that is up, such as ``auto``; a new one by default, which only
            one machine can have.
        cpus: Logical cores that a new Ray cluster offers; what the machine has by default.
        ray_temp: Short path for Ray's sockets and logs.
    """

    nodes: Positive
    gpus: Positive
    device: Literal["cuda", "cpu"] = "cuda"
    ray_address: Text | None = None
    cpus: Positive | None = None
    ray_temp: Text | None = None

    @property
    def world(self) -> int:
        """Ranks in all."""
        return self.nodes * self.gpus


class ParallelSection(Section):
    """How the model is cut.

    Attributes:
        strategy: Sharding of the training side.
        sequence: GPUs that share one sequence (Ulysses).
        tensor: GPUs that share one rollout replica.
        offload: Weights and optimiser states wait in host memory while the other side runs.
        tokens_per_gpu: Most tokens a GPU takes at a time in training.
    """

    strategy: Literal["fsdp", "fsdp2"] = "fsdp2"
    sequence: Positive = 1
    tensor: Positive = 1
    offload: bool = False
    tokens_per_gpu: Positive


class RolloutSection(Section):
    """The engine that samples.

    Attributes:
        backend: ``vllm``, or ``transformers`` for small models on a CPU.
        dtype: Of its weights.
        gpu_memory: Share of a GPU's memory that it may take.
        sequences: Conversations at a time on one replica.
        batched_tokens: Tokens of one forward pass.
        eager: No CUDA graphs.
        release_cache: Give the cache's memory to the training side between rollouts.
    """

    backend: Literal["vllm", "transformers"] = "vllm"
    dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
    gpu_memory: Annotated[float, Field(gt=0, lt=1)] = 0.6
    sequences: Positive = 64
    batched_tokens: Positive = 8192
    eager: bool = False
    release_cache: bool = True


class ScheduleSection(Section):
    """How long, and what is kept.

    Attributes:
        steps: Steps in all, also of a run that goes on.
        save_every: Steps between checkpoints.
        validate_every: Steps between validations on the pool's test side; 0 for none.
        keep: Checkpoints that stay; all by default.
    """

    steps: Positive
    save_every: Positive
    validate_every: NotNegative = 0
    keep: Positive | None = None


class TrackerSection(Section):
    """Who is told the figures.

    Attributes:
        to: ``console``, ``tensorboard``, ``wandb`` ...
        project: Name of the project there.
        name: Name of the run there and in rows; the out folder's name by default.
    """

    to: Annotated[tuple[Text, ...], Field(min_length=1)] = ("console",)
    project: Text = "outcomebox"
    name: Text | None = None


class RunConfig(Section):
    """A training run.

    Attributes:
        out: The run's folder, on a file system that all nodes share.
        python: Python of the training environment; this one by default.
        env: More environment variables of all processes, none of them secret.
        secrets: Names of variables that must be set on every node, such as ``WANDB_API_KEY``.
    """

    out: Text
    model: ModelSection
    pool: PoolSection
    episodes: EpisodeSection = Field(default_factory=EpisodeSection)
    groups: GroupSection
    lengths: LengthSection
    sampling: SamplingSection = Field(default_factory=SamplingSection)
    optim: OptimSection
    loss: LossSection = Field(default_factory=LossSection)
    cluster: ClusterSection
    parallel: ParallelSection
    rollout: RolloutSection = Field(default_factory=RolloutSection)
    schedule: ScheduleSection
    trackers: TrackerSection = Field(default_factory=TrackerSection)
    python: Text | None = None
    env: dict[str, str] = Field(default_factory=dict)
    secrets: tuple[Text, ...] = ()

    @field_validator("env")
    @classmethod
    def _no_secret(cls, env: dict[str, str]) -> dict[str, str]:
        check_plain(env)
        return env

    @field_validator("secrets")
    @classmethod
    def _names(cls, secrets: tuple[str, ...]) -> tuple[str, ...]:
        check_names(secrets)
        return secrets
