"""The verdict: a terminal state, and where the check asks for it an answer, against a check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from outcomebox.reward.check import Check
from outcomebox.reward.errors import CheckError
from outcomebox.reward.fit import Fit, ask_rubrics, fit
from outcomebox.reward.judge import Asking, Judge, conversation_text, final_answer
from outcomebox.reward.matchers import accepts
from outcomebox.reward.reasons import rubric_failed, told, wrong_answer
from outcomebox.reward.safely import verdict_of
from outcomebox.reward.verdict import Reason, Verdict, failed, passed
from outcomebox.sandbox.changes import TerminalState
from outcomebox.sandbox.errors import StateUnreadable
from outcomebox.sandbox.valuespec import RubricMatcher

MOST_REASONS = 1_000
"""How many reasons a verdict holds; ``details["left_out"]`` counts the others."""

Messages = Sequence[Mapping[str, Any]]
"""Chat messages as ``{role, content, ..}``."""


def grade(
    check: Check,
    state: TerminalState,
    *,
    judge: Judge | None = None,
    transcript: Messages | None = None,
) -> Verdict:
    """Compare a terminal state with a check.

    Every change that the check does not list is a reason to fail, and so is every listed one that
    is not there. If several end states are accepted and none fits, the reasons are those of the one
    with the fewest, of the first listed among equals. The judge is asked only when every exact
    column fits and the verdict depends on its answers.

    Args:
        check: What must hold.
        state: What the backend holds at the end.
        judge: Answers the check's yes/no questions.
        transcript: The conversation; needed if the check looks at the answer or has rubrics.

    Returns:
        ``passed`` or ``failed``. ``details`` has ``alternative``, the name of the end state that
        fits or comes nearest; ``reasons``, how many by end state if there are several; ``search:
        bounded`` if a search was cut short, so that there may be a shorter explanation or even
        none; ``left_out``, how many reasons there are beyond the first ``MOST_REASONS``; and
        ``judge``, what it was asked and said.

    Raises:
        CheckError: The check does not fit the database, or accepts a state that nobody touched
            although it lists changes.
        JudgeError: A judge was needed and gave no readable answer.
    """
    problems = check.problems(state.initial.tables)
    if problems:
        raise CheckError("the check does not fit the database: " + "; ".join(problems))
    asking = Asking(judge)
    fits = [fit(alternative, state) for alternative in check.alternatives]
    wrong = {found.name: found.reasons for found in fits}
    bounded = any(found.bounded for found in fits)
    # Whoever passes without a judge must not depend on one.
    right = sorted((each for each in fits if each.pairs is not None), key=lambda e: e.needs_judge)
    chosen: Fit | None = None
    for found in right:
        wrong[found.name], cut = ask_rubrics(found, asking)
        bounded = bounded or cut
        if not wrong[found.name]:
            chosen = found
            break
    if chosen is None:
        chosen = min(fits, key=lambda found: len(wrong[found.name]))
    elif chosen.vacuous:
        raise CheckError(
            f"{chosen.name}: lists changes, but a state that nobody touched fits it already; list "
            "values that differ from the initial ones"
        )
    reasons = list(wrong[chosen.name])
    reasons += _answer_reasons(check, transcript, asking, ask=not reasons)
    details: dict[str, Any] = {"alternative": chosen.name}
    if len(fits) > 1:
        details["reasons"] = {name: len(found) for name, found in wrong.items()}
    if reasons and bounded:
        details["search"] = "bounded"
    if asking.said:
        details["judge"] = asking.said
    if not reasons:
        return passed(details)
    if len(reasons) > MOST_REASONS:
        details["left_out"] = len(reasons) - MOST_REASONS
    return failed(*(told(each, state.calls) for each in reasons[:MOST_REASONS]), details=details)


def grade_safely(
    check: Check,
    state: TerminalState | Callable[[], TerminalState],
    *,
    judge: Judge | None = None,
    transcript: Messages | None = None,
) -> Verdict:
    """Like :func:`grade`, with a ``system_error`` where that raises.

    Args:
        check: What must hold.
        state: What the backend holds, or a function that reads it.
        judge: As for :func:`grade`.
        transcript: As for :func:`grade`.

    Returns:
        ``system_error`` with phase ``read`` if ``state`` raises, ``judge`` if a judge gave no
        readable answer, ``check`` for everything else.
    """

    def run() -> Verdict:
        return grade(check, _read(state), judge=judge, transcript=transcript)

    # The check is data: an AssertionError would be a fault of this code, not its way to say no.
    return verdict_of(run, assertions=False)


def _read(state: TerminalState | Callable[[], TerminalState]) -> TerminalState:
    if isinstance(state, TerminalState):
        return state
    try:
        return state()
    except StateUnreadable:
        raise
    except Exception as error:
        raise StateUnreadable(f"{type(error).__name__}: {error}") from error


def _answer_reasons(
    check: Check, transcript: Messages | None, asking: Asking, *, ask: bool
) -> list[Reason]:
    """What is wrong with the answer and the conversation; a judge is asked if ``ask`` says so."""
    if check.answer is None and not check.rubrics:
        return []
    if transcript is None:
        raise CheckError("the check looks at the conversation; give grade() the transcript")
    answer = final_answer(transcript)
    if not accepts(check.answer, answer) and check.answer is not None:
        return [wrong_answer(check.answer, answer)]
    if not ask:
        return []
    conversation = conversation_text(transcript)
    questions = [("the conversation", question, conversation) for question in check.rubrics]
    if isinstance(check.answer, RubricMatcher):
        questions.insert(0, ("the answer", check.answer.question, answer))
    return [
        rubric_failed(question, text, about=about)
        for about, question, text in questions
        if not asking.yes(question, text)
    ]
