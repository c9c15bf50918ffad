"""A whole run, row by row: only a few are held at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import anyio

from outcomebox.reward.judge import AsyncJudge
from outcomebox.reward.regrade.again import Regrader
from outcomebox.reward.regrade.outcome import Regraded
from outcomebox.reward.regrade.report import Report
from outcomebox.reward.regrade.rewrite import new_file, rewritten
from outcomebox.reward.regrade.runfile import RunFile
from outcomebox.reward.rows import PlacedRow, seal
from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.taskfile import TaskSet

Tell = Callable[[int, int], None]
"""Told how many lines of how many are done."""

_BATCH = 32


@dataclass(frozen=True)
class Order:
    """What to grade again.

    Attributes:
        run: The rows.
        tasks: The tasks as they are now.
        judge: Answers rubrics; None: answers that the rows record are taken, and no others.
        only: A task's uid: other rows are left out of the report, and written as they are.
        write: Where to write the rows with their new verdicts; a new file.
    """

    run: RunFile
    tasks: TaskSet
    judge: AsyncJudge | None = None
    only: str | None = None
    write: Path | None = None


async def regrade(order: Order, tell: Tell | None = None) -> Report:
    """Grade the stored terminal states of a run with the present checks of its tasks.

    Args:
        order: What to grade again.
        tell: Told of the progress.

    Raises:
        InputError: A row is damaged or none of an episode, no row is of these tasks, or ``write``
            is there already or cannot be written; then nothing was written.
        CheckError: The check of a task says nothing or contradicts itself.
    """
    judge = order.judge
    report = Report(order.run.path, None if judge is None else judge.describe(), order.run.cut)
    regrader = Regrader(order.tasks, judge)
    with ExitStack() as stack:
        out = None if order.write is None else stack.enter_context(new_file(order.write))
        # A judge takes its time, so several rows wait for it together.
        for rows in _batches(order.run.rows(), 1 if judge is None else _BATCH):
            wanted = [each for each in rows if order.only in (None, each.row["uid"])]
            found = await _all(regrader, wanted)
            for placed in rows:
                row = placed.row
                one = found.get(placed.number)
                if one is not None:
                    report.count(one)
                    row = rewritten(row, one, regrader.task(row))
                if out is not None:
                    out.write(seal(row))
                if tell is not None:
                    tell(placed.number, order.run.lines)
        _refuse_strangers(order, report)
    return report


async def _all(regrader: Regrader, rows: Iterable[PlacedRow]) -> dict[int, Regraded]:
    """Line -> what became of its row."""
    found: dict[int, Regraded] = {}

    async def one(placed: PlacedRow) -> None:
        found[placed.number] = await regrader.regrade(placed)

    rows = list(rows)
    if len(rows) == 1:
        await one(rows[0])
        return found
    try:
        async with anyio.create_task_group() as group:
            for placed in rows:
                group.start_soon(one, placed)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None  # one is enough, and each is a person's to mend
    return found


def _batches(rows: Iterator[PlacedRow], size: int) -> Iterator[list[PlacedRow]]:
    while batch := list(islice(rows, size)):
        yield batch


def _refuse_strangers(order: Order, report: Report) -> None:
    """Say so where nothing could be said of any row, for it is not what was meant."""
    path = order.run.path
    if order.only is not None and not report.rows:
        raise InputError("no row is of this task", file=path, task=order.only)
    if report.rows == report.left["no_task"]:
        raise InputError(
            "no row is of a task among those given; name the run's tasks with --tasks",
            file=path,
            value=report.examples["no_task"][0]["uid"] if report.rows else None,
        )
