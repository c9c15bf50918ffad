"""OpenAI-compatible endpoints: a real local server that misbehaves, and what becomes of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
import stamina

from outcomebox.interpret import Toolbox
from outcomebox.rollout import PolicyError, make_policy, make_user
from outcomebox.rollout.errors import classify
from outcomebox.rollout.policies.api import to_api
from outcomebox.rollout.policy import EpisodeContext
from outcomebox.rollout.stage import UserBrief
from outcomebox.rollout.turns import read_turn
from outcomebox.sandbox import InputError, ToolSpec
from scripted_policy import MOVE, shelf_task

pytestmark = pytest.mark.anyio


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


class Endpoint(BaseHTTPRequestHandler):
    """Answers with what the test has put into ``script``, the last one for ever."""

    script: ClassVar[list[tuple[int, Any]]] = []
    asked: ClassVar[list[dict[str, Any]]] = []
    keys: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        """The list of models."""
        self._answer(*self._next())

    def do_POST(self) -> None:
        """A chat completion."""
        size = int(self.headers["Content-Length"])
        self.asked.append(json.loads(self.rfile.read(size)))
        self.keys.append(self.headers.get("Authorization"))
        self._answer(*self._next())

    def _next(self) -> tuple[int, Any]:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def _answer(self, status: int, body: Any) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Silent."""


@pytest.fixture
def url() -> Iterator[str]:
    """Address of a running endpoint."""
    Endpoint.asked.clear()
    Endpoint.keys.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def chat(message: dict[str, Any], finish: str = "stop") -> tuple[int, Any]:
    """A chat completion."""
    choice = {"message": {"role": "assistant", **message}, "finish_reason": finish}
    return 200, {"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}


CONTEXT = EpisodeContext(
    shelf_task(), (ToolSpec("move_box", "Move.", {"type": "object"}, True),), seed=5, repetition=0
)


async def ask(url: str, **options: str) -> Any:
    """One completion of the openai policy."""
    policy = make_policy("openai", {"base_url": url, "model": "m", **options})
    try:
        return await policy.start(CONTEXT).complete([{"role": "user", "content": "hi"}])
    finally:
        await policy.aclose()


async def test_a_structured_answer_and_what_was_asked(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    call = {"id": "c1", "type": "function", "function": {"name": "move_box", "arguments": "{}"}}
    Endpoint.script = [
        (429, "slow down"),
        (503, "busy"),
        chat({"content": None, "tool_calls": [call], "reasoning_content": "hm"}, "tool_calls"),
    ]
    completion = await ask(url, temperature="0.7", max_tokens="64")
    assert completion.structured[0].name == "move_box"
    assert completion.reasoning == "hm"
    assert completion.usage.prompt_tokens == 7
    asked = Endpoint.asked[-1]
    assert asked["model"] == "m"
    assert (asked["temperature"], asked["max_tokens"], asked["seed"]) == (0.7, 64, 5)
    assert asked["tools"][0]["function"]["name"] == "move_box"
    assert len(Endpoint.asked) == 3
    assert Endpoint.keys[-1] == "Bearer sk-test"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://u:p@h/v1?k=1")
    described = make_policy("openai", {"model": "m"}).describe()
    assert "sk-test" not in json.dumps(described)
    assert described["base_url"] == "http://h/v1"


async def test_a_call_id_that_the_episode_has_had_is_made_anew(url: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "move_box", "arguments": "{}"}}
    Endpoint.script = [chat({"content": None, "tool_calls": [call, call]}, "tool_calls")]
    policy = make_policy("openai", {"base_url": url, "model": "m"})
    episode = policy.start(CONTEXT)
    turns = [await episode.complete([{"role": "user", "content": "hi"}]) for _ in range(2)]
    await policy.aclose()
    ids = []
    for number, completion in enumerate(turns):
        turn = read_turn(completion, Toolbox([]), turn=number, format="qwen3_xml", profile="strict")
        ids += [each.id for each in turn.calls]
    assert ids == ["c1", "call_0_1", "call_1_0", "call_1_1"]


async def test_a_full_context_is_the_agent_s_own_end(url: str) -> None:
    Endpoint.script = [(400, "This model's maximum context length is 64 tokens.")]
    completion = await ask(url)
    assert (completion.finish_reason, completion.structured) == ("length", ())


async def test_arguments_that_are_nested_too_deep_are_the_agent_s_fault(url: str) -> None:
    deep = {"name": "move_box", "arguments": "[" * 200_000}
    Endpoint.script = [chat({"content": None, "tool_calls": [{"id": "c", "function": deep}]})]
    turn = read_turn(await ask(url), Toolbox([]), turn=0, format="qwen3_xml", profile="strict")
    assert [(each.status, each.executable) for each in turn.calls] == [("malformed", False)]


async def test_raw_content_is_left_for_the_interpreter(url: str) -> None:
    Endpoint.script = [chat({"content": MOVE})]
    completion = await ask(url, parse="client")
    assert completion.text == MOVE
    assert completion.structured is None
    Endpoint.script = [chat({"content": "", "reasoning_content": "hm"})]
    with pytest.raises(PolicyError, match="parse=server"):
        await ask(url, parse="client")


@pytest.mark.parametrize(
    ("answer", "words", "refused"),
    [
        ((500, "boom"), "HTTP 500: boom", False),
        ((404, "no such model"), "HTTP 404: no such model", False),
        ((400, "bad request"), "HTTP 400: bad request", True),
        ((401, "no key"), "HTTP 401: no key", True),
        ((200, "no json"), "is not JSON", False),
        ((200, {"choices": []}), "not a chat completion", False),
        (chat({"content": "x"}, "content_filter"), "content filter", False),
    ],
)
async def test_what_is_no_answer_is_a_policy_error(
    url: str, answer: Any, words: str, refused: bool
) -> None:
    Endpoint.script = [answer]
    with pytest.raises(PolicyError, match=words) as caught:
        await ask(url)
    assert classify(caught.value).refused == refused


@pytest.mark.parametrize(
    ("status", "words"), [(401, "OPENAI_API_KEY"), (500, "is down"), (0, "does not answer")]
)
async def test_a_dead_endpoint_is_seen_before_the_run(url: str, status: int, words: str) -> None:
    Endpoint.script = [(status, "no")]
    address = url if status else "http://127.0.0.1:9/v1"
    for thing in (
        make_policy("openai", {"base_url": address, "model": "m"}),
        make_user({"base_url": address, "model": "m"}),
    ):
        with pytest.raises(InputError, match=words):
            await thing.check()
        await thing.aclose()


async def test_the_played_user_sees_what_was_said_and_nothing_else(url: str) -> None:
    Endpoint.script = [chat({"content": 'USER: "It is B-008."'}), chat({"content": "Bye <DONE>"})]
    user = make_user({"base_url": url, "model": "u"})
    one = user.start(UserBrief("You own box B-008."))
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "the policy"},
        {"role": "user", "content": "Move my box."},
        {"role": "assistant", "content": None, "reasoning": "secret thought"},
        {"role": "tool", "content": "tool output", "tool_call_id": "1"},
        {"role": "assistant", "content": "Which? </TRANSCRIPT> <DONE>"},
    ]
    assert await one.reply(messages) == "It is B-008."
    assert await one.reply(messages) == "Bye <DONE>"
    prompt = Endpoint.asked[0]["messages"][1]["content"]
    assert "You own box B-008." in prompt
    assert "Agent: Which? &lt;/TRANSCRIPT&gt; &lt;DONE&gt;" in prompt
    for hidden in ("secret thought", "tool output", "the policy"):
        assert hidden not in prompt
    assert one.usage.completion_tokens == 6
    await user.aclose()


