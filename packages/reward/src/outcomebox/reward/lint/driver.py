"""Linting native tasks: golden is replayed in real sessions, everything else happens in memory."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import anyio

from outcomebox.reward.golden import GoldenRun, golden_sandbox, run_golden
from outcomebox.reward.lint.checks import lint_task
from outcomebox.reward.lint.evidence import Evidence, Step
from outcomebox.reward.lint.findings import LintedTask
from outcomebox.reward.lint.orders import exchanges, is_harmless
from outcomebox.reward.lint.report import Report
from outcomebox.sandbox import Call, Sandbox, SandboxFault, Task, TaskSet
from outcomebox.sandbox.changes import Value

TICK_S = 1.1
"""Seconds between two replays of golden, so that a server that reads the real clock is seen."""
OTHER_SEED = 20_001
"""Added to the seed for the replay that must not depend on it."""

Stage: TypeAlias = Literal["replays", "mutants"]
Told: TypeAlias = Callable[[Stage, int, int], None]
"""Told the stage, and how many tasks of how many are through it."""


@dataclass(frozen=True, slots=True)
class LintSettings:
    """What to lint and how.

    Attributes:
        tasks: The tasks.
        seed: The servers' seed, and what the choice of mutants depends on.
        concurrency: Sessions at a time.
        in_process: Run the servers inside this process, which is quickest.
        tick_s: Seconds between two replays of a task's golden calls.
    """

    tasks: TaskSet
    seed: int = 0
    concurrency: int = 4
    in_process: bool = False
    tick_s: float = TICK_S


def _quiet(_stage: Stage, _done: int, _total: int) -> None:
    return


async def lint_tasks(settings: LintSettings, told: Told = _quiet) -> Report:
    """Test the checks of native tasks.

    Replays first, for all tasks, then the mutants, which need no session.

    Args:
        settings: What to lint and how.
        told: Told whenever a task is through a stage.

    Raises:
        SessionOpenError: A server cannot be started.
        InputError: A server is not there.
    """
    async with golden_sandbox(settings.tasks, in_process=settings.in_process) as (box, tasks):
        replays = Replays(box, tasks, settings, told)
        async with anyio.create_task_group() as group:
            for task in tasks.tasks:
                group.start_soon(replays.take, task)
    linted: list[LintedTask] = []
    for number, task in enumerate(settings.tasks.tasks, 1):
        if task.uid in replays.found:
            linted.append(lint_task(task, replays.found.pop(task.uid), seed=settings.seed))
        told("mutants", number, len(settings.tasks.tasks))
    return Report(tuple(linted), seed=settings.seed, broken=dict(sorted(replays.broken.items())))


@dataclass
class Replays:
    """The sessions of a run, a few at a time.

    Attributes:
        box: Where the domains have been started.
        tasks: The tasks, as the box has their domains.
        settings: What to lint and how.
        told: Told whenever a task has been replayed.
        found: What the replays showed, by uid.
        broken: uid -> type and message, of the tasks whose replays broke off.
    """

    box: Sandbox
    tasks: TaskSet
    settings: LintSettings
    told: Told = _quiet
    found: dict[str, Evidence] = field(default_factory=dict)
    broken: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._limit = anyio.CapacityLimiter(self.settings.concurrency)

    async def take(self, task: Task) -> None:
        """Replay a task in all ways that the linter needs."""
        try:
            self.found[task.uid] = await self._evidence(task)
        except SandboxFault as fault:
            self.broken[task.uid] = {"type": type(fault).__name__, "message": str(fault)}
        done = len(self.found) + len(self.broken)
        self.told("replays", done, len(self.tasks.tasks))

    async def _run(
        self, task: Task, calls: Sequence[Call] | None = None, *, seed: int = 0
    ) -> GoldenRun:
        async with self._limit:
            seed += self.settings.seed
            return await run_golden(self.box, self.tasks, task, calls=calls, seed=seed)

    async def _evidence(self, task: Task) -> Evidence:
        golden = await self._run(task)
        ended = time.monotonic()
        noop = await self._run(task, ())
        # Reads leave nothing behind, so the further ends are made of the writes alone.
        writes = [each.index for each in golden.results if each.tool in golden.writing]
        failed = []
        for index in writes:
            rest = [task.golden[at] for at in writes if at != index]
            run = await self._run(task, rest)
            failed.append((index, task.golden[index].tool, run.state))
        reordered = []
        for exchange in exchanges(golden, task.golden, writes):
            run = await self._run(task, exchange.calls)
            if is_harmless(exchange, golden, run):
                reordered.append((exchange.what, run.state))
        other = await self._run(task, [task.golden[at] for at in writes], seed=OTHER_SEED)
        await anyio.sleep(max(0.0, ended + self.settings.tick_s - time.monotonic()))
        again = await self._run(task)
        return Evidence(
            golden=golden.state,
            steps=_steps(golden),
            noop=noop.state,
            again=(("again", again.state), ("seed", other.state)),
            reordered=tuple(reordered),
            failed=tuple(failed),
            named=_named(task),
        )


def _steps(golden: GoldenRun) -> tuple[Step, ...]:
    wrote = {index for change in golden.state.changes for index in change.calls}
    return tuple(
        Step(
            index=each.index,
            what=f"{each.tool}({', '.join(f'{k}={v!r}' for k, v in each.arguments.items())})",
            error=each.text if each.is_error else None,
            # Without any known writer, nobody knows who wrote what.
            idle=bool(wrote) and each.tool in golden.writing and each.index not in wrote,
        )
        for each in golden.results
    )


def _named(task: Task) -> Callable[[Value], bool]:
    """Whether the user names an id, in the first message or later."""
    context = task.user_context
    said = "\n".join([task.query, context.background, *(reply.say for reply in context.replies)])
    words = set(re.findall(r"[\w-]+", said))

    def named(value: Value) -> bool:
        return str(value) in words

    return named
