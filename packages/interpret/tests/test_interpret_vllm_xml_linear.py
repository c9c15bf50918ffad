"""The work of vLLM's XML readings grows with the input and no faster, which vLLM's own does not.

Counted in lines of Python run, never in seconds.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from outcomebox.interpret import Toolbox, interpret
from outcomebox.interpret.profiles.vllm.xml_lexer import Lexer

PROFILES = ("vllm-0.24", "vllm-0.24-stream", "vllm-0.32", "vllm-0.32-stream")
PROPERTIES = {"code": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object"}}
TOOLS = Toolbox([{"name": "edit", "parameters": {"properties": PROPERTIES}}])

PREFIXES = {
    "content": "",
    "arguments": "<tool_call><function=edit>",
    "value": "<tool_call><function=edit><parameter=code>",
    "no name": "<function=>",
}
FLOODS = {
    "less-than": "<",
    "greater-than": ">",
    "both": "<>",
    "blanks": " ",
    "blanks in a marker": "<   ",
    "call openers": "<tool_call>",
    "call closers": "</tool_call>",
    "reasoning closers": "</think>",
    "functions": "<function=edit>",
    "function openers": "<function=",
    "parameter openers": "<parameter=",
    "parameters without closer": "<parameter=n>",
    "parameters": "<parameter=code>x</parameter><parameter=n>1</parameter>",
    "parameter closers": "</parameter>",
    "calls": "<function=edit><parameter=n>1</parameter></function></tool_call>",
    "JSON names": '"name":"',
    "brackets": "[",
    "ends of turn": "<|im_end|>",
}


def _lines_run(work: Callable[[], object]) -> int:
    count = 0

    def tracer(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return tracer

    work()  # what is loaded or cached on first use does not count
    before = sys.gettrace()
    gc.disable()
    sys.settrace(tracer)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES.keys())
@pytest.mark.parametrize("unit", FLOODS.values(), ids=FLOODS.keys())
def test_steps_are_linear_in_a_flood(profile: str, prefix: str, unit: str) -> None:
    def steps(size: int) -> int:
        output = prefix + unit * (size // len(unit))
        return _lines_run(lambda: interpret(output, tools=TOOLS, profile=profile))

    assert steps(1_200) <= 2.2 * steps(600) + 500


GROWTHS: dict[str, Callable[[int], str]] = {
    "keys": lambda n: "".join(f"<parameter=k{i}>v</parameter>" for i in range(n)),
    "values of one key": lambda n: "<parameter=code>v</parameter>" * n,
    "two keys by turns": lambda n: "<parameter=code>v</parameter><parameter=n>1</parameter>" * n,
    "a value passed through": lambda n: (
        "<parameter=code>v</parameter><parameter=n>1</parameter>"
        "<parameter=code>no</parameter><parameter=o>{}</parameter>"
        f"<parameter=code>v{' v' * n}</parameter>"
    ),
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("write", GROWTHS.values(), ids=GROWTHS.keys())
def test_steps_are_linear_in_parameters(profile: str, write: Callable[[int], str]) -> None:
    def steps(size: int) -> int:
        output = f"<function=edit>{write(size)}</function>"
        return _lines_run(lambda: interpret(output, tools=TOOLS, profile=profile))

    assert steps(80) <= 2.2 * steps(40) + 500


@pytest.mark.parametrize("unit", FLOODS.values(), ids=FLOODS.keys())
def test_less_than_a_marker_is_held_back(unit: str) -> None:
    lexer = Lexer(frozenset({"<|im_end|>"}))
    output = unit * (200 // len(unit))
    read = 0
    for place, character in enumerate(output):
        pieces = lexer.feed(character, place)
        for piece in pieces:
            assert (piece.start, output[piece.start : piece.start + len(piece.text)]) == (
                read,
                piece.text,
            )
            read += len(piece.text)
        assert place + 1 - read < len("<parameter=>")
    for piece in lexer.flush():
        read += len(piece.text)
    assert read == len(output)