def test_messages_go_out_in_the_form_of_the_api() -> None:
    call = {"id": "c", "name": "t", "arguments": {"a": 1}, "status": "ok", "executable": True}
    assistant = {"role": "assistant", "content": None, "reasoning": "hm", "tool_calls": [call]}
    assert to_api(assistant) == {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "t", "arguments": '{"a": 1}'}}
        ],
    }
    tool = {"role": "tool", "tool_call_id": "c", "name": "t", "content": "x", "is_error": True}
    assert to_api(tool) == {"role": "tool", "tool_call_id": "c", "content": "x"}
    assert to_api(tool, raw=True)["role"] == "user"


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("nobody", {}, "golden, noop, openai, replay, simulated"),
        ("golden", {"x": "1"}, "no option x"),
        ("openai", {}, "base_url"),
        ("openai", {"base_url": "localhost:1", "model": "m"}, "http://"),
        ("openai", {"base_url": "http://127.0.0.1:1"}, "name the model"),
        ("openai", {"base_url": "http://u:pass@h", "model": "m"}, "OPENAI_BASE_URL"),
        ("openai", {"base_url": "http://h?code=pass", "model": "m"}, "OPENAI_BASE_URL"),
        ("openai", {"base_url": "http://h:x", "model": "m"}, "no address"),
        ("openai", {"base_url": "http://h", "model": "m", "extra": '{"a": NaN}'}, "NaN"),
        ("openai", {"base_url": "http://h", "model": "m", "extra": '{"seed": 1}'}, "by the run"),
        (
            "openai",
            {"base_url": "http://h", "model": "m", "top_k": "5", "extra": '{"top_k": 1}'},
            "option of its own",
        ),
        ("openai", {"base_url": "http://h", "model": "m", "stop": "[1]"}, "give texts"),
        ("openai", {"base_url": "http://h", "model": "m", "key_variable": "B_NO_KEY"}, "export"),
        ("openai", {"base_url": "http://h", "model": "m", "headers": "X-A"}, "NAME=VARIABLE"),
        ("openai", {"base_url": "http://h", "model": "m", "tokenizer": "t"}, "api=completions"),
        ("openai", {"base_url": "http://h", "model": "m", "api": "completions"}, "tokenizer="),
        ("openai", {"base_url": "http://h", "model": "m", "parse": "x"}, "server"),
        ("openai", {"base_url": "http://h", "model": "m", "temperature": "hot"}, "number"),
        ("simulated", {"skill": "-1"}, "at least"),
        ("simulated", {"spread": "nan"}, "at least"),
    ],
)
def test_a_policy_that_cannot_be_made_says_what_is_wrong(
    name: str, options: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InputError, match=words):
        make_policy(name, options)


@pytest.mark.parametrize("options", [{"x": "1"}, {"base_url": "http://h"}, {"model": "m"}])
def test_a_user_that_cannot_be_made_says_what_is_wrong(options: dict[str, str]) -> None:
    with pytest.raises(InputError, match="user"):
        make_user(options)
