"""From a run's configuration to what its workers read."""

from __future__ import annotations

from pathlib import Path

from outcomebox.rollout import RunSpec, package_versions
from outcomebox.train.config.model import RunConfig
from outcomebox.train.config.overrides import run_name
from outcomebox.train.config.poolfiles import PoolFiles
from outcomebox.train.settings import RefillSettings, WorkerSettings, file_digest


def run_spec(config: RunConfig, pool: PoolFiles) -> RunSpec:
    """The episodes of a run as rollout describes them: the pool's tasks and nothing else.

    Args:
        config: The run.
        pool: Its pool.
    """
    episodes = config.episodes
    return RunSpec(
        tasks=episodes.tasks,
        policy="tokens",
        user_options=dict(episodes.user_options),
        judge=episodes.judge,
        judge_options=dict(episodes.judge_options),
        judge_cache=episodes.judge_cache,
        seed=episodes.seed,
        profile=config.model.profile,
        only=tuple(sorted(task["uid"] for task in pool.tasks)),
        dataset=episodes.dataset,
        servers=episodes.servers,
        server_python=episodes.server_python,
        clock=episodes.clock,
        list_file=episodes.list_file,
        agent=episodes.agent,
        user_may_end=episodes.user_may_end,
    )


def worker_settings(config: RunConfig, pool: PoolFiles, verl: str) -> WorkerSettings:
    """What the workers of a run read.

    Args:
        config: The run.
        pool: Its pool.
        verl: verl's version.

    Raises:
        InputError: A file cannot be read, or a task of the pool has no probe counts.
    """
    sampling, lengths, groups = config.sampling, config.lengths, config.groups
    return WorkerSettings(
        run_id=run_name(config),
        out=config.out,
        spec=run_spec(config, pool).to_json(),
        pool=pool.settings(groups.size),
        model_path=config.model.path,
        format=config.model.format,
        chat_template=config.model.chat_template,
        enable_thinking=config.model.enable_thinking,
        max_turns=config.episodes.max_turns,
        turn_tokens=lengths.turn,
        prompt_tokens=lengths.prompt,
        response_tokens=lengths.response,
        context_tokens=lengths.context,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        group_size=groups.size,
        groups_per_step=groups.per_step,
        predicted_useful_share=round(pool.useful_share(groups.size), 6),
        refill=RefillSettings(
            max_rounds=groups.max_rounds,
            max_wasted_groups=groups.max_wasted,
            max_silence_s=groups.max_silence,
        ),
        verl_version=verl,
        versions=dict(package_versions()),
        inputs={str(path): file_digest(path) for path in _inputs(config)},
    )


def _inputs(config: RunConfig) -> list[Path]:
    """The files that decide episodes, besides the pool, and are small enough to be digested."""
    episodes = config.episodes
    named = [config.model.chat_template, episodes.servers, episodes.list_file]
    named += [f"{config.model.path}/{name}" for name in ("tokenizer.json", "config.json")]
    return [path for path in map(Path, filter(None, named)) if path.is_file()]
