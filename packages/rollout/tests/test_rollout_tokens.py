"""Token ids in, token ids out: what a row holds makes exactly what was sent and sampled again."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.interpret import Toolbox
from outcomebox.interpret.tokens import read_ids
from outcomebox.reward.rows import seal, unseal
from outcomebox.rollout import EpisodeContext, PolicyError, make_policy
from outcomebox.rollout.policies.modelfolder import ModelFolder, model_folder
from outcomebox.rollout.policies.tokens import ContextFull, Sampled, TokenPolicy
from outcomebox.rollout.tokens import TokenSample, token_samples
from outcomebox.rollout.turns import read_turn
from outcomebox.sandbox import ToolSpec
from scripted_policy import shelf_task
from small_model_folder import make_folder

pytestmark = pytest.mark.anyio

LOOK = ToolSpec("look", "Look.", {"type": "object"}, False)
CONTEXT = EpisodeContext(shelf_task(), (LOOK,), seed=5, repetition=0)


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder."""
    path = tmp_path_factory.mktemp("model")
    make_folder(path)
    return path


@pytest.fixture(scope="module")
def model(folder: Path) -> ModelFolder:
    """Its tokenizer and template."""
    return model_folder(folder, "qwen3_xml", {})


def test_another_template_stands_in_the_models_place(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "short.jinja"
    file.write_text("{% for each in messages %}{{ each.content }}{{ eos_token }}{% endfor %}")
    found = model_folder(folder, "qwen3_xml", {}, template=file)
    ids = found.template.ids([{"role": "user", "content": "on"}], tools=None, generation=False)
    assert read_ids(ids, found.tokenizer)[0] == "on<|im_end|>"


@dataclass
class Scripted:
    """A sampler that gives what a test tells it to; None: the context is full."""

    turns: list[Sampled | None]
    sent: list[tuple[int, ...]] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)

    def describe(self) -> Mapping[str, Any]:
        return {}

    async def check(self) -> None:
        pass

    async def sample(self, prompt_ids: Sequence[int], *, seed: int) -> Sampled:
        turn = self.turns[len(self.seeds)]
        self.seeds.append(seed)
        if turn is None:
            raise ContextFull("full")
        self.sent.append(tuple(prompt_ids))
        return turn

    async def aclose(self) -> None:
        pass


async def converse(policy: TokenPolicy, turns: int) -> list[dict[str, Any]]:
    """The messages of an episode, as its row gives them back."""
    episode = policy.start(CONTEXT)
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "on and on"},
        {"role": "assistant", "content": "of the task's own history"},
        {"role": "user", "content": "abc"},
    ]
    for number in range(turns):
        completion = await episode.complete(messages)
        turn = read_turn(
            completion, Toolbox([LOOK.openai()]), turn=number, format="qwen3_xml", profile="strict"
        )
        messages.append(turn.message(completion))
        messages += [
            {"role": "tool", "tool_call_id": each.id, "name": each.name, "content": "abc\n\n"}
            for each in turn.calls
        ] or [{"role": "user", "content": "go on"}]
    row = unseal(seal({"messages": messages}))
    found: list[dict[str, Any]] = row["messages"]
    return found


