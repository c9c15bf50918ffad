"""Who is to blame: each row of the table in docs/design/blame.md, for tasks of both forms."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

import pytest

from outcomebox.reward.chat import ContextTooLong
from outcomebox.reward.thinkingbox.standin import StandIn
from outcomebox.rollout import (
    Completion,
    EpisodeSetting,
    PolicyError,
    ScriptedUser,
    UserError,
    make_policy,
    seeder,
)
from outcomebox.rollout.backend import Backend
from outcomebox.rollout.executors.base import Job
from outcomebox.rollout.stages import NativeTasks
from outcomebox.rollout.worker import Worker
from outcomebox.sandbox import (
    Domain,
    Sandbox,
    TaskSet,
    ToolDeadline,
    ToolResult,
    load_domain,
    start_domains,
)
from scripted_policy import END, MOVE, SHELF, Says, call, shelf_task
from till_tasks import DEADLINE_S, HUNG_S, PAY, Till, task_named, till

pytestmark = pytest.mark.anyio

CUT = Completion("I was about to", finish_reason="length")
FULL = ContextTooLong("maximum context length")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def live() -> AsyncIterator[Till]:
    """A live till, in whose sandbox the shelf is live too."""
    async with till() as live:
        await start_domains(live.box, [_shelf()])
        yield live


def _shelf() -> Domain:
    return load_domain(SHELF)


class Kind:
    """Tasks of one form: what is right there, what is not, and an episode."""

    def __init__(self, live: Till, form: str) -> None:
        self.live = live
        self.native = form == "native"
        self.right = MOVE if self.native else PAY
        self.refused = (
            call("move_box", box_id="B-008", shelf_id="S-7")
            if self.native
            else call("balance", account="z")
        )

    async def row(self, *turns: Any, deadline_s: float = DEADLINE_S, **more: Any) -> dict[str, Any]:
        """The row of an episode."""
        if not self.native:
            settings = {"tool_deadline_s": deadline_s}
            return await self.live.row(task_named("pays"), *turns, settings=settings, **more)
        tasks = TaskSet((shelf_task(limits={"tool_deadline_s": deadline_s}),), {"shelf": _shelf()})
        return await native_row(self.live.box, tasks, Says(*turns), **more)


async def native_row(box: Sandbox, tasks: TaskSet, policy: Any, **more: Any) -> dict[str, Any]:
    """The row of an episode of a task of our own form."""
    setting = EpisodeSetting(
        **{
            "sandbox": box,
            "policy": policy,
            "user": ScriptedUser(),
            "seed_of": seeder(0),
            **more,
        }
    )
    tried = await Worker(setting, NativeTasks(tasks, box)).attempt(Job(tasks.tasks[0].uid, 0, 0))
    return tried.row


@pytest.fixture(scope="module", params=["native", "thinkingbox"])
def kind(request: pytest.FixtureRequest, live: Till) -> Kind:
    """Both forms of tasks."""
    return Kind(live, request.param)


def outcome(row: dict[str, Any]) -> tuple[str, str | None, str | None]:
    """Outcome, finish reason, and the phase of what broke."""
    error = row["error"]
    return (
        row["verdict"]["outcome"],
        row["finish_reason"],
        None if error is None else error["phase"],
    )


async def test_the_right_change_passes(kind: Kind) -> None:
    assert outcome(await kind.row(kind.right, END)) == ("passed", "done", None)


async def test_no_change_where_one_was_due_and_one_too_many_fail(kind: Kind) -> None:
    assert outcome(await kind.row(END)) == ("failed", "done", None)
    extra = call("add_box", shelf_id="S-1", weight=1) if kind.native else kind.right
    assert outcome(await kind.row(kind.right, extra, END)) == ("failed", "done", None)


async def test_bad_calls_are_answered_and_the_agent_goes_on(kind: Kind) -> None:
    cut = kind.right[: kind.right.rindex("</function>")]
    row = await kind.row(cut, call("teleport"), kind.refused, kind.right, END)
    assert outcome(row) == ("passed", "done", None)
    answers = [message for message in row["messages"] if message["role"] == "tool"]
    assert [bool(message.get("is_error")) for message in answers] == [True, True, True, False]
    assert all(message["content"] for message in answers)


@pytest.mark.parametrize(
    ("last", "reason"),
    [(CUT, "token_limit"), (FULL, "token_limit"), ("", "empty_output")],
    ids=["turn", "context", "empty"],
)
async def test_a_limit_ends_it_and_the_state_decides(kind: Kind, last: Any, reason: str) -> None:
    assert outcome(await kind.row(kind.right, last)) == ("passed", reason, None)
    assert outcome(await kind.row(last)) == ("failed", reason, None)


async def test_of_an_answer_that_was_cut_off_no_call_is_made(kind: Kind) -> None:
    row = await kind.row(Completion(kind.right, finish_reason="length"))
    assert outcome(row) == ("failed", "token_limit", None)


@pytest.mark.parametrize("tool", ["hang", "die"])
async def test_a_call_that_breaks_the_server_again_fails_and_reports_the_server(
    kind: Kind, tool: str
) -> None:
    row = await kind.row(kind.right, call(tool), END, deadline_s=HUNG_S)
    assert outcome(row) == ("failed", "tool_crash", None)
    (reason,) = row["verdict"]["reasons"]
    assert reason["kind"] == "tool_crash"
    server = "shelf" if kind.native else "till"
    assert row["verdict"]["details"] == {"tool": tool, "server": server}
    assert any(server in warning and tool in warning for warning in row["warnings"])


@pytest.mark.parametrize(("how", "error"), [("hang", "ToolDeadline"), ("die", "ServerDied")])
async def test_a_call_that_breaks_the_server_once_is_a_system_error(
    kind: Kind, tmp_path: Path, how: str, error: str
) -> None:
    once = call("once", marker=str(tmp_path / "marker"), how=how)
    row = await kind.row(once, kind.right, END, deadline_s=HUNG_S)
    assert outcome(row) == ("system_error", None, "tool")
    assert row["error"]["type"] == error


@pytest.mark.parametrize("tool", ["hang", "die"])
async def test_a_world_is_brought_to_the_same_point_history_and_calls_included(
    live: Till, tool: str
) -> None:
    """The call breaks at 16: what was there at the start, in the history, and paid since."""
    task = task_named("remembers")
    row = await live.row(
        task, PAY, call(tool, balance_is=16), END, settings={"tool_deadline_s": HUNG_S}
    )
    assert outcome(row) == ("failed", "tool_crash", None)
    row = await live.row(task, PAY, call(tool, balance_is=15), END)
    assert outcome(row) == ("passed", "done", None)


@pytest.mark.parametrize(
    ("broken", "phase"),
    [(PolicyError("HTTP 503"), "policy"), (UserError("HTTP 503"), "user")],
)
async def test_models_that_give_no_answer_are_a_system_error(
    kind: Kind, broken: Exception, phase: str
) -> None:
    row = await kind.row(kind.right, broken)
    assert outcome(row) == ("system_error", None, phase)
    assert len(row["timing"]["messages"]) == len(row["messages"]) > 3


async def test_a_mistake_of_ours_is_a_system_error(kind: Kind) -> None:
    assert outcome(await kind.row(RuntimeError("a bug"))) == ("system_error", None, "run")


async def test_no_session_is_a_system_error(live: Till) -> None:
    row = await live.row(task_named("pays", till={"misbehave": "init"}), END)
    assert outcome(row) == ("system_error", None, "open")
    kind = Kind(live, "native")
    row = await kind.row(END, session_env={"OUTCOMEBOX_DATABASE": "gone.sqlite"})
    assert outcome(row) == ("system_error", None, "open")


async def test_an_end_that_cannot_be_read_is_a_system_error(live: Till) -> None:
    row = await live.row(task_named("pays", till={"misbehave": "effects"}), PAY, END)
    assert outcome(row) == ("system_error", "done", "read")
    row = await Kind(live, "native").row(call("spoil"), END)
    assert outcome(row) == ("system_error", "done", "read")


async def test_a_check_that_raises_is_a_system_error(live: Till) -> None:
    row = await live.row(task_named("breaks"), PAY, END)
    assert outcome(row) == ("system_error", "done", "check")
    assert row["error"]["type"] == "KeyError"


async def test_a_judge_who_gives_no_answer_is_a_system_error(live: Till) -> None:
    for judge in (None, StandIn("none")):
        row = await live.row(task_named("asks"), END, judge=judge)
        assert outcome(row) == ("system_error", "done", "judge")


async def test_a_golden_call_that_is_refused_is_a_system_error(live: Till) -> None:
    wrong = [{"tool": "balance", "parameters": {"account": "z"}}]
    task = task_named("pays", till={"golden_test_case": {"tool_interactions": wrong}})
    _, row = await live.played(task, make_policy("golden"))
    assert outcome(row) == ("system_error", None, "golden")
    one = shelf_task(golden=[{"tool": "move_box", "arguments": {"box_id": "B-000"}}])
    tasks = TaskSet((one,), {"shelf": _shelf()})
    row = await native_row(live.box, tasks, make_policy("golden"))
    assert outcome(row) == ("system_error", None, "golden")


class _Slow:
    """A session whose calls need some seconds, told by their deadlines alone."""

    def __init__(self, needs_s: float) -> None:
        self.needs_s = needs_s

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing to release."""

    async def call(self, tool: str, arguments: Any, *, deadline_s: float) -> ToolResult:
        if deadline_s < self.needs_s:
            raise ToolDeadline(f"tool {tool} gave no answer", tool=tool)
        return ToolResult("done", is_error=False)


async def test_a_machine_that_was_busy_is_not_taken_for_a_call_that_hangs() -> None:
    backend = Backend(_Slow(1.5), lambda: _Slow(1.5), 1.0, server_of=lambda _: "s")
    with pytest.raises(ToolDeadline):
        await backend.call("pay", {})
