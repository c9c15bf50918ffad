"""Heavy: the checks of all bundled tasks are clean."""

from __future__ import annotations

import os

import anyio
import pytest

from outcomebox.reward.lint import LintSettings, lint_tasks
from outcomebox.sandbox import load_tasks

pytestmark = pytest.mark.skipif(
    "OUTCOMEBOX_HEAVY" not in os.environ, reason="a minute of CPU: set OUTCOMEBOX_HEAVY=1"
)


@pytest.mark.parametrize("domain", ["retail", "travel"])
def test_the_bundled_tasks_are_clean(domain: str) -> None:
    tasks = load_tasks([domain])
    report = anyio.run(lint_tasks, LintSettings(tasks, in_process=True))
    assert report.broken == {}
    assert [
        (task.uid, found.code, found.place) for task in report.tasks for found in task.findings
    ] == []
    assert len(report.tasks) == len(tasks.tasks) >= 45
    for task in report.tasks:
        assert task.mutants >= 40
        assert task.survived == task.explained
    totals = report.to_json()["totals"]
    print(domain, totals)  # noqa: T201 -- the figures of the run
    assert totals["mutants"] >= 6_000
    assert totals["explained"] <= 60
