"""Episodes on a Ray cluster: one worker in each of some actors, on machines with CPUs to spare.

Each worker has a sandbox of its own and runs many jobs at a time; policy endpoints may be anywhere
that the nodes reach. Rows come back to the process that runs the command, which alone writes. A
worker that is lost (its process, its node, its memory, its answer) is replaced, and the runner
gives its jobs to others; docs/ray.md is the page for who runs this.
"""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from outcomebox.reward.secrets import remember
from outcomebox.rollout.executors.base import Executor, Job, Tried
from outcomebox.rollout.executors.ray_cluster import connected, load_ray
from outcomebox.rollout.executors.ray_crew import Crew
from outcomebox.rollout.executors.ray_fingerprint import fingerprint
from outcomebox.rollout.executors.ray_options import RayOptions
from outcomebox.sandbox import BACKEND_VARIABLE

if TYPE_CHECKING:
    from outcomebox.rollout.spec import RunSpec


@dataclass(frozen=True)
class RayExecutor:
    """The workers of a run on a cluster.

    Attributes:
        crew: They.
        name: What the progress line calls it.
    """

    crew: Crew
    name: str = "ray"

    @property
    def capacity(self) -> int:
        """Jobs at a time, once all workers are there."""
        return self.crew.workers * self.crew.slots

    async def attempt(self, job: Job) -> Tried:
        """Run one try in the worker that has most room; waits for one where none has.

        Raises:
            WorkerLost: The worker ended first.
            InputError: There are no workers, and there will be none.
        """
        return await self.crew.attempt(job)


@asynccontextmanager
async def ray_executor(
    spec: RunSpec, *, concurrency: int, options: Mapping[str, str]
) -> AsyncIterator[Executor]:
    """The executor ``ray``.

    Args:
        spec: The run.
        concurrency: Jobs at a time.
        options: See ``RayOptions``.

    Raises:
        InputError: Ray is not installed, an option is of no use, there is no cluster, or a node
            cannot make the worker: another version, other tasks, a file or a variable missing.
    """
    chosen = RayOptions.parse(options)
    variables = chosen.variables()
    secrets = tuple(variables.values())
    remember(*secrets)
    if BACKEND_VARIABLE in os.environ:
        # A run is on one kind of database, wherever its workers are.
        variables[BACKEND_VARIABLE] = os.environ[BACKEND_VARIABLE]
    ray = load_ray()
    async with spec.loaded() as loaded:
        tasks = fingerprint(loaded.tasks)
    with connected(ray, chosen):
        workers = chosen.workers or _room(ray, chosen, concurrency)
        crew = Crew(
            ray,
            chosen,
            workers=workers,
            slots=chosen.slots or math.ceil(concurrency / workers),
            spec=spec.to_json(),
            variables=variables,
            secrets=secrets,
            tasks=tasks,
        )
        async with anyio.create_task_group() as group:
            crew.start(group)
            try:
                await crew.ready()
                yield RayExecutor(crew)
            except Exception as error:  # noqa: BLE001 -- raised below, in no group
                failure: Exception | None = error
            else:
                failure = None
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure


def _room(ray: Any, options: RayOptions, concurrency: int) -> int:
    """Workers that the cluster has room for, and that the run can use."""
    cpus = ray.cluster_resources().get("CPU", 0.0)
    room = int(cpus // options.cpus) if options.cpus else len(ray.nodes())
    return max(1, min(concurrency, room))
