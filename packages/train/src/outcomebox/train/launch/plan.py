"""A run worked out to the end, with nothing written or started yet."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.train.config.arithmetic import Shape, check_arithmetic
from outcomebox.train.config.command_line import user_keys
from outcomebox.train.config.compose import Composed, compose
from outcomebox.train.config.loading import Loaded, load_config
from outcomebox.train.config.model import RunConfig
from outcomebox.train.config.overrides import AGENT_FILE, CHECKPOINTS, LOOP, Override, overrides
from outcomebox.train.config.places import Places
from outcomebox.train.config.poolfiles import PoolFiles, read_pool_files
from outcomebox.train.config.rules import check_rules
from outcomebox.train.config.values import check_values
from outcomebox.train.config.verlsource import VerlSource, find_verl
from outcomebox.train.launch.environment import run_environment
from outcomebox.train.launch.settings import worker_settings
from outcomebox.train.settings import SETTINGS_FILE, WorkerSettings

MODULE = "verl.trainer.main_ppo"
"""verl's entry, started as a module of the training environment's Python."""


@dataclass(frozen=True)
class Plan:
    """A run to be started.

    Attributes:
        loaded: Its settings, and where they stand.
        source: The verl it was composed with.
        pool: Its pool.
        own: What the launcher tells verl.
        user: What the user tells verl besides, as written.
        composed: What verl will run with.
        shape: The numbers of it.
        settings: What workers read.
        environment: Variables that are set, none of them secret.
    """

    loaded: Loaded
    source: VerlSource
    pool: PoolFiles
    own: tuple[Override, ...]
    user: tuple[str, ...]
    composed: Composed
    shape: Shape
    settings: WorkerSettings
    environment: Mapping[str, str]

    @property
    def config(self) -> RunConfig:
        """The settings."""
        return self.loaded.config

    @property
    def out(self) -> Path:
        """The run's folder."""
        return Path(self.config.out)

    @property
    def settings_file(self) -> Path:
        """What workers read."""
        return self.out / SETTINGS_FILE

    @property
    def agent_file(self) -> Path:
        """Where verl finds our agent loop."""
        return self.out / AGENT_FILE

    @property
    def checkpoints(self) -> Path:
        """Where verl saves."""
        return self.out / CHECKPOINTS

    @property
    def python(self) -> str:
        """Python of the training environment."""
        return self.config.python or sys.executable

    @property
    def overrides(self) -> list[str]:
        """All that verl is told, ours first."""
        return [*(each.text for each in self.own), *self.user]

    @property
    def command(self) -> list[str]:
        """What is started."""
        return [self.python, "-m", MODULE, *self.overrides]

    def shell_text(self) -> str:
        """The command with its variables, as a shell takes it."""
        named = [f"{name}={shlex.quote(value)}" for name, value in sorted(self.environment.items())]
        return " ".join(["env", *named, shlex.join(self.command)])


def make_plan(path: Path, user: Sequence[str] = (), verl: Path | None = None) -> Plan:
    """Work a run out, and see that verl would take it.

    Args:
        path: ``run.yaml``.
        user: What was given after ``--``.
        verl: A folder that holds verl; found by itself by default.

    Raises:
        InputError: The first thing that is wrong, with field and mend.
    """
    loaded = load_config(path)
    config = loaded.config
    check_rules(config, loaded.file)
    source = find_verl(verl, config.python)
    pool = read_pool_files(Path(config.pool.path))
    out = Path(config.out)
    environment = run_environment(config, out / SETTINGS_FILE)
    own = overrides(
        config,
        train_file=pool.train_file,
        test_file=pool.test_file,
        settings_file=out / SETTINGS_FILE,
        environment=environment,
    )
    keys = user_keys(user, own)
    composed = compose([*(each.text for each in own), *user], source, said=user)
    places = Places(loaded.file, own, keys, source.version)
    check_values(composed, keys, places)
    shape = check_arithmetic(composed.resolved, places)
    settings = worker_settings(config, pool, source.version)
    return Plan(loaded, source, pool, own, tuple(user), composed, shape, settings, environment)


def agent_text() -> str:
    """``agent.yaml``: verl's list of agent loops."""
    return f"- name: {LOOP}\n  _target_: outcomebox.train.verl.agent_loop.OutcomeboxLoop\n"


def process_environment(plan: Plan) -> dict[str, str]:
    """The whole environment of the process that is started, secrets included: never shown."""
    return {**os.environ, **plan.environment}


def plan_json(plan: Plan) -> dict[str, Any]:
    """A plan as plain values, for ``--json``."""
    return {
        "verl": {"version": plan.source.version, "found": plan.source.found},
        "preset": plan.loaded.preset,
        "command": plan.command,
        "environment": dict(plan.environment),
        "overrides": plan.overrides,
        "resolved": plan.composed.resolved,
        "worker": plan.settings.model_dump(mode="json"),
        "shape": plan.shape._asdict(),
    }
