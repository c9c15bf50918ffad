"""What an executor is: it is given jobs and brings back rows; it decides nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from outcomebox.reward.rows import Row

if TYPE_CHECKING:
    from outcomebox.rollout.spec import RunSpec


@dataclass(frozen=True, slots=True)
class Job:
    """One try at one attempt; small, because it travels.

    Attributes:
        uid: The task.
        repetition: Index of the attempt, from 0.
        attempt: Index of the try at this attempt, from 0; the row's ``try``.
    """

    uid: str
    repetition: int
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Tried:
    """What a try left.

    Attributes:
        row: Its row, a ``system_error`` where infrastructure failed.
        exchanges: What was said to models and back, where the run is recorded.
    """

    row: Row
    exchanges: tuple[Mapping[str, Any], ...] = ()


class WorkerLost(Exception):
    """The worker ended with the job in its hands: nothing is known of it, and no try is used up.

    The job is given out again, a bounded number of times.
    """

    phase = "worker"


class Executor(Protocol):
    """Runs jobs, as many at a time as it is given.

    Attributes:
        name: What the progress line calls it.
        capacity: Jobs it can run at a time.
    """

    @property
    def name(self) -> str:
        """See the attributes above."""
        ...

    @property
    def capacity(self) -> int:
        """See the attributes above."""
        ...

    async def attempt(self, job: Job) -> Tried:
        """Run one try to its end. Failures of infrastructure are rows, and do not raise.

        Raises:
            WorkerLost: The worker ended first.
        """
        ...


class ExecutorFactory(Protocol):
    """Makes the executor of a run; what the entry point group ``outcomebox.executors`` names."""

    def __call__(
        self, spec: RunSpec, *, concurrency: int, options: Mapping[str, str]
    ) -> AbstractAsyncContextManager[Executor]:
        """The executor, ready for jobs; on exit its workers have ended.

        Args:
            spec: What each worker is made from.
            concurrency: Jobs at a time, at most.
            options: Settings of the executor, as text.

        Raises:
            InputError: An option is of no use, or what the executor takes is not there.
        """
        ...
