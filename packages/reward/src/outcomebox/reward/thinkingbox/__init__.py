"""Checks in the ThinkingBox form: test code, run apart, gives a verdict.

::

    async with sandbox() as box, check_grader(box) as grader:
        order = CheckOrder(code, "refund", "retail.py", "retail.py:refund", context={...})
        verdict = await grader.grade(order, ask=ask)
"""

from outcomebox.reward.thinkingbox.grader import CheckGrader, check_grader
from outcomebox.reward.thinkingbox.orders import CheckOrder
from outcomebox.reward.thinkingbox.processes import plain_process
from outcomebox.reward.thinkingbox.questions import (
    Ask,
    JudgeQuestion,
    Question,
    ToolQuestion,
    ToolRefusedError,
)

__all__ = [
    "Ask",
    "CheckGrader",
    "CheckOrder",
    "JudgeQuestion",
    "Question",
    "ToolQuestion",
    "ToolRefusedError",
    "check_grader",
    "plain_process",
]
