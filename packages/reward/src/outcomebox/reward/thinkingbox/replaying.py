"""Golden calls of a ThinkingBox task, or a mutation of them, made in a fresh world and graded.

No model is asked for anything. A task's own servers are initialised, the calls are made, the
servers tell their effects, and the task's own check judges them, as it would judge an agent.
"""

from __future__ import annotations

import resource
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from outcomebox.reward.thinkingbox.grader import CheckGrader
from outcomebox.reward.thinkingbox.orders import CheckOrder
from outcomebox.reward.thinkingbox.questions import JudgeQuestion, Question, ToolRefusedError
from outcomebox.reward.thinkingbox.standin import ReplayJudge
from outcomebox.reward.verdict import Verdict
from outcomebox.sandbox import InputError, Sandbox, SandboxFault, ServerSpec, World, open_world
from outcomebox.sandbox.thinkingbox import GoldenCall, ThinkingBoxTask, prompts
from outcomebox.sandbox.world import replay_history

LAST_WORDS = "That is done. <DONE>"
"""What the scripted agent says at the end: a check may look at the last message."""

_NAMESPACE = uuid.UUID("5b0b4b1e-7d0c-4f5e-9a43-7c1d1f5f2b11")

Adapt: TypeAlias = Callable[[int, "Sequence[Answer]"], GoldenCall]
"""The call to make, from its place in the trajectory and the answers to all calls before it."""


class GoldenCallError(Exception):
    """A golden call was answered with an error: the task is at fault, and proves nothing."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said to a call."""

    text: str
    is_error: bool


@dataclass(frozen=True)
class Replaying:
    """What all replays of a run share.

    Attributes:
        box: Where the tasks' servers have been started.
        specs: The servers by name.
        grader: Runs the tasks' checks.
        judge: Answers their questions, if they have any.
        seed: The servers' seed.
    """

    box: Sandbox
    specs: Mapping[str, ServerSpec]
    grader: CheckGrader
    judge: ReplayJudge
    seed: int = 0

    def world(self, task: ThinkingBoxTask, name: str) -> Any:
        """A fresh world of a task, as an asynchronous context manager."""
        tools = [tool.name for tool in task.tools]
        # Named after what is replayed: a server that puts the name in its state does it each time.
        session = str(uuid.uuid5(_NAMESPACE, f"{task.uid}\n{name}\n{self.seed}"))
        return open_world(
            self.box, self.specs, task.servers, tools, seed=self.seed, session_id=session
        )


@dataclass
class Played:
    """A trajectory that was made, as far as it came.

    Attributes:
        verdict: What the check says; None where something broke before it was asked.
        again: What it says when asked once more about the same end, where that was wanted.
        untouched: What it says of the state before the first call, where that was wanted.
        error: Type, message and phase of what broke, or None.
        effects: What the servers told at the end, by server; None where it did not come so far.
        before: What they told before each call, where that was wanted.
        answers: What they said to each call.
        warnings: Calls of the task's history that failed.
        asked: Questions to the judge: ``question``, and what the judge tells of its reply.
        cpu_s: Seconds of CPU that the servers used.
    """

    verdict: Verdict | None = None
    again: Verdict | None = None
    untouched: Verdict | None = None
    error: Mapping[str, str] | None = None
    effects: Mapping[str, Any] | None = None
    before: list[Mapping[str, Any]] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    warnings: tuple[str, ...] = ()
    asked: list[dict[str, Any]] = field(default_factory=list)
    cpu_s: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether there is a verdict and it is ``passed``."""
        return self.verdict is not None and self.verdict.outcome == "passed"

    @property
    def failed(self) -> bool:
        """Whether there is a verdict and it is ``failed``."""
        return self.verdict is not None and self.verdict.outcome == "failed"

    @property
    def refused(self) -> tuple[int, ...]:
        """Places of the calls that were answered with an error."""
        return tuple(number for number, answer in enumerate(self.answers) if answer.is_error)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What a scripted agent does.

    Attributes:
        name: What it is, such as ``golden`` or ``drop:2``; the session is named after it.
        calls: The calls, in order.
        adapt: Gives each call anew when its turn has come; None: they are made as they are.
        strict: Whether a call that is answered with an error ends it (``GoldenCallError``).
        look: Whether the servers are asked for their effects before each call too, and the check
            about the state before the first (:attr:`Played.before`, :attr:`Played.untouched`).
        twice: Whether the check is asked twice (:attr:`Played.again`).
    """

    name: str
    calls: tuple[GoldenCall, ...]
    adapt: Adapt | None = None
    strict: bool = False
    look: bool = False
    twice: bool = False


async def play(run: Replaying, task: ThinkingBoxTask, trajectory: Trajectory) -> Played:
    """Make a trajectory's calls in a fresh world and grade what they left.

    Returns:
        What came of it. Whatever breaks on the way is an ``error`` in it, never a verdict.
    """
    played = Played()
    world: World | None = None
    try:
        async with run.world(task, trajectory.name) as world:
            await _Play(run, task, trajectory, world, played).make()
    except SandboxFault as error:
        _break(played, error, error.phase)
    except GoldenCallError as error:
        _break(played, error, "golden")
    except InputError as error:
        _break(played, error, "task")
    if world is not None:
        played.cpu_s = world.cpu_s
    return played


