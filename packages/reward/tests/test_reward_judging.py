"""A judge model against a stub endpoint that misbehaves: a readable answer, or none at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
import stamina

from outcomebox.reward import JudgeError
from outcomebox.reward.chat import ChatEndpoint, ChatError
from outcomebox.reward.judge import Judgement
from outcomebox.reward.judging import MemoryCache, ModelJudge, judge_settings, model_judge
from outcomebox.reward.judging.prompt import SHA256
from outcomebox.sandbox import InputError
from reward_judge_stub import NO, YES, Scripted, StubEndpoint, completion, says, stub_endpoint

pytestmark = pytest.mark.anyio

QUESTION, TEXT = "Is it polite?", "Dear customer"
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(autouse=True)
def quick_retries() -> Iterator[None]:
    """Retries without their waiting times."""
    stamina.set_testing(True, attempts=3)
    yield
    stamina.set_testing(False)


@pytest.fixture
def stub() -> Iterator[StubEndpoint]:
    """A running stub."""
    with stub_endpoint() as running:
        yield running


def judge_at(stub: StubEndpoint, cache: Any = None, **options: object) -> ModelJudge:
    """A judge that asks the stub."""
    return model_judge(judge_settings(stub.options(**options)), cache)


async def ask(stub: StubEndpoint, text: str = TEXT, cache: Any = None, **options: object) -> Any:
    """One answer, from a judge of its own."""
    judge = judge_at(stub, cache, **options)
    try:
        return await judge.answer(QUESTION, text)
    finally:
        await judge.aclose()


async def test_what_is_asked_and_what_is_recorded(stub: StubEndpoint) -> None:
    stub.script = [says("no", "curt")]
    judgement = await ask(stub, seed=5)
    assert not judgement.yes
    (asked,) = stub.asked
    assert (asked["model"], asked["temperature"], asked["seed"]) == ("stub-model", 0.0, 5)
    assert asked["response_format"]["json_schema"]["schema"]["additionalProperties"] is False
    assert [each["role"] for each in asked["messages"]] == ["system", "user"]
    assert judgement.record == {
        "split": {"yes": 0, "no": 1},
        "votes": [
            {
                "answer": "no",
                "reason": "curt",
                "seed": 5,
                "form": "json_schema",
                "tries": 1,
                "cached": False,
                "tokens": [7, 3],
            }
        ],
        "model": "stub-model",
        "temperature": 0.0,
        "prompt": {"name": "yes-no", "version": 1, "sha256": SHA256},
    }


@pytest.mark.parametrize("faults", [[429], [500], [503, 408], [409, 429]])
async def test_a_busy_endpoint_is_asked_again(stub: StubEndpoint, faults: list[int]) -> None:
    busy = [Scripted("busy", status, {"Retry-After": "1"}) for status in faults]
    stub.script = [*busy, YES]
    assert (await ask(stub)).yes
    assert len(stub.asked) == len(faults) + 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Scripted("slow down", 429, {"Retry-After": "1"}), "HTTP 429: slow down"),
        (Scripted("boom", 500), "HTTP 500: boom"),
        (Scripted("not you", 401), "HTTP 401"),
        (Scripted("too long", 400), "HTTP 400: too long"),
        (Scripted("no json"), "is not JSON: 'no json'"),
        (Scripted({"choices": []}), "not a chat completion"),
        (Scripted({"choices": [{"message": "yes"}]}), "not a chat completion"),
        (completion('{"reason": "r", "answer": "yes"}', finish="content_filter"), "filter"),
        (completion('{"reason": "r", "answer": "yes"}', finish="length"), "cut off"),
        (completion(None, refusal="I will not"), "refused to answer: 'I will not'"),
        (completion('{"reason": "r", "answer": "yes"}', refusal="no"), "refused"),
        (completion(""), "with nothing"),
        (completion(" \n"), "with nothing"),
        (completion(None), "with nothing"),
        (completion([{"type": "text", "text": "yes"}]), "not one JSON object"),
        (completion(None, tool_calls=[{"function": {"name": "yes", "arguments": ""}}]), "nothing"),
        (completion("Yes"), "unreadable after 3 tries: it is not one JSON object"),
        (completion('{"reason": "r", "answer": "yes", "sure": 1}'), "its keys are not"),
        (completion('```json\n{"reason": "r", "answer": "yes"}\n```'), "not one JSON object"),
        (Scripted("late", after_s=0.5), "no whole answer within 0.1 s"),
    ],
)
async def test_what_is_no_answer_is_an_error_and_never_a_no(
    stub: StubEndpoint, answer: Scripted, words: str
) -> None:
    stub.script = [answer]
    cache = MemoryCache()
    options: dict[str, Any] = {"timeout_s": 0.1} if answer.after_s else {}
    with pytest.raises(JudgeError, match=words):
        await ask(stub, cache=cache, **options)
    # Nothing of it is kept: the next to ask gets an answer.
    stub.script = [YES]
    assert (await ask(stub, cache=cache)).yes


async def test_a_slow_answer_is_waited_for(stub: StubEndpoint) -> None:
    stub.script = [Scripted(YES.body, after_s=0.2)]
    assert (await ask(stub)).yes


async def test_nobody_there_is_an_error_and_seen_before_a_run(stub: StubEndpoint) -> None:
    judge = model_judge(judge_settings({"base_url": "http://127.0.0.1:9/v1", "model": "m"}))
    with pytest.raises(JudgeError, match="Cannot connect"):
        await judge.answer(QUESTION, TEXT)
    with pytest.raises(InputError, match="does not answer"):
        await judge.check()
    await judge.aclose()
    there = judge_at(stub)
    await there.check()
    await there.aclose()
    assert stub.asked == []


async def test_an_unreadable_answer_is_asked_for_again_with_another_seed(
    stub: StubEndpoint,
) -> None:
    stub.script = [completion("Yes!"), completion('{"answer": "no"}'), YES]
    judgement = await ask(stub)
    assert judgement.yes
    (vote,) = judgement.record["votes"]
    assert (vote["tries"], vote["tokens"]) == (3, [21, 9])
    assert len({each["seed"] for each in stub.asked}) == 3
    stub.script = [completion("Yes!")]
    with pytest.raises(JudgeError) as caught:
        await ask(stub, "other", tries=2)
    assert [each["said"] for each in caught.value.record["unreadable"]] == ["Yes!", "Yes!"]


async def test_a_server_that_refuses_the_schema_is_asked_in_words(stub: StubEndpoint) -> None:
    def picky(body: dict[str, Any]) -> Scripted:
        return Scripted("unknown field response_format", 400) if "response_format" in body else YES

    stub.script = picky
    judge = judge_at(stub)
    first = await judge.answer(QUESTION, TEXT)
    again = await judge.answer(QUESTION, "another")
    await judge.aclose()
    assert first.record["votes"][0]["form"] == again.record["votes"][0]["form"] == "text"
    assert ["response_format" in each for each in stub.asked] == [True, False, False]
    stub.asked.clear()
    await ask(stub, protocol="text")
    assert ["response_format" in each for each in stub.asked] == [False]


async def test_a_request_that_is_wrong_otherwise_does_not_end_the_schema(
    stub: StubEndpoint,
) -> None:
    stub.script = [Scripted("context length", 400)]
    judge = judge_at(stub)
    with pytest.raises(JudgeError, match="context length"):
        await judge.answer(QUESTION, "long")
    stub.script = [YES]
    assert (await judge.answer(QUESTION, TEXT)).record["votes"][0]["form"] == "json_schema"
    await judge.aclose()


async def test_a_setting_that_is_none_is_left_to_the_server(stub: StubEndpoint) -> None:
    judgement = await ask(stub, temperature="none", seed="none", max_tokens=64)
    (asked,) = stub.asked
    assert "temperature" not in asked
    assert "seed" not in asked
    assert asked["max_tokens"] == 64
    assert judgement.record["temperature"] is None


def by_seed(**answers: Scripted) -> Any:
    """A script that answers by the request's seed."""
    return lambda body: answers[f"s{body['seed']}"]


