"""What verl's configuration has to say for our trainer; checked before anything is started."""

from __future__ import annotations

from typing import Any

from outcomebox.sandbox import InputError
from outcomebox.train.settings import WorkerSettings


def check_asked(config: Any, settings: WorkerSettings) -> None:
    """See that verl was asked for the groups that the run's settings name.

    Args:
        config: verl's whole configuration.
        settings: The run's settings.

    Raises:
        InputError: A value is another; it names the field.
    """
    sampler = config.trainer.v1.sampler
    custom = sampler.get("custom_sampler") or {}
    for field, found, wanted in (
        ("data.train_batch_size", config.data.train_batch_size, settings.groups_per_step),
        ("actor_rollout_ref.rollout.n", config.actor_rollout_ref.rollout.n, settings.group_size),
        (
            "trainer.v1.sampler.sync_refill_failed_groups",
            sampler.get("sync_refill_failed_groups", False),
            True,
        ),
        ("trainer.v1.sampler.custom_sampler.path", custom.get("path"), None),
    ):
        if found != wanted:
            raise InputError(
                f"must be {wanted}; start the run by outcomebox-train, which sets it",
                field=field,
                value=found,
            )


def drops_uniform(config: Any) -> bool:
    """Whether groups whose attempts all ended alike are dropped (``algorithm.filter_groups``)."""
    filtering = config.algorithm.get("filter_groups")
    return bool(filtering is not None and filtering.get("enable", False))
