"""Which tasks need a judge at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from outcomebox.reward.check import TaskLike
from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.expect import Expect
from outcomebox.sandbox.valuespec import RubricMatcher

MEND = "--judge model --judge-option base_url=http://HOST:PORT/v1 --judge-option model=NAME"


class NamedTask(TaskLike, Protocol):
    """A task with its uid."""

    @property
    def uid(self) -> str:
        """The task's uid."""


def rubric_questions(task: TaskLike) -> tuple[str, ...]:
    """The questions that a task's check may ask a judge, each once, in the task's order."""
    expects: list[Expect] = [dict(task.expect), *(each.expect for each in task.accept_also)]
    found = [question for expect in expects for question in _questions(expect)]
    return tuple(dict.fromkeys([*found, *task.rubrics]))


def require_judge(tasks: Iterable[NamedTask], *, file: str | None = None) -> None:
    """See that no task needs a judge, where there is none.

    Raises:
        InputError: A task has a rubric; the message names it and how to give a judge.
    """
    needing = {task.uid: questions for task in tasks if (questions := rubric_questions(task))}
    if needing:
        uid, questions = next(iter(needing.items()))
        more = f", and {len(needing) - 1} more tasks," if len(needing) > 1 else ""
        raise InputError(
            f'asks a judge "{questions[0]}"{more} and there is none; give {MEND}',
            file=file,
            task=uid,
            field="judge",
        )


def _questions(expect: Expect) -> Iterable[str]:
    for table in expect.values():
        for row in (*table.insert, *(update.set for update in table.update)):
            for value in row.values():
                if isinstance(value, RubricMatcher):
                    yield value.question
