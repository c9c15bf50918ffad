"""An executor, a store and a clock without any machine behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import anyio

from outcomebox.rollout import EpisodeStore, Job, Plan, Row, Tried
from outcomebox.rollout.stage import Tasks

Outcome = str | None
"""The phase that a try breaks at, and the error's type; None for a try that passes."""


class FakeExecutor:
    """Answers each try as a function says, which may raise."""

    name = "fake"

    def __init__(self, answer: Callable[[Job], Outcome], capacity: int = 8) -> None:
        self.answer = answer
        self.capacity = capacity
        self.jobs: list[Job] = []
        self.running = 0
        self.most = 0

    async def attempt(self, job: Job) -> Tried:
        """One try."""
        self.jobs.append(job)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await anyio.lowlevel.checkpoint()
            return Tried(fake_row(job, self.answer(job)))
        finally:
            self.running -= 1


def fake_row(job: Job, phase: Outcome) -> Row:
    """The row of a try; one that breaks at a model had its session opened."""
    phase, _, kind = (phase or "").partition(" ")
    told = {"type": kind or "Broken", "message": "it is down", "phase": phase}
    error = told if phase else None
    messages = [] if phase == "open" else [{"role": "system", "content": "."}]
    if phase not in {"open", "policy"}:
        messages.append({"role": "assistant", "content": "."})
    return {
        "uid": job.uid,
        "repetition": job.repetition,
        "try": job.attempt,
        "verdict": {"outcome": "passed" if error is None else "system_error"},
        "messages": messages,
        "usage": {"policy": {"completion": 3}},
        "traffic": {},
        "error": error,
    }


class FakeStore:
    """Rows in memory."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def append(self, row: Row, exchanges: Sequence[Mapping[str, Any]] = ()) -> None:
        """Add one."""
        self.rows.append(row)

    def as_store(self) -> EpisodeStore:
        """For type checkers."""
        return cast("EpisodeStore", self)

    def tries(self) -> Counter[tuple[str, int]]:
        """Rows of each attempt."""
        return Counter((row["uid"], row["repetition"]) for row in self.rows)


class FakeClock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        """Seconds."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """Sleep without waiting."""
        self.slept.append(seconds)
        self.time += seconds
        await anyio.lowlevel.checkpoint()


def fake_plan(tasks: int, attempts: int = 1) -> Plan:
    """A plan with nothing done."""
    infos = [SimpleNamespace(uid=f"t/{number:03}") for number in range(tasks)]
    return Plan(cast("Tasks", SimpleNamespace(tasks=infos)), range(attempts), {}, {})
