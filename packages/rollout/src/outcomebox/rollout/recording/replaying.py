"""Policy, user and judge that answer from a recording, and say of themselves what those said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.reward.chat import Usage
from outcomebox.reward.judge import Judgement
from outcomebox.reward.thinkingbox.questions import JudgeQuestion, Reply
from outcomebox.rollout.policy import Completion, EpisodeContext, Message, PolicyEpisode
from outcomebox.rollout.recording.codec import error_from_json, rebuilt
from outcomebox.rollout.recording.exchanges import current
from outcomebox.rollout.recording.parts import judge_request, policy_request, user_request
from outcomebox.rollout.recording.reading import Recording
from outcomebox.rollout.recording.requests import ReplayError
from outcomebox.rollout.runfolder import EXCHANGES
from outcomebox.rollout.stage import UserBrief
from outcomebox.rollout.users.base import UserEpisode


@dataclass(frozen=True)
class Replay:
    """Who answers in the place of models; no network is used.

    Attributes:
        policy: In the place of the policy.
        user: In the place of the user.
        judge: In the place of the judge; None where the run had none.
    """

    policy: ReplayPolicy
    user: ReplayUser
    judge: Any


def replaying(path: Path) -> Replay:
    """Who answers from a recording.

    Args:
        path: The file of exchanges, or the folder of the recorded run.

    Raises:
        InputError: It cannot be read, is damaged or empty, or is of several runs.
    """
    recording = Recording(path / EXCHANGES if path.is_dir() else path)
    judge = recording.actors["judge"]
    return Replay(
        ReplayPolicy(recording),
        ReplayUser(recording),
        None if judge is None else ReplayJudge(judge),
    )


def _answer(role: str, request: Any) -> Mapping[str, Any]:
    exchanges = current()
    if exchanges is None:
        raise ReplayError("a recording can only answer within a run that replays it")
    exchange = exchanges.answer(role, request)
    if role != "user" and "error" in exchange:
        raise error_from_json(exchange["error"])
    return exchange


class ReplayPolicy:
    """Answers as the recorded policy did.

    Attributes:
        recording: Where from.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        actor = recording.actors["policy"]
        self.name: str = actor["name"]
        self.simulated: bool = actor["simulated"]
        self.format: str = actor["format"]
        self._described: Mapping[str, Any] = actor["describe"]

    def describe(self) -> Mapping[str, Any]:
        """What the recorded policy said of itself."""
        return self._described

    async def check(self) -> None:
        """Nothing to see."""

    def start(self, context: EpisodeContext) -> PolicyEpisode:
        """The policy for one episode."""
        return _Completions(context)

    async def aclose(self) -> None:
        """Nothing to release."""


class _Completions:
    def __init__(self, context: EpisodeContext) -> None:
        self._context = context
        self._tools = [tool.openai() for tool in context.tools]

    async def complete(self, messages: Sequence[Message]) -> Completion:
        exchange = _answer("policy", policy_request(self._context, self._tools, messages))
        answer: Completion = rebuilt(Completion, exchange["answer"])
        return answer


class ReplayUser:
    """Answers as the recorded user did."""

    def __init__(self, recording: Recording) -> None:
        self._described: Mapping[str, Any] = recording.actors["user"]["describe"]

    def describe(self) -> Mapping[str, Any]:
        """What the recorded user said of itself."""
        return self._described

    async def check(self) -> None:
        """Nothing to see."""

    def start(self, brief: UserBrief) -> UserEpisode:
        """The user of one episode."""
        return _Replies(brief)

    async def aclose(self) -> None:
        """Nothing to release."""


class _Replies:
    def __init__(self, brief: UserBrief) -> None:
        self._brief = brief
        self.usage = Usage()

    async def reply(self, messages: Sequence[Message]) -> str | None:
        exchange = _answer("user", user_request(self._brief, messages))
        self.usage = rebuilt(Usage, exchange["usage"])
        if "error" in exchange:
            raise error_from_json(exchange["error"])
        reply: str | None = exchange["answer"]
        return reply


class ReplayJudge:
    """Answers as the recorded judge did."""

    def __init__(self, actor: Mapping[str, Any]) -> None:
        self.protocol: str = actor["protocol"]
        self._described: Mapping[str, Any] = actor["describe"]

    def describe(self) -> Mapping[str, Any]:
        """What the recorded judge said of itself."""
        return self._described

    async def check(self) -> None:
        """Nothing to see."""

    async def answer(self, question: Any, text: str | None = None) -> Any:
        """The recorded answer.

        Raises:
            Exception: The recorded error, or a :class:`ReplayError`.
        """
        exchange = _answer("judge", judge_request(question, text))
        kind = Reply if isinstance(question, JudgeQuestion) else Judgement
        return rebuilt(kind, exchange["answer"])

    async def aclose(self) -> None:
        """Nothing to release."""
