"""Many episodes: paced, resumable, each attempt recorded once, system errors tried again.

The runner plans, retries, sets the pace and breaks the circuit; where and how a try is made is the
executor's business. It alone writes the store, and holds no more than what runs now: a row is in
the file before the next try of its worker begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Self

import anyio
import anyio.abc
import stamina

from outcomebox.rollout.breaker import (
    DEFAULT_FAILURES,
    DEFAULT_PATIENCE_S,
    Breaker,
    Clock,
    Outage,
    Stopped,
    answered_in,
)
from outcomebox.rollout.episode import EpisodeSetting
from outcomebox.rollout.errors import ErrorRecord
from outcomebox.rollout.executors.base import Executor, Job, Tried, WorkerLost
from outcomebox.rollout.executors.local import LocalExecutor
from outcomebox.rollout.judges import demand_judge
from outcomebox.rollout.pace import MODEL_PHASES, Pace, pushed_back
from outcomebox.rollout.plan import Planned, make_plan
from outcomebox.rollout.record import Key
from outcomebox.rollout.report import Left, Progress, RunReport
from outcomebox.rollout.stage import Tasks
from outcomebox.rollout.stages.native import NativeTasks
from outcomebox.rollout.store import EpisodeStore
from outcomebox.rollout.worker import Worker
from outcomebox.sandbox import InputError, TaskSet

DEFAULT_TRIES = 3
LOST_TIMES = 5
"""Workers that may be lost with one try in their hands before it is given up."""
_FORGIVEN = 20
"""Tries of one attempt that an outage may take the blame for: no run goes on for ever."""
_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
_NO_BOUND = 2**31
_NO_MORE = object()

Observer = Callable[[Progress], None]
Check = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class Bounds:
    """What a run may do at most.

    Attributes:
        concurrency: Episodes at a time.
        min_concurrency: What the pace is never cut below.
        tries: Tries of an attempt in this run before it is given up as broken.
        failures: Failures in a row at one boundary that open the circuit breaker.
        patience_s: Seconds that something that is down is waited for.
    """

    concurrency: int = 4
    min_concurrency: int = 1
    tries: int = DEFAULT_TRIES
    failures: int = DEFAULT_FAILURES
    patience_s: float = DEFAULT_PATIENCE_S

    @classmethod
    def replaying(cls, concurrency: int) -> Self:
        """Those of a replay, where nothing can be down: the recording says how many tries it was.

        Args:
            concurrency: Episodes at a time.
        """
        return cls(concurrency, concurrency, tries=_NO_BOUND, failures=_NO_BOUND)


@dataclass
class _Attempt:
    """An attempt that is being made."""

    key: Key
    next: int
    used: int = 0
    forgiven: int = 0
    given_up: bool = False
    outcome: str | None = None

    def forgive(self) -> None:
        if self.forgiven < _FORGIVEN:
            self.forgiven += 1
            self.used -= 1


class _Broken(Exception):
    """A try broke, and another is to be made."""

    def __init__(self, error: ErrorRecord) -> None:
        super().__init__(f"{error.phase}: {error.type}")
        self.phase = error.phase


async def run_all(
    setting: EpisodeSetting,
    tasks: Tasks | TaskSet,
    store: EpisodeStore,
    *,
    attempts: int,
    concurrency: int,
    tries: int = DEFAULT_TRIES,
    observe: Observer | None = None,
) -> RunReport:
    """Run every attempt that the store lacks, in this process.

    Args:
        setting: What all episodes share; its sandbox has started what the tasks need.
        tasks: The tasks.
        store: Where rows go and are resumed from.
        attempts: Attempts a task.
        concurrency: Episodes at a time.
        tries: Most tries an attempt gets in this run before it is given up as broken.
        observe: Called after each row.

    Raises:
        InputError: The store does not fit the tasks, or one needs a judge and there is none.
    """
    live = NativeTasks(tasks, setting.sandbox) if isinstance(tasks, TaskSet) else tasks
    plan = make_plan(live, attempts, store)
    if setting.judge is None:
        demand_judge(live)

    async def check(boundary: str) -> None:
        if boundary in MODEL_PHASES:
            await getattr(setting, boundary).check()

    return await run_plan(
        LocalExecutor(Worker(setting, live), concurrency),
        plan,
        store,
        bounds=Bounds(concurrency=concurrency, tries=tries),
        check=check,
        observe=observe,
    )


async def run_plan(
    executor: Executor,
    plan: Planned,
    store: EpisodeStore,
    *,
    bounds: Bounds,
    check: Check,
    may_try: Callable[[Job], bool] = lambda _: True,
    observe: Observer | None = None,
    clock: Clock | None = None,
) -> RunReport:
    """Make every attempt that a plan has left.

    Args:
        executor: Makes the tries.
        plan: What is left to do.
        store: Where rows go.
        bounds: What the run may do at most.
        check: Asks what is behind a boundary whether it answers; raises InputError if not.
        may_try: Whether a try that follows a broken one can be made at all.
        observe: Called after each row, and when an outage begins, is waited for, or ends.
        clock: Time, as outages have it.
    """
    return await _Run(executor, plan, store, bounds, check, may_try, observe, clock).run()


@dataclass
class _Run:
    """A run while it goes."""

    executor: Executor
    plan: Planned
    store: EpisodeStore
    bounds: Bounds
    check: Check
    may_try: Callable[[Job], bool]
    observe: Observer | None
    clock: Clock | None

    def __post_init__(self) -> None:
        bounds = self.bounds
        self.pace = Pace(bounds.min_concurrency, bounds.concurrency)
        self.breaker: Breaker[_Attempt] = Breaker(
            self.check,
            failures=bounds.failures,
            patience_s=bounds.patience_s,
            clock=self.clock,
            changed=self.observed,
        )
        self.progress = Progress.of(self.plan)
        self.left: dict[Key, ErrorRecord] = {}
        self.again: deque[_Attempt] = deque()
        self.todo = self.plan.todo()
        self.one_ended = anyio.Event()
        self.group: anyio.abc.TaskGroup | None = None

    async def run(self) -> RunReport:
        outage: Outage | None = None
        wrong: list[BaseException] = []
        self.observed()
        try:
            async with anyio.create_task_group() as self.group:
                for _ in range(min(self.bounds.concurrency, self.plan.left)):
                    self.group.start_soon(self.work)
        except* Stopped:
            outage = self.breaker.outage
        except* InputError as refused:
            wrong += refused.exceptions  # likely alike: several episodes met the same fault
        if wrong:
            raise wrong[0]
        self.observed()
        left = tuple(Left(*key, error) for key, error in sorted(self.left.items()))
        return RunReport(self.progress, left, paced=self.pace.paced, outage=outage)

    async def work(self) -> None:
        while (attempt := await self.following()) is not None:
            await self.all_tries(attempt)
            self.plan.ended(attempt.key, attempt.outcome)
            self.one_ended.set()
            self.one_ended = anyio.Event()

    async def following(self) -> _Attempt | None:
        """The next attempt; waits where the plan has none before another has ended."""
        while True:
            found = next(self.todo, _NO_MORE)
            if isinstance(found, tuple):
                return _Attempt(*found)
            if self.again:
                return self.again.popleft()
            if found is _NO_MORE:
                return None
            await self.one_ended.wait()

    async def all_tries(self, attempt: _Attempt) -> None:
        """Try until there is a verdict or the attempt is given up."""
        retrying = stamina.retry_context(
            on=self.wait,
            attempts=None,
            timeout=None,
            wait_initial=_WAIT_S,
            wait_max=_LONGEST_WAIT_S,
        )
        async for each in retrying:
            with each:
                await self.one_try(attempt)

    def wait(self, error: Exception) -> bool | float:
        """Whether a try that broke is made again, and when: at once where no endpoint was busy."""
        if not isinstance(error, _Broken):
            return False
        down = self.breaker.outage is not None
        if down or self.bounds.tries == _NO_BOUND or error.phase not in MODEL_PHASES:
            return 0.0  # the breaker does the waiting, or there is nothing to wait for
        return True

    async def one_try(self, attempt: _Attempt) -> None:
        proving = await self.breaker.admit()
        try:
            async with self.pace.limiter:
                mark = self.pace.mark
                self.observed()
                tried = await self.in_some_worker(attempt)
        except BaseException:
            if proving:
                self.breaker.prove(None)
            raise
        if tried is None:
            if proving:
                self.breaker.prove(None)
            return
        row = tried.row
        self.store.append(row, tried.exchanges)
        attempt.next += 1
        self.progress.count(row)
        self.pace.settle(mark, pushed_back=pushed_back(row))
        error = None if row["error"] is None else ErrorRecord(**row["error"])
        outages = self.breaker.outages
        forgiven = self.breaker.settle(attempt, error, answered_in(row), proving=proving)
        if self.breaker.outages > outages and self.group is not None:
            self.group.start_soon(self.breaker.recover)
        if error is None:
            attempt.outcome = row["verdict"]["outcome"]
            self.progress.outcomes[attempt.outcome] += 1
            self.observed()
            return
        self.broke(attempt, error, forgiven)

    def broke(self, attempt: _Attempt, error: ErrorRecord, forgiven: list[_Attempt]) -> None:
        """Count a try that broke: to be made again, or the attempt's last."""
        attempt.used += 1
        for each in forgiven:
            each.forgive()
            if each.given_up and each.used < self.bounds.tries:
                each.given_up = False
                del self.left[each.key]
                self.progress.outcomes["system_error"] -= 1
                self.progress.retried += 1
                self.again.append(each)
        if attempt.used >= self.bounds.tries or not self.may_try(Job(*attempt.key, attempt.next)):
            self.give_up(attempt, error)
            return
        self.progress.retried += 1
        self.observed()
        raise _Broken(error)

    async def in_some_worker(self, attempt: _Attempt) -> Tried | None:
        """The try, by another worker where one was lost; None where too many were."""
        job = Job(*attempt.key, attempt.next)
        for time in range(1, LOST_TIMES + 1):
            try:
                return await self.executor.attempt(job)
            except WorkerLost as lost:
                self.progress.lost += 1
                self.observed()
                if time == LOST_TIMES:
                    self.give_up(attempt, ErrorRecord(type(lost).__name__, str(lost), lost.phase))
        return None

    def give_up(self, attempt: _Attempt, error: ErrorRecord) -> None:
        attempt.given_up = True
        self.left[attempt.key] = error
        self.progress.outcomes["system_error"] += 1
        self.observed()

    def observed(self) -> None:
        progress = self.progress
        progress.total = self.plan.total
        progress.running, progress.limit = self.pace.running, self.pace.limit
        progress.outage = self.breaker.outage
        if self.observe is not None:
            self.observe(progress)
