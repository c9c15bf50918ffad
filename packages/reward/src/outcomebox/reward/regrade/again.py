"""One row after the other: its terminal state, graded with the present check of its task."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from outcomebox.reward.check import Check
from outcomebox.reward.errors import JudgeError
from outcomebox.reward.grade import grade_safely
from outcomebox.reward.judge import AsyncJudge, Judge, Judgement
from outcomebox.reward.judging.answering import with_answers
from outcomebox.reward.judging.recorded import RecordedJudge
from outcomebox.reward.regrade.outcome import Cause, Left, Regraded
from outcomebox.reward.regrade.rebuilt import SchemaUnknown, rebuilt_state
from outcomebox.reward.rows import PlacedRow, Row
from outcomebox.reward.verdict import Verdict
from outcomebox.sandbox.changes import TerminalState
from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.recorded import InitialDiffers, initial_hash
from outcomebox.sandbox.task import Task
from outcomebox.sandbox.taskfile import TaskSet

GRADERS = ("outcomebox-reward", "outcomebox-sandbox")
"""The packages that a verdict depends on."""

# Errors of these phases came after the terminal state was read.
_GRADING = ("check", "judge")


class NeedsJudge(JudgeError):
    """An answer is needed that is neither recorded nor can be asked for."""


class _Recorded(RecordedJudge):
    """The answers of a row, for want of anybody to ask."""

    def ask(self, question: str, text: str) -> Judgement:
        """The answer that was given then.

        Raises:
            NeedsJudge: It was not asked then.
        """
        try:
            return super().ask(question, text)
        except JudgeError as error:
            raise NeedsJudge(str(error)) from error


class Regrader:
    """Grades rows of some tasks.

    Args:
        tasks: The tasks as they are now.
        judge: Answers rubrics; None: answers that a row records are taken, and no others.
    """

    def __init__(self, tasks: TaskSet, judge: AsyncJudge | None = None) -> None:
        self._tasks = tasks
        self._judge = judge
        self._checks: dict[str, Check] = {}
        self._initials: dict[str, str] = {}

    def task(self, row: Row) -> Task | None:
        """The task of a row, as it is now."""
        return self._tasks.by_uid.get(row["uid"])

    async def regrade(self, placed: PlacedRow) -> Regraded:
        """One row.

        Raises:
            InputError: Its changes are not as records hold them.
            CheckError: The check of its task says nothing or contradicts itself.
        """
        row = placed.row
        task = self.task(row)
        left = _left_out(row, task)
        now: Mapping[str, Any] | None = None
        if left is None and task is not None:
            state = self._state(placed, task)
            if isinstance(state, Left):
                left = state
            else:
                now = await self._graded(row, task, state)
                error = now["details"].get("error", {})
                if error.get("type") == NeedsJudge.__name__:
                    left, now = Left("needs_judge", error["message"]), None
        return Regraded(
            uid=row["uid"],
            repetition=row["repetition"],
            attempt=row["try"],
            line=placed.number,
            was=row["verdict"],
            now=now,
            left=left,
            why=() if task is None else tuple(self._why(row, task, now)),
            doubtful=task is not None and self._doubtful(row, task),
        )

    def _state(self, placed: PlacedRow, task: Task) -> TerminalState | Left:
        try:
            return rebuilt_state(placed.row, self._tasks.image(task).state)
        except InitialDiffers as error:
            return Left("initial_differs", str(error))
        except SchemaUnknown as error:
            return Left("schema_unknown", str(error))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"line {placed.number}: a change is not as a record holds it: "
                f"{type(error).__name__}: {error}",
                task=task.uid,
                field="changes",
            ) from error

    async def _graded(self, row: Row, task: Task, state: TerminalState) -> Mapping[str, Any]:
        if task.uid not in self._checks:
            self._checks[task.uid] = Check.from_task(task)
        check = self._checks[task.uid]

        def grading(judge: Judge) -> Verdict:
            return grade_safely(check, state, judge=judge, transcript=row["messages"])

        if self._judge is None:
            return grading(_Recorded(_said(row["verdict"]))).to_json()
        return (await with_answers(grading, self._judge)).to_json()

    def _initial(self, task: Task) -> str:
        if task.uid not in self._initials:
            self._initials[task.uid] = initial_hash(self._tasks.domain(task), task)
        return self._initials[task.uid]

    def _doubtful(self, row: Row, task: Task) -> bool:
        """Whether the row may have begun otherwise than the task does now, where it did not write.

        Rows of before ``versions.initial`` tell no more than whether anything was edited.
        """
        versions = row["versions"]
        if "initial" in versions:
            return bool(versions["initial"] != self._initial(task))
        domain = self._tasks.domain(task)
        return (versions["task"], versions.get("domain")) != (task.hash, domain.hash)

    def _why(self, row: Row, task: Task, now: Mapping[str, Any] | None) -> Iterator[str]:
        versions = row["versions"]
        if versions["task"] != task.hash:
            yield "task"
        if versions.get("domain") != self._tasks.domain(task).hash:
            yield "domain"
        if "initial" in versions and versions["initial"] != self._initial(task):
            yield "initial"
        if any((versions.get("packages") or {}).get(name) != version(name) for name in GRADERS):
            yield "grader"
        then, today = _answers(row["verdict"]), _answers(now or {})
        if any(today[asked] != then[asked] for asked in then.keys() & today.keys()):
            yield "judge"


@cache
def version(package: str) -> str:
    """The version of a package as rows hold it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "source"


def _left_out(row: Row, task: Task | None) -> Left | None:
    """Why a row need not or cannot be graded again, as far as the row alone tells."""
    verdict = row["verdict"]
    cause: Cause
    if row.get("effects") is not None:
        cause, message = "custom_check", "the row records effects, and not what its check read"
    elif task is None:
        cause, message = "no_task", "there is no such task among those given"
    elif verdict["outcome"] == "system_error":
        error = (verdict.get("details") or {}).get("error") or {}
        if error.get("phase") in _GRADING:
            return None
        cause, message = "no_state", f"{error.get('phase')}: {error.get('message')}"
    elif any(reason.get("kind") == "tool_crash" for reason in verdict["reasons"]):
        cause, message = "tool_crash", verdict["reasons"][0].get("message", "")
    else:
        return None
    return Left(cause, message)


def _said(verdict: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """What a judge was asked and said for a verdict."""
    return (verdict.get("details") or {}).get("judge") or ()


def _answers(verdict: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    return {(each["question"], each["text"]): each.get("answer") for each in _said(verdict)}
