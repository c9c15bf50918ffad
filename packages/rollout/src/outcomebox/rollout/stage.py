"""What an episode plays on: one task, live, whatever form the task is written in.

The episode loop knows a :class:`Stage` and nothing of databases, servers or checks. :class:`Tasks`
are the tasks of a run, and open a stage for each episode; ``stages/`` has one kind for each form::

    tasks = NativeTasks(load_tasks(["travel"]))
    async with sandbox() as box, tasks.started(box):
        async with tasks.open(task, seed=1, repetition=0) as stage:
            result = await stage.call("get_booking", {"booking_id": "B-1"})
            ended = await stage.finish()
            verdict = await stage.grade(ended, messages)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from outcomebox.reward import Verdict
from outcomebox.sandbox import (
    Call,
    Reply,
    Sandbox,
    Task,
    TerminalState,
    ToolFault,
    ToolResult,
    ToolSpec,
)
from outcomebox.sandbox.thinkingbox import GoldenCall, ThinkingBoxTask

Message: TypeAlias = dict[str, Any]
AnyTask: TypeAlias = Task | ThinkingBoxTask
GoldenLike: TypeAlias = Call | GoldenCall

NO_ENV: Mapping[str, str] = {}
DIRECT = "direct_response"
"""Field of an assistant message that a tool had said to the user in the agent's place."""
HISTORY = "history"
"""Field of a message that stood in the conversation before the episode began."""


class ToolCrash(Exception):
    """A call that breaks its server each time: the agent's doing, and the server's weakness.

    Attributes:
        tool: What was called.
        server: The server it broke.
    """

    def __init__(self, fault: ToolFault, server: str) -> None:
        super().__init__(f"{fault} (again in a fresh session brought to the same point)")
        self.tool = fault.tool
        self.server = server


@dataclass(frozen=True, slots=True)
class StageTool:
    """A tool as the agent of an episode has it.

    Attributes:
        spec: Name, description and schema, with what a scenario overrides.
        end_turn: Whether calling it ends the episode; no server is asked.
        direct_response: What the user is told in the agent's words' place when it has answered: a
            format string over the fields of its answer.
        builtin: Whether the agent has it by itself; no server answers it.
    """

    spec: ToolSpec
    end_turn: bool = False
    direct_response: str | None = None
    builtin: bool = False


@dataclass(frozen=True, slots=True)
class UserBrief:
    """What the user of an episode is told.

    Attributes:
        background: Who they are, what they know and want; only a model reads it.
        replies: What a scripted user says.
        may_end: Whether the user may end the conversation.
        protocol: How a model is asked to play the user.
        seed: The episode's seed; the loop puts it in.
    """

    background: str
    replies: tuple[Reply, ...] = ()
    may_end: bool = True
    protocol: Literal["outcomebox", "thinkingbox"] = "outcomebox"
    seed: int = 0

    @property
    def silent(self) -> bool:
        """Whether the task says that there is nobody who could answer the agent."""
        return self.protocol == "thinkingbox" and not (self.background or self.replies)


@dataclass(frozen=True, slots=True)
class Limits:
    """When an episode ends at the latest.

    Attributes:
        turns: Answers of the policy.
        user_turns: Replies of the user.
        tool_deadline_s: Seconds a tool call may take.
        acts: Where a task counts them: messages to the user and batches of calls.
    """

    turns: int
    user_turns: int
    tool_deadline_s: float
    acts: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """What an episode left.

    Attributes:
        state: The terminal state, where the task has a database of ours.
        effects: What the servers told, without whole database states, where it has servers.
    """

    state: TerminalState | None = None
    effects: Mapping[str, Any] | None = None


class Stage(Protocol):
    """One task, live, for one episode.

    Attributes:
        tools: What the agent may call.
        opening: The messages that the episode begins with: system, history, query.
        brief: What the user is told.
        limits: When it ends at the latest.
        golden: The golden calls, for policies that say ``simulated``.
        warnings: What went wrong without ending it, such as calls of a history that failed now.
    """

    brief: UserBrief
    limits: Limits
    warnings: list[str]

    @property
    def tools(self) -> Sequence[StageTool]:
        """See the attributes above."""
        ...

    @property
    def opening(self) -> Sequence[Message]:
        """See the attributes above."""
        ...

    @property
    def golden(self) -> Sequence[GoldenLike]:
        """See the attributes above."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool as the agent.

        Raises:
            ToolCrash: The call breaks its server, as a repetition in a fresh session showed.
            SandboxFault: The session broke, and not for what was asked.
        """
        ...

    async def finish(self) -> Ended:
        """What the episode left. After a :class:`ToolCrash` that may be nothing.

        Raises:
            StateUnreadable: It cannot be read.
        """
        ...

    async def grade(
        self, ended: Ended, messages: Sequence[Message], judge: Any | None = None
    ) -> Verdict:
        """The verdict of the task's own check.

        Args:
            ended: What :meth:`finish` gave.
            messages: The whole conversation.
            judge: Answers the check's questions.
        """
        ...


class Tasks(Protocol):
    """The tasks of a run.

    Attributes:
        tasks: All of them, sorted by uid.
        by_uid: The same by uid.
    """

    @property
    def tasks(self) -> Sequence[AnyTask]:
        """See the attributes above."""
        ...

    @property
    def by_uid(self) -> Mapping[str, AnyTask]:
        """See the attributes above."""
        ...

    def started(self, box: Sandbox) -> AbstractAsyncContextManager[None]:
        """Start what they need in a sandbox; entered by the task that entered the sandbox.

        Raises:
            SessionOpenError: A server cannot be started.
            InputError: A server is not there.
        """
        ...

    def open(
        self,
        task: AnyTask,
        *,
        seed: int,
        repetition: int,
        attempt: int = 0,
        session_env: Mapping[str, str] = NO_ENV,
    ) -> AbstractAsyncContextManager[Stage]:
        """A fresh stage of a task; gone on exit.

        Args:
            task: One of these.
            seed: The episode's seed, the same for each try.
            repetition: Index of the attempt, from 0.
            attempt: Index of the try at this attempt, from 0.
            session_env: More environment variables of the tool servers.

        Raises:
            SessionOpenError: It could not be brought up.
            InputError: The task's texts cannot be made.
        """
        ...

    def versions(self, task: AnyTask) -> Mapping[str, str]:
        """What a row's ``versions`` says of a task and its backend: digests, by name."""
        ...

    def tags(self, task: AnyTask) -> Sequence[str]:
        """A task's tags, as a row has them."""
        ...

    def needs_judge(self) -> str | None:
        """Why these tasks need a judge: which one asks what; None where none does."""
        ...
