"""Tasks of our own form: a database, one tool server, and a declared end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from outcomebox.reward import Check, Judge, Verdict, grade, verdict_of
from outcomebox.reward.judge import AsyncJudge
from outcomebox.reward.judging import require_judge, with_answers
from outcomebox.rollout.backend import Backend
from outcomebox.rollout.prompt import system_prompt
from outcomebox.rollout.stage import (
    NO_ENV,
    AnyTask,
    Ended,
    Limits,
    Message,
    StageTool,
    ToolCrash,
    UserBrief,
)
from outcomebox.sandbox import (
    Call,
    InputError,
    Sandbox,
    Session,
    StateUnreadable,
    Task,
    TaskSet,
    TerminalState,
    ToolResult,
    open_session,
    start_domains,
)
from outcomebox.sandbox.recorded import initial_hash


class NativeTasks:
    """The tasks of a :class:`~outcomebox.sandbox.TaskSet`.

    Args:
        tasks: The tasks with their domains.
        box: A sandbox in which the domains have been started; without it, :meth:`started` gives
            one.
    """

    def __init__(self, tasks: TaskSet, box: Sandbox | None = None) -> None:
        self.set = tasks
        self._box = box
        self._prompts = {name: system_prompt(domain) for name, domain in tasks.domains.items()}
        self._initial: dict[str, str] = {}

    @property
    def tasks(self) -> Sequence[Task]:
        """All tasks, sorted by uid."""
        return self.set.tasks

    @property
    def by_uid(self) -> Mapping[str, Task]:
        """The tasks by uid."""
        return self.set.by_uid

    @asynccontextmanager
    async def started(self, box: Sandbox) -> AsyncIterator[None]:
        """Start the domains' tool servers.

        Raises:
            SessionOpenError: A server cannot be started.
            InputError: A server is not there.
        """
        await start_domains(box, list(self.set.domains.values()), backend=self.set.backend)
        self._box = box
        try:
            yield
        finally:
            self._box = None

    @asynccontextmanager
    async def open(
        self,
        task: AnyTask,
        *,
        seed: int,
        repetition: int,  # noqa: ARG002 -- of no use here: the seed tells the repetitions apart
        attempt: int = 0,  # noqa: ARG002 -- likewise: a try is to be like the one before
        session_env: Mapping[str, str] = NO_ENV,
    ) -> AsyncIterator[NativeStage]:
        """A fresh session of a task.

        Raises:
            SessionOpenError: It could not be brought up.
        """
        box = self._box
        if box is None:
            raise RuntimeError("the tasks have not been started in a sandbox")
        own = self.by_uid[task.uid]
        domain, image = self.set.domain(own), self.set.image(own)

        def fresh() -> Any:
            return open_session(box, domain, image, seed=seed, env=session_env)

        async with fresh() as session:
            backend = Backend(
                session, fresh, own.limits.tool_deadline_s, server_of=lambda _: domain.name
            )
            yield NativeStage(own, self._prompts[own.domain], session, backend)

    def versions(self, task: AnyTask) -> Mapping[str, str]:
        """Digests of the task, of what it asks, of its domain and of its initial state."""
        own = self.by_uid[task.uid]
        domain = self.set.domain(own)
        if own.uid not in self._initial:
            self._initial[own.uid] = initial_hash(domain, own)
        return {
            "task": own.hash,
            "content": own.content_hash,
            "domain": domain.hash,
            "initial": self._initial[own.uid],
        }

    def tags(self, task: AnyTask) -> Sequence[str]:
        """The task's tags."""
        return self.by_uid[task.uid].tags

    def needs_judge(self) -> str | None:
        """Why these tasks need a judge; None where none does."""
        try:
            require_judge(self.tasks)
        except InputError as error:
            return str(error)
        return None


@dataclass
class NativeStage:
    """A task of our own form, live."""

    task: Task
    prompt: str
    session: Session
    backend: Backend
    warnings: list[str] = field(default_factory=list)
    _crashed: bool = False

    def __post_init__(self) -> None:
        task = self.task
        self.tools = tuple(StageTool(tool) for tool in self.session.tools)
        self.opening: Sequence[Message] = (
            {"role": "system", "content": self.prompt},
            {"role": "user", "content": task.query},
        )
        self.brief = UserBrief(task.user_context.background, task.user_context.replies)
        limits = task.limits
        self.limits = Limits(limits.turns, limits.user_turns, limits.tool_deadline_s)

    @property
    def golden(self) -> Sequence[Call]:
        """The golden calls."""
        return self.task.golden

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool.

        Raises:
            ToolCrash: The call breaks the server, as a repetition in a fresh session showed.
            SandboxFault: The session broke, and not for what was asked.
        """
        try:
            return await self.backend.call(name, arguments)
        except ToolCrash:
            self._crashed = True
            raise

    async def finish(self) -> Ended:
        """The terminal state; after a crash, where it can be read.

        Raises:
            StateUnreadable: It cannot be read.
        """
        try:
            return Ended(state=await self.session.close())
        except StateUnreadable:
            if not self._crashed:
                raise
            return Ended()

    async def grade(
        self, ended: Ended, messages: Sequence[Message], judge: Any | None = None
    ) -> Verdict:
        """What the declared end says of the terminal state.

        Args:
            ended: What :meth:`finish` gave.
            messages: The whole conversation.
            judge: An :class:`~outcomebox.reward.judge.AsyncJudge`.
        """
        state = ended.state
        if state is None:
            raise StateUnreadable("there is no terminal state to grade")
        if judge is None:
            return judged(self.task, state, None, messages)
        asked: AsyncJudge = judge
        return await with_answers(lambda known: judged(self.task, state, known, messages), asked)


def judged(
    task: Task, state: TerminalState, judge: Judge | None, messages: Sequence[Message]
) -> Verdict:
    """The verdict of a terminal state; a check that breaks gives ``system_error``."""

    def check() -> Verdict:
        return grade(Check.from_task(task), state, judge=judge, transcript=messages)

    return verdict_of(check, assertions=False)
