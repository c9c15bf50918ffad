"""Episodes in this process: one event loop, and a process for each session's servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from outcomebox.rollout.executors.base import Executor, Job, Tried
from outcomebox.sandbox import InputError

if TYPE_CHECKING:
    from outcomebox.rollout.spec import Loaded, RunSpec
    from outcomebox.rollout.worker import Worker


@dataclass(frozen=True)
class LocalExecutor:
    """One worker in this process.

    Attributes:
        worker: It.
        capacity: Jobs at a time; none is turned away, so the runner keeps to it.
    """

    worker: Worker
    capacity: int
    name: str = "local"

    async def attempt(self, job: Job) -> Tried:
        """Run one try to its end."""
        return await self.worker.attempt(job)


@asynccontextmanager
async def local_executor(
    spec: RunSpec,
    *,
    concurrency: int,
    options: Mapping[str, str],
    loaded: Loaded | None = None,
) -> AsyncIterator[Executor]:
    """The executor ``local``, which has no options.

    Args:
        spec: The run.
        concurrency: Jobs at a time.
        options: None.
        loaded: The run's tasks and actors, where this process has them already.

    Raises:
        InputError: An option was given, or the worker cannot be made.
    """
    for option in options:
        raise InputError(
            "the executor local has no options; take it out", field="executor-option", value=option
        )
    async with spec.open() if loaded is None else loaded.worker() as worker:
        yield LocalExecutor(worker, concurrency)
