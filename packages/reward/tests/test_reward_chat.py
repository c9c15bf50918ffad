"""Endpoints as they are: streams cut anywhere, answers in their own ways, pauses, retries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import anyio
import pytest
import stamina
from hypothesis import given
from hypothesis import strategies as st

from outcomebox.reward.chat import (
    ChatEndpoint,
    ChatError,
    ContextTooLong,
    StructuredCall,
    counting_traffic,
)
from outcomebox.reward.chat.answers import chat_answer, text_answer
from outcomebox.reward.chat.endpoint import _asked_wait
from outcomebox.reward.chat.streams import joined
from outcomebox.sandbox.errors import InputError
from raw_endpoint import DONE, RESET, Piece, delta, event, raw_endpoint, streamed, whole

pytestmark = pytest.mark.anyio

HELLO = [{"role": "user", "content": "hello"}]


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


def answered(message: dict[str, Any], finish: Any = "stop", **more: Any) -> dict[str, Any]:
    """A whole chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"choices": [choice], **more}


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
GOOD: list[bytes] = [
    event(
        choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}}], prompt_token_ids=[7]
    ),
    delta(reasoning_content="let me "),
    delta(reasoning_content="see\u2028"),
    delta(content="I lo"),
    delta(content="ok"),
    delta(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "look", "arguments": ""}}]),
    delta(tool_calls=[{"index": 0, "function": {"arguments": '{"a"'}}]),
    delta(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}]),
    delta(tool_calls=[{"index": 2, "id": "c3", "function": {"name": "go", "arguments": "{}"}}]),
    delta("tool_calls"),
    event(choices=[], usage={"prompt_tokens": 9, "completion_tokens": 4}),
    DONE,
]


def parts(data: bytes, cuts: list[int]) -> list[bytes]:
    """Bytes, cut at some places."""
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


async def join(pieces: list[bytes]) -> dict[str, Any]:
    """The answer of a stream that arrives in these pieces."""

    async def arriving() -> Any:
        for piece in pieces:
            yield piece

    return await joined(arriving())


@given(st.lists(st.integers(0, 10_000), max_size=30), st.sampled_from([b"\n", b"\r\n"]))
def test_a_stream_reads_as_the_whole_answer_however_it_is_cut(cuts: list[int], end: bytes) -> None:
    data = b": a comment\n\nevent: x\n" + b"".join(GOOD).replace(b"\n", end)
    body = anyio.run(join, parts(data, cuts))
    answer = chat_answer(body)
    assert answer == chat_answer(
        answered(
            {
                "content": "I look",
                "reasoning_content": "let me see\u2028",
                "tool_calls": [CALL, {"id": "c3", "function": {"name": "go", "arguments": "{}"}}],
            },
            "tool_calls",
            usage={"prompt_tokens": 9, "completion_tokens": 4},
            prompt_token_ids=[7],
        )
    )
    assert answer.usage.prompt_tokens == 9


