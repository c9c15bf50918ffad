"""Workers that come up wrong, are lost, or hang: what the crew does about each."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from outcomebox.rollout.executors import Job, Tried, WorkerLost
from outcomebox.rollout.executors import ray_crew as module
from outcomebox.rollout.executors.ray_crew import Crew
from outcomebox.rollout.executors.ray_options import RayOptions
from outcomebox.rollout.record import package_versions
from outcomebox.sandbox import InputError
from ray_pretended import PretendedRay, RayError

JOB = Job("a/b/1", 0)
ROW = Tried({"uid": "a/b/1"})


class PlainWorker:
    """Answers everything as it should be."""

    versions = {"python": platform.python_version(), **package_versions()}  # noqa: RUF012 -- read only
    missing: str | None = None
    started: dict[str, str] = {"tasks": "same"}  # noqa: RUF012 -- read only
    closed = False
    checked: bool | None = None

    async def about(self) -> dict[str, Any]:
        """Where it is."""
        versions = dict(self.versions)
        return {"node": "one", "pid": 17, "versions": versions, "missing": self.missing}

    async def node(self) -> str:
        """Its node."""
        return "f00"

    async def start(self, spec: Any, variables: Any, secrets: Any, check: bool) -> Any:
        """Begin."""
        assert (spec, variables, secrets) == ({"seed": 1}, {"A": "b"}, ("b",))
        self.checked = check
        return self.started

    async def attempt(self, uid: str, repetition: int, attempt: int) -> Tried:
        """One row."""
        assert (uid, repetition, attempt) == (JOB.uid, JOB.repetition, JOB.attempt)
        return ROW

    async def beat(self) -> bool:
        """Alive."""
        return True

    async def close(self) -> None:
        """End."""
        self.closed = True


def crew_of(ray: PretendedRay, workers: int = 1, **options: str) -> Crew:
    """A crew of such workers."""
    return Crew(
        ray,
        RayOptions.parse(options),
        workers=workers,
        slots=2,
        spec={"seed": 1},
        variables={"A": "b"},
        secrets=("b",),
        tasks="same",
    )


async def ready_or_error(crew: Crew) -> str:
    """What keeps a crew from getting ready."""
    async with anyio.create_task_group() as group:
        crew.start(group)
        with pytest.raises(InputError) as caught:
            await crew.ready()
        group.cancel_scope.cancel()
    return str(caught.value)


def worker_with(**attributes: Any) -> Callable[[int], PlainWorker]:
    """Workers with something else about them."""
    return lambda _: type("Other", (PlainWorker,), attributes)()


OLD = {**PlainWorker.versions, "outcomebox-sandbox": "0.0.9"}


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ({"versions": OLD}, "outcomebox-sandbox is 0.0.9 on the node one and"),
        ({"versions": {**OLD, "python": "3.9.1"}}, "python is 3.9.1 on the node one and"),
        ({"missing": "No module named 'outcomebox'"}, "the node one lacks our packages"),
        ({"started": {"wrong": "no such file"}}, "on the node one: no such file"),
        ({"started": {"tasks": "other"}}, "the node one has other tasks"),
    ],
)
def test_a_node_that_is_not_as_this_machine_ends_the_run(
    attributes: dict[str, Any], told: str
) -> None:
    ray = PretendedRay(worker_with(**attributes))
    assert told in asyncio.run(ready_or_error(crew_of(ray)))
    # Whatever of it was begun is closed.
    assert all(worker.closed for worker in ray.made)
    assert len(ray.killed) == len(ray.made) == 1


def test_workers_that_never_come_up_are_tried_a_bounded_number_of_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_LONGEST_WAIT_S", 0.0)
    ray = PretendedRay(worker_with(started={"broken": "SessionOpenError: no memory"}))
    said = asyncio.run(ready_or_error(crew_of(ray)))
    assert "SessionOpenError: no memory" in said
    assert len(ray.made) == module.STARTS + 1


class DyingWorker(PlainWorker):
    """Is lost with its first job."""

    async def attempt(self, uid: str, repetition: int, attempt: int) -> Tried:
        """Never comes back."""
        raise RayError("The actor died because of an error.\n\ntrace")


def test_a_lost_worker_is_replaced_and_its_job_handed_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_LONGEST_WAIT_S", 0.0)
    ray = PretendedRay(lambda number: PlainWorker() if number else DyingWorker())

    async def run() -> None:
        crew = crew_of(ray)
        async with anyio.create_task_group() as group:
            crew.start(group)
            await crew.ready()
            with pytest.raises(WorkerLost, match=r"one \(process 17\) was lost: RayError: The act"):
                await crew.attempt(JOB)
            assert await crew.attempt(JOB) is ROW
            group.cancel_scope.cancel()

    asyncio.run(run())
    assert [worker.closed for worker in ray.made] == [False, True]
    # An endpoint may be down by now: the run has a breaker for that.
    assert [worker.checked for worker in ray.made] == [True, False]


class HangingWorker(PlainWorker):
    """Takes a job, and is never heard of again."""

    async def attempt(self, uid: str, repetition: int, attempt: int) -> Tried:
        """No answer."""
        await anyio.sleep_forever()
        raise AssertionError

    async def beat(self) -> bool:
        """Nor here."""
        await anyio.sleep_forever()
        raise AssertionError


def test_a_worker_that_hangs_is_killed_and_its_jobs_do_not_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_LONGEST_WAIT_S", 0.0)
    monkeypatch.setattr(module, "BEAT_S", 0.01)
    ray = PretendedRay(lambda number: PlainWorker() if number else HangingWorker())

    async def run() -> None:
        crew = crew_of(ray, patience_s="0.05")
        async with anyio.create_task_group() as group:
            crew.start(group)
            await crew.ready()
            with pytest.raises(WorkerLost, match=r"no answer for 0\.05 s"):
                await crew.attempt(JOB)
            assert await crew.attempt(JOB) is ROW
            group.cancel_scope.cancel()

    asyncio.run(run())
    # Ray's own way to end it would wait for its answer.
    assert ray.ended == [17]


def test_jobs_go_to_the_worker_with_most_room_and_wait_where_none_has() -> None:
    running: list[int] = []
    most: list[int] = []

    class Busy(PlainWorker):
        async def attempt(self, uid: str, repetition: int, attempt: int) -> Tried:
            running.append(id(self))
            most.append(max(running.count(each) for each in running))
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            running.remove(id(self))
            return ROW

    async def run() -> None:
        crew = crew_of(PretendedRay(lambda _: Busy()), workers=2)
        async with anyio.create_task_group() as group:
            crew.start(group)
            await crew.ready()
            async with anyio.create_task_group() as jobs:
                for _ in range(12):
                    jobs.start_soon(crew.attempt, JOB)
            group.cancel_scope.cancel()

    asyncio.run(run())
    assert len(most) == 12
    assert max(most) <= 2


def test_without_any_worker_the_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TELL_S", 0.01)

    class Pending(PlainWorker):
        async def about(self) -> dict[str, Any]:
            await anyio.sleep_forever()
            raise AssertionError

    crew = crew_of(PretendedRay(lambda _: Pending()), wait_s="0.05")
    said = asyncio.run(ready_or_error(crew))
    assert "there was no worker: 1 of 1 workers" in said
    assert "of the cluster's 2 are 2 free" in said
