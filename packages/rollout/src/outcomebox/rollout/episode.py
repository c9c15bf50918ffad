"""One episode: a stage is opened, policy and user talk until somebody ends it, the check decides.

There is one loop, for tasks of every form. Probe, evaluation and training differ only in the policy
and in who asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Literal

from outcomebox.reward import Reason, Verdict
from outcomebox.reward.chat import Traffic, Usage, counting_traffic
from outcomebox.reward.judge import AsyncJudge
from outcomebox.reward.thinkingbox.standin import ReplayJudge
from outcomebox.rollout.loop import converse
from outcomebox.rollout.policy import EpisodeContext, Message, Policy
from outcomebox.rollout.stage import NO_ENV, AnyTask, Stage, Tasks, ToolCrash
from outcomebox.rollout.users.base import User
from outcomebox.sandbox import Sandbox, TerminalState

FinishReason = Literal[
    "done",
    "end_turn_tool",
    "user_done",
    "no_user",
    "user_limit",
    "agent_limit",
    "token_limit",
    "empty_output",
    "tool_crash",
]
"""Why an episode ended; docs/episodes.md tells them apart."""


@dataclass
class Spent:
    """Tokens and seconds of an episode.

    Attributes:
        tokens: By role, ``prompt`` and ``completion``.
        seconds: By role and by part of the harness.
        messages: Seconds that each message of the conversation took, in its order.
    """

    tokens: dict[str, dict[str, int]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    messages: list[float] = field(default_factory=list)

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
        state: The terminal state, once read, where the task has a database of ours.
        effects: What the servers told, where it has servers of its own.
        warnings: What went wrong without ending it.
        spent: Tokens and seconds.
        started: When it began.
        traffic: Requests to models, by role.
    """

    messages: list[Message] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    verdict: Verdict | None = None
    state: TerminalState | None = None
    effects: Mapping[str, Any] | None = None
    warnings: list[str] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    traffic: Traffic = field(default_factory=Traffic)

    def say(self, message: Message, seconds: float) -> None:
        """Add a message that took so many seconds to come about."""
        self.messages.append(message)
        self.spent.messages.append(seconds)


@dataclass(frozen=True)
class EpisodeSetting:
    """What all episodes of a run share.

    Attributes:
        sandbox: Where sessions are opened; what the tasks need has been started there.
        policy: Who acts.
        user: Who asks.
        judge: Answers the checks' questions: an :class:`~outcomebox.reward.judge.AsyncJudge` for
            tasks of our own form, a judge of checks for ThinkingBox's; None where no task has one.
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
    judge: AsyncJudge | ReplayJudge | None = None
    profile: str = "strict"
    session_env: Mapping[str, str] = field(default_factory=lambda: NO_ENV)
    plain_schemas: bool = False


async def run_episode(
    setting: EpisodeSetting,
    tasks: Tasks,
    task: AnyTask,
    repetition: int,
    *,
    attempt: int = 0,
    into: Episode | None = None,
) -> Episode:
    """Run a task once and grade what it left.

    Args:
        setting: What the run shares.
        tasks: The run's tasks, started.
        task: One of them.
        repetition: Index of the attempt, from 0.
        attempt: Index of the try at this attempt, from 0.
        into: Where to write; what was reached stays in it when this raises.

    Raises:
        SandboxFault, PolicyError, UserError: Infrastructure failed; there is no verdict.
        InputError: The task's texts cannot be made.
    """
    episode = into or Episode()
    seed = setting.seed_of(task.uid, repetition)
    opening = tasks.open(
        task, seed=seed, repetition=repetition, attempt=attempt, session_env=setting.session_env
    )
    started = monotonic()
    with counting_traffic() as episode.traffic:
        async with opening as stage:
            started = episode.spent.time("open", started)
            context = EpisodeContext(
                task=task,
                tools=[tool.spec for tool in stage.tools],
                seed=seed,
                repetition=repetition,
                golden=stage.golden,
            )
            await _play(setting, stage, episode, context)
            started = monotonic()
        episode.spent.time("close", started)
    return episode


async def _play(
    setting: EpisodeSetting, stage: Stage, episode: Episode, context: EpisodeContext
) -> None:
    """Talk, read and grade on a live stage."""
    episode.warnings = stage.warnings
    for message in stage.opening:
        episode.say(message, 0.0)
    crash: ToolCrash | None = None
    try:
        episode.finish_reason = await converse(setting, stage, episode, context)
    except ToolCrash as error:
        crash = error
        episode.finish_reason = "tool_crash"
    started = monotonic()
    ended = await stage.finish()
    episode.state, episode.effects = ended.state, ended.effects
    started = episode.spent.time("close", started)
    if crash is not None:
        episode.verdict = _crashed(crash)
        stage.warnings.append(f"server {crash.server}: {crash}")
    else:
        episode.verdict = await stage.grade(ended, episode.messages, setting.judge)
        _count_votes(episode)
    episode.spent.time("grade", started)


def _count_votes(episode: Episode) -> None:
    """The judge's tokens of this time: what came from a cache cost nothing."""
    if episode.verdict is None:
        return
    for asked in episode.verdict.details.get("judge", ()):
        for vote in asked.get("votes", ()):
            if not vote["cached"]:
                episode.spent.count("judge", Usage(*vote["tokens"]))


def _crashed(crash: ToolCrash) -> Verdict:
    reason = Reason("tool_crash", message=str(crash))
    return Verdict("failed", 0.0, (reason,), {"tool": crash.tool, "server": crash.server})
