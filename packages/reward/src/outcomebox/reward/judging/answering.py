"""Grading that asks a judge who takes his time: no thread, and no second way to grade.

Grading is a function of the state and of the answers. It is called with the answers that are known;
a question that is not among them is noted and taken for a yes, so that one call finds every
question that a passing verdict rests on. Those are asked at once, and grading is called again,
until it asks nothing new. What it says then is what it would have said to a judge who answers at
once: the guesses decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from outcomebox.reward.errors import JudgeError
from outcomebox.reward.judge import AsyncJudge, Judge, Judgement, failure
from outcomebox.reward.verdict import Verdict, system_error

MAX_QUESTIONS = 1_000
"""Most questions of one verdict: more are a mistake of the check, and they cost."""

_Asked = tuple[str, str]


class _Known:
    """A judge who knows some answers, and notes the questions he has none for."""

    def __init__(self, answers: dict[_Asked, Judgement | JudgeError]) -> None:
        self.answers = answers
        self.used: list[_Asked] = []
        self.open: list[_Asked] = []

    def ask(self, question: str, text: str) -> bool | Judgement:
        found = self.answers.get((question, text))
        if found is None:
            self.open.append((question, text))
            return True
        self.used.append((question, text))
        if isinstance(found, JudgeError):
            raise found
        return found


async def with_answers(grading: Callable[[Judge], Verdict], judge: AsyncJudge) -> Verdict:
    """The verdict of a grading whose questions a judge answers.

    Args:
        grading: Gives the verdict of a state, asking the judge that it is given; must not raise
            (:func:`outcomebox.reward.grade_safely`), and ask the same after the same answers.
        judge: Answers; several questions at a time.

    Returns:
        The verdict. Where the judge gave no readable answer to a question that it rests on,
        ``system_error`` of the phase ``judge``, with ``details.judge`` as for a verdict.
    """
    answers: dict[_Asked, Judgement | JudgeError] = {}
    while True:
        known = _Known(answers)
        verdict = grading(known)
        if not known.open:
            return _explained(verdict, known)
        questions = list(dict.fromkeys(known.open))
        if len(answers) + len(questions) > MAX_QUESTIONS:
            return system_error(
                JudgeError(f"the check asks over {MAX_QUESTIONS} questions"), "judge"
            )
        await _ask_all(questions, judge, answers)


async def _ask_all(
    questions: list[_Asked], judge: AsyncJudge, answers: dict[_Asked, Judgement | JudgeError]
) -> None:
    async def one(question: str, text: str) -> None:
        try:
            answers[question, text] = await judge.answer(question, text)
        except JudgeError as error:
            answers[question, text] = error
        except Exception as error:  # noqa: BLE001 -- kept: where it matters, there is no verdict
            answers[question, text] = failure(question, error)

    async with anyio.create_task_group() as group:
        for asked in questions:
            group.start_soon(one, *asked)


def _explained(verdict: Verdict, known: _Known) -> Verdict:
    """A verdict, with what the judge said where it is for want of an answer that there is none."""
    if verdict.error is None or verdict.error["phase"] != "judge" or not known.used:
        return verdict
    said: list[dict[str, Any]] = []
    for question, text in dict.fromkeys(known.used):
        found = known.answers[question, text]
        entry: dict[str, Any] = {"question": question, "text": text}
        entry |= {"error": str(found)} if isinstance(found, JudgeError) else {"answer": found.yes}
        said.append(entry | dict(found.record))
    return Verdict("system_error", None, (), {**verdict.details, "judge": said})
