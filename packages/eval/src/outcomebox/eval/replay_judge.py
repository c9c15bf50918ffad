"""Who answers the questions of checks in a replay, as a command names it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from outcomebox.reward.judging.checks import check_judge
from outcomebox.reward.judging.settings import judge_settings
from outcomebox.reward.thinkingbox.judging import JUDGE_TYPES
from outcomebox.reward.thinkingbox.standin import ReplayJudge, StandIn
from outcomebox.sandbox import InputError

JudgeName = Literal["yes", "no", "none", "model"]


def make_judge(
    name: JudgeName, options: Mapping[str, str], cache: Path | None = None
) -> ReplayJudge:
    """The judge of a run.

    Args:
        name: ``model``, or what a stand-in says.
        options: Of a model: ``base_url``, ``model``, and more (see ``JudgeSettings``).
        cache: Where a model's votes are kept; in memory by default.

    Raises:
        InputError: An option is missing, unknown or of no use.
    """
    if name == "model":
        return check_judge(judge_settings(options, protocols=JUDGE_TYPES), cache)
    if options:
        names = ", ".join(options)
        raise InputError("only --judge model has options", field="judge-option", value=names)
    if cache is not None:
        raise InputError("only --judge model has a cache", field="judge-cache", value=str(cache))
    return StandIn(name)
