"""Golden replays that several tests look at, each made once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import anyio

from outcomebox.reward.golden import GoldenRun, Replay, golden_sandbox, run_goldens
from outcomebox.sandbox import BUNDLED, Task, TaskSet, load_tasks

LENDING = Path(__file__).parent / "lending"


@cache
def bundled() -> tuple[TaskSet, tuple[tuple[Task, GoldenRun], ...]]:
    """All bundled tasks with a replay of each."""
    tasks = load_tasks(BUNDLED)
    return tasks, _replayed(tasks)


@cache
def lending() -> tuple[TaskSet, dict[str, tuple[Task, GoldenRun]]]:
    """The tasks of the lending library with a replay of each, by the end of their uids."""
    tasks = load_tasks([str(LENDING)], drafts=True)
    return tasks, {task.uid.removeprefix("lending/"): (task, run) for task, run in _replayed(tasks)}


def _replayed(tasks: TaskSet) -> tuple[tuple[Task, GoldenRun], ...]:
    async def run() -> tuple[tuple[Task, GoldenRun], ...]:
        async with golden_sandbox(tasks, in_process=True) as (box, started):
            runs = await run_goldens(box, started, [Replay(task) for task in tasks.tasks])
        found = []
        for task, each in zip(tasks.tasks, runs, strict=True):
            assert isinstance(each, GoldenRun), each
            found.append((task, each))
        return tuple(found)

    # A thread of its own: the test that asks may itself run in an event loop.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, run).result()
