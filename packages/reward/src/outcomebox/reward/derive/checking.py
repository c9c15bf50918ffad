"""Whether golden passes: the golden calls of tasks against the checks that the tasks have."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.reward.check import Check
from outcomebox.reward.golden import GoldenRun, Replay, golden_sandbox, run_goldens
from outcomebox.reward.grade import grade
from outcomebox.reward.safely import verdict_of
from outcomebox.reward.verdict import Verdict
from outcomebox.sandbox import InputError, SandboxFault, Task, TaskSet


class AlwaysYes:
    """A judge that says yes: whether golden's text pleases a judge is for a judge to say.

    Attributes:
        asked: How many questions it was asked.
    """

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, question: str, text: str) -> bool:  # noqa: ARG002 -- the judge's protocol
        """Yes."""
        self.asked += 1
        return True


@dataclass(frozen=True)
class Checked:
    """What a task's check says of its golden calls.

    Attributes:
        uid: The task.
        file: Where it stands.
        verdict: The verdict; None where the calls could not all be made.
        problem: What is wrong; empty if nothing is.
        questions: How many questions for a judge were taken as answered yes.
    """

    uid: str
    file: Path
    verdict: Verdict | None
    problem: str
    questions: int

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "uid": self.uid,
            "file": self.file.as_posix(),
            "verdict": None if self.verdict is None else self.verdict.to_json(),
            "problem": self.problem,
            "questions": self.questions,
        }


async def check_goldens(
    tasks: TaskSet,
    *,
    uids: Sequence[str] = (),
    concurrency: int = 4,
    in_process: bool = False,
    done: Callable[[int, int], None] | None = None,
) -> list[Checked]:
    """Make the golden calls of some tasks and grade what they leave.

    Args:
        tasks: The tasks.
        uids: Which of them; all without any.
        concurrency: Sessions at a time.
        in_process: As for :func:`~outcomebox.reward.golden.golden_sandbox`.
        done: Told how many of how many replays have ended.

    Raises:
        InputError: A uid names no task.
        SessionOpenError: A server cannot be started.
    """
    wanted = chosen(tasks, uids)
    async with golden_sandbox(tasks, in_process=in_process) as (box, started):
        runs = await run_goldens(
            box,
            started,
            [Replay(task) for task in wanted],
            concurrency=concurrency,
            done=None if done is None else lambda count: done(count, len(wanted)),
        )
    return [
        _checked(task, tasks.files[task.uid], run) for task, run in zip(wanted, runs, strict=True)
    ]


def _checked(task: Task, file: Path, run: GoldenRun | SandboxFault) -> Checked:
    if isinstance(run, SandboxFault):
        return Checked(task.uid, file, None, f"the golden calls could not be made: {run}", 0)
    if run.error is not None:
        return Checked(task.uid, file, None, call_problem(run), 0)
    judge = AlwaysYes()
    verdict = golden_verdict(task, run, judge=judge)
    problem = "" if verdict.outcome == "passed" else f"golden fails: {shown(verdict)}"
    return Checked(task.uid, file, verdict, problem, judge.asked)


def golden_verdict(task: Task, run: GoldenRun, *, judge: AlwaysYes | None = None) -> Verdict:
    """What a task's check says of a replay, every question to a judge taken as answered yes."""

    def check() -> Verdict:
        check = Check.from_task(task)
        return grade(check, run.state, judge=judge or AlwaysYes(), transcript=run.messages)

    return verdict_of(check, assertions=False)


def chosen(tasks: TaskSet, uids: Sequence[str]) -> tuple[Task, ...]:
    """The tasks with some uids; all of them without any.

    Raises:
        InputError: A uid names none.
    """
    unknown = [uid for uid in uids if uid not in tasks.by_uid]
    if unknown:
        near = difflib.get_close_matches(unknown[0], tasks.by_uid, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "see the uids in the task file"
        raise InputError(f"there is no such task; {hint}", field="task", value=unknown[0])
    return tuple(tasks.by_uid[uid] for uid in dict.fromkeys(uids)) or tasks.tasks


def shown(verdict: Verdict) -> str:
    """Why a verdict is not a pass, on one line."""
    if verdict.error is not None:
        return f"{verdict.error['type']}: {verdict.error['message']}"
    return "; ".join(reason.message for reason in verdict.reasons)


def call_problem(run: GoldenRun) -> str:
    """What is wrong with the first golden call that was refused."""
    return str(run.error).removeprefix(f"{run.uid}: ")
