"""Policies whose success is known, and real runs of them on the bundled domains.

An episode of a planted policy makes the task's golden calls with a stated chance, and otherwise
ends without a call, which fails wherever a change is due. So the chance of each task is known
exactly, while sessions, tools, terminal states and verdicts are as in any other run.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.rollout import EpisodeContext, PolicyEpisode, make_plan, run_plan
from outcomebox.rollout.executors.local import LocalExecutor
from outcomebox.rollout.policies.golden import Replay
from outcomebox.rollout.runner import Bounds
from outcomebox.rollout.seeds import seeder
from outcomebox.rollout.spec import Actors, Loaded, RunSpec
from outcomebox.rollout.store import EpisodeStore
from outcomebox.sandbox import BUNDLED, SQLITE, load_tasks


@dataclass(frozen=True)
class Planted:
    """A policy that passes each task with a known chance.

    Attributes:
        chances: uid -> the chance.
    """

    chances: Mapping[str, float]
    name: str = "planted"
    simulated: bool = True
    format: str = "qwen3_xml"

    def describe(self) -> Mapping[str, Any]:
        """Its name; the chances are the test's own."""
        return {"name": self.name, "simulated": True}

    async def check(self) -> None:
        """Nothing to see."""

    def start(self, context: EpisodeContext) -> PolicyEpisode:
        """The golden calls, or none."""
        lucky = random.Random(context.seed).random() < self.chances[context.task.uid]
        return Replay(context.golden if lucky else ())

    async def aclose(self) -> None:
        """Nothing to release."""


def changing_tasks(limit: int | None = None, domains: Sequence[str] = BUNDLED) -> list[str]:
    """Uids of bundled tasks in which a change is due, so that ending without a call fails them."""
    return [task.uid for task in load_tasks(domains).tasks if task.expect][:limit]


def drawn(chances: Mapping[str, float], attempts: int, seed: int) -> dict[str, int]:
    """How many attempts at each task make the golden calls: what such a run has to find."""
    seed_of = seeder(seed)
    return {
        uid: sum(
            random.Random(seed_of(uid, repetition)).random() < chance
            for repetition in range(attempts)
        )
        for uid, chance in chances.items()
    }


async def run_planted(
    chances: Mapping[str, float], attempts: int, rows: Path, seed: int, *, concurrency: int = 4
) -> None:
    """Run a planted policy through the runner, as a command would.

    Args:
        chances: The tasks, each with its chance.
        attempts: Attempts a task.
        rows: The file of rows to write.
        seed: Of the run.
        concurrency: Episodes at a time.
    """
    spec = RunSpec(seed=seed, only=tuple(chances))
    tasks = spec.tasks_on(SQLITE)
    user = spec.actors(tasks).user
    loaded = Loaded(spec, tasks, Actors(Planted(chances), user, None))
    async with loaded.worker() as worker:
        with EpisodeStore(rows) as store:
            report = await run_plan(
                LocalExecutor(worker, concurrency),
                make_plan(worker.tasks, attempts, store),
                store,
                bounds=Bounds(concurrency=concurrency),
                check=loaded.actors.check,
            )
    assert report.complete
