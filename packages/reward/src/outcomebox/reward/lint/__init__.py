"""Tests of checks: would a check notice a wrong end, and does it accept every right one?

No model takes part. A task's golden calls leave an end that must pass; thousands of ends that are a
little wrong are made from it in memory, and must fail.
"""

from outcomebox.reward.lint.checks import lint_check, lint_task
from outcomebox.reward.lint.driver import LintSettings, lint_tasks
from outcomebox.reward.lint.engine import lint_states
from outcomebox.reward.lint.evidence import Evidence, Step
from outcomebox.reward.lint.findings import CODES, Finding, LintedTask, Survivors
from outcomebox.reward.lint.report import Report, percent, print_report
from outcomebox.reward.lint.statements import statement_evidence

__all__ = [
    "CODES",
    "Evidence",
    "Finding",
    "LintSettings",
    "LintedTask",
    "Report",
    "Step",
    "Survivors",
    "lint_check",
    "lint_states",
    "lint_task",
    "lint_tasks",
    "percent",
    "print_report",
    "statement_evidence",
]
