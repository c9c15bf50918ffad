"""Tasks whose episodes have fewer turns than they would allow themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from outcomebox.rollout.stage import NO_ENV, AnyTask, Stage, Tasks
from outcomebox.sandbox import Sandbox


class TurnLimited:
    """Some tasks, of whose episodes none has more than so many turns of the model.

    Args:
        tasks: The tasks.
        turns: The most turns; a task's own limit stays where it is lower.
    """

    def __init__(self, tasks: Tasks, turns: int) -> None:
        self._tasks = tasks
        self._turns = turns

    @property
    def tasks(self) -> Sequence[AnyTask]:
        """See ``Tasks``."""
        return self._tasks.tasks

    @property
    def by_uid(self) -> Mapping[str, AnyTask]:
        """See ``Tasks``."""
        return self._tasks.by_uid

    def started(self, box: Sandbox) -> AbstractAsyncContextManager[None]:
        """See ``Tasks``."""
        return self._tasks.started(box)

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
        """See ``Tasks``."""
        opening = self._tasks.open(
            task, seed=seed, repetition=repetition, attempt=attempt, session_env=session_env
        )
        async with opening as stage:
            limits = stage.limits
            stage.limits = replace(limits, turns=min(limits.turns, self._turns))
            yield stage

    def versions(self, task: AnyTask) -> Mapping[str, str]:
        """See ``Tasks``."""
        return self._tasks.versions(task)

    def tags(self, task: AnyTask) -> Sequence[str]:
        """See ``Tasks``."""
        return self._tasks.tags(task)

    def needs_judge(self) -> str | None:
        """See ``Tasks``."""
        return self._tasks.needs_judge()
