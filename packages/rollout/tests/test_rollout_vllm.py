"""A real vLLM server with a small real model: 20 episodes each way, and what their rows hold.

Heavy: it needs a Python with vLLM (docs/vllm.md), named by ``OUTCOMEBOX_VLLM_PYTHON``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from tokenizers import Tokenizer

from outcomebox.interpret import Toolbox, Turn, interpret
from outcomebox.reward.rows import Row
from outcomebox.rollout.tokens import token_samples
from vllm_server import ATTEMPTS, MODEL, TASKS, shelf_rows, vllm_server

PYTHON = os.environ.get("OUTCOMEBOX_VLLM_PYTHON", "")
pytestmark = pytest.mark.skipif(
    not PYTHON, reason="OUTCOMEBOX_VLLM_PYTHON names no Python with vLLM (docs/vllm.md)"
)
SAMPLING = {"model": MODEL, "max_tokens": "200", "temperature": "0.7"}
END = "<|im_end|>"


class Served(NamedTuple):
    """A running server."""

    address: str
    model: Path
    profile: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests; loading vLLM takes a minute of CPU."""
    with vllm_server(PYTHON, tmp_path_factory.mktemp("vllm")) as (address, model):
        version = httpx.get(f"{address}/version", timeout=60).json()["version"]
        yield Served(address, model, f"vllm-{'.'.join(version.split('.')[:2])}")


def run(served: Served, folder: Path, **options: str) -> tuple[list[Row], dict[str, Any]]:
    """The rows of 20 episodes; each is complete, and none is lost or broken."""
    settings = {"base_url": f"{served.address}/v1", **SAMPLING, **options}
    rows, tools = shelf_rows(folder, "openai", settings, profile=served.profile)
    assert len({(row["uid"], row["repetition"]) for row in rows}) == TASKS * ATTEMPTS == len(rows)
    tokenizer = Tokenizer.from_file(str(served.model / "tokenizer.json"))
    for row in rows:
        assert row["error"] is None
        assert row["verdict"]["outcome"] in {"passed", "failed"}
        assert row["traffic"]["policy"]["requests"] == len(turns(row))
        for message in turns(row):
            assert message["finish_reason"] in {"stop", "length", "tool_calls"}
            assert len(message["ids"]) == len(message["logprobs"])
            assert all(value <= 0 for value in message["logprobs"])
            assert tokenizer.decode(message["ids"], skip_special_tokens=False) == message["raw"]
        sampled = sum(len(message["ids"]) for message in turns(row))
        assert row["usage"]["policy"]["completion"] == sampled
        samples = token_samples(row["messages"])
        assert sum(map(sum, (each.mask for each in samples))) == sampled
        assert row["usage"]["policy"]["prompt"] == sum(sum(each.prompts) for each in samples)
    return rows, tools


def turns(row: Row) -> list[dict[str, Any]]:
    """The turns of the policy."""
    return [each for each in row["messages"] if each["role"] == "assistant"]


def called(message: dict[str, Any]) -> list[tuple[str, Any]]:
    """The calls of a turn; the server's ids of them are made anew each time."""
    return [(call["name"], call["arguments"]) for call in message.get("tool_calls", ())]


def read(message: dict[str, Any], tools: list[dict[str, Any]], profile: str) -> Turn:
    """What our interpreter reads, as the server does, from the raw output of a row."""
    return interpret(
        message["raw"].removesuffix(END),
        tools=Toolbox(tools),
        format="qwen3_xml",
        profile=profile,
        prompt_state="assistant_start",
        finish_reason=message["finish_reason"],
    )


def test_chat_completions_are_kept_whole_and_read_as_the_server_reads_them(
    served: Served, tmp_path: Path
) -> None:
    rows, tools = run(served, tmp_path, tokens="true", reasoning="reasoning_content")
    calls = reasoned = 0
    for row in rows:
        for message in turns(row):
            ours = read(message, tools[row["uid"]], served.profile)
            assert message.get("reasoning") == (ours.reasoning or None)
            assert message["content"] == (ours.content or None)
            theirs = called(message)
            assert theirs == [(call.name, call.arguments) for call in ours.tool_calls]
            calls += len(theirs)
            reasoned += bool(message.get("reasoning"))
    # The model has learnt to think and to call: the comparison is not of nothing.
    assert calls >= 10
    assert reasoned >= 20


def test_raw_completions_are_kept_whole_and_go_on_behind_what_was_sampled(
    served: Served, tmp_path: Path
) -> None:
    rows, tools = run(served, tmp_path, api="completions", tokenizer=str(served.model))
    calls = 0
    for row in rows:
        for message in turns(row):
            ours = read(message, tools[row["uid"]], served.profile)
            assert message.get("reasoning") == ours.reasoning
            theirs = called(message)
            assert theirs == [(call.name, call.arguments) for call in ours.tool_calls]
            calls += len(theirs)
    assert calls >= 10
    # Nothing that was sampled is written anew, so an episode is one sequence. Only where a small
    # model has written what no template would, a new one begins, and the row says so.
    whole = [row for row in rows if len(token_samples(row["messages"])) == 1]
    assert any(len(turns(row)) > 2 for row in whole)


def test_streamed_answers_are_the_same(served: Served, tmp_path: Path) -> None:
    found = []
    for stream in ("false", "true"):
        folder = tmp_path / stream
        folder.mkdir()
        settings = {"base_url": f"{served.address}/v1", **SAMPLING, "tokens": "true"}
        settings |= {"temperature": "0", "stream": stream}
        rows, tools = shelf_rows(folder, "openai", settings, profile=served.profile)
        found.append({(row["uid"], row["repetition"]): row for row in rows})
    whole, streamed = found
    assert whole.keys() == streamed.keys()
    compared = 0
    for key, row in whole.items():
        # The first turn: what a busy server computes in another order may differ in a later one.
        one, other = turns(row)[0], turns(streamed[key])[0]
        told = {"raw", "ids", "finish_reason", "reasoning", "content"} & one.keys()
        assert {name: one[name] for name in told} == {name: other.get(name) for name in told}
        ours = read(one, tools[row["uid"]], "strict")
        # vLLM has two parsers, and they part where a call is not written as it should be.
        if all(call.status == "ok" for call in ours.tool_calls) and not ours.diagnostics:
            assert called(one) == called(other), one["raw"]
            compared += len(called(one))
    assert compared >= 5
