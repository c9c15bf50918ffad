"""Replaying the golden calls of a ThinkingBox task, or a mutation of them, and grading the end.

No model is asked for anything. A task's own servers are initialised, the calls are made, the
servers tell their effects, and the task's own check judges them, as it would judge an agent.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from outcomebox.eval.mutations import Variant
from outcomebox.eval.replay_judge import ReplayJudge
from outcomebox.reward.thinkingbox import (
    CheckGrader,
    CheckOrder,
    JudgeQuestion,
    Question,
    ToolRefusedError,
)
from outcomebox.reward.verdict import Verdict
from outcomebox.sandbox import InputError, Sandbox, SandboxFault, ServerSpec, World, open_world
from outcomebox.sandbox.thinkingbox import GoldenCall, ThinkingBoxTask, prompts
from outcomebox.sandbox.world import replay_history

Row = dict[str, Any]

LAST_WORDS = "That is done. <DONE>"
"""What the scripted agent says at the end: a check may look at the last message."""

_NAMESPACE = uuid.UUID("5b0b4b1e-7d0c-4f5e-9a43-7c1d1f5f2b11")


class GoldenCallError(Exception):
    """A golden call was answered with an error: the task is at fault, and proves nothing."""


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


async def mutating_calls(run: Replaying, task: ThinkingBoxTask) -> tuple[int, ...]:
    """Indices of the golden calls after which the state is another.

    The servers are asked for their effects after every call. Where they give the hash of their
    database, it is compared, else all they tell.

    Raises:
        SandboxFault: A server failed.
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


async def replay(run: Replaying, task: ThinkingBoxTask, variant: Variant) -> Row:
    """Make a trajectory's calls in a fresh world and grade what they left.

    Returns:
        A row: what was done, the verdict, the database hashes where the servers give them, and what
        it cost. Whatever breaks on the way is a ``system_error`` in it.
    """
    started = time.monotonic()
    row: Row = {
        "uid": task.uid,
        "family": task.family,
        "policy": variant.name,
        "task": task.hash,
        "calls": len(variant.calls),
        "call_errors": 0,
        "verdict": "system_error",
        "score": None,
        "reason": None,
        "error": None,
        "result_db_hash": None,
        "golden_db_hash": None,
        "judge": None,
    }
    world: World | None = None
    asked: list[str] = []
    try:
        async with run.world(task, variant.name) as world:
            _tell(row, await _judged(run, task, variant, world=world, row=row, asked=asked))
    except SandboxFault as error:
        _break(row, error, error.phase)
    except GoldenCallError as error:
        _break(row, error, "golden")
    except InputError as error:
        _break(row, error, "task")
    if asked:
        row["judge"] = {**run.judge.describe(), "questions": len(asked)}
    row["isolation"] = _isolation(run, task)
    row["cpu_s"] = round(0.0 if world is None else world.cpu_s, 4)
    row["wall_s"] = round(time.monotonic() - started, 4)
    return row


async def _judged(
    run: Replaying,
    task: ThinkingBoxTask,
    variant: Variant,
    *,
    world: World,
    row: Row,
    asked: list[str],
) -> Verdict:
    texts = prompts(task, world.init_result)
    warnings = await replay_history(world, task.history or (), builtin=_builtin(task))
    if warnings:
        row["warnings"] = list(warnings)
    said = [*(task.history or ()), _text("user", texts.query)]
    made = []
    for number, index in enumerate(variant.calls):
        call = task.golden[index]
        answer, is_error = await _make(world, call)
        if is_error:
            row["call_errors"] += 1
            if variant.name == "golden":
                raise GoldenCallError(f"{call.tool} was refused: {answer[:300]}")
        made.append(_exchange(call, answer, f"call_{number}"))
        said += [
            {"T": "ParallelToolCall", "metadata": {}, "tool_calls": [made[-1]["tool_call"]]},
            made[-1]["tool_response"],
        ]
    said.append(_text("assistant", LAST_WORDS))
    effects = await world.effects()
    _hashes(row, effects)

    async def ask(question: Question) -> str:
        if isinstance(question, JudgeQuestion):
            asked.append(question.user)
            return await run.judge.answer(question)
        try:
            result = await world.call_server(question.server, question.tool, question.arguments)
        except KeyError as error:
            raise ToolRefusedError(f"{question.server} has no tool {error}") from error
        return result.text

    order = CheckOrder(
        code=task.test_code,
        function=task.name,
        file=task.file,
        uid=task.uid,
        context={
            "response": LAST_WORDS,
            "tool_direct_responses": [],
            "effects": dict(effects),
            "tool_calls": made,
            "messages": said,
            "init_result": world.init_result,
            "session_id": world.session_id,
        },
        fixtures=task.fixtures,
        judge_type=run.judge.protocol,
    )
    return await run.grader.grade(order, ask=ask)


async def _make(world: World, call: GoldenCall) -> tuple[str, bool]:
    """Make a golden call, as the harness: the list may use tools that the agent is not shown."""
    try:
        result = await world.call_server(call.server, call.tool, call.arguments)
    except KeyError:
        raise GoldenCallError(f"{call.server} has no tool {call.tool}") from None
    return result.text, result.is_error


def _state(effects: Mapping[str, Any]) -> Any:
    return {
        server: told.get("result_db_hash", told) if isinstance(told, dict) else told
        for server, told in effects.items()
    }


def _hashes(row: Row, effects: Mapping[str, Any]) -> None:
    """The servers' database hashes: of one server as it is, of several joined by a comma."""
    for name in ("result_db_hash", "golden_db_hash"):
        told = [value[name] for value in effects.values() if value.get(name)]
        row[name] = ",".join(told) if told else None


def _tell(row: Row, verdict: Verdict) -> None:
    row["verdict"], row["score"] = verdict.outcome, verdict.score
    if verdict.reasons:
        row["reason"] = verdict.reasons[0].message
    if verdict.error is not None:
        row["error"] = dict(verdict.error)


def _break(row: Row, error: Exception, phase: str) -> None:
    row["error"] = {"type": type(error).__name__, "message": str(error), "phase": phase}


def _isolation(run: Replaying, task: ThinkingBoxTask) -> dict[str, Any]:
    return {
        name: run.box.isolation(run.specs[name]).to_json()
        for name in task.servers
        if name in run.specs
    }


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
