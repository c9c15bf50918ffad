"""The environment variables of a run's processes."""

from __future__ import annotations

from pathlib import Path

from outcomebox.train.config.model import RunConfig
from outcomebox.train.cpu.environment import cpu_environment
from outcomebox.train.settings import SETTINGS_VARIABLE

EXTERNAL_MODULES = "VERL_USE_EXTERNAL_MODULES"
LOADER = "outcomebox.train.verl.load"
"""What verl imports in each of its processes before anything of its own."""


def run_environment(config: RunConfig, settings_file: Path) -> dict[str, str]:
    """What is set for the launcher's process and all that Ray starts; nothing of it is secret.

    Secrets are inherited: by a new cluster from this process, by one that is up from the ``ray
    start`` of each node.

    Args:
        config: The run.
        settings_file: Its ``worker.json``.
    """
    found = {
        EXTERNAL_MODULES: LOADER,
        SETTINGS_VARIABLE: str(settings_file),
        # Trackers would write into whatever folder their process happens to run in.
        "TENSORBOARD_DIR": f"{config.out}/tensorboard",
        "WANDB_DIR": config.out,
    }
    if config.cluster.device == "cpu":
        found |= cpu_environment(config.rollout.backend, Path(config.out))
    return found | config.env