async def test_the_majority_decides_and_the_split_is_told(stub: StubEndpoint) -> None:
    stub.script = by_seed(s0=NO, s1=YES, s2=NO)
    judgement = await ask(stub, votes=3)
    assert not judgement.yes
    assert judgement.record["split"] == {"yes": 1, "no": 2}
    told = [(vote["seed"], vote["answer"]) for vote in judgement.record["votes"]]
    assert told == [(0, "no"), (1, "yes"), (2, "no")]


async def test_five_votes_after_three_ask_two_more(stub: StubEndpoint) -> None:
    stub.script = by_seed(s0=NO, s1=YES, s2=NO, s3=YES, s4=YES)
    cache = MemoryCache()
    assert not (await ask(stub, cache=cache, votes=3)).yes
    judgement = await ask(stub, cache=cache, votes=5)
    assert judgement.yes
    assert sorted(each["seed"] for each in stub.asked) == [0, 1, 2, 3, 4]
    assert [vote["cached"] for vote in judgement.record["votes"]] == [True] * 3 + [False] * 2
    assert not (await ask(stub, cache=cache, votes=3)).yes
    assert len(stub.asked) == 5


async def test_a_vote_that_fails_leaves_no_majority_and_the_others_are_kept(
    stub: StubEndpoint,
) -> None:
    stub.script = by_seed(s0=YES, s1=Scripted("boom", 500), s2=YES)
    cache = MemoryCache()
    with pytest.raises(JudgeError, match="boom"):
        await ask(stub, cache=cache, votes=3)
    stub.asked.clear()
    stub.script = by_seed(s1=NO)
    judgement = await ask(stub, cache=cache, votes=3)
    assert judgement.yes
    assert [each["seed"] for each in stub.asked] == [1]


