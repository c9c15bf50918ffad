import itertools
import json
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from interpret_parser_rows import hermes, xml
from outcomebox.interpret import interpret
from outcomebox.interpret.live.pieces import recorded
from outcomebox.interpret.profiles.sglang import hermes_stream, xml_stream
from outcomebox.interpret.profiles.sglang.arrival import Delta
from outcomebox.interpret.profiles.sglang.reasoning import split_stream
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import Turn

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {"p": {"type": "object"}}},
        },
    }
    for name in ("f", "run")
]
TOOLBOX = Toolbox(TOOLS)

MARKUP = [
    "<tool_call>", "</tool_call>", "<function=f>", "<function=", "</function>", "<parameter=p>",
    "<parameter=", "</parameter>", "\n", "x", "<", ">", "{}", "</", " a<b", "null",
]  # fmt: skip


def read(pieces: Sequence[str], form: str = "qwen3_xml", **more: Any) -> Turn:
    record = recorded(list(pieces))
    return interpret(
        list(record.ids),
        tools=TOOLS,
        format=form,
        profile="sglang-0.5-stream",
        tokenizer=record.tokenizer,
        **more,
    )


def calls(turn: Turn) -> list[tuple[str, str]]:
    return [(call.name, call.arguments_json()) for call in turn.tool_calls]


def cut(text: str, places: list[int]) -> list[str]:
    marks = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in itertools.pairwise(marks)]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(MARKUP), max_size=25), st.lists(st.integers(0, 400)))
def test_xml_calls_do_not_depend_on_the_steps(pieces: list[str], places: list[int]) -> None:
    text = "".join(pieces)
    whole = xml_stream.read_stream([text], TOOLBOX)
    assert xml_stream.read_stream(cut(text, places), TOOLBOX) == whole
    assert xml_stream.read_stream(list(text), TOOLBOX) == whole


def test_a_value_that_json_cannot_carry_breaks_the_stream() -> None:
    head = ["a", "<tool_call>", "<function=f>", "<parameter=", "q>1", "</parameter>"]
    turn = read([*head, "b<parameter=p>{1}", "</parameter><parameter=q>2", "</parameter>", "c"])
    assert calls(turn) == [("f", '{"q": "1"')]
    assert turn.content == "a"
    (note,) = turn.diagnostics
    assert str(note.code) == "stream_broken"


@pytest.mark.parametrize(
    ("pieces", "reasoning", "content"),
    [
        (["a", "</think>", "b"], "a", "b"),
        (["a", "<", "/think>", "b"], "a", "b"),
        (["<think>", "a<", "b"], "a<b", None),
        (["a", "<tool_", "call> b"], "a", None),
        (["a</think>", "b", "<think>", "c", "</think>", "d", "<think>"], "ac", "bd<think>"),
        (["a</think>", "b <", "think>", "c"], "a", "b <think>c"),
        (["a</think>", "<", "thin"], "a", "<thin"),
        (["a</th"], "a</th", None),
    ],
)
def test_reasoning_of_a_stream(
    pieces: list[str], reasoning: str | None, content: str | None
) -> None:
    turn = read(pieces, prompt_state="think_open")
    assert (turn.reasoning, turn.content) == (reasoning, content)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<tool_call>", "<", "a", "<th", "ink>"])),
    st.booleans(),
)
def test_reasoning_and_content_of_a_stream_lose_markers_only(
    pieces: list[str], forced: bool
) -> None:
    ends = [len("".join(pieces[: index + 1])) for index in range(len(pieces))]
    steps = [Delta(*each) for each in zip(pieces, ends, strict=True)]
    split = list(split_stream(steps, forced=forced, flushed=True))
    kept = "".join(step.reasoning + step.content for step in split)
    lost = len("".join(pieces)) - len(kept)
    assert lost >= 0
    assert any(lost == 7 * a + 8 * b for a in range(2) for b in range(3))
    text = "".join(pieces)
    assert all(text[step.start :].startswith(step.content) for step in split)


@pytest.mark.parametrize("form", ["qwen3_xml", "hermes"])
def test_an_abort_ends_the_stream_without_what_was_held_back(form: str) -> None:
    pieces = ["a", "</think>", "<"]
    turn = read(pieces, form, prompt_state="think_open", finish_reason="abort")
    assert (turn.reasoning, turn.content) == ("a", None)


# -- hermes ---------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e6, 1e6, width=32) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def streamed(pieces: Sequence[str]) -> tuple[str, list[tuple[str, str]]]:
    reading, broken = hermes_stream.read_stream(pieces, TOOLBOX)
    assert broken is None
    return reading.content, [(call.name, call.wire) for call in reading.calls]


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.booleans(), st.integers(1, 5))
def test_hermes_arguments_arrive_whole(
    arguments: dict[str, Any], ascii_only: bool, size: int
) -> None:
    assume(not any("e" in repr(each) or math.isinf(each) for each in floats(arguments)))
    body = json.dumps({"name": "run", "arguments": arguments}, ensure_ascii=ascii_only)
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    content, found = streamed(["a", "<tool_call>", "\n", *pieces, "\n", "</tool_call>", "b"])
    assert (content, found) == (
        "a\nb",
        [("run", json.dumps(arguments, ensure_ascii=False))],
    )


