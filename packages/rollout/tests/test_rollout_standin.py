"""The stand-in endpoint: the protocol it speaks, what it plays, and that it keeps nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from outcomebox.reward.chat import ChatEndpoint
from outcomebox.reward.judging import judge_settings, model_judge
from outcomebox.reward.thinkingbox import prompts
from outcomebox.reward.thinkingbox.judging import read_motivation, read_yesno
from outcomebox.rollout import make_user
from outcomebox.rollout.commands.app import app
from outcomebox.rollout.policies.simulated import SimulatedPolicy
from outcomebox.rollout.stage import UserBrief
from outcomebox.rollout.standin import KINDS, Chaos, standin
from outcomebox.rollout.standin.agent import MALFORMED
from outcomebox.rollout.standin.chaos import ANY, STREAMED, WHOLE, Kind, Luck
from standin_runs import Desk, calls, desk, found, outcomes

pytestmark = pytest.mark.anyio
STATUSES = {
    "rate_limited": 429,
    "rate_limited_bare": 429,
    "server_error": 500,
    "bad_gateway": 502,
    "unavailable": 503,
}
GONE = {"reset_before", "stalled", "reset_after", "truncated_body"}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def shop() -> AsyncIterator[Desk]:
    """Some tasks of the shop whose user has something to say."""
    async with desk(12, lambda task: task.user_context.replies) as shop:
        yield shop


def asked(shop: Desk, **more: Any) -> dict[str, Any]:
    """The first request of a conversation."""
    query = shop.tasks.tasks[0].query
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": query}]
    return {"model": "stand-in", "seed": 5, "messages": messages, **more}


async def post(address: str, request: Any) -> httpx.Response:
    """One request on a connection of its own."""
    async with httpx.AsyncClient(timeout=30) as client:
        return await client.post(f"{address}/chat/completions", json=request)


async def test_it_says_what_it_is(shop: Desk) -> None:
    async with standin(shop.known) as endpoint, httpx.AsyncClient() as client:
        models = (await client.get(f"{endpoint.address}/models")).json()["data"]
        answer = await client.post(f"{endpoint.address}/chat/completions", json=asked(shop))
        counts = (await client.get(f"{endpoint.address}/stand-in")).json()
    assert all(model["id"].startswith("stand-in") for model in models)
    assert answer.json()["system_fingerprint"] == "stand-in: no model"
    assert answer.headers["x-stand-in"] == "stand-in: no model"
    assert (counts["nature"], counts["asked"], counts["answered"]) == ("stand-in: no model", 1, 1)


async def test_the_same_request_has_the_same_answer_after_a_restart(shop: Desk) -> None:
    async with standin(shop.known) as endpoint:
        port = int(endpoint.address.rpartition(":")[2].partition("/")[0])
        first = [(await post(endpoint.address, asked(shop))).json() for _ in range(2)]
    async with standin(shop.known, port=port) as again:
        assert again.address == endpoint.address
        first.append((await post(again.address, asked(shop))).json())
    assert first[0] == first[1] == first[2]


@pytest.mark.parametrize(
    ("request_of", "status"),
    [
        (lambda shop: asked(shop, model="gpt"), 404),
        (lambda shop: asked(shop) | {"messages": [{"role": "user", "content": "Hi."}]}, 400),
        (lambda shop: asked(shop) | {"messages": "Hi."}, 400),
        (lambda shop: asked(shop, seed="many"), 400),
        (lambda shop: asked(shop, tools=[3]), 400),
        (lambda _: [1], 400),
    ],
)
async def test_what_it_cannot_answer_is_an_error_and_it_goes_on(
    shop: Desk, request_of: Any, status: int
) -> None:
    async with standin(shop.known) as endpoint, httpx.AsyncClient() as client:
        url = f"{endpoint.address}/chat/completions"
        refused = await client.post(url, json=request_of(shop))
        assert refused.status_code == status
        assert refused.json()["error"]["message"]
        assert (await client.post(url, json=asked(shop))).status_code == 200


async def test_a_stream_says_what_a_whole_answer_says(shop: Desk) -> None:
    async with standin(shop.known, malformed=0.5, parallel=0.5) as endpoint:
        whole = await shop.against(endpoint)
        streamed = await shop.against(endpoint, stream="true")
    assert found(streamed) == found(whole)
    assert all(row["usage"]["policy"]["completion"] > 0 for row in streamed.values())


async def test_what_is_played_is_the_simulated_policy(shop: Desk) -> None:
    alone = outcomes(await shop.run(SimulatedPolicy()))
    async with standin(shop.known, malformed=0.0, parallel=0.0) as endpoint:
        assert outcomes(await shop.against(endpoint)) == alone
        raw = await shop.against(endpoint, model="stand-in-raw", parse="client")
    assert outcomes(raw) == alone
    assert set(alone.values()) == {"passed", "failed"}


async def test_malformed_and_parallel_calls_are_the_models_own(shop: Desk) -> None:
    careful = SimulatedPolicy(skill=1e6)
    async with standin(shop.known, policy=careful, malformed=0.6, parallel=0.5) as endpoint:
        rows = await shop.against(endpoint)
    names = {tool.name for tool in shop.known.tools["retail"]}
    told = {_said(call, names) for call in calls(rows)}
    assert told == {"ok", "no_name", "unknown", "malformed"}
    assert len(MALFORMED) == 4
    assert any(
        len(message.get("tool_calls", ())) == 2
        for row in rows.values()
        for message in row["messages"]
    )
    # Each is told what was wrong, sends it again, and does the task all the same.
    assert set(outcomes(rows).values()) == {"passed"}


def _said(call: dict[str, Any], names: set[str]) -> str:
    if call["name"] in names:
        return str(call["status"])
    return "unknown" if call["name"] else "no_name"


@pytest.mark.parametrize("kind", KINDS)
async def test_each_kind_of_chaos_is_what_it_is_called(shop: Desk, kind: Kind) -> None:
    chaos = Chaos(rate=1.0, kinds=(kind,), most=1, slow_s=0.01, stall_s=0.01)
    request = asked(shop, stream=kind in STREAMED)
    async with standin(shop.known, chaos) as endpoint:
        try:
            answer = await post(endpoint.address, request)
        except httpx.TransportError:
            assert kind in GONE | {"truncated_stream", "reset_stream"}
        else:
            assert kind not in GONE
            _looked_at(kind, answer)
        assert (await post(endpoint.address, request)).status_code == 200
        counts = endpoint.counts()
    assert counts["injected"] == {kind: 1}
    assert counts["asked"] == 2
    assert counts["answered"] == (2 if kind.startswith("slow") else 1)


def _looked_at(kind: Kind, answer: httpx.Response) -> None:
    assert answer.status_code == STATUSES.get(kind, 200)
    assert ("retry-after" in answer.headers) == (kind == "rate_limited")
    text = answer.text
    if kind in STREAMED:
        done, finished = "[DONE]" in text, '"finish_reason":"stop"' in text
        ended = {
            "slow_stream": (True, True),
            "stream_without_done": (False, True),
            "stream_without_finish": (True, False),
            "stream_error": (False, False),
            "garbage_stream": (True, False),
        }
        assert (done, finished) == ended[kind]
    elif kind == "garbage_body":
        assert text.startswith("<html>")
    elif kind == "error_body":
        assert answer.json()["error"]["code"] == 500
    elif kind == "slow_body":
        assert answer.json()["choices"]


async def test_the_user_and_the_judge_are_scripted(shop: Desk) -> None:
    task = shop.tasks.tasks[0]
    async with standin(shop.known, yes=1.0) as endpoint:
        options = {"base_url": endpoint.address, "model": "stand-in-user"}
        user = make_user(options)
        brief = UserBrief(task.user_context.background, task.user_context.replies)
        said = await user.start(brief).reply(
            [
                {"role": "user", "content": task.query},
                {"role": "assistant", "content": "Could you give me your email and postcode?"},
            ]
        )
        await user.aclose()
        judge = model_judge(
            judge_settings({"base_url": endpoint.address, "model": "stand-in-judge"}), None
        )
        judgement = await judge.answer("Was the agent kind?", "Of course, gladly.")
        await judge.aclose()
        endpoint_raw = ChatEndpoint(endpoint.address, "stand-in-raw")
        raw = await endpoint_raw.chat(asked(shop)["messages"], seed=5)
        await endpoint_raw.aclose()
    assert said in {reply.say for reply in task.user_context.replies}
    assert judgement.yes
    assert (raw.content or "").startswith("<think>")
    assert raw.reasoning is None


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize(
    ("prompt", "read"),
    [
        (prompts.TEXT_YESNO, read_yesno),
        (prompts.RUBRIC, read_yesno),
        (prompts.TEXT_YESNO_MOTIVATION, lambda text: read_motivation(text)["answer"]),
    ],
)
async def test_checks_in_the_thinkingbox_form_are_answered_as_they_ask(
    shop: Desk, prompt: str, read: Callable[[str], bool], share: float
) -> None:
    messages = [
        {"role": "system", "content": prompt},
        {"role": "user", "content": "<message>\nDone.\n</message>\nIs it done?"},
    ]
    async with standin(shop.known, yes=share) as endpoint:
        asked_of = ChatEndpoint(endpoint.address, "stand-in-judge")
        answer = await asked_of.chat(messages)
        await asked_of.aclose()
    assert read(answer.content or "") is bool(share)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.floats(0, 1), st.integers(0, 5), st.booleans())
def test_chaos_is_seeded_bounded_and_of_the_requests_kind(
    seed: int, rate: float, most: int, stream: bool
) -> None:
    chaos = Chaos(rate=rate, seed=seed, most=most)
    one, other = Luck(chaos), Luck(chaos)
    drawn = [one.draw("a", stream=stream) for _ in range(20)]
    assert drawn == [other.draw("a", stream=stream) for _ in range(20)]
    hits = [kind for kind in drawn if kind is not None]
    assert len(hits) <= most
    assert set(hits) <= {*ANY, *(STREAMED if stream else WHOLE)}
    assert one.injected == Counter(hits)
    if rate == 1.0:
        assert len(hits) == most


def test_the_command_serves_and_names_what_is_wrong() -> None:
    run = CliRunner()
    with ThreadPoolExecutor(1) as thread:  # this one has the event loop of the tests above
        given = ["stand-in", "--tasks", "retail", "--seconds", "0"]
        served = thread.submit(run.invoke, app, given).result()
    assert served.exit_code == 0
    assert "no model" in served.output
    assert "http://127.0.0.1:" in served.output
    wrong = run.invoke(app, ["stand-in", "--chaos", "0.1", "--chaos-kind", "meteor"])
    assert wrong.exit_code == 2
    assert "chaos-kind" in wrong.output
    assert "rate_limited_bare" in wrong.output
