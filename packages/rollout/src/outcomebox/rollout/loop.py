"""The turns of an episode: the policy speaks or calls, tools and user answer, until it ends.

What ends a turn's way is looked at in this order, and the first that holds counts:

1. a token limit of the turn or of the context cut the answer off: ``token_limit``; nothing of it is
   carried out;
2. it calls an end-turn tool: ``end_turn_tool``; none of its other calls is made;
3. it has calls: they are made, in order, and the agent goes on (``agent_limit`` if it may not);
4. its visible text ends in ``<DONE>``: ``done``;
5. it says nothing to anybody: ``empty_output``;
6. it speaks to the user: ``agent_limit`` if the agent has no turn left to hear the answer,
   ``no_user`` if the task has none, ``user_limit`` if the user has no reply left, ``user_done`` if
   the user ends it.
"""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from outcomebox.interpret import Toolbox
from outcomebox.reward.chat import ContextTooLong
from outcomebox.rollout.policy import EpisodeContext, Message
from outcomebox.rollout.stage import DIRECT, Stage, StageTool
from outcomebox.rollout.stages.toolview import direct_text
from outcomebox.rollout.turns import AgentTurn, TurnCall, read_turn
from outcomebox.rollout.users.base import UserEpisode, ends

if TYPE_CHECKING:
    from outcomebox.rollout.episode import Episode, EpisodeSetting, FinishReason


async def converse(
    setting: EpisodeSetting, stage: Stage, episode: Episode, context: EpisodeContext
) -> FinishReason:
    """Let policy, tools and user talk until one of them ends it or a limit is reached.

    Args:
        setting: What the run shares.
        stage: The task, live.
        episode: Where messages, tokens and seconds go; it has the opening messages.
        context: What the policy is told.

    Raises:
        ToolCrash: A call breaks its server each time.
        SandboxFault, PolicyError, UserError: Infrastructure failed.
    """
    user = setting.user.start(replace(stage.brief, seed=context.seed))
    try:
        return await _Talk(setting, stage, episode, context, user).all_turns()
    finally:
        episode.spent.count("user", user.usage)


class _Talk:
    def __init__(
        self,
        setting: EpisodeSetting,
        stage: Stage,
        episode: Episode,
        context: EpisodeContext,
        user: UserEpisode,
    ) -> None:
        self.setting = setting
        self.stage = stage
        self.episode = episode
        self.user = user
        self.policy = setting.policy.start(context)
        self.toolbox = _toolbox(setting, context)
        self.special: dict[str, StageTool] = {
            tool.spec.name: tool
            for tool in stage.tools
            if tool.end_turn or tool.direct_response is not None
        }
        self.replies = 0
        self.acts_left = stage.limits.acts

    async def all_turns(self) -> FinishReason:
        """One turn after the other."""
        limits = self.stage.limits
        if self._spent_out():
            return "agent_limit"
        for index in range(limits.turns):
            turn = await self._turn(index)
            if turn is None:
                return "token_limit"
            said = bool((turn.content or "").strip())
            if said:
                self._act()
            if turn.calls:
                if any(self._ends_turn(call) for call in turn.calls):
                    return "end_turn_tool"
                if said and self._spent_out():
                    return "agent_limit"
                self._act()
                await self._answer(turn)
            elif turn.done:
                return "done"
            elif not said:
                return "empty_output"
            elif index == limits.turns - 1 or self._spent_out():
                return "agent_limit"
            elif (reason := await self._ask_user()) is not None:
                return reason
            if self._spent_out():
                return "agent_limit"
        return "agent_limit"

    async def _turn(self, index: int) -> AgentTurn | None:
        """The policy's next turn; None where a token limit of the turn or the context cut it."""
        setting, episode = self.setting, self.episode
        began = monotonic()
        try:
            completion = await self.policy.complete(episode.messages)
        except ContextTooLong as error:
            self.stage.warnings.append(f"policy: {error}")
            return None
        read_at = episode.spent.time("policy", began)
        episode.spent.count("policy", completion.usage)
        turn = read_turn(
            completion,
            self.toolbox,
            turn=index,
            format=setting.policy.format,
            profile=setting.profile,
        )
        episode.say(turn.message(completion), read_at - began)
        episode.spent.time("parse", read_at)
        return None if completion.finish_reason == "length" else turn

    async def _answer(self, turn: AgentTurn) -> None:
        """Make the calls of a turn, in order; what tools say to the user follows them."""
        forward: list[Message] = []
        for call in turn.calls:
            began = monotonic()
            if call.executable:
                result = await self.stage.call(call.name, call.arguments)
                text, is_error = result.text, result.is_error
            else:
                text, is_error = _refusal(call), True
            took = self.episode.spent.time("tools", began) - began
            message: Message = {
                "role": "tool",
                "tool_call_id": call.id,
                "name": call.name,
                "content": text,
            }
            if is_error:
                message["is_error"] = True
            self.episode.say(message, took)
            if not is_error and call.name in self.special:
                forward += self._forwarded(self.special[call.name], text)
        for said in forward:
            self._act()
            self.episode.say(said, 0.0)

    def _forwarded(self, tool: StageTool, answer: str) -> list[Message]:
        if tool.direct_response is None:
            return []
        text = direct_text(tool.direct_response, answer)
        if text is None:
            self.stage.warnings.append(
                f"{tool.spec.name}: its answer does not fit its direct response, so the user was "
                f"told nothing: {answer[:200]}"
            )
            return []
        return [{"role": "assistant", "content": text, DIRECT: tool.spec.name}]

    async def _ask_user(self) -> FinishReason | None:
        """The user's next reply; why the episode ends, if it does."""
        brief = self.stage.brief
        if brief.silent:
            return "no_user"
        if self.replies == self.stage.limits.user_turns:
            return "user_limit"
        began = monotonic()
        reply = await self.user.reply(self.episode.messages)
        took = self.episode.spent.time("user", began) - began
        self.replies += 1
        if reply is not None:
            self.episode.say({"role": "user", "content": reply}, took)
        return "user_done" if ends(reply, brief) else None

    def _ends_turn(self, call: TurnCall) -> bool:
        tool = self.special.get(call.name)
        return call.executable and tool is not None and tool.end_turn

    def _act(self) -> None:
        if self.acts_left is not None:
            self.acts_left -= 1

    def _spent_out(self) -> bool:
        return self.acts_left is not None and self.acts_left <= 0


def _toolbox(setting: EpisodeSetting, context: EpisodeContext) -> Toolbox:
    told = [tool.openai() for tool in context.tools]
    if setting.plain_schemas:
        from outcomebox.interpret.replay.offers import (  # noqa: PLC0415 -- seldom wanted
            plain_tool,
        )

        told = [plain_tool(tool) for tool in told]
    return Toolbox(told)


def _refusal(call: TurnCall) -> str:
    what = call.message or f"it is {call.status}"
    return (
        f"The tool call was not executed: {what}. Nothing was changed; send the call again, whole."
    )