def floats(value: Any) -> list[float]:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [each for item in inner for each in floats(item)]
    return [value] if isinstance(value, float) else []


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ['{"name": "f"', ', "arguments": {', '"a": ', '"b', '"', "1.5e", "3", "tr", "ue", ",",
             "}", "]", "[", "\\", "\\u00e9", "\\ud83d", "\\ude00", " ", "\t", "<tool_call>",
             "</tool_call>", "x", "null", '"a": 1', ', "name": "run"', ", "]
        ),
        max_size=30,
    )
)  # fmt: skip
def test_no_stream_of_hermes_is_too_odd_to_read(pieces: list[str]) -> None:
    content, found = streamed(["<tool_call>", *pieces])
    assert len(content) <= len("".join(pieces))
    assert all(set(name) <= set("frun") for name, _ in found)


@pytest.mark.parametrize(
    ("pieces", "content", "found"),
    [
        # A number whose beginning is sent, and then turns out to be another one.
        (
            [*'{"name": "f", "arguments": {"p": 1.05e2}}'],
            "",
            [("f", '{"p": 1.0.0}')],
        ),
        # A key that comes twice.
        (
            [*'{"name": "f", "arguments": {"p": "abc", "q": 1, "p": "xyz"}}'],
            "",
            [("f", '{"p": "abc", "q": 1}')],
        ),
        # What is no JSON to the strict reader never ends, and swallows the rest.
        (
            [*'{"name": "f", "arguments": {"p": NaN}}', "</tool_call>", "more"],
            "",
            [("f", '{"p": NaN}')],
        ),
        # A tool that is not offered starts the count of calls anew.
        (
            [
                *'{"name": "f", "arguments": {"p": 1}}', "</tool_call>", "<tool_call>",
                *'{"name": "zz", "arguments": {}}', "</tool_call>", "<tool_call>",
                *'{"name": "run", "arguments": {"p": 2}}', "</tool_call>",
            ],
            ', "arguments": {}}',
            [("frun", '{"p": 1}{"p": 2}')],
        ),
        # The name that only the last step shows comes without its arguments.
        (['{"name": "f", "arguments": {"p": 1}}'], "", [("f", "")]),
        (['{"name": "f", "arguments": {"p": 1}}', ""], "", [("f", '{"p": 1}')]),
        # The end closes what was cut, white space at the end of a string left out.
        ([*'{"name": "f", "arguments": {"p": ["rm /x '], "", [("f", '{"p": ["rm /x"]}')]),
        ([*'{"name": "f", "arguments": "{}'], "", [("f", '"{')]),
        # An escape that is cut with white space behind it.
        ([*'{"name": "f", "arguments": "a, ', "\\\n", "</tool_call>"], "", [("f", '"a,')]),
        ([*'{"parameters": {"p": 1}, "name": "f"}'], "", [("f", '{"p": 1}')]),
        ([*'{"name": "f", "parameters": {"p": 1}, "arguments": {}}'], "", [("f", '{"p": 1}')]),
        (["[", *'{"name": "f"}', "]"], "", []),
    ],
)  # fmt: skip
def test_hermes_calls_that_a_stream_mangles(
    pieces: list[str], content: str, found: list[tuple[str, str]]
) -> None:
    assert streamed(["<tool_call>", *pieces]) == (content, found)


def test_text_before_a_call_that_comes_in_one_step_with_it_keeps_closers() -> None:
    assert streamed(["a</tool_call>b<tool_call>", "</tool", "_call>"])[0] == "a</tool_call>b"
    assert streamed(["a</tool", "_call>b</tool_call", "x"])[0] == "ab</tool_callx"


def lines(work: Callable[[], object]) -> int:
    """Count the lines of Python that run."""
    count = 0

    def trace(frame: object, event: str, arg: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        work()
    finally:
        sys.settrace(before)
    return count


HEAD = '<tool_call>{"name": "f", "arguments": '


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        ("", "<"),
        ("", "<tool_call>"),
        ("<tool_call><function=f>", "<parameter=p>"),
        ("<tool_call>", "<function=f></function>"),
        (HEAD + '{"p": "', "x "),
        (HEAD + '{"p": "', "\\u00e9"),
        (HEAD + '{"p": ', "1"),
        (HEAD + '{"p": [', "1, "),
        (HEAD + "{", '"p": 1, '),
        (HEAD, "["),
        (HEAD + "x", ', "x"'),
        ('<tool_call>{x "', '"x"'),
        ('<tool_call>{"name": "f"}', " {"),
    ],
)
@pytest.mark.parametrize("read_stream", [xml_stream.read_stream, hermes_stream.read_stream])
def test_work_grows_as_the_stream_does(read_stream: Any, head: str, piece: str) -> None:
    small, large = (lines(partial(read_stream, [*head, *(piece * n)], TOOLBOX)) for n in (100, 400))
    assert large <= 4.2 * small + 100


def test_an_unknown_call_of_a_whole_turn_is_flagged() -> None:
    turn = read([xml("x").replace("=f>", "=g>")])
    assert [call.status for call in turn.tool_calls] == ["unknown_tool"]
    assert read([*hermes('{"name": "g", "arguments": {}}')], "hermes").tool_calls == ()