@pytest.mark.parametrize(
    ("changed", "asked_again"),
    [
        ({}, False),
        ({"votes": 1, "concurrency": 1, "timeout_s": 9, "attempts": 2, "tries": 5}, False),
        ({"protocol": "text"}, False),
        ({"model": "other"}, True),
        ({"temperature": 0.5}, True),
        ({"temperature": "none"}, True),
        ({"seed": 1}, True),
        ({"seed": "none"}, True),
        ({"max_tokens": 10}, True),
    ],
)
async def test_the_cache_knows_what_decides_an_answer(
    stub: StubEndpoint, changed: dict[str, Any], asked_again: bool
) -> None:
    cache = MemoryCache()
    first = await ask(stub, cache=cache)
    second = await ask(stub, cache=cache, **changed)
    assert len(stub.asked) == (2 if asked_again else 1)
    assert second.yes == first.yes
    assert second.record["votes"][0]["cached"] is not asked_again
    await ask(stub, "another text", cache=cache, **changed)
    assert len(stub.asked) == (3 if asked_again else 2)


async def test_the_same_question_at_the_same_time_is_asked_once(stub: StubEndpoint) -> None:
    stub.script = [Scripted(YES.body, after_s=0.05)]
    judge = judge_at(stub)
    told: list[Judgement] = []

    async def one() -> None:
        told.append(await judge.answer(QUESTION, TEXT))

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(one)
    await judge.aclose()
    assert len(stub.asked) == 1
    assert sorted(each.record["votes"][0]["cached"] for each in told) == [False] + [True] * 5


async def test_no_more_requests_at_once_than_allowed(stub: StubEndpoint) -> None:
    stub.script = [Scripted(YES.body, after_s=0.02)]
    judge = judge_at(stub, concurrency=3)
    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(judge.answer, QUESTION, f"text {number}")
    await judge.aclose()
    assert len(stub.asked) == 12
    assert stub.most <= 3


async def test_the_key_is_sent_and_shown_nowhere(
    stub: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    shown: list[str] = []

    class Spying(MemoryCache):
        def put(self, key: str, number: int, vote: Any) -> Any:
            shown.append(json.dumps([key, dict(vote)]))
            return super().put(key, number, vote)

    judge = judge_at(stub, Spying(), key_variable="JUDGE_KEY")
    judgement = await judge.answer(QUESTION, TEXT)
    assert stub.keys == [f"Bearer {KEY}"]
    shown += [json.dumps(judgement.record), json.dumps(judge.describe())]
    for status in (401, 400, 500):
        stub.script = [Scripted(f"Incorrect API key provided: {KEY}.", status)]
        with pytest.raises(JudgeError) as caught:
            await judge.answer(QUESTION, f"text {status}")
        shown.append(repr(caught.value))
    await judge.aclose()
    assert len(shown) == 6
    assert not [text for text in shown if KEY in text]
    # Neither is the host.
    assert stub.url.split("/")[2] not in json.dumps(judge.describe())


async def test_a_busy_endpoint_says_when_to_ask_again(
    stub: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamina.set_testing(False)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("stamina._core._smart_sleep", sleep)
    for after in ("7", "0.5", "9999", "-1", "Fri, 31 Dec 1999 23:59:59 GMT"):
        endpoint = ChatEndpoint(stub.url, "m", attempts=5)
        stub.script = [Scripted("busy", 429, {"Retry-After": after}), YES]
        await endpoint.chat([{"role": "user", "content": "hi"}])
        await endpoint.aclose()
    assert slept[:3] == [7.0, 0.5, 60.0]
    assert all(0 < seconds <= 20 for seconds in slept[3:])
    endpoint = ChatEndpoint(stub.url, "m", attempts=5)
    stub.script = [Scripted("busy", 503)]
    with pytest.raises(ChatError, match="HTTP 503") as caught:
        await endpoint.chat([{"role": "user", "content": "hi"}])
    assert caught.value.status == 503
    await endpoint.aclose()
