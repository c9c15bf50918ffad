"""Replays of golden calls in real sessions: what they answer and what they leave.

::

    async with golden_sandbox(load_tasks(["retail"])) as (box, tasks):
        run = await run_golden(box, tasks, task)            # the task's own calls
        idle = await run_golden(box, tasks, task, calls=())  # an agent that does nothing

A replay is what an episode would be whose agent makes exactly these calls: a fresh session at the
task's initial state, a frozen clock, a seed, and the terminal state read after the server was
killed. No model takes part.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio

from outcomebox.sandbox import (
    Call,
    Domain,
    InputError,
    Sandbox,
    SandboxFault,
    Task,
    TaskSet,
    TerminalState,
    ToolFault,
    ToolSpec,
    open_session,
    sandbox,
    start_domains,
)
from outcomebox.sandbox.variables import NOW_VARIABLE

LAST_WORDS = "That is done."
"""What the agent of a replay says at the end."""


@dataclass(frozen=True, slots=True)
class Called:
    """A call of a replay with its answer.

    Attributes:
        index: Its place in the list, from 0.
        tool: Its tool.
        arguments: Its arguments.
        text: What the agent would read; for a fault, what broke.
        is_error: Whether the server calls it an error, or gave no answer.
        fault: Whether there was no answer: the call passed its deadline, or the server died in it.
    """

    index: int
    tool: str
    arguments: Mapping[str, Any]
    text: str
    is_error: bool
    fault: bool = False

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "index": self.index,
            "tool": self.tool,
            "arguments": dict(self.arguments),
            "text": self.text,
            "is_error": self.is_error,
        }


class GoldenError(Exception):
    """A golden call was answered with an error: a fault of the task or of its tools.

    Attributes:
        uid: The task.
        call: The call and its answer.
    """

    def __init__(self, uid: str, call: Called) -> None:
        what = "got no answer" if call.fault else "was refused"
        shown = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
        super().__init__(
            f"{uid}: golden call {call.index} {what}: {call.tool}({shown}): {call.text}"
        )
        self.uid = uid
        self.call = call


@dataclass(frozen=True, slots=True)
class GoldenRun:
    """What a replay answered and left.

    Attributes:
        uid: The task.
        state: The terminal state.
        results: The calls that were made, in order. A call without an answer is the last.
        messages: The transcript: the user's query, each call and its answer, and a last word.
        tools: The tools that the session offered.
    """

    uid: str
    state: TerminalState
    results: tuple[Called, ...]
    messages: tuple[dict[str, Any], ...]
    tools: tuple[ToolSpec, ...] = ()

    @property
    def writing(self) -> frozenset[str]:
        """Names of the tools that may write."""
        return frozenset(tool.name for tool in self.tools if tool.writes)

    @property
    def error(self) -> GoldenError | None:
        """The first call that was answered with an error, if any."""
        wrong = next((each for each in self.results if each.is_error), None)
        return None if wrong is None else GoldenError(self.uid, wrong)


@asynccontextmanager
async def golden_sandbox(
    tasks: TaskSet, *, in_process: bool = False
) -> AsyncIterator[tuple[Sandbox, TaskSet]]:
    """A sandbox with the servers of some tasks started.

    Args:
        tasks: The tasks.
        in_process: Run their servers inside this process, which is quickest and is for servers
            made with :class:`~outcomebox.sandbox.toolserver.ToolServer` that cannot hang: there is
            nothing to kill then.

    Yields:
        The sandbox, and the tasks to use with it.

    Raises:
        SessionOpenError: A server cannot be started.
        InputError: A server is not there, or is none for ``in_process``.
    """
    if in_process:
        here = {name: _in_process(domain) for name, domain in tasks.domains.items()}
        tasks = replace(tasks, domains=here)
    async with sandbox() as box:
        await start_domains(box, list(tasks.domains.values()), backend=tasks.backend)
        yield box, tasks


def _in_process(domain: Domain) -> Domain:
    server = domain.settings.server.model_copy(update={"mode": "inprocess"})
    return replace(domain, settings=domain.settings.model_copy(update={"server": server}))


async def run_golden(
    box: Sandbox,
    tasks: TaskSet,
    task: Task,
    *,
    calls: Sequence[Call] | None = None,
    seed: int = 0,
    now: str | None = None,
    env: Mapping[str, str] | None = None,
) -> GoldenRun:
    """Make some calls in a fresh session of a task and read what they leave.

    Calls that are refused do not end it, as they would not end an episode; a call without an answer
    (its deadline is the task's own) does, and the state is read all the same.

    Args:
        box: Where the task's domain has been started.
        tasks: The set that the task belongs to.
        task: The task.
        calls: What to call; the task's golden calls if None.
        seed: The server's seed.
        now: Another frozen clock than the domain's, ISO 8601 with an offset.
        env: More variables of the server.

    Raises:
        SandboxFault: The session cannot be opened, or its state cannot be read.
    """
    calls = task.golden if calls is None else calls
    env = {**(env or {}), **({} if now is None else {NOW_VARIABLE: now})}
    results: list[Called] = []
    opening = open_session(box, tasks.domain(task), tasks.image(task), seed=seed, env=env)
    async with opening as session:
        for index, call in enumerate(calls):
            try:
                answer = await session.call(
                    call.tool, call.arguments, deadline_s=task.limits.tool_deadline_s
                )
            except ToolFault as fault:
                results.append(
                    Called(index, call.tool, call.arguments, str(fault), is_error=True, fault=True)
                )
                break
            results.append(
                Called(index, call.tool, call.arguments, answer.text, is_error=answer.is_error)
            )
        state = await session.close()
    return GoldenRun(task.uid, state, tuple(results), _messages(task, results), session.tools)


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay to make; arguments as for :func:`run_golden`."""

    task: Task
    calls: Sequence[Call] | None = None
    seed: int = 0
    now: str | None = None


async def run_goldens(
    box: Sandbox,
    tasks: TaskSet,
    replays: Sequence[Replay],
    *,
    concurrency: int = 4,
    done: Callable[[int], None] | None = None,
) -> list[GoldenRun | SandboxFault]:
    """Make many replays, a few at a time.

    Args:
        box: Where the tasks' domains have been started.
        tasks: The set that the tasks belong to.
        replays: What to run.
        concurrency: Sessions at a time.
        done: Told how many have ended, each time one has.

    Returns:
        What each left, in the order given; where infrastructure failed, the fault.

    Raises:
        InputError: A server is not of the kind that its domain says.
    """
    found: list[GoldenRun | SandboxFault | None] = [None] * len(replays)
    limit = anyio.CapacityLimiter(concurrency)
    wrong: list[InputError] = []
    ended = 0

    async def one(index: int, wanted: Replay) -> None:
        nonlocal ended
        async with limit:
            try:
                found[index] = await run_golden(
                    box, tasks, wanted.task, calls=wanted.calls, seed=wanted.seed, now=wanted.now
                )
            except SandboxFault as fault:
                found[index] = fault
            except InputError as error:
                wrong.append(error)  # alike for all sessions of its domain
                group.cancel_scope.cancel()
        ended += 1
        if done is not None:
            done(ended)

    async with anyio.create_task_group() as group:
        for index, wanted in enumerate(replays):
            group.start_soon(one, index, wanted)
    if wrong:
        raise wrong[0]
    return [each for each in found if each is not None]


def _messages(task: Task, results: Sequence[Called]) -> tuple[dict[str, Any], ...]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": task.query}]
    for result in results:
        call_id = f"call_{result.index}"
        call = {"id": call_id, "name": result.tool, "arguments": dict(result.arguments)}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        answer: dict[str, Any] = {
            "role": "tool",
            "tool_call_id": call_id,
            "name": result.tool,
            "content": result.text,
        }
        if result.is_error:
            answer["is_error"] = True
        messages.append(answer)
    messages.append({"role": "assistant", "content": LAST_WORDS})
    return tuple(messages)
