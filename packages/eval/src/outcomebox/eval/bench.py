"""The protocol of a benchmark run: which keys are due, and what of them is still to be made."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from outcomebox.rollout.plan import Plan
from outcomebox.rollout.runfolder import run_files

ATTEMPTS = 20
"""Attempts at each task, as published figures have them."""


def protocol(given: dict[str, Any]) -> None:
    """Fill in what a benchmark run is unless flags say otherwise.

    Args:
        given: What flags say, by field; None where one was not given. Changed in place: a new run
            makes :data:`ATTEMPTS` attempts, and a dataset without a choice of its tasks is run
            whole, or as far as its list goes.
    """
    out = given["out"]
    if given["resume"] and (out is None or run_files(Path(out)).settings.exists()):
        return  # as it was started
    if given["attempts"] is None:
        given["attempts"] = ATTEMPTS
    if given["dataset"] is not None and given["tasks"] is None:
        given["tasks"] = ()


def due(plan: Plan) -> tuple[str, ...]:
    """What is due, and what of it there is, a line each.

    Args:
        plan: What is left to do. It was made from the rows that are there, of which none is
            doubled and none is of another run.
    """
    tasks = plan.tasks.tasks
    domains = Counter(task.domain for task in tasks)
    parts = ", ".join(f"{name} {number}" for name, number in sorted(domains.items()))
    line = (
        f"Due: {len(tasks):,} tasks x {len(plan.repetitions)} attempts = {plan.total:,} ({parts})"
    )
    if not plan.tries:
        return (line,)
    broken = len(plan.tries.keys() - plan.outcomes.keys())
    missing = plan.total - len(plan.outcomes) - broken
    there = f"There: {len(plan.outcomes):,} with a result"
    if broken or missing:
        there += f"; {broken:,} broken and {missing:,} missing, which are made now"
    return line, there