@pytest.mark.parametrize("missing", range(1, len(GOOD) - 8))
async def test_a_stream_that_is_cut_off_is_asked_for_again_and_never_a_short_answer(
    missing: int,
) -> None:
    cut = streamed(*GOOD[:-missing])
    async with raw_endpoint(cut, cut, streamed(*GOOD)) as server:
        endpoint = ChatEndpoint(server.url, "m", stream=True)
        with counting_traffic() as traffic:
            answer = await endpoint.chat(HELLO)
        await endpoint.aclose()
    assert answer.content == "I look"
    assert traffic.to_json()["policy"] | {"waited_s": 0} == {
        "requests": 3,
        "retries": 2,
        "rate_limited": 0,
        "server_errors": 0,
        "broken": 2,
        "waited_s": 0,
    }
    assert server.bodies[0]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (streamed(), "before anything came"),
        (streamed(*GOOD[:4]), "no finish reason"),
        (streamed(*GOOD[:-1]), r"no \[DONE\]"),
        (streamed(*GOOD[:4], b"data: {oops\n\n"), "not JSON"),
        (streamed(*GOOD[:4], b"data: [1]\n\n"), "no object"),
        (streamed(*GOOD[:4], event(error={"message": "lost", "code": 500})), "an error: lost"),
        (streamed(*GOOD[:4], event(choices=[None]), DONE), "not as it should be"),
        (streamed(delta(content=5), DONE), "not as it should be"),
        (streamed(delta("abort", content="half"), DONE), "gave the answer up"),
        (whole(answered({"content": "half"}, "error")), "gave the answer up"),
        (streamed(*GOOD[:4], RESET), "no finish reason"),
        ([RESET], "ClientOSError|ServerDisconnectedError"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"], "ClientPayloadError"),
        (whole(b"<html>busy</html>"), "not JSON"),
        (whole({"error": {"message": "no worker"}}), "an error: no worker"),
        (whole({}, "503 Busy"), "HTTP 503"),
        (whole({}, "425 Early"), "HTTP 425"),
        (streamed(*GOOD[:4], 30.0), "SocketTimeoutError"),
    ],
)
async def test_what_broke_is_said_when_no_try_is_left(broken: list[Piece], words: str) -> None:
    async with raw_endpoint(broken) as server:
        endpoint = ChatEndpoint(server.url, "m", stream=True, quiet_s=0.3)
        with pytest.raises(ChatError, match=words):
            await endpoint.chat(HELLO)
        await endpoint.aclose()
    assert len(server.asked) == 3


async def test_an_answer_that_drips_is_given_up_at_the_request_s_own_limit() -> None:
    drip: list[Piece] = [piece for _ in range(500) for piece in (delta(content="x"), 0.05)]
    async with raw_endpoint(streamed(*drip)) as server:
        endpoint = ChatEndpoint(server.url, "m", stream=True, timeout_s=0.5)
        with pytest.raises(ChatError, match=r"no whole answer within 0\.5 s"):
            await endpoint.chat(HELLO)
        await endpoint.aclose()


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        '{"error": {"code": "context_length_exceeded", "message": "..."}}',
        "The decoder prompt (length 99) is longer than the maximum model length of 64.",
    ],
)
async def test_a_full_context_is_told_apart_from_a_bad_request(text: str) -> None:
    async with raw_endpoint(whole(text.encode(), "400 Bad Request")) as server:
        endpoint = ChatEndpoint(server.url, "m")
        with pytest.raises(ContextTooLong, match="HTTP 400"):
            await endpoint.chat(HELLO)
        server.script = [whole(b"temperature must be positive", "400 Bad Request")]
        with pytest.raises(ChatError, match="temperature") as caught:
            await endpoint.chat(HELLO)
        await endpoint.aclose()
    assert not isinstance(caught.value, ContextTooLong)
    assert len(server.asked) == 2


async def test_when_an_endpoint_asks_for_a_pause_all_requests_make_it() -> None:
    answer = whole(answered({"content": "x"}))
    async with raw_endpoint(whole({}, "429 Slow", Retry_After="0.6"), answer) as server:
        endpoint = ChatEndpoint(server.url, "m")
        waits: list[float] = []

        async def ask() -> None:
            with counting_traffic() as traffic:
                await endpoint.chat(HELLO)
            waits.append(traffic.of("policy").waited_s)

        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(ask)
        await endpoint.aclose()
    # One was told to wait, and asks again only then: so does whoever comes to it in the meantime.
    assert len(waits) == 6
    assert max(waits) > 0.1
    assert len(server.asked) == 7


async def test_a_date_is_a_pause_too() -> None:
    assert _asked_wait(formatdate(0, usegmt=True)) == 0.0
    assert _asked_wait(formatdate(4e9, usegmt=True)) == 60.0
    assert _asked_wait("soon") is None
    assert _asked_wait("") is None


