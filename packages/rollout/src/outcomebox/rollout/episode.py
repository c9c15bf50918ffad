"""The episode loop: policy, tools and user until somebody ends it, then the terminal state decides.

There is one loop. Probe, evaluation and training differ only in the policy and in who asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal

from outcomebox.interpret import Toolbox
from outcomebox.reward import Check, Judge, Reason, Verdict, grade, verdict_of
from outcomebox.reward.chat import Usage
from outcomebox.reward.judge import AsyncJudge
from outcomebox.reward.judging import with_answers
from outcomebox.rollout.backend import Backend, ToolCrash, open_backend
from outcomebox.rollout.policy import EpisodeContext, Message, Policy, PolicyEpisode
from outcomebox.rollout.prompt import system_prompt
from outcomebox.rollout.turns import AgentTurn, TurnCall, read_turn
from outcomebox.rollout.users import User, UserEpisode
from outcomebox.sandbox import (
    Domain,
    Image,
    Sandbox,
    Task,
    TerminalState,
    open_session,
)

FinishReason = Literal[
    "done", "user_done", "agent_limit", "user_limit", "token_limit", "empty_output", "tool_crash"
]


@dataclass
class Spent:
    """Tokens and seconds of an episode, summed by role."""

    tokens: dict[str, dict[str, int]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def count(self, role: str, usage: Usage) -> None:
        """Add the tokens of one exchange; what is not counted stays out."""
        into = self.tokens.setdefault(role, {})
        for name, value in (
            ("prompt", usage.prompt_tokens),
            ("completion", usage.completion_tokens),
        ):
            if value is not None:
                into[name] = into.get(name, 0) + value

    def time(self, role: str, started: float) -> float:
        """Add the seconds since ``started``; returns the present moment."""
        moment = monotonic()
        self.seconds[role] = self.seconds.get(role, 0.0) + moment - started
        return moment


@dataclass
class Episode:
    """One run of one task, filled in as it goes, so that a broken one can still be looked at.

    Attributes:
        messages: The conversation, the raw output beside what was read from it.
        finish_reason: Why it ended; None while it runs, or if infrastructure broke it.
        verdict: None until graded.
        state: The terminal state, once read.
        spent: Tokens and seconds.
    """

    messages: list[Message] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    verdict: Verdict | None = None
    state: TerminalState | None = None
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True)
class EpisodeSetting:
    """What all episodes of a run share.

    Attributes:
        sandbox: Where sessions are opened; the task's domain has been started.
        policy: Who acts.
        user: Who asks.
        judge: Answers rubrics; None where no task has one.
        profile: Interpreter profile that raw output is read with.
        seed_of: ``(uid, repetition)`` to the episode's seed.
        session_env: More environment variables of the tool servers.
        plain_schemas: Whether the interpreter is told one plain type for each parameter, for
            profiles of readers that refuse unions (docs/parity.md); the tools stay as they are.
    """

    sandbox: Sandbox
    policy: Policy
    user: User
    seed_of: Callable[[str, int], int]
    judge: AsyncJudge | None = None
    profile: str = "strict"
    session_env: Mapping[str, str] = field(default_factory=dict)
    plain_schemas: bool = False


async def run_episode(
    setting: EpisodeSetting,
    task: Task,
    domain: Domain,
    image: Image,
    repetition: int,
    *,
    into: Episode | None = None,
) -> Episode:
    """Run a task once and grade what it left.

    Args:
        setting: What the run shares.
        task: The task.
        domain: Its domain.
        image: Its initial state.
        repetition: Index of the attempt, from 0.
        into: Where to write; what was reached stays in it when this raises.

    Raises:
        SandboxFault, PolicyError, UserError: Infrastructure failed; there is no verdict.
    """
    episode = into or Episode()
    seed = setting.seed_of(task.uid, repetition)
    started = monotonic()

    def fresh() -> Any:
        return open_session(setting.sandbox, domain, image, seed=seed, env=setting.session_env)

    async with open_backend(fresh, deadline_s=task.limits.tool_deadline_s) as backend:
        started = episode.spent.time("open", started)
        policy = setting.policy.start(EpisodeContext(task, backend.tools, seed, repetition))
        user = setting.user.start(task)
        episode.messages += [
            {"role": "system", "content": system_prompt(domain)},
            {"role": "user", "content": task.query},
        ]
        crash: ToolCrash | None = None
        try:
            episode.finish_reason = await _converse(
                setting, task, episode, backend=backend, policy=policy, user=user
            )
        except ToolCrash as error:
            crash = error
            episode.finish_reason = "tool_crash"
        episode.spent.count("user", user.usage)
        started = monotonic()
        episode.state = await backend.close()
        started = episode.spent.time("close", started)
    if crash is not None:
        episode.verdict = _crashed(crash)
    else:
        episode.verdict = await _judged(task, episode.state, setting.judge, episode)
    episode.spent.time("grade", started)
    return episode


async def _converse(
    setting: EpisodeSetting,
    task: Task,
    episode: Episode,
    *,
    backend: Backend,
    policy: PolicyEpisode,
    user: UserEpisode,
) -> FinishReason:
    user_turns = 0
    tools = _toolbox(setting, backend)
    for index in range(task.limits.turns):
        started = monotonic()
        completion = await policy.complete(episode.messages)
        started = episode.spent.time("policy", started)
        episode.spent.count("policy", completion.usage)
        turn = read_turn(
            completion,
            tools,
            turn=index,
            format=setting.policy.format,
            profile=setting.profile,
        )
        episode.messages.append(turn.message(completion))
        started = episode.spent.time("parse", started)
        if completion.finish_reason == "length":
            return "token_limit"
        if turn.calls:
            await _answer_calls(turn, episode, backend)
            episode.spent.time("tools", started)
            continue
        if turn.done:
            return "done"
        if not (turn.content or "").strip():
            return "empty_output"
        if user_turns == task.limits.user_turns:
            return "user_limit"
        reply = await user.reply(episode.messages)
        episode.spent.time("user", started)
        if reply is None:
            return "user_done"
        user_turns += 1
        episode.messages.append({"role": "user", "content": reply})
    return "agent_limit"


def _toolbox(setting: EpisodeSetting, backend: Backend) -> Toolbox:
    told = [tool.openai() for tool in backend.tools]
    if setting.plain_schemas:
        from outcomebox.interpret.replay.offers import (  # noqa: PLC0415 -- seldom wanted
            plain_tool,
        )

        told = [plain_tool(tool) for tool in told]
    return Toolbox(told)


async def _answer_calls(turn: AgentTurn, episode: Episode, backend: Backend) -> None:
    for call in turn.calls:
        if call.executable:
            result = await backend.call(call.name, call.arguments)
            text, is_error = result.text, result.is_error
        else:
            text, is_error = _refusal(call), True
        message: Message = {
            "role": "tool",
            "tool_call_id": call.id,
            "name": call.name,
            "content": text,
        }
        if is_error:
            message["is_error"] = True
        episode.messages.append(message)


def _refusal(call: TurnCall) -> str:
    what = call.message or f"it is {call.status}"
    return (
        f"The tool call was not executed: {what}. Nothing was changed; send the call again, whole."
    )


async def _judged(
    task: Task, state: TerminalState, judge: AsyncJudge | None, episode: Episode
) -> Verdict:
    messages = episode.messages
    if judge is None:
        return judged(task, state, None, messages)
    verdict = await with_answers(lambda known: judged(task, state, known, messages), judge)
    for asked in verdict.details.get("judge", ()):
        for vote in asked.get("votes", ()):
            if not vote["cached"]:
                episode.spent.count("judge", Usage(*vote["tokens"]))
    return verdict


def judged(
    task: Task, state: TerminalState, judge: Judge | None, messages: Sequence[Message]
) -> Verdict:
    """The verdict of a terminal state; a check that breaks gives ``system_error``."""

    def check() -> Verdict:
        return grade(Check.from_task(task), state, judge=judge, transcript=messages)

    return verdict_of(check, assertions=False)


def _crashed(crash: ToolCrash) -> Verdict:
    return Verdict("failed", 0.0, (Reason("tool_crash", message=str(crash)),), {"tool": crash.tool})
