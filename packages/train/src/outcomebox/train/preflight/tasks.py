"""The pool: its tasks are there, unchanged, enough, and none of them is kept for evaluation."""

from __future__ import annotations

from outcomebox.rollout.judges import demand_judge
from outcomebox.sandbox import InputError
from outcomebox.train.preflight.benchmark import read_benchmark
from outcomebox.train.preflight.context import Context


def check_pool(context: Context) -> str:
    """Each task is the one that was probed, and a step can be made of them.

    Raises:
        InputError: One is not there or has changed, there are too few, or a judge is missing.
    """
    plan = context.plan
    pool, groups = plan.pool, plan.config.groups
    tasks = context.tasks
    for each in pool.tasks:
        found = tasks.versions(tasks.by_uid[each["uid"]])["task"]
        if found != each["hash"]:
            raise InputError(
                "is not the task that was probed: it has changed since; restore it, or probe and "
                "select anew",
                file=pool.train_file.parent,
                task=each["uid"],
                field="hash",
                value=found,
            )
    count = len(pool.train.tasks)
    if count < groups.per_step:
        raise context.wrong(
            "groups.per_step",
            f"asks for {groups.per_step} tasks a step, and the pool has {count}; lower it, or "
            "select a larger pool",
            groups.per_step,
        )
    if plan.config.schedule.validate_every and pool.test is None:
        raise context.wrong(
            "schedule.validate_every",
            "asks for validation, and the pool has no test side; select one with "
            "split.test_fraction, or write 0",
            plan.config.schedule.validate_every,
        )
    if plan.config.episodes.judge is None:
        try:
            demand_judge(tasks)
        except InputError as error:
            raise context.wrong("episodes.judge", str(error)) from None
    side = f", {len(pool.test.tasks)} to validate" if pool.test is not None else ""
    share = plan.settings.predicted_useful_share
    return f"{count} tasks to train on{side}; {share:.0%} of groups are expected to be mixed"


def check_benchmark(context: Context) -> str:
    """No task of the pool's train side is one of the benchmark's, under its name or another.

    Raises:
        InputError: One is, or the benchmark cannot be read.
    """
    plan = context.plan
    if plan.config.pool.no_benchmark:
        return "none is kept apart (pool.no_benchmark)"
    marks = read_benchmark(plan.config, context.spec, plan.loaded.file)
    tasks = context.tasks
    for each in plan.pool.train.tasks:
        uid = each["uid"]
        if uid in marks.uids:
            raise InputError(
                f"is a task of the benchmark ({marks.uids[uid]}); select the pool anew with "
                "exclude.lists",
                file=plan.pool.train_file,
                task=uid,
            )
        content = tasks.versions(tasks.by_uid[uid]).get("content")
        if content is not None and content in marks.contents:
            raise InputError(
                f"asks for the same as {marks.contents[content]} of the benchmark, under another "
                "name; select the pool anew with exclude.content",
                file=plan.pool.train_file,
                task=uid,
            )
    return (
        f"no task in common with {len(marks.uids)} of the benchmark "
        f"({len(marks.contents)} compared by content)"
    )
