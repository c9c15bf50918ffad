"""A whole lint: all tasks, several at a time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio

from outcomebox.reward.lint.findings import Finding, LintedTask
from outcomebox.reward.lint_thinkingbox.golden import Golden, golden_of
from outcomebox.reward.lint_thinkingbox.moments import Moments, other_moment
from outcomebox.reward.lint_thinkingbox.mutants import Mutating, Tally
from outcomebox.reward.lint_thinkingbox.reorder import Orders, orders_of
from outcomebox.reward.lint_thinkingbox.replays import NotLinted, Replays
from outcomebox.reward.lint_thinkingbox.settings import Linted, LintSettings, Observer, Progress
from outcomebox.reward.thinkingbox.grader import check_grader
from outcomebox.reward.thinkingbox.replaying import Replaying, check_servers, cpu_s
from outcomebox.sandbox import InputError, ServerSpec, sandbox
from outcomebox.sandbox.clock import faketime_library
from outcomebox.sandbox.thinkingbox import ThinkingBoxTask

NAMED = 5
"""Tasks that a note names, at most."""


async def lint_thinkingbox(settings: LintSettings, observe: Observer) -> Linted:
    """Test the checks of tasks in the ThinkingBox form, by running them.

    Args:
        settings: What to lint and how.
        observe: Told whenever a task is finished.

    Raises:
        InputError: There is no task, or one needs a server that is not configured.
        SessionOpenError: A server cannot be started.
    """
    started, cpu = time.monotonic(), cpu_s()
    tasks = [task for task in settings.tasks if not task.tags.skip]
    if not tasks:
        raise InputError(
            "there is nothing to lint: no task was selected, or all are tagged skip",
            field="selector",
        )
    check_servers(tasks, settings.specs)
    async with (
        sandbox(search_url=settings.search_url) as box,
        check_grader(box, ahead=settings.concurrency) as grader,
    ):
        first, second = _clocks(settings, tasks)
        work = _Work(
            settings,
            Replaying(box, first, grader, settings.judge, settings.seed),
            Replaying(box, second, grader, settings.judge, settings.seed),
            observe,
            Progress(len(tasks)),
        )
        for name in dict.fromkeys(server for task in tasks for server in task.servers):
            await box.start(first[name])
        queue = iter(enumerate(tasks))
        async with anyio.create_task_group() as group:
            for _ in range(min(settings.concurrency, len(tasks))):
                group.start_soon(work.take, queue)
        notes = (*dict.fromkeys(box.notes), *work.notes())
    return Linted(
        tasks=tuple(work.linted[index] for index in sorted(work.linted)),
        broken=work.broken,
        notes=notes,
        replays=work.progress.replays,
        skipped=tuple(task.uid for task in settings.tasks if task.tags.skip),
        wall_s=time.monotonic() - started,
        cpu_s=cpu_s() - cpu,
    )


@dataclass
class _Work:
    settings: LintSettings
    run: Replaying
    later: Replaying
    observe: Observer
    progress: Progress
    linted: dict[int, LintedTask] = field(default_factory=dict)
    broken: dict[str, Mapping[str, str]] = field(default_factory=dict)
    orders: Counter[str] = field(default_factory=Counter)
    unjudged: int = 0
    asked: dict[str, int] = field(default_factory=dict)
    waved: int = 0
    bounded: dict[str, int] = field(default_factory=dict)

    async def take(self, queue: Iterator[tuple[int, ThinkingBoxTask]]) -> None:
        """Do tasks until none is left."""
        for index, task in queue:
            replays = Replays(self.run, task, self.settings.limit)
            self.progress.last = None
            try:
                self.linted[index] = self.progress.last = await self._task(replays)
            except NotLinted as error:
                self.broken[task.uid] = error.error
            self.progress.done += 1
            self.progress.replays += replays.made
            if replays.left:
                self.bounded[task.uid] = replays.left
            self.observe(self.progress)

    async def _task(self, replays: Replays) -> LintedTask:
        task, parts = replays.task, self.settings.parts
        frozen = faketime_library() is not None
        moments = await self._moments(task) if frozen and "clock" in parts else None
        golden = await golden_of(replays, moments, frozen=frozen)
        if not isinstance(golden, Golden):
            return LintedTask(task.uid, tuple(golden))
        if golden.asked and replays.stand_in:
            self.asked[task.uid] = golden.asked
        findings, tally = [*golden.findings], Tally()
        mutating = Mutating(replays, golden, tally)
        if "texts" in parts:
            await mutating.texts()
        if "order" in parts:
            findings += self._ordered(await orders_of(replays, golden))
        if "mutants" in parts:
            await mutating.calls()
            await mutating.values()
        self.unjudged += tally.unjudged
        self.waved += tally.judged
        return LintedTask(
            task.uid,
            (*findings, *tally.findings),
            tally.kinds,
            tally.folded(),
            tally.equivalent,
            tally.judged,
        )

    async def _moments(self, task: ThinkingBoxTask) -> Moments:
        """The task's servers at another moment, started when they are first needed."""
        first, second = self.run.specs, self.later.specs
        for name in task.servers:
            await self.run.box.start(second[name])
        name = next(iter(task.servers))
        return Moments(self.later, str(first[name].clock), str(second[name].clock))

    def _ordered(self, orders: Orders) -> list[Finding]:
        for name in ("dependent", "refused", "different", "accepted", "unknown"):
            self.orders[name] += getattr(orders, name)
        return orders.findings

    def notes(self) -> Iterator[str]:
        """Facts about the run that are no findings."""
        if "clock" in self.settings.parts and faketime_library() is None:
            yield "no other moment was tried: it takes libfaketime, which is not installed"
        if "order" in self.settings.parts:
            told = self.orders
            yield (
                f"pairs of mutating calls that follow one another, other order: {told['accepted']} "
                f"harmless and accepted, {told['different']} leave something else, "
                f"{told['refused']} are refused, {told['dependent']} need each other's answers, "
                f"{told['unknown']} could not be compared"
            )
        if self.asked:
            uids = ", ".join([*self.asked][:NAMED])
            more = f" and {len(self.asked) - NAMED} more" if len(self.asked) > NAMED else ""
            yield (
                f"{sum(self.asked.values())} questions of {len(self.asked)} checks to a judge were "
                f"answered by the {self.run.judge.describe()['name']}, and {self.waved} mutants "
                f"passed only so; nothing is known of what a judge would say: {uids}{more}"
            )
        if self.unjudged:
            yield f"{self.unjudged} mutants got no verdict and count nowhere"
        if self.bounded:
            left = sum(self.bounded.values())
            yield (
                f"{left} replays of {len(self.bounded)} tasks were not made: the bound is "
                f"{self.settings.limit} a task"
            )
        for uid, error in self.broken.items():
            yield f"{uid} was not linted: {error['phase']}: {error['type']}: {error['message']}"


def _clocks(
    settings: LintSettings, tasks: Sequence[ThinkingBoxTask]
) -> tuple[dict[str, ServerSpec], dict[str, ServerSpec]]:
    """The servers at the first moment and at the other one."""
    now = settings.moment or datetime.now(UTC).replace(microsecond=0).isoformat()
    first = {
        name: spec.model_copy(update={"clock": spec.clock or now})
        for name, spec in settings.specs.items()
    }
    second = {
        name: spec.model_copy(
            update={"clock": settings.other or other_moment(tasks, str(spec.clock))}
        )
        for name, spec in first.items()
    }
    return first, second
