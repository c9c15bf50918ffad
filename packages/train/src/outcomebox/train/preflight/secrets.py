"""Secrets are named by their variables, and stand nowhere else."""

from __future__ import annotations

import os
import re

from outcomebox.reward.chat import holds_secret
from outcomebox.train.config.model import RunConfig
from outcomebox.train.preflight.context import Context

_INSIDE = re.compile(r"://[^/\s@]+:[^/\s@]+@")


def check_written(context: Context) -> str:
    """Nothing that is written down looks like a secret.

    Raises:
        InputError: Something does; it is not shown.
    """
    episodes = context.plan.config.episodes
    for section in ("user_options", "judge_options"):
        for name, value in getattr(episodes, section).items():
            if _INSIDE.search(value) or (name == "base_url" and _address_holds(value)):
                raise context.wrong(
                    f"episodes.{section}.{name}",
                    "holds a secret (it is not shown), and settings are written down; export it on "
                    "every node and name its variable with key_variable",
                )
    for text in (*context.plan.user, *context.plan.environment.values()):
        if _INSIDE.search(text):
            raise context.wrong(
                "env",
                "an address holds a password, and settings are written down; export the whole "
                "address under a variable of its own",
            )
    return "nothing that is written down looks like one"


def _address_holds(address: str) -> bool:
    try:
        return holds_secret(address)
    except ValueError:
        return False  # no address at all: whoever uses it says so


def variables_of(config: RunConfig) -> list[tuple[str, str]]:
    """The variables that must be set on every node, each with the field that names it."""
    named = [(name, "secrets") for name in config.secrets]
    for section, options in (
        ("user_options", config.episodes.user_options),
        ("judge_options", config.episodes.judge_options),
    ):
        if options.get("key_variable"):
            named.append((options["key_variable"], f"episodes.{section}.key_variable"))
    if "wandb" in config.trackers.to and not os.environ.get("WANDB_MODE"):
        named.append(("WANDB_API_KEY", "trackers.to"))
    return named


def check_set(context: Context) -> str:
    """Each variable that the run names is set here.

    Raises:
        InputError: One is not.
    """
    named = variables_of(context.plan.config)
    for name, field in named:
        if not os.environ.get(name):
            raise context.wrong(field, f"the variable {name} is not set; export it on every node")
    return f"{len(named)} variables are set" if named else "none is needed"