async def mutating_calls(run: Replaying, task: ThinkingBoxTask) -> tuple[int, ...]:
    """Indices of the golden calls after which the state is another.

    The servers are asked for their effects after every call. Where they give the hash of their
    database, it is compared, else all they tell.

    Raises:
        SandboxFault: A server failed.
        GoldenCallError: A golden call names a tool that there is not.
    """
    found = []
    async with run.world(task, "mutating") as world:
        await replay_history(world, task.history or (), builtin=_builtin(task))
        before = _state(await world.effects())
        for index, call in enumerate(task.golden):
            await _make(world, call)
            after = _state(await world.effects())
            if after != before:
                found.append(index)
            before = after
    return tuple(found)


@dataclass
class _Play:
    run: Replaying
    task: ThinkingBoxTask
    trajectory: Trajectory
    world: World
    played: Played

    async def make(self) -> None:
        task, world, played = self.task, self.world, self.played
        texts = prompts(task, world.init_result)
        played.warnings = await replay_history(world, task.history or (), builtin=_builtin(task))
        said = [*(task.history or ()), _text("user", texts.query)]
        made: list[dict[str, Any]] = []
        if self.trajectory.look:
            played.before.append(await world.effects())
            played.untouched = await self._verdict(played.before[0], made, said)
            played.asked.clear()  # those about the end are counted
        for number, written in enumerate(self.trajectory.calls):
            adapt = self.trajectory.adapt
            call = written if adapt is None else adapt(number, played.answers)
            if self.trajectory.look and number:
                played.before.append(await world.effects())
            answer = await _make(world, call)
            played.answers.append(answer)
            if answer.is_error and self.trajectory.strict:
                raise GoldenCallError(f"{call.tool} was refused: {answer.text[:300]}")
            made.append(_exchange(call, answer.text, f"call_{number}"))
            said += [
                {"T": "ParallelToolCall", "metadata": {}, "tool_calls": [made[-1]["tool_call"]]},
                made[-1]["tool_response"],
            ]
        played.effects = await world.effects()
        played.verdict = await self._verdict(played.effects, made, said)
        if self.trajectory.twice:
            asked = [*played.asked]
            played.again = await self._verdict(played.effects, made, said)
            played.asked[:] = asked

    async def _verdict(
        self, effects: Mapping[str, Any], made: list[dict[str, Any]], said: list[dict[str, Any]]
    ) -> Verdict:
        task, world = self.task, self.world
        order = CheckOrder(
            code=task.test_code,
            function=task.name,
            file=Path(task.file).name,  # a row is the same from any folder
            uid=task.uid,
            context={
                "response": LAST_WORDS,
                "tool_direct_responses": [],
                "effects": dict(effects),
                "tool_calls": made,
                "messages": [*said, _text("assistant", LAST_WORDS)],
                "init_result": world.init_result,
                "session_id": world.session_id,
            },
            fixtures=task.fixtures,
            judge_type=self.run.judge.protocol,
        )
        return await self.run.grader.grade(order, ask=self._ask)

    async def _ask(self, question: Question) -> str:
        if isinstance(question, JudgeQuestion):
            entry: dict[str, Any] = {"question": question.user}
            self.played.asked.append(entry)
            reply = await self.run.judge.answer(question)
            entry.update(reply.record)
            return reply.text
        try:
            result = await self.world.call_server(
                question.server, question.tool, question.arguments
            )
        except KeyError as error:
            raise ToolRefusedError(f"{question.server} has no tool {error}") from error
        return result.text


async def _make(world: World, call: GoldenCall) -> Answer:
    """Make a golden call, as the harness: the list may use tools that the agent is not shown."""
    try:
        result = await world.call_server(call.server, call.tool, call.arguments)
    except KeyError:
        raise GoldenCallError(f"{call.server} has no tool {call.tool}") from None
    return Answer(result.text, result.is_error)


def _state(effects: Mapping[str, Any]) -> Any:
    return {
        server: told.get("result_db_hash", told) if isinstance(told, dict) else told
        for server, told in effects.items()
    }


def _break(played: Played, error: Exception, phase: str) -> None:
    played.error = {"type": type(error).__name__, "message": str(error), "phase": phase}


def _builtin(task: ThinkingBoxTask) -> set[str]:
    return {tool.name for tool in task.agent.builtin_tools}


def _text(role: str, content: str) -> dict[str, Any]:
    return {"T": "Text", "metadata": {}, "role": role, "content": content}


def _exchange(call: GoldenCall, answer: str, number: str) -> dict[str, Any]:
    asked = {"T": "ToolCall", "metadata": {}, "name": call.tool, "id": number}
    told = {"T": "ToolResponse", "metadata": {}, "name": call.tool, "id": number}
    return {
        "tool_call": {**asked, "arguments": dict(call.arguments)},
        "tool_response": {**told, "content": answer},
    }


def check_servers(tasks: Sequence[ThinkingBoxTask], specs: Mapping[str, ServerSpec]) -> None:
    """See that every server that some tasks need is configured.

    Raises:
        InputError: One is not.
    """
    for task in tasks:
        for server in task.servers:
            if server not in specs:
                raise InputError(
                    f"needs the tool server {server}, which servers.yaml does not have; it has "
                    f"{', '.join(specs)}",
                    task=task.uid,
                    field="world_state",
                    value=server,
                )


def cpu_s() -> float:
    """Seconds of CPU of this process and of all it has waited for."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
