"""Replays of golden calls in real sessions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence

import pytest

from outcomebox.reward.derive.checking import golden_verdict
from outcomebox.reward.golden import (
    LAST_WORDS,
    GoldenRun,
    Replay,
    golden_sandbox,
    run_golden,
    run_goldens,
)
from outcomebox.sandbox import Call, Sandbox, SessionOpenError, Task, TaskSet, load_tasks
from reward_goldens import LENDING, bundled, lending

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def started() -> AsyncIterator[tuple[Sandbox, TaskSet]]:
    """The lending library, in this process."""
    async with golden_sandbox(load_tasks([str(LENDING)], drafts=True), in_process=True) as pair:
        yield pair


def call(tool: str, **arguments: object) -> Call:
    """A call."""
    return Call(tool=tool, arguments=arguments)


async def ran(started: tuple[Sandbox, TaskSet], calls: Sequence[Call], **more: object) -> GoldenRun:
    """What some calls do on the library's seed."""
    box, tasks = started
    return await run_golden(box, tasks, tasks.tasks[0], calls=calls, **more)  # type: ignore[arg-type]


def test_golden_passes_its_check_in_every_bundled_task() -> None:
    _, runs = bundled()
    assert len(runs) == 98
    for task, run in runs:
        assert run.error is None
        verdict = golden_verdict(task, run)
        assert verdict.outcome == "passed", (task.uid, verdict)


def test_a_run_leaves_the_transcript_of_an_episode() -> None:
    task, run = lending()[1]["loans/two"]
    assert [result.tool for result in run.results] == [call.tool for call in task.golden]
    first, *_, last = run.messages
    assert first == {"role": "user", "content": task.query}
    assert last == {"role": "assistant", "content": LAST_WORDS}
    asked, answered = run.messages[3:5]
    assert asked["tool_calls"] == [
        {"id": "call_1", "name": "lend", "arguments": dict(task.golden[1].arguments)}
    ]
    assert answered["tool_call_id"] == "call_1"
    assert json.loads(answered["content"]) == {"loan_id": "LN-8", "due_on": "2026-03-16"}
    assert run.writing == {
        "lend", "note", "end_loan", "issue_card", "visit", "voucher", "pay", "archive"
    }  # fmt: skip


async def test_no_calls_are_the_agent_that_does_nothing(
    started: tuple[Sandbox, TaskSet],
) -> None:
    run = await ran(started, [])
    assert run.results == ()
    assert run.state.changes == ()
    assert [message["role"] for message in run.messages] == ["user", "assistant"]


async def test_a_refused_call_is_named_and_the_rest_is_made(
    started: tuple[Sandbox, TaskSet],
) -> None:
    calls = [
        call("find_member", email="cy@example.com"),
        call("pay", member_id="M-2", amount=1),
    ]
    run = await ran(started, calls)
    assert [result.is_error for result in run.results] == [True, False]
    assert [change.table for change in run.state.changes] == ["members"]
    error = run.error
    assert error is not None
    assert (error.call.index, error.call.tool) == (0, "find_member")
    assert error.call.arguments == {"email": "cy@example.com"}
    for part in (run.uid, "call 0", "find_member(email='cy@example.com')", "No member has"):
        assert part in str(error)
    assert run.messages[2]["is_error"] is True


async def test_seed_and_clock_can_be_others(started: tuple[Sandbox, TaskSet]) -> None:
    calls = [call("voucher", member_id="M-2", code="V")]
    runs = [
        await ran(started, calls, **more)
        for more in ({}, {"seed": 1}, {"now": "2026-04-02T09:00:00+00:00"})
    ]
    rows = [run.state.changes[0].new or {} for run in runs]
    assert rows[0]["luck"] != rows[1]["luck"]
    assert rows[0]["luck"] == rows[2]["luck"]
    assert [row["age_days"] for row in rows] == [60, 60, 91]


async def test_a_call_that_hangs_ends_the_run_and_the_state_is_read() -> None:
    tasks = load_tasks([str(LENDING)], drafts=True)
    task = tasks.tasks[0]
    limits = task.limits.model_copy(update={"tool_deadline_s": 0.5})
    hasty = task.model_copy(update={"limits": limits})
    calls = [
        call("pay", member_id="M-2", amount=1),
        call("stall", seconds=3600),
        call("pay", member_id="M-2", amount=1),
    ]
    async with golden_sandbox(tasks) as (box, started):
        run = await run_golden(box, started, hasty, calls=calls)
    assert [(each.is_error, each.fault) for each in run.results] == [(False, False), (True, True)]
    assert run.error is not None
    assert "got no answer" in str(run.error)
    (change,) = run.state.changes
    assert (change.new or {})["balance"] == 1


async def test_many_runs_come_back_in_order_and_are_counted(
    started: tuple[Sandbox, TaskSet],
) -> None:
    box, tasks = started
    replays = [Replay(task) for task in tasks.tasks]
    told: list[int] = []
    runs = await run_goldens(box, tasks, replays, concurrency=2, done=told.append)
    assert [run.uid for run in runs if isinstance(run, GoldenRun)] == [
        replay.task.uid for replay in replays
    ]
    assert told == list(range(1, len(replays) + 1))


async def test_a_session_that_does_not_come_up_is_a_fault_and_no_run(
    started: tuple[Sandbox, TaskSet],
) -> None:
    box, tasks = started
    task = tasks.tasks[0]
    (fault, run) = await run_goldens(box, tasks, [Replay(task, now="yesterday"), Replay(task)])
    assert isinstance(fault, SessionOpenError)
    assert isinstance(run, GoldenRun)


def test_tasks_of_the_library_end_as_they_say() -> None:
    _, runs = lending()
    refused = {name for name, (_, run) in runs.items() if run.error is not None}
    assert refused == {"broken/refused"}
    task: Task = runs["broken/nothing"][0]
    assert task.golden == ()
