"""A worker runs single tries: the one place where a failure of infrastructure becomes a row."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from outcomebox.reward.rows import Row
from outcomebox.reward.secrets import redact
from outcomebox.rollout.episode import Episode, EpisodeSetting, run_episode
from outcomebox.rollout.errors import classify
from outcomebox.rollout.executors.base import Job, Tried
from outcomebox.rollout.record import episode_row
from outcomebox.rollout.recording.trying import exchanging
from outcomebox.rollout.stage import NO_ENV, AnyTask, Stage, Tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from outcomebox.sandbox import Sandbox

OPENINGS_A_CORE = 2
"""Sessions of one core that are opened at a time. A server's start is all CPU: more at once open
none sooner, and let the deadlines of those that wait run out."""


class Worker:
    """Runs tries with what all of them share.

    Args:
        setting: Policy, user, judge and the rest.
        tasks: The tasks, started.
        openings: Sessions that are opened at a time; by default as this machine can.
    """

    def __init__(
        self, setting: EpisodeSetting, tasks: Tasks, *, openings: int | None = None
    ) -> None:
        self.setting = setting
        self.tasks: Tasks = _Gated(tasks, openings or OPENINGS_A_CORE * cores())

    async def attempt(self, job: Job) -> Tried:
        """One try as a row. Every exception becomes a ``system_error``: none can be a failure.

        Args:
            job: Which one.

        Raises:
            ReplayError: The run is a replay, and this try is not the recorded one.
        """
        with exchanging(self.setting, job) as exchanges:
            if exchanges.known is not None:  # nothing would break it again
                return Tried(exchanges.known, exchanges.closed(exchanges.known))
            row = await self._row(job)
            return Tried(row, exchanges.closed(row))

    async def _row(self, job: Job) -> Row:
        task = self.tasks.by_uid[job.uid]
        episode = Episode()
        error = None
        try:
            await run_episode(
                self.setting, self.tasks, task, job.repetition, attempt=job.attempt, into=episode
            )
        except Exception as failure:  # noqa: BLE001 -- the one place that records them all
            error = classify(failure)
        row = episode_row(
            self.setting,
            self.tasks,
            task,
            repetition=job.repetition,
            attempt=job.attempt,
            episode=episode,
            error=error,
        )
        for told in (row["error"], row["verdict"]["details"].get("error")):
            if told is not None:  # a check's own error has not been through classify
                told["message"] = redact(told["message"])
        return row


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


class _Gated:
    """Some tasks, of which a few at a time are being opened."""

    def __init__(self, tasks: Tasks, openings: int) -> None:
        self._tasks = tasks
        self._limit = anyio.CapacityLimiter(openings)

    @property
    def tasks(self) -> Sequence[AnyTask]:
        return self._tasks.tasks

    @property
    def by_uid(self) -> Mapping[str, AnyTask]:
        return self._tasks.by_uid

    @asynccontextmanager
    async def started(self, box: Sandbox) -> AsyncIterator[None]:
        async with self._tasks.started(box):
            yield

    @asynccontextmanager
    async def open(
        self,
        task: AnyTask,
        *,
        seed: int,
        repetition: int,
        attempt: int = 0,
        session_env: Mapping[str, str] = NO_ENV,
    ) -> AsyncIterator[Stage]:
        opening = self._tasks.open(
            task, seed=seed, repetition=repetition, attempt=attempt, session_env=session_env
        )
        async with AsyncExitStack() as stack:
            async with self._limit:
                stage = await stack.enter_async_context(opening)
            yield stage

    def versions(self, task: AnyTask) -> Mapping[str, str]:
        return self._tasks.versions(task)

    def tags(self, task: AnyTask) -> Sequence[str]:
        return self._tasks.tags(task)

    def needs_judge(self) -> str | None:
        return self._tasks.needs_judge()
