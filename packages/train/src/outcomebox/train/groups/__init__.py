"""Whole groups of attempts, and a log of what each step's groups were.

GRPO learns from the contrast within a group: all attempts at one task, with the same policy. A
group that infrastructure broke has no contrast that means anything, one whose attempts all end
alike has none at all. The first is always run again, the second where filtering is on, and a step
trains on nothing but whole groups.

verl's trainer finds ours by the name :data:`TRAINER` in ``trainer.v1.trainer_mode``.
"""

from __future__ import annotations

from importlib import import_module

from outcomebox.train.compat.hooks import after_import

TRAINER = "outcomebox"
"""Name of our trainer in verl's registry."""

__all__ = ["TRAINER", "register"]


def register() -> None:
    """Have our trainer registered as soon as this process imports verl's; torch is not imported."""
    after_import(
        "verl.trainer.ppo.v1.trainer_sync",
        lambda _: import_module("outcomebox.train.groups.trainer"),
    )
