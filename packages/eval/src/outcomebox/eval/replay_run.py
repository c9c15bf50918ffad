"""A whole replay: all trajectories of a policy on some tasks, several at a time, resumable."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from outcomebox.eval.replay import Row, replay
from outcomebox.eval.replay_rows import Key, RowFile, part_of, read_rows
from outcomebox.reward.thinkingbox import check_grader
from outcomebox.reward.thinkingbox.mutations import Policy, Variant, variants
from outcomebox.reward.thinkingbox.replaying import (
    GoldenCallError,
    Replaying,
    check_servers,
    cpu_s,
    mutating_calls,
)
from outcomebox.reward.thinkingbox.standin import ReplayJudge
from outcomebox.sandbox import InputError, SandboxFault, ServerSpec, sandbox
from outcomebox.sandbox.thinkingbox import ThinkingBoxTask


@dataclass(frozen=True)
class ReplaySettings:
    """What to replay and how.

    Attributes:
        tasks: The tasks.
        specs: The servers by name.
        policy: The scripted agent.
        judge: Answers the checks' questions.
        out: Where the rows go.
        concurrency: Episodes at a time.
        seed: The servers' seed.
        search_url: A real Typesense; None for the embedded index.
        resume: Keep the rows that are there, all but the broken ones.
    """

    tasks: Sequence[ThinkingBoxTask]
    specs: Mapping[str, ServerSpec]
    policy: Policy
    judge: ReplayJudge
    out: Path
    concurrency: int = 4
    seed: int = 0
    search_url: str | None = None
    resume: bool = False


@dataclass
class Progress:
    """Where a replay stands.

    Attributes:
        total: Trajectories known so far; grows where tasks have several.
        outcomes: Those that are done, by verdict.
        resumed: Those that an earlier run had done.
    """

    total: int
    outcomes: Counter[str] = field(default_factory=Counter)
    resumed: int = 0

    @property
    def done(self) -> int:
        """Trajectories that need nothing more."""
        return sum(self.outcomes.values())


@dataclass(frozen=True)
class Replayed:
    """A finished replay.

    Attributes:
        rows: All rows, in the tasks' order.
        without: Tasks that the policy has no trajectory on.
        skipped: Tasks left out because their tags say so.
        notes: What could not be isolated, and why.
        wall_s: Seconds this run took.
        cpu_s: Seconds of CPU it used, its servers and checks included.
        made: Trajectories made in this run.
    """

    rows: tuple[Row, ...]
    without: tuple[str, ...]
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    wall_s: float
    cpu_s: float
    made: int


Observer = Callable[[Progress], None]


async def run_replay(settings: ReplaySettings, observe: Observer) -> Replayed:
    """Make a replay, or what is left of it.

    Raises:
        InputError: There is no task or trajectory, a task needs a server that is not configured, or
            the rows cannot be kept.
        SessionOpenError: A server cannot be started.
    """
    started, cpu = time.monotonic(), cpu_s()
    tasks = [task for task in settings.tasks if not task.tags.skip]
    if not tasks:
        raise InputError(
            "there is nothing to replay: no task was selected, or all are tagged skip",
            field="selector",
        )
    check_servers(tasks, settings.specs)
    kept = _kept(settings, tasks)
    progress = Progress(len(tasks))
    order: dict[int, list[Key]] = {}
    without: list[str] = []
    with RowFile(settings.out, kept) as rows:
        async with (
            sandbox(search_url=settings.search_url) as box,
            check_grader(box, ahead=settings.concurrency) as grader,
        ):
            used = {server for task in tasks for server in task.servers}
            for name, spec in settings.specs.items():
                if name in used:
                    await box.start(spec)
            run = Replaying(box, settings.specs, grader, settings.judge, settings.seed)
            work = _Work(settings, run, rows, progress, observe, order, without)
            observe(progress)
            queue = iter(enumerate(tasks))
            async with anyio.create_task_group() as group:
                for _ in range(min(settings.concurrency, max(1, len(tasks)))):
                    group.start_soon(work.take, queue)
            notes = tuple(box.notes)
        ordered = [key for index in sorted(order) for key in order[index]]
        rows.finish(ordered)
    if not ordered:
        raise InputError(
            "no task has such a trajectory, so nothing was shown; choose another policy",
            field="policy",
            value=str(settings.policy),
        )
    return Replayed(
        rows=tuple(rows.rows[key] for key in ordered),
        without=tuple(sorted(without)),
        skipped=tuple(task.uid for task in settings.tasks if task.tags.skip),
        notes=notes,
        wall_s=time.monotonic() - started,
        cpu_s=cpu_s() - cpu,
        made=progress.done - progress.resumed,
    )


@dataclass
class _Work:
    settings: ReplaySettings
    run: Replaying
    rows: RowFile
    progress: Progress
    observe: Observer
    order: dict[int, list[Key]]
    without: list[str]

    async def take(self, queue: Any) -> None:
        """Do tasks until none is left."""
        for index, task in queue:
            await self._task(index, task)
            self.observe(self.progress)

    async def _task(self, index: int, task: ThinkingBoxTask) -> None:
        mutating: tuple[int, ...] = ()
        if self.settings.policy.mutates:
            try:
                mutating = await mutating_calls(self.run, task)
            except (SandboxFault, GoldenCallError) as error:
                self._add(index, _unknown(task, self.settings.policy, error))
                return
        todo = list(variants(self.settings.policy, len(task.golden), mutating))
        self.progress.total += len(todo) - 1
        if not todo:
            self.without.append(task.uid)
        for variant in todo:
            await self._variant(index, task, variant)

    async def _variant(self, index: int, task: ThinkingBoxTask, variant: Variant) -> None:
        earlier = self.rows.rows.get((task.uid, variant.name))
        if earlier is not None:
            self.order.setdefault(index, []).append((task.uid, variant.name))
            self.progress.outcomes[earlier["verdict"]] += 1
            self.progress.resumed += 1
            return
        self._add(index, await replay(self.run, task, variant))
        self.observe(self.progress)

    def _add(self, index: int, row: Row) -> None:
        self.rows.append(row)
        self.order.setdefault(index, []).append((row["uid"], row["policy"]))
        self.progress.outcomes[row["verdict"]] += 1


def _unknown(task: ThinkingBoxTask, policy: Policy, error: Exception) -> Row:
    """The row of a task whose mutating calls could not be found."""
    phase = error.phase if isinstance(error, SandboxFault) else "golden"
    return {
        "uid": task.uid,
        "family": task.family,
        "policy": str(policy),
        "task": task.hash,
        "verdict": "system_error",
        "score": None,
        "reason": None,
        "error": {"type": type(error).__name__, "message": str(error), "phase": phase},
        "result_db_hash": None,
        "golden_db_hash": None,
        "cpu_s": 0.0,
        "wall_s": 0.0,
    }


def _kept(settings: ReplaySettings, tasks: Sequence[ThinkingBoxTask]) -> dict[Key, Row]:
    """Rows of an earlier run that still hold: of the tasks as they are, with a verdict."""
    if not settings.resume:
        return {}
    part = part_of(settings.out)
    source = part if part.exists() else settings.out
    if not source.exists():
        raise InputError("there is nothing to resume; leave out --resume", file=settings.out)
    hashes = {task.uid: task.hash for task in tasks}
    return {
        key: row
        for key, row in read_rows(source).items()
        if row["error"] is None and hashes.get(row["uid"]) == row["task"]
    }
