"""Tests of the checks of tasks in the ThinkingBox form: by running them, with no model.

::

    linted = await lint_thinkingbox(LintSettings(tasks, specs), observe)
    for task in linted.tasks:
        print(task.uid, task.score, [found.code for found in task.findings])

Nothing is read of a check's source, and nothing of a server's: golden calls, other orders and
values of them are made in fresh worlds, and the check says what it thinks of the end. What the ends
hold is read from the servers' effects.
"""

from outcomebox.reward.lint_thinkingbox.run import lint_thinkingbox
from outcomebox.reward.lint_thinkingbox.settings import (
    PARTS,
    Linted,
    LintSettings,
    Observer,
    Part,
    Progress,
)
from outcomebox.reward.lint_thinkingbox.words import MEANINGS

__all__ = [
    "MEANINGS",
    "PARTS",
    "LintSettings",
    "Linted",
    "Observer",
    "Part",
    "Progress",
    "lint_thinkingbox",
]
