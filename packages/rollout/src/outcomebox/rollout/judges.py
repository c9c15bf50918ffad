"""Who answers the questions of a run's checks, as a command names it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from outcomebox.reward.judge import AsyncJudge
from outcomebox.reward.judging import judge_settings, model_judge, require_judge
from outcomebox.reward.judging.checks import check_judge
from outcomebox.reward.judging.needs import MEND
from outcomebox.reward.thinkingbox.judging import JUDGE_TYPES
from outcomebox.reward.thinkingbox.standin import ReplayJudge, StandIn
from outcomebox.rollout.stage import Tasks
from outcomebox.rollout.stages.native import NativeTasks
from outcomebox.rollout.stages.thinkingbox import ThinkingBoxTasks
from outcomebox.sandbox import InputError, Task

RunJudge: TypeAlias = AsyncJudge | ReplayJudge
"""Of rubrics, for tasks of our own form; of checks' own questions, for ThinkingBox's."""

JUDGES = ("model",)
CHECK_JUDGES = ("model", "yes", "no")
"""For ThinkingBox's tasks; the last two are stand-ins, and every output says so."""


def make_judge(
    name: str | None,
    options: Mapping[str, Any],
    cache: Path | None = None,
    *,
    tasks: Tasks | Iterable[Task] = (),
) -> RunJudge | None:
    """The judge of a run; None without a name, where no task needs one.

    Args:
        name: ``model``, or for ThinkingBox's tasks a stand-in that always says ``yes`` or ``no``.
        options: ``base_url``, ``model``, and more (see ``JudgeSettings``).
        cache: Where votes are kept; in memory by default.
        tasks: The run's tasks.

    Raises:
        InputError: There is no such judge, an option is missing, unknown or of no use, the cache
            cannot be used, or a task needs a judge and there is none.
    """
    if name != "model":
        if options:
            raise InputError("is only of use with --judge model", field="judge-option")
        if cache is not None:
            raise InputError("is only of use with --judge model", field="judge-cache")
    names = CHECK_JUDGES if isinstance(tasks, ThinkingBoxTasks) else JUDGES
    if name is None:
        demand_judge(tasks)
        return None
    if name not in names:
        raise InputError(f"write one of {', '.join(names)}", field="judge", value=name)
    if not isinstance(tasks, ThinkingBoxTasks):
        return model_judge(judge_settings(options), cache)
    if name == "model":
        return check_judge(judge_settings(options, protocols=JUDGE_TYPES), cache)
    return StandIn("yes" if name == "yes" else "no")


def demand_judge(tasks: Tasks | Iterable[Task]) -> None:
    """See that no task needs a judge, where there is none.

    Raises:
        InputError: A task needs one; the message names it and how to give one.
    """
    if isinstance(tasks, NativeTasks):
        require_judge(tasks.tasks)
    elif isinstance(tasks, Iterable):
        require_judge(tasks)
    elif (why := tasks.needs_judge()) is not None:
        raise InputError(f"{why} and there is none; give {MEND}", field="judge")
