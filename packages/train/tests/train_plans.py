"""Plans without verl's files: what preflight and start look at, verl's own settings left out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from outcomebox.train.config.arithmetic import Shape
from outcomebox.train.config.compose import Composed
from outcomebox.train.config.loading import load_config
from outcomebox.train.config.overrides import overrides
from outcomebox.train.config.poolfiles import read_pool_files
from outcomebox.train.config.verlsource import VerlSource
from outcomebox.train.launch.environment import run_environment
from outcomebox.train.launch.plan import Plan
from outcomebox.train.launch.settings import worker_settings
from outcomebox.train.preflight.context import Context
from train_files import make_run

VERL = "0.9.1"


def make_plan_without_verl(
    folder: Path,
    preset: str = "1xgpu",
    change: Mapping[str, Any] | None = None,
    *,
    model: Path | None = None,
    pool: Path | None = None,
) -> Plan:
    """A plan of a settings file that is written here; nothing is composed.

    Args:
        folder: Where settings, model and pool are made.
        preset: What it starts from.
        change: See ``make_run``.
        model: A model's folder.
        pool: A pool's folder.
    """
    return plan_of(make_run(folder, preset, change, model=model, pool=pool))


def plan_of(file: Path) -> Plan:
    """A plan of a settings file; nothing is composed."""
    loaded = load_config(file)
    config = loaded.config
    found = read_pool_files(Path(config.pool.path))
    settings_file = Path(config.out) / "worker.json"
    environment = run_environment(config, settings_file)
    own = overrides(
        config,
        train_file=found.train_file,
        test_file=found.test_file,
        settings_file=settings_file,
        environment=environment,
    )
    ranks, groups = config.cluster.world, config.groups
    conversations = groups.per_step * groups.size
    shape = Shape(ranks, ranks, 1, 1, conversations, conversations, config.lengths.context)
    source = VerlSource(VERL, Path("verl"), "a test")
    settings = worker_settings(config, found, VERL)
    composed = Composed(VERL, {}, {})
    return Plan(loaded, source, found, own, (), composed, shape, settings, environment)


def context_of(plan: Plan) -> Context:
    """What checks look at."""
    return Context(plan)