ODD: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}]}}, {"content": "ab"}),
    ({"message": {"content": None, "refusal": "no"}}, {"refusal": "no"}),
    ({"message": {"content": "x", "reasoning": "r"}}, {"reasoning": "r"}),
    ({"message": {"content": "x"}, "finish_reason": None}, {"finish_reason": "stop"}),
    ({"message": {"content": "x"}, "finish_reason": "odd"}, {"finish_reason": "odd"}),
    ({"message": {"content": "x"}, "finish_reason": "model_length"}, {"finish_reason": "length"}),
    (
        {"message": {"tool_calls": [CALL]}, "finish_reason": None},
        {"finish_reason": "tool_calls", "tool_calls": (StructuredCall("look", '{"a": 1}', "c1"),)},
    ),
    (
        {"message": {"tool_calls": [{"function": {"name": None, "arguments": {"a": [1]}}}]}},
        {"tool_calls": (StructuredCall("", '{"a": [1]}', ""),)},
    ),
    (
        {"message": {"tool_calls": [{"id": 5, "function": {"name": "f"}}]}},
        {"tool_calls": (StructuredCall("f", "", ""),)},
    ),
    ({"message": {"content": "x", "tool_calls": None}}, {"tool_calls": ()}),
]


@pytest.mark.parametrize(("choice", "found"), ODD)
def test_what_endpoints_write_in_their_own_ways_is_read(
    choice: dict[str, Any], found: dict[str, Any]
) -> None:
    answer = chat_answer({"choices": [choice, {"message": {"content": "another"}}]})
    assert {name: getattr(answer, name) for name in found} == found


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        (None, (None, None)),
        ({"prompt_tokens": None, "completion_tokens": 3}, (None, 3)),
        ({"prompt_tokens": "7", "completion_tokens": -1}, (None, None)),
        ([1], (None, None)),
    ],
)
def test_tokens_that_nobody_counts_are_not_zero(usage: Any, found: tuple[Any, Any]) -> None:
    told = chat_answer(answered({"content": "x"}, usage=usage)).usage
    assert (told.prompt_tokens, told.completion_tokens) == found


async def test_what_a_cache_held_is_counted_where_it_is_told() -> None:
    told = {"prompt_tokens": 9, "completion_tokens": 4}
    details = {
        "prompt_tokens_details": {"cached_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    script = [
        whole(answered({"content": "x"}, usage=told | more)) for more in (details, details, {})
    ]
    async with raw_endpoint(*script) as server:
        endpoint = ChatEndpoint(server.url, "m")
        found = []
        for requests in (2, 1):
            with counting_traffic() as traffic:
                for _ in range(requests):
                    await endpoint.chat(HELLO)
            found.append(traffic.to_json()["policy"])
        await endpoint.aclose()
    assert (found[0]["cached_tokens"], found[0]["reasoning_tokens"]) == (10, 0)
    assert not found[1].keys() & {"cached_tokens", "reasoning_tokens"}


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"choices": []},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"message": {"content": 5}}]},
        {"choices": [{"message": {"content": [{"type": "image"}]}}]},
        {"choices": [{"message": {"tool_calls": ["x"]}}]},
        {"choices": [{"message": {"tool_calls": [{"function": None}]}}]},
        {"choices": [{"message": {"content": "x"}, "finish_reason": 3}]},
        {"choices": [{"message": {"content": "x"}, "token_ids": ["a"]}]},
    ],
)
async def test_what_is_no_answer_is_one_clear_error(body: Any) -> None:
    async with raw_endpoint(whole(body)) as server:
        endpoint = ChatEndpoint(server.url, "m")
        with pytest.raises(ChatError, match="not a chat completion"):
            await endpoint.chat(HELLO)
        await endpoint.aclose()


async def test_raw_output_ids_and_logprobs_are_read_where_they_are_told() -> None:
    content = [
        {"token": text, "logprob": -0.5, "bytes": list(text.encode())}
        for text in ("<think>", "é", "</think>")
    ]
    choice = {
        "index": 0,
        "message": {"content": ""},
        "finish_reason": "stop",
        "token_ids": [1, 2, 3],
        "logprobs": {"content": content},
    }
    answer = chat_answer({"choices": [choice], "prompt_token_ids": [9, 8]})
    assert (answer.raw, answer.ids, answer.prompt_ids) == ("<think>é</think>", (1, 2, 3), (9, 8))
    assert answer.logprobs == (-0.5, -0.5, -0.5)
    text = {"text": "ab", "finish_reason": "length", "token_ids": [4, 5]}
    read = text_answer({"choices": [text | {"logprobs": {"token_logprobs": [-1, -2.0]}}]})
    assert (read.text, read.ids, read.logprobs) == ("ab", (4, 5), (-1.0, -2.0))
    assert read.finish_reason == "length"


