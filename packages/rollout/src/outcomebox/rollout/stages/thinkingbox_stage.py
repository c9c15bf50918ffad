"""A task of the ThinkingBox form, live: its tools, its texts, and what its test code says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from outcomebox.reward import Verdict
from outcomebox.reward.thinkingbox import (
    CheckGrader,
    CheckOrder,
    JudgeQuestion,
    Question,
    ToolRefusedError,
)
from outcomebox.reward.thinkingbox.standin import ReplayJudge, StandIn
from outcomebox.rollout.backend import Backend
from outcomebox.rollout.stage import HISTORY, Ended, Limits, Message, ToolCrash, UserBrief
from outcomebox.rollout.stages.checkform import (
    chat_messages,
    check_calls,
    check_messages,
    forwarded,
    last_said,
)
from outcomebox.rollout.stages.effects import recorded_effects
from outcomebox.rollout.stages.toolview import stage_tools, unknown_arguments
from outcomebox.sandbox import StateUnreadable, ToolResult, World
from outcomebox.sandbox.session import unknown_tool
from outcomebox.sandbox.thinkingbox import UNLIMITED, GoldenCall, Prompts, ThinkingBoxTask

_NO_JUDGE = StandIn("none")


@dataclass
class ThinkingBoxStage:
    """A task of the ThinkingBox form, live.

    Attributes:
        task: The task.
        texts: Its texts, filled in.
        world: Its session.
        backend: The session, which tells who is to blame when it breaks.
        grader: Runs its test code.
        turns: Answers of the policy, at most.
        user_may_end: Whether the user may end the conversation.
        warnings: What went wrong without ending the episode.
    """

    task: ThinkingBoxTask
    texts: Prompts
    world: World
    backend: Backend
    grader: CheckGrader
    turns: int
    user_may_end: bool
    warnings: list[str] = field(default_factory=list)
    _crashed: bool = False
    _told: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        task, texts = self.task, self.texts
        self.tools = stage_tools(task, self.world.tools)
        self.warnings += unknown_arguments(task, self.world.tools)
        self._by_name = {tool.spec.name: tool for tool in self.tools}
        system = [task.agent.system_instructions, texts.bot_instructions]
        self._system: list[Message] = [
            {"role": "system", "content": said} for said in system if said
        ]
        earlier = [{**message, HISTORY: True} for message in chat_messages(task.history or ())]
        query: Message = {"role": "user", "content": texts.query}
        self.opening: Sequence[Message] = (*self._system, *earlier, query)
        self.brief = UserBrief(
            texts.user_context or "", may_end=self.user_may_end, protocol="thinkingbox"
        )
        self.limits = Limits(
            self.turns,
            # A user who may end it has one reply more to do so.
            task.max_user_turns + self.user_may_end,
            self.backend.deadline_s,
            acts=None if task.max_agent_turns == UNLIMITED else task.max_agent_turns,
        )

    @property
    def golden(self) -> Sequence[GoldenCall]:
        """The golden calls of all servers."""
        return self.task.golden

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool.

        Raises:
            ToolCrash: The call breaks its server, as a repetition in a fresh session showed.
            SandboxFault: The session broke, and not for what was asked.
        """
        tool = self._by_name.get(name)
        if tool is None:
            return unknown_tool(name, [each.spec for each in self.tools])
        if tool.builtin:
            return ToolResult(f"No server answers {name!r}: it is the agent's own.", is_error=True)
        try:
            return await self.backend.call(name, arguments)
        except ToolCrash:
            self._crashed = True
            raise

    async def finish(self) -> Ended:
        """What the servers tell; nothing after a crash.

        Raises:
            StateUnreadable: A server tells nothing.
        """
        if self._crashed:
            return Ended()
        self._told = await self.world.effects()
        return Ended(effects=recorded_effects(self._told))

    async def grade(
        self,
        ended: Ended,  # noqa: ARG002 -- test code sees the effects whole
        messages: Sequence[Message],
        judge: Any | None = None,
    ) -> Verdict:
        """What the test code says.

        Args:
            ended: What :meth:`finish` gave.
            messages: The whole conversation.
            judge: A :class:`~outcomebox.reward.thinkingbox.standin.ReplayJudge`.

        Raises:
            StateUnreadable: The servers have told nothing.
        """
        if self._told is None:
            raise StateUnreadable("there are no effects to grade")
        task, judged_by = self.task, _NO_JUDGE if judge is None else judge
        own = messages[len(self.opening) - 1 :]
        end_turn = frozenset(tool.spec.name for tool in self.tools if tool.end_turn)
        order = CheckOrder(
            code=task.test_code,
            function=task.name,
            file=Path(task.file).name,  # a row is the same from any folder
            uid=task.uid,
            context={
                "response": last_said(messages),
                "tool_direct_responses": forwarded(messages),
                "effects": self._told,
                "tool_calls": check_calls(own, end_turn),
                # A history stays as the dataset has it.
                "messages": [
                    *check_messages(self._system),
                    *(task.history or ()),
                    *check_messages(own),
                ],
                "init_result": self.world.init_result,
                "session_id": self.world.session_id,
            },
            fixtures=task.fixtures,
            judge_type=judged_by.protocol,
        )
        asked: list[dict[str, Any]] = []

        async def ask(question: Question) -> str:
            return await self._answer(question, judged_by, asked)

        verdict = await self.grader.grade(order, ask=ask)
        if not any(asked):
            return verdict
        return replace(verdict, details={**verdict.details, "replies": asked})

    async def _answer(
        self, question: Question, judge: ReplayJudge, asked: list[dict[str, Any]]
    ) -> str:
        if isinstance(question, JudgeQuestion):
            reply = await judge.answer(question)
            # Whether it came from a cache is no part of what was found.
            asked.append({name: reply.record[name] for name in reply.record if name != "cached"})
            return reply.text
        try:
            result = await self.world.call_server(
                question.server, question.tool, question.arguments
            )
        except KeyError as error:
            raise ToolRefusedError(f"{question.server} has no tool {error}") from error
        return result.text
