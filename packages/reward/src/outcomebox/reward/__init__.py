"""From a terminal state to a verdict.

::

    check = Check.from_task(task)
    verdict = grade(check, terminal_state(before, read_state(path)))
    verdict.reward          # 1.0, 0.0, or None: no verdict
    verdict.reasons         # what is wrong: table, key, column, expected, found
"""

from outcomebox.reward.check import Check, Invariant, TaskLike
from outcomebox.reward.errors import CheckError, JudgeError
from outcomebox.reward.grade import grade, grade_safely
from outcomebox.reward.judge import Judge, conversation_text, final_answer
from outcomebox.reward.matchers import accepts
from outcomebox.reward.safely import verdict_of
from outcomebox.reward.verdict import Kind, Outcome, Phase, Reason, Verdict

__all__ = [
    "Check",
    "CheckError",
    "Invariant",
    "Judge",
    "JudgeError",
    "Kind",
    "Outcome",
    "Phase",
    "Reason",
    "TaskLike",
    "Verdict",
    "accepts",
    "conversation_text",
    "final_answer",
    "grade",
    "grade_safely",
    "verdict_of",
]
