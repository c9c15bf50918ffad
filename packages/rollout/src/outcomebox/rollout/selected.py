"""Fewer tasks of the same kind: by uid, or the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

from outcomebox.rollout.stage import Tasks
from outcomebox.rollout.stages import NativeTasks, ThinkingBoxTasks
from outcomebox.sandbox import InputError


def selected(tasks: Tasks, *, only: Sequence[str] = (), limit: int | None = None) -> Tasks:
    """The tasks with some uids, or the first by uid.

    Args:
        tasks: Tasks that have not been started.
        only: Uids; empty for all.
        limit: How many at most; None for all.

    Raises:
        InputError: There is no task with one of the uids.
    """
    for uid in only:
        if uid not in tasks.by_uid:
            near = get_close_matches(uid, tasks.by_uid, n=1)
            hint = f"did you mean {near[0]}?" if near else "name a task of this run"
            raise InputError(f"there is no such task; {hint}", field="only", value=uid)
    wanted = set(only) or set(tasks.by_uid)
    kept = [task.uid for task in tasks.tasks if task.uid in wanted][:limit]
    if len(kept) == len(tasks.tasks):
        return tasks
    chosen = set(kept)
    if isinstance(tasks, NativeTasks):
        own = tuple(task for task in tasks.tasks if task.uid in chosen)
        used = {task.domain for task in own}
        domains = {name: each for name, each in tasks.set.domains.items() if name in used}
        return NativeTasks(replace(tasks.set, tasks=own, domains=domains))
    if isinstance(tasks, ThinkingBoxTasks):
        theirs = [task for task in tasks.tasks if task.uid in chosen]
        return ThinkingBoxTasks(theirs, tasks.specs, tasks.settings)
    raise TypeError(f"tasks of an unknown kind: {type(tasks).__name__}")