async def test_completions_are_streamed_too() -> None:
    def piece(text: str, finish: str | None, ids: list[int]) -> bytes:
        told: dict[str, Any] = {"token_ids": ids, "logprobs": {"token_logprobs": [-1.0] * len(ids)}}
        return event(choices=[{"index": 0, "text": text, "finish_reason": finish, **told}])

    async with raw_endpoint(
        streamed(piece("a", None, [1]), piece("b", "stop", [2, 3]), DONE)
    ) as server:
        endpoint = ChatEndpoint(server.url, "m", stream=True)
        answer = await endpoint.complete([5, 6], max_tokens=3)
        await endpoint.aclose()
    assert (answer.text, answer.ids, answer.logprobs) == ("ab", (1, 2, 3), (-1.0, -1.0, -1.0))
    assert server.bodies[0]["prompt"] == [5, 6]


@pytest.mark.parametrize("text", ["\ud83d", "\x00 \u2028 é", "\U0001f600"])
async def test_whatever_a_conversation_holds_is_sent_as_it_is(text: str) -> None:
    messages = [{"role": "user", "content": text, "large": 2**70, "real": 1.5}]
    async with raw_endpoint(whole(answered({"content": "x"}))) as server:
        endpoint = ChatEndpoint(server.url, "m")
        await endpoint.chat(messages)
        await endpoint.aclose()
    assert server.bodies[0] == {"model": "m", "messages": messages}


@pytest.mark.parametrize("value", ["two\nlines", "kéy"])
def test_a_key_that_no_header_can_hold_is_refused_unshown(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", value)
    with pytest.raises(InputError, match=r"environment variable MY_KEY.*set it again") as caught:
        ChatEndpoint("http://127.0.0.1:1/v1", "m", key_variable="MY_KEY")
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    ("user", "sent"), [("me:p4ss@", "Basic bWU6cDRzcw=="), ("t0ken@", "Basic dDBrZW46"), ("", None)]
)
async def test_a_user_in_the_address_is_sent_and_never_told(
    user: str, sent: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k3y-of-mine")
    async with raw_endpoint(whole(answered({"content": "x"}))) as server:
        endpoint = ChatEndpoint(server.url.replace("//", f"//{user}"), "m")
        await endpoint.chat(HELLO)
        await endpoint.aclose()
    assert f"Authorization: {sent or 'Bearer k3y-of-mine'}\r\n" in server.asked[0][0]
    assert endpoint.address == server.url


async def test_a_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_endpoint(whole(answered({"content": "x"}))) as server:
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        for host, direct in (("127.0.0.1", True), ("models.invalid", False)):
            url = server.url.replace("127.0.0.1", host)
            endpoint = ChatEndpoint(url, "m")
            await endpoint.chat(HELLO)
            await endpoint.aclose()
            asked = server.asked[-1][0]
            path = f"{url}/chat/completions"
            assert asked.startswith("POST /v1/chat/completions " if direct else f"POST {path} ")


async def test_a_query_of_the_address_goes_along_and_is_not_told() -> None:
    async with raw_endpoint(whole(answered({"content": "x"}))) as server:
        endpoint = ChatEndpoint(f"{server.url}?api-version=2026-01&code=s3cr3t-code", "m")
        await endpoint.chat(HELLO)
        await endpoint.aclose()
    assert server.asked[0][0].startswith(
        "POST /v1/chat/completions?api-version=2026-01&code=s3cr3t-code "
    )
    assert "s3cr3t" not in json.dumps(endpoint.describe())
