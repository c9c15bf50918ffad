"""Many episodes: bounded, resumable, each attempt recorded once, system errors tried again.

The runner is where failures of infrastructure are recorded (see ``errors``): a try that breaks
leaves a ``system_error`` row and is repeated a bounded number of times; what stays broken is
counted in the report and never as a failure of the agent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio

from outcomebox.reward.judging import require_judge
from outcomebox.reward.rows import Row
from outcomebox.rollout.episode import Episode, EpisodeSetting, run_episode
from outcomebox.rollout.errors import ErrorRecord, classify
from outcomebox.rollout.record import Key, episode_row
from outcomebox.rollout.store import EpisodeStore
from outcomebox.sandbox import InputError, Task, TaskSet

DEFAULT_TRIES = 3


@dataclass(frozen=True)
class Plan:
    """What is left to do of a run.

    Attributes:
        todo: ``(uid, repetition) -> index of the next try``, sorted by key.
        total: Attempts of the whole run.
        outcomes: Outcomes of the attempts that are done.
    """

    todo: Mapping[Key, int]
    total: int
    outcomes: Mapping[Key, str]


@dataclass
class Progress:
    """Where a run stands; handed to the observer after each row.

    Attributes:
        total: Attempts of the whole run.
        outcomes: Attempts that are done, by outcome; broken ones count once they are given up.
        retried: Tries that broke and were made again.
        resumed: Attempts that an earlier process had done.
    """

    total: int
    outcomes: Counter[str] = field(default_factory=Counter)
    retried: int = 0
    resumed: int = 0

    @property
    def done(self) -> int:
        """Attempts that need nothing more."""
        return sum(self.outcomes.values())


@dataclass(frozen=True, slots=True)
class Left:
    """An attempt without a verdict, and why."""

    uid: str
    repetition: int
    error: ErrorRecord


@dataclass(frozen=True)
class RunReport:
    """How a run ended.

    Attributes:
        progress: The final counts.
        left: Attempts that stayed broken; empty when the run is complete.
    """

    progress: Progress
    left: tuple[Left, ...]

    @property
    def complete(self) -> bool:
        """Whether every attempt has a verdict."""
        return not self.left


Observer = Callable[[Progress], None]


def make_plan(tasks: TaskSet, attempts: int, store: EpisodeStore) -> Plan:
    """What a run still needs: every (uid, repetition) without a clean row.

    Args:
        tasks: The tasks of the run.
        attempts: Attempts a task, numbered from 0.
        store: What is there already.

    Raises:
        InputError: The store holds rows of other tasks, or of these tasks as they were before an
            edit, or two rows of one try.
    """
    keys = {(task.uid, repetition) for task in tasks.tasks for repetition in range(attempts)}
    outcomes: dict[Key, str] = {}
    tries: Counter[Key] = Counter()
    seen: set[tuple[str, int, int]] = set()
    for row in store.rows:
        key = (row["uid"], row["repetition"])
        if key not in keys:
            raise InputError(
                "the run holds an attempt that is not part of this one; use the settings it was "
                "started with, or another folder",
                file=store.path,
                value=f"{key[0]} repetition {key[1]}",
            )
        task = tasks.by_uid[row["uid"]]
        if row["task"] != task.hash or row["domain"] != tasks.domain(task).hash:
            raise InputError(
                "the task or its domain has changed since these rows were written; start a new run "
                "in another folder",
                file=store.path,
                task=task.uid,
            )
        one = (*key, row["try"])
        if one in seen:
            raise InputError(
                f"try {row['try']} of repetition {row['repetition']} stands twice; take one out",
                file=store.path,
                task=task.uid,
            )
        seen.add(one)
        tries[key] = max(tries[key], row["try"] + 1)
        if row["outcome"] != "system_error":
            outcomes[key] = row["outcome"]
    todo = {key: tries[key] for key in sorted(keys) if key not in outcomes}
    return Plan(todo, len(keys), outcomes)


async def run_all(
    setting: EpisodeSetting,
    tasks: TaskSet,
    store: EpisodeStore,
    *,
    attempts: int,
    concurrency: int,
    tries: int = DEFAULT_TRIES,
    observe: Observer | None = None,
) -> RunReport:
    """Run every attempt that the store lacks.

    Args:
        setting: What all episodes share; its sandbox has started the domains.
        tasks: The tasks.
        store: Where rows go and are resumed from.
        attempts: Attempts a task.
        concurrency: Episodes at a time.
        tries: Most tries an attempt gets in this run before it is given up as broken.
        observe: Called after each row.

    Raises:
        InputError: The store does not fit the tasks, or one needs a judge and there is none.
    """
    plan = make_plan(tasks, attempts, store)
    if setting.judge is None:
        require_judge(tasks.tasks)
    progress = Progress(plan.total, Counter(plan.outcomes.values()), resumed=len(plan.outcomes))
    left: list[Left] = []
    todo = iter(plan.todo.items())

    async def work() -> None:
        for (uid, repetition), first in todo:
            last = first + tries - 1
            for attempt in range(first, last + 1):
                job = _Job(tasks.by_uid[uid], repetition, attempt)
                row = await _try(setting, tasks, job)
                store.append(row)
                if row["error"] is None:
                    progress.outcomes[row["verdict"]["outcome"]] += 1
                    break
                if attempt < last:
                    progress.retried += 1
                else:
                    progress.outcomes["system_error"] += 1
                    left.append(Left(uid, repetition, ErrorRecord(**row["error"])))
                if observe and attempt < last:
                    observe(progress)
            if observe:
                observe(progress)

    if observe:
        observe(progress)
    async with anyio.create_task_group() as group:
        for _ in range(min(concurrency, max(1, len(plan.todo)))):
            group.start_soon(work)
    return RunReport(progress, tuple(sorted(left, key=lambda item: (item.uid, item.repetition))))


@dataclass(frozen=True, slots=True)
class _Job:
    task: Task
    repetition: int
    attempt: int


async def _try(setting: EpisodeSetting, tasks: TaskSet, job: _Job) -> Row:
    """One try as a row. Every exception becomes a ``system_error``: none can become a failure."""
    episode = Episode()
    domain = tasks.domain(job.task)
    error = None
    try:
        image = tasks.image(job.task)
        await run_episode(setting, job.task, domain, image, job.repetition, into=episode)
    except Exception as failure:  # noqa: BLE001 -- the one place that records them all
        error = classify(failure)
    return episode_row(
        setting,
        job.task,
        domain,
        repetition=job.repetition,
        attempt=job.attempt,
        episode=episode,
        error=error,
    )