def laid_out(samples: list[TokenSample]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Prompt and output of each turn."""
    return [
        (sample.ids[:start], sample.ids[start : start + length])
        for sample in samples
        for start, length in zip(sample.prompts, sample.outputs, strict=True)
    ]


WRITTEN = (
    "abc", "on", "a", "b", "c", "\n", " ", "é", "<think>", "</think>", "<tool_call>",
    "<tool_call>\n<function=look>\n</function>\n</tool_call>", "<think>\nhm\n</think>\n\n",
)  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_what_a_row_holds_is_what_was_sent_and_sampled(model: ModelFolder, data: Any) -> None:
    vocabulary = model.tokenizer.get_vocab()
    encoder: Any = model.tokenizer
    end = vocabulary["<|im_end|>"]
    turns: list[Sampled | None] = []
    for _ in range(data.draw(st.integers(1, 4))):
        ids: list[int] = []
        for text in data.draw(st.lists(st.sampled_from(WRITTEN), max_size=6)):
            # Letter by letter is not how the tokenizer would write it.
            apart = text.isalpha() and text.isascii() and data.draw(st.booleans())
            for piece in text if apart else (text,):
                ids += encoder.encode(piece, add_special_tokens=False)
        cut = bool(ids) and data.draw(st.booleans())
        ids += [] if cut else [end]
        logprobs = tuple(-0.5 - at for at in range(len(ids)))
        turns.append(Sampled(tuple(ids), logprobs, "length" if cut else "stop"))
    if data.draw(st.booleans()):
        turns.append(None)
    sampler = Scripted(turns)
    policy = TokenPolicy(sampler, model.template, model.tokenizer, name="m")
    messages = anyio.run(converse, policy, len(turns))
    samples = token_samples(messages)
    asked = [turn for turn in turns if turn is not None]
    assert laid_out(samples) == [
        (prompt, turn.ids) for prompt, turn in zip(sampler.sent, asked, strict=True)
    ]
    for sample in samples:
        assert len(sample.ids) == len(sample.mask)
        assert sample.logprobs is not None
        assert len(sample.logprobs) == len(sample.ids)
    assert sum(sum(sample.mask) for sample in samples) == sum(len(turn.ids) for turn in asked)
    assert len(set(sampler.seeds)) == len(turns)
    # A row grows with what was said: no id stands in it twice, as long as nothing began anew.
    held = sum(len(each.get("context_ids", ())) + len(each.get("ids", ())) for each in messages)
    assert held == sum(len(sample.ids) for sample in samples)


async def test_letters_that_were_sampled_apart_stay_apart(model: ModelFolder) -> None:
    vocabulary = model.tokenizer.get_vocab()
    apart = tuple(vocabulary[name] for name in ("a", "b", "c", "<|im_end|>"))
    sampler = Scripted([Sampled(apart), Sampled(apart)])
    policy = TokenPolicy(sampler, model.template, model.tokenizer, name="m")
    messages = await converse(policy, 2)
    first, second = sampler.sent
    assert second[: len(first) + 4] == first + apart
    (sample,) = token_samples(messages)
    assert sample.logprobs is None
    assert sample.mask[len(first) : len(first) + 4] == (1, 1, 1, 1)
    assert messages[3]["content"] == "abc"


def test_a_turn_without_ids_is_named() -> None:
    plain = {"role": "assistant", "content": "x", "finish_reason": "stop"}
    with pytest.raises(ValueError, match=r"messages\[1\] has no token ids"):
        token_samples([{"role": "user", "content": "x"}, plain])


class Completions(BaseHTTPRequestHandler):
    """A server of raw completions that answers from a script."""

    script: ClassVar[list[tuple[int, dict[str, Any]]]] = []
    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        """A completion."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, **body})
        status, answer = self.script.pop(0)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Silent."""


@pytest.fixture
def url() -> Iterator[str]:
    """Address of a running server."""
    Completions.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Completions)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


async def test_the_endpoint_s_raw_completions_are_a_sampler(
    url: str, folder: Path, model: ModelFolder
) -> None:
    vocabulary = model.tokenizer.get_vocab()
    ids = [vocabulary[name] for name in ("o", "n", "<|im_end|>")]
    told = {"index": 0, "text": "on", "finish_reason": "stop", "token_ids": ids}
    told["logprobs"] = {"token_logprobs": [-1.0, -2.0, -3.0]}
    Completions.script = [
        (200, {"choices": [told], "usage": {"prompt_tokens": 3, "completion_tokens": 3}}),
        (400, {"message": "This model's maximum context length is 64 tokens."}),
        (200, {"choices": [{"index": 0, "text": "on", "finish_reason": "stop"}]}),
    ]
    options = {"base_url": url, "model": "m", "tokenizer": str(folder), "max_tokens": "9"}
    policy = make_policy("openai", {"api": "completions", **options})
    assert isinstance(policy, TokenPolicy)
    messages = await converse(policy, 2)
    (sample,) = token_samples(messages)
    asked = Completions.asked[0]
    assert asked["path"] == "/v1/completions"
    assert list(sample.ids) == asked["prompt"] + ids
    assert sample.logprobs is not None
    assert sample.logprobs[-3:] == (-1.0, -2.0, -3.0)
    assert (asked["max_tokens"], asked["return_token_ids"], asked["logprobs"]) == (9, True, 0)
    assert [each["finish_reason"] for each in messages if "finish_reason" in each] == [
        "stop",
        "length",
    ]
    with pytest.raises(PolicyError, match="no token ids"):
        await converse(policy, 1)
    await policy.aclose()
