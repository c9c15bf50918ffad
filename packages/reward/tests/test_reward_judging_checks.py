"""The judge of checks in the ThinkingBox form: what the check will read is what most votes say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import stamina

from outcomebox.reward import JudgeError
from outcomebox.reward.judging import MemoryCache, judge_settings
from outcomebox.reward.judging.checks import check_judge
from outcomebox.reward.thinkingbox.chat import Message, Text
from outcomebox.reward.thinkingbox.judging import (
    JUDGE_TYPES,
    READS,
    Judge,
    JudgeException,
    read_motivation,
    read_yesno,
)
from outcomebox.reward.thinkingbox.questions import JudgeQuestion, Reply
from reward_judge_stub import Scripted, StubEndpoint, completion, stub_endpoint

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture
def stub() -> Iterator[StubEndpoint]:
    """A running stub; retries do not wait."""
    stamina.set_testing(True, attempts=2)
    with stub_endpoint() as running:
        yield running
    stamina.set_testing(False)


async def reply_to(stub: StubEndpoint, question: JudgeQuestion, **options: object) -> Reply:
    """The reply of a judge at the stub."""
    cache = options.pop("cache", None)
    settings = judge_settings(stub.options(**options), protocols=JUDGE_TYPES)
    judge = check_judge(settings, cache)  # type: ignore[arg-type]
    try:
        return await judge.answer(question)
    finally:
        await judge.aclose()


def voting(*replies: str) -> Any:
    """A script that answers by seed."""
    return lambda body: completion(replies[body["seed"]])


def yes(motivated: str = "m") -> str:
    """A motivated yes."""
    return f'{{"motivation": "{motivated}", "answer": "Yes"}}'


NO = '{"motivation": "m", "answer": "No"}'


@pytest.mark.parametrize(
    ("reads", "replies", "majority"),
    [
        ("legacy", ["Yes."], True),
        ("legacy", ["I cannot tell"], False),  # the rule of this data: unreadable means no
        ("legacy", ["no", "Yes, so it is", "It is so: yes"], True),
        ("legacy", ["hm", "yes", "no"], False),
        ("motivation", [yes()], True),
        ("motivation", ["who knows"], False),
        ("motivation", [yes("a"), NO, yes("b")], True),
        ("motivation", ["hm", NO, yes()], False),
    ],
)
async def test_the_reply_is_read_as_most_votes_are(
    stub: StubEndpoint, reads: str, replies: list[str], majority: bool
) -> None:
    stub.script = voting(*replies)
    reply = await reply_to(stub, JudgeQuestion("s", "u", reads), votes=len(replies), protocol=reads)
    read = read_yesno(reply.text) if reads == "legacy" else read_motivation(reply.text)["answer"]
    assert read is majority
    assert reply.text in replies
    split = reply.record["split"]
    assert sum(split.values()) == len(replies)
    assert (split["yes"] > split["no"]) is majority
    assert stub.asked[0]["messages"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
    ]
    assert "response_format" not in stub.asked[0]


async def test_a_reply_that_the_check_raises_on_is_passed_on(stub: StubEndpoint) -> None:
    stub.script = voting(yes(), '{"motivation": "m"}', NO)
    reply = await reply_to(stub, JudgeQuestion("s", "u", "motivation"), votes=3)
    with pytest.raises(JudgeException):
        read_motivation(reply.text)
    assert "split" not in reply.record


async def test_a_prompt_of_the_checks_own_has_one_vote(stub: StubEndpoint) -> None:
    stub.script = voting("Seven.", "Eight.", "Eight.")
    reply = await reply_to(stub, JudgeQuestion("Give a number.", "now"), votes=3)
    assert reply == Reply("Seven.", {"cached": 0, "votes": 1})


@pytest.mark.parametrize(
    "fault",
    [
        Scripted("boom", 500),
        completion("yes", finish="length"),
        completion("yes", finish="content_filter"),
        completion("yes", refusal="no"),
        completion(""),
    ],
)
async def test_no_reply_is_an_error_and_no_no(stub: StubEndpoint, fault: Scripted) -> None:
    stub.script = [fault]
    with pytest.raises(JudgeError):
        await reply_to(stub, JudgeQuestion("s", "u", "legacy"))


async def test_replies_are_cached_by_what_was_asked_and_how_it_is_read(stub: StubEndpoint) -> None:
    stub.script = [completion("yes")]
    cache = MemoryCache()
    questions = [
        JudgeQuestion("s", "u", "legacy"),
        JudgeQuestion("s", "u", "legacy"),
        JudgeQuestion("s", "u", "motivation"),
        JudgeQuestion("s", "u"),
        JudgeQuestion("s", "other", "legacy"),
        JudgeQuestion("s", "half \ud800", "legacy"),
    ]
    cached = [(await reply_to(stub, each, cache=cache)).record["cached"] for each in questions]
    assert cached == [0, 1, 0, 0, 0, 0]
    assert len(stub.asked) == 5


def test_a_check_tells_how_it_will_read_the_reply() -> None:
    told: list[Any] = []

    class Model:
        def get_completion_sync(self, *, conversation: Any, update_conversation: bool) -> Any:
            assert not update_conversation
            told.append(conversation[0].metadata.get(READS))
            return [Text(role="assistant", content=yes())]

    judge = Judge(Model(), "motivation")
    judge.text_yesno("t", "q?")
    judge.text_yesno_legacy("t", "q?")
    judge.yesno("q?")
    judge.evaluate_bool("system", "user")
    own: list[Message] = [Text(role="system", content="mine")]
    judge._get_text_completion(messages=own)
    assert told == ["motivation", "legacy", "legacy", "legacy", None]
