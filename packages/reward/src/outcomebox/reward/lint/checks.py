"""Linting a check as it is written: in a task, or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from outcomebox.reward.check import Check
from outcomebox.reward.errors import CheckError
from outcomebox.reward.lint.engine import lint_states
from outcomebox.reward.lint.evidence import Evidence
from outcomebox.reward.lint.findings import Finding, LintedTask
from outcomebox.reward.lint.killing import Explanation
from outcomebox.sandbox.task import NO_CHANGE, Task


def lint_check(
    uid: str, data: Mapping[str, Any], evidence: Evidence, *, seed: int = 0
) -> LintedTask:
    """Test a check in its JSON form (:meth:`Check.from_json`)."""

    def build(marked: bool) -> Check:
        return Check.from_json({**data, "read_only": True} if marked else data)

    return _linted(uid, build, evidence, (), seed)


def lint_task(task: Task, evidence: Evidence, *, seed: int = 0) -> LintedTask:
    """Test the check of a native task."""

    def build(marked: bool) -> Check:
        if not marked:
            return Check.from_task(task)
        return Check.from_task(task.model_copy(update={"tags": (*task.tags, NO_CHANGE)}))

    return _linted(task.uid, build, evidence, task.explained_survivors, seed)


def _linted(
    uid: str,
    build: Callable[[bool], Check],
    evidence: Evidence,
    explanations: Sequence[Explanation],
    seed: int,
) -> LintedTask:
    """Lint a check, if need be as if it were marked as one that an untouched state may pass."""
    wrong = []
    try:
        check = build(False)
    except CheckError as error:
        try:
            check = build(True)
        except CheckError:
            return LintedTask(uid, (Finding("check_error", str(error), "mend the check"),))
        wrong.append(
            Finding(
                "noop_passes",
                f"an agent that does nothing passes: {error}",
                "record something that the right end leaves, or mark the task as one without a "
                "change (tag no-change; a check: read_only) and put a rubric on what is said",
            )
        )
    linted = lint_states(uid, check, evidence, explanations=explanations, seed=seed)
    return replace(linted, findings=(*wrong, *linted.findings))
