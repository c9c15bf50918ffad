"""The runner: bounded tries, lost workers, the pace, and the circuit breaker, with no machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import stamina

from fake_executor import FakeClock, FakeExecutor, FakeStore, Outcome, fake_plan
from outcomebox.rollout import Bounds, Job, RunReport, WorkerLost, run_plan
from outcomebox.sandbox import InputError

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(autouse=True)
def no_waits() -> Iterator[None]:
    """Between tries nobody waits."""
    stamina.set_testing(True, attempts=1000)
    yield
    stamina.set_testing(False)


class Endpoint:
    """A policy's endpoint that is down until it has been asked so many times."""

    def __init__(self, asked_until_up: int) -> None:
        self.left = asked_until_up
        self.asked: list[str] = []

    async def check(self, boundary: str) -> None:
        """Ask it."""
        self.asked.append(boundary)
        self.left -= 1
        if self.left > 0:
            raise InputError("the endpoint does not answer")

    def answer(self, _: Job) -> Outcome:
        """What a try meets."""
        return "policy" if self.left > 0 else None


async def up(_: str) -> None:
    """An endpoint that answers."""


async def run(
    executor: FakeExecutor,
    store: FakeStore,
    *,
    tasks: int,
    bounds: Bounds,
    endpoint: Endpoint | None = None,
) -> tuple[RunReport, FakeClock]:
    """Run a plan."""
    clock = FakeClock()
    report = await run_plan(
        executor,
        fake_plan(tasks),
        store.as_store(),
        bounds=bounds,
        check=up if endpoint is None else endpoint.check,
        clock=clock,
    )
    return report, clock


async def test_a_try_that_breaks_is_made_again_and_one_that_stays_broken_is_reported() -> None:
    store = FakeStore()
    executor = FakeExecutor(
        lambda job: {"t/000": "check", "t/001": "check" if job.attempt < 2 else None}.get(job.uid)
    )
    report, _ = await run(executor, store, tasks=4, bounds=Bounds(2, tries=3))
    assert store.tries() == {("t/000", 0): 3, ("t/001", 0): 3, ("t/002", 0): 1, ("t/003", 0): 1}
    assert [item.uid for item in report.left] == ["t/000"]
    assert report.progress.outcomes == {"passed": 3, "system_error": 1}
    assert report.progress.retried == 4
    assert report.progress.phases == {"check": 5}
    assert not report.complete


async def test_no_more_run_at_a_time_than_may() -> None:
    executor = FakeExecutor(lambda _: None)
    report, _ = await run(executor, FakeStore(), tasks=50, bounds=Bounds(7))
    assert executor.most == 7
    assert report.complete


async def test_a_lost_worker_costs_no_try_and_is_counted() -> None:
    lost: set[str] = set()

    def answer(job: Job) -> Outcome:
        if job.uid not in lost:
            lost.add(job.uid)
            raise WorkerLost("killed")
        return None

    store = FakeStore()
    report, _ = await run(FakeExecutor(answer), store, tasks=3, bounds=Bounds(2, tries=1))
    assert report.complete
    assert report.progress.lost == 3
    assert [row["try"] for row in store.rows] == [0, 0, 0]


async def test_a_job_that_loses_every_worker_is_left_without_a_row() -> None:
    def answer(job: Job) -> Outcome:
        if job.uid == "t/001":
            raise WorkerLost("killed")
        return None

    store = FakeStore()
    report, _ = await run(FakeExecutor(answer), store, tasks=3, bounds=Bounds(1))
    assert [(item.uid, item.error.phase) for item in report.left] == [("t/001", "worker")]
    assert len(store.rows) == 2


async def test_an_outage_is_waited_for_and_costs_no_attempt_its_tries() -> None:
    endpoint, store = Endpoint(4), FakeStore()
    executor = FakeExecutor(endpoint.answer)
    report, clock = await run(
        executor, store, tasks=40, bounds=Bounds(4, tries=2, failures=6), endpoint=endpoint
    )
    assert report.complete
    assert report.progress.outcomes["passed"] == 40
    assert endpoint.asked == ["policy"] * 4
    assert clock.slept == sorted(clock.slept)
    broken = [row for row in store.rows if row["error"]]
    assert 6 <= len(broken) <= 6 + 3  # those in flight when it opened
    assert report.paced is not None
    assert report.paced.lowest < 4


async def test_a_run_stops_when_its_patience_ends_and_says_why() -> None:
    endpoint, store = Endpoint(10**9), FakeStore()
    report, clock = await run(
        FakeExecutor(endpoint.answer),
        store,
        tasks=10_000,
        bounds=Bounds(4, failures=6, patience_s=100),
        endpoint=endpoint,
    )
    assert not report.complete
    assert report.outage is not None
    assert report.outage.boundary == "policy"
    assert report.outage.error.message == "it is down"
    assert len(store.rows) <= 9
    assert clock.time == pytest.approx(100)
    stopped = report.to_json()["stopped"]
    assert stopped["asked"] == len(endpoint.asked) > 3


async def test_an_endpoint_that_refuses_every_request_is_not_waited_for() -> None:
    store = FakeStore()
    executor = FakeExecutor(lambda _: "policy PolicyRefused")
    report, clock = await run(executor, store, tasks=1000, bounds=Bounds(4, failures=6))
    assert report.outage is not None
    assert report.outage.refused
    assert report.to_json()["stopped"]["refused"]
    assert clock.time == 0
    assert len(store.rows) <= 9
    assert report.paced is not None
    assert report.paced.cuts == 0


async def test_an_endpoint_that_refuses_some_and_breaks_at_others_is_waited_for() -> None:
    def broken(job: Job) -> Outcome:
        return "policy PolicyRefused" if int(job.uid[2:]) % 2 else "policy"

    executor = FakeExecutor(broken)
    bounds = Bounds(1, tries=1, failures=6, patience_s=50)
    report, clock = await run(executor, FakeStore(), tasks=30, bounds=bounds)
    assert report.outage is not None
    assert not report.outage.refused
    assert clock.time == pytest.approx(50)


async def test_half_open_lets_one_try_through_at_a_time() -> None:
    store = FakeStore()
    executor = FakeExecutor(lambda _: "policy")
    report, _ = await run(executor, store, tasks=100, bounds=Bounds(4, failures=5, patience_s=50))
    assert report.outage is not None
    assert report.outage.answers
    assert len(store.rows) <= 5 + 3 + report.outage.asked


async def test_failures_with_answers_in_between_do_not_stop_a_run() -> None:
    executor = FakeExecutor(lambda job: "policy" if int(job.uid[2:]) % 3 else None)
    report, _ = await run(executor, FakeStore(), tasks=60, bounds=Bounds(1, tries=1, failures=3))
    assert report.outage is None
    assert report.progress.outcomes == {"passed": 20, "system_error": 40}


async def test_a_task_at_fault_is_no_outage() -> None:
    executor = FakeExecutor(lambda _: "check")
    report, _ = await run(executor, FakeStore(), tasks=30, bounds=Bounds(4, tries=1, failures=3))
    assert report.outage is None
    assert len(report.left) == 30


async def test_a_pace_is_cut_when_the_endpoint_pushes_back() -> None:
    executor = FakeExecutor(lambda job: "policy" if int(job.uid[2:]) % 5 == 0 else None)
    bounds = Bounds(16, min_concurrency=2, tries=1, failures=1000)
    report, _ = await run(executor, FakeStore(), tasks=200, bounds=bounds)
    assert report.paced is not None
    assert report.paced.cuts >= 3
    assert report.paced.lowest >= 2
