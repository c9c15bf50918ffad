"""The run's folder: new, or the same run going on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from outcomebox.sandbox import InputError
from outcomebox.train.checkpoints.layout import find_latest, read_checkpoint
from outcomebox.train.checkpoints.verify import check_whole
from outcomebox.train.config.loading import load_config
from outcomebox.train.launch.writing import RUN_FILE
from outcomebox.train.preflight.context import Context

_FREE = (
    "env",
    "secrets",
    "python",
    "cluster.ray_address",
    "cluster.cpus",
    "cluster.ray_temp",
    "episodes.judge_cache",
    "groups.max_rounds",
    "groups.max_wasted",
    "groups.max_silence",
    "rollout",
    "schedule",
    "trackers",
)
"""What may be said otherwise when a run goes on: it decides when and where, not what is learned."""


def check_folder(context: Context) -> str:
    """It can be written, holds nothing else, and what it holds goes on.

    Raises:
        InputError: It is not so.
    """
    out = context.plan.out
    _writable(context, out)
    if not out.exists() or not any(out.iterdir()):
        return f"{out} is new"
    saved = out / RUN_FILE
    if not saved.is_file():
        raise context.wrong("out", "holds something else than a run; name a new folder", str(out))
    _same_run(context, saved)
    return _going_on(context)


def _writable(context: Context, out: Path) -> None:
    there = next(each for each in (out, *out.parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise context.wrong(
            "out",
            f"cannot be made or written ({there} is {'closed' if there.is_dir() else 'a file'}); "
            "name a folder on storage that all nodes share",
            str(out),
        )


def _same_run(context: Context, saved: Path) -> None:
    before = load_config(saved).config.model_dump(mode="json")
    now = context.plan.config.model_dump(mode="json")
    for field, was, value in _differences(before, now, ""):
        if not any(field == free or field.startswith(f"{free}.") for free in _FREE):
            raise context.wrong(
                field,
                f"was {was!r} when this run was started; go on with that, or name another out",
                value,
            )
    user = saved.with_name("user_overrides.txt")
    if user.is_file() and user.read_text(encoding="utf-8").splitlines() != list(context.plan.user):
        raise InputError(
            "are not those that this run was started with; give the same after --, or name "
            "another out",
            file=user,
            field="overrides",
        )


def _differences(before: Any, now: Any, field: str) -> list[tuple[str, Any, Any]]:
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return [] if before == now else [(field, before, now)]
    return [
        found
        for name in now
        for found in _differences(before.get(name), now[name], f"{field}.{name}" if field else name)
    ]


def _going_on(context: Context) -> str:
    plan = context.plan
    found = find_latest(plan.checkpoints)
    if found is None:
        return f"{plan.out} was started and has no checkpoint: it begins at step 1"
    checkpoint = read_checkpoint(found)
    check_whole(checkpoint)
    if checkpoint.world_size != plan.shape.ranks:
        raise context.wrong(
            "cluster",
            f"has {plan.shape.ranks} ranks, and the checkpoint of step {checkpoint.step} was saved "
            f"by {checkpoint.world_size}, each its own shard; use as many again, or merge it and "
            "start a new run from it",
        )
    if checkpoint.step >= plan.config.schedule.steps:
        raise context.wrong(
            "schedule.steps",
            f"is reached: the checkpoint is of step {checkpoint.step}; write more to go on",
            plan.config.schedule.steps,
        )
    return f"{plan.out} goes on after step {checkpoint.step}"
