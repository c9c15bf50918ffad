"""Who answers the rubrics of a run, as a command names it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from outcomebox.reward.judge import AsyncJudge
from outcomebox.reward.judging import judge_settings, model_judge, require_judge
from outcomebox.sandbox import InputError, Task

JUDGES = ("model",)


def make_judge(
    name: str | None,
    options: Mapping[str, Any],
    cache: Path | None = None,
    *,
    tasks: Iterable[Task] = (),
) -> AsyncJudge | None:
    """The judge of a run; None without a name, where no task needs one.

    Args:
        name: ``model`` or None.
        options: ``base_url``, ``model``, and more (see ``JudgeSettings``).
        cache: Where votes are kept; in memory by default.
        tasks: The run's tasks.

    Raises:
        InputError: There is no such judge, an option is missing, unknown or of no use, the cache
            cannot be used, or a task needs a judge and there is none.
    """
    if name is None:
        if options:
            raise InputError("is only of use with --judge model", field="judge-option")
        if cache is not None:
            raise InputError("is only of use with --judge model", field="judge-cache")
        require_judge(tasks)
        return None
    if name not in JUDGES:
        raise InputError(f"write one of {', '.join(JUDGES)}", field="judge", value=name)
    return model_judge(judge_settings(options), cache)
