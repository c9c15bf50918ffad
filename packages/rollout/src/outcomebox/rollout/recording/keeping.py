"""Policy, user and judge that keep what was said to them and what they answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from outcomebox.reward.chat import Usage
from outcomebox.rollout.policy import Completion, EpisodeContext, Message, Policy, PolicyEpisode
from outcomebox.rollout.recording.codec import error_to_json, plain
from outcomebox.rollout.recording.exchanges import current
from outcomebox.rollout.recording.parts import judge_request, policy_request, user_request
from outcomebox.rollout.stage import UserBrief
from outcomebox.rollout.users.base import User, UserEpisode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from outcomebox.rollout.episode import EpisodeSetting

Answer = TypeVar("Answer")


def recording(setting: EpisodeSetting) -> EpisodeSetting:
    """A setting whose policy, user and judge keep their exchanges.

    The worker that runs a try opens :func:`~outcomebox.rollout.recording.exchanging` around it and
    gets them when it closes.

    Args:
        setting: What the run shares.
    """
    judge = setting.judge
    return replace(
        setting,
        policy=RecordedPolicy(setting.policy),
        user=RecordedUser(setting.user),
        judge=None if judge is None else RecordedJudge(judge),
    )


def actors_of(setting: EpisodeSetting) -> dict[str, Any]:
    """Who takes part in a run, as a recording says it."""
    policy, judge = setting.policy, setting.judge
    return {
        "policy": {
            "name": policy.name,
            "simulated": policy.simulated,
            "format": policy.format,
            "describe": dict(policy.describe()),
        },
        "user": {"describe": dict(setting.user.describe())},
        "judge": None
        if judge is None
        else {"protocol": getattr(judge, "protocol", None), "describe": dict(judge.describe())},
    }


async def _kept(
    role: str,
    request: Iterable[tuple[str, object]],
    answering: Awaitable[Answer],
    tell: Callable[[Answer], dict[str, Any]],
) -> Answer:
    """An answer, or the error in its place, with its exchange kept."""
    exchanges = current()
    if exchanges is None:
        return await answering
    exchange = exchanges.keep(role, request)
    try:
        answer = await answering
    except Exception as error:
        exchange["error"] = error_to_json(error)
        raise
    exchange["answer"] = tell(answer)
    return answer


class RecordedPolicy:
    """A policy whose exchanges are kept.

    Attributes:
        policy: The policy.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.name = policy.name
        self.simulated = policy.simulated
        self.format = policy.format

    def describe(self) -> Mapping[str, Any]:
        """What the policy says of itself."""
        return self.policy.describe()

    async def check(self) -> None:
        """See that the policy can answer.

        Raises:
            InputError: It cannot.
        """
        await self.policy.check()

    def start(self, context: EpisodeContext) -> PolicyEpisode:
        """The policy for one episode."""
        return _RecordedPolicyEpisode(self.policy.start(context), context)

    async def aclose(self) -> None:
        """Release what the policy holds."""
        await self.policy.aclose()


class _RecordedPolicyEpisode:
    def __init__(self, policy: PolicyEpisode, context: EpisodeContext) -> None:
        self._policy = policy
        self._context = context
        self._tools = [tool.openai() for tool in context.tools]

    async def complete(self, messages: Sequence[Message]) -> Completion:
        request = policy_request(self._context, self._tools, messages)
        return await _kept("policy", request, self._policy.complete(messages), plain)


class RecordedUser:
    """A user whose exchanges are kept."""

    def __init__(self, user: User) -> None:
        self._user = user

    def describe(self) -> Mapping[str, Any]:
        """What the user says of itself."""
        return self._user.describe()

    async def check(self) -> None:
        """See that the user can answer.

        Raises:
            InputError: It cannot.
        """
        await self._user.check()

    def start(self, brief: UserBrief) -> UserEpisode:
        """The user of one episode."""
        return _RecordedUserEpisode(self._user.start(brief), brief)

    async def aclose(self) -> None:
        """Release what the user holds."""
        await self._user.aclose()


class _RecordedUserEpisode:
    def __init__(self, user: UserEpisode, brief: UserBrief) -> None:
        self._user = user
        self._brief = brief

    @property
    def usage(self) -> Usage:
        return self._user.usage

    async def reply(self, messages: Sequence[Message]) -> str | None:
        exchanges = current()
        if exchanges is None:
            return await self._user.reply(messages)
        exchange = exchanges.keep("user", user_request(self._brief, messages))
        try:
            reply = await self._user.reply(messages)
        except Exception as error:
            exchange["usage"] = plain(self._user.usage)
            exchange["error"] = error_to_json(error)
            raise
        exchange["usage"] = plain(self._user.usage)
        exchange["answer"] = reply
        return reply


class RecordedJudge:
    """A judge, of rubrics or of checks in the ThinkingBox form, whose exchanges are kept."""

    def __init__(self, judge: Any) -> None:
        self._judge = judge

    @property
    def protocol(self) -> str:
        """How a check in the ThinkingBox form asks."""
        protocol: str = self._judge.protocol
        return protocol

    def describe(self) -> Mapping[str, Any]:
        """What the judge says of itself."""
        described: Mapping[str, Any] = self._judge.describe()
        return described

    async def check(self) -> None:
        """See that the judge can answer.

        Raises:
            InputError: It cannot.
        """
        await self._judge.check()

    async def answer(self, question: Any, text: str | None = None) -> Any:
        """The judge's answer.

        Raises:
            Exception: There is none.
        """
        asked = (question,) if text is None else (question, text)
        return await _kept(
            "judge", judge_request(question, text), self._judge.answer(*asked), plain
        )

    async def aclose(self) -> None:
        """Release what the judge holds."""
        await self._judge.aclose()
