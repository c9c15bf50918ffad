"""The parts of a request to a policy, a user or a judge, by name: what its answer may rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from outcomebox.reward.thinkingbox.questions import JudgeQuestion
from outcomebox.rollout.policy import EpisodeContext, Message
from outcomebox.rollout.stage import UserBrief


def policy_request(
    context: EpisodeContext, tools: object, messages: Sequence[Message]
) -> Iterator[tuple[str, object]]:
    """Seed, tools (as the API has them, one object for all turns) and conversation."""
    yield "seed", context.seed
    yield "tools", tools
    yield from _conversation(messages)


def user_request(brief: UserBrief, messages: Sequence[Message]) -> Iterator[tuple[str, object]]:
    """What the user was told, and the conversation."""
    yield "brief", brief
    yield from _conversation(messages)


def judge_request(question: JudgeQuestion | str, text: str | None) -> Iterator[tuple[str, object]]:
    """A question about a text, or one that a check of the ThinkingBox form worded itself."""
    if isinstance(question, JudgeQuestion):
        yield "system", question.system
        yield "user", question.user
        yield "reads", question.reads
    else:
        yield "question", question
        yield "text", text


def _conversation(messages: Sequence[Message]) -> Iterator[tuple[str, object]]:
    for place, message in enumerate(messages):
        yield f"messages[{place}]", message
