"""From the end of a trial to its verdict, where a person answers what a judge is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio.to_thread

from outcomebox.reward.check import Check
from outcomebox.reward.grade import grade
from outcomebox.reward.play.talk import Talk
from outcomebox.reward.safely import verdict_of
from outcomebox.reward.thinkingbox import (
    CheckOrder,
    JudgeQuestion,
    Question,
    ToolRefusedError,
    check_grader,
)
from outcomebox.reward.verdict import Verdict, system_error
from outcomebox.sandbox import Sandbox, SandboxFault, Session, Task, TerminalState, World
from outcomebox.sandbox.thinkingbox import ThinkingBoxTask

Confirm = Callable[[str], bool]
"""Puts a yes/no question to the person; it waits."""


class _Person:
    """A judge: whoever plays."""

    def __init__(self, confirm: Confirm) -> None:
        self._confirm = confirm

    def ask(self, question: str, text: str) -> bool:
        """Their answer."""
        return self._confirm(f"{text}\n\n{question}")


async def end_session(
    session: Session, task: Task, talk: Talk, confirm: Confirm
) -> tuple[Verdict, TerminalState | None]:
    """The verdict of a task of our own form, and the terminal state, which is read here.

    Returns:
        ``system_error`` without a state where it cannot be read.
    """
    try:
        state = await session.close()
    except SandboxFault as error:
        return system_error(error, "read"), None

    def check() -> Verdict:
        judge = _Person(confirm)
        return grade(Check.from_task(task), state, judge=judge, transcript=talk.chat)

    def verdict() -> Verdict:
        return verdict_of(check, assertions=False)

    # In a thread: the person takes the time it takes.
    return await anyio.to_thread.run_sync(verdict, abandon_on_cancel=True), state


async def end_world(
    box: Sandbox, world: World, task: ThinkingBoxTask, talk: Talk, confirm: Confirm
) -> Verdict:
    """The verdict of a task's test code in the ThinkingBox form."""

    async def ask(question: Question) -> str:
        if isinstance(question, JudgeQuestion):
            asked = f"{question.user}"
            yes = await anyio.to_thread.run_sync(confirm, asked, abandon_on_cancel=True)
            return "yes" if yes else "no"
        try:
            result = await world.call_server(question.server, question.tool, question.arguments)
        except KeyError as error:
            raise ToolRefusedError(f"{question.server} has no tool {error}") from error
        return result.text

    try:
        effects = await world.effects()
    except SandboxFault as error:
        return system_error(error, "read")
    order = CheckOrder(
        code=task.test_code,
        function=task.name,
        file=Path(task.file).name,
        uid=task.uid,
        context={
            "response": talk.last_words,
            "tool_direct_responses": [],
            "effects": effects,
            "tool_calls": talk.calls,
            "messages": talk.form,
            "init_result": world.init_result,
            "session_id": world.session_id,
        },
        fixtures=task.fixtures,
    )
    async with check_grader(box, ahead=0) as grader:
        return await grader.grade(order, ask=ask)
