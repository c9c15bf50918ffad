import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from interpret_parser_rows import ROWS, Row, hermes, xml
from outcomebox.interpret import interpret
from outcomebox.interpret.live.pieces import PieceTokenizer
from outcomebox.interpret.turn import Turn

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "description": "Does it.",
            "parameters": {"type": "object", "properties": {"p": {"type": "string"}}},
        },
    }
]


def read(text: str, form: str = "qwen3_xml", tools: list[dict[str, Any]] | None = None) -> Turn:
    return interpret(text, tools=TOOLS if tools is None else tools, format=form, profile="verl-0.9")


@pytest.mark.parametrize("row", [each for each in ROWS if each.verl], ids=lambda row: row.name)
def test_a_row_reads_as_verl_reads_it(row: Row) -> None:
    turn = interpret(
        row.text,
        tools=row.tools(),
        format=row.format,
        profile="verl-0.9",
        prompt_state=row.prompt_state,  # type: ignore[arg-type]
        finish_reason=row.finish_reason,
    )
    calls = tuple((call.name, call.arguments_json()) for call in turn.tool_calls)
    assert (turn.reasoning, turn.content, calls) == row.verl
    assert not turn.diagnostics


@pytest.mark.parametrize("row", [each for each in ROWS if not each.verl], ids=lambda row: row.name)
def test_a_property_without_a_type_keeps_the_run_from_starting(row: Row) -> None:
    turn = interpret(row.text, tools=row.tools(), profile="verl-0.9")
    assert turn[:3] == (None, None, ())
    (note,) = turn.diagnostics
    assert str(note.code) == "tools_refused"
    assert "'f'" in note.message
    assert "'p'" in note.message
    assert "type" in note.message
    assert note.span == (0, len(row.text))


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"properties": {}}, "no type"),
        ({"type": "object"}, "no properties"),
        ({"type": "object", "properties": {}, "required": None}, "required"),
        ({"type": "object", "properties": {"p": True}}, "no schema"),
        ({"type": "object", "properties": {"p": {"type": "string", "enum": "a"}}}, "enum"),
        ({"type": "object", "properties": {"p": {"type": ["string", 1]}}}, "type"),
        ({"type": "object", "properties": {"p": {"type": "string", "description": 1}}}, "descr"),
    ],
)
@pytest.mark.parametrize("form", ["qwen3_xml", "hermes"])
def test_one_refused_tool_refuses_all(parameters: dict[str, Any], why: str, form: str) -> None:
    other = {"type": "function", "function": {"name": "g", "parameters": parameters}}
    turn = read(xml("x"), form, [*TOOLS, other])
    assert turn.tool_calls == ()
    assert "'g'" in turn.diagnostics[0].message
    assert why in turn.diagnostics[0].message


def test_a_tool_without_parameters_is_accepted() -> None:
    tools = [{"type": "function", "function": {"name": "f", "description": "Does it."}}]
    (call,) = read(xml("7"), tools=tools).tool_calls
    assert (call.wire, call.status) == ('{"p": "7"}', "ok")


def test_each_bad_call_is_dropped_by_itself() -> None:
    good = '{"name": "f", "arguments": {"p": 1}}'
    bad = [
        "[]",
        "7",
        '{"name": "f"}',
        '{"arguments": {}}',
        '{"name": 1, "arguments": {}}',
        "{'name': 'f', 'arguments': {}}",
        '{"name": "f", "arguments": ' + "1" * 5000 + "}",
        good + ",",
    ]
    turn = read("a" + "b".join(map(hermes, [good, *bad, good])) + "c", "hermes")
    assert [call.wire for call in turn.tool_calls] == ['{"p": 1}'] * 2
    assert turn.content == "a" + "b" * 9 + "c"


@pytest.mark.parametrize(
    ("text", "form", "status", "executable"),
    [
        (xml("x"), "qwen3_xml", "ok", True),
        (xml("x").replace("=f>", "=g>"), "qwen3_xml", "unknown_tool", True),
        (hermes('{"name": "f", "arguments": [1]}'), "hermes", "malformed", False),
        (hermes('{"name": "g", "arguments": null}'), "hermes", "malformed", False),
    ],
)
def test_a_call_has_a_status_and_a_place(
    text: str, form: str, status: str, executable: bool
) -> None:
    (call,) = read(f"é {text} z", form).tool_calls
    assert (call.status, call.executable) == (status, executable)
    assert bool(call.message) == (status != "ok")
    assert call.span == (2, 2 + len(text))
    assert call.arguments == ({"p": "x"} if "x" in text else {})


def test_functions_that_share_a_wrapper_have_places_of_their_own() -> None:
    one, two = "<function=f>\n</function>", "<function=g></function>"
    text = f"<tool_call>{one}{two}</tool_call>"
    calls = read(text).tool_calls
    assert [text[slice(*call.span)] for call in calls] == [one, two]


def test_ids_are_decoded_with_their_special_tokens() -> None:
    tokenizer = PieceTokenizer()
    text = f"Hi<|im_start|>{hermes(TOOLS_CALL)}<|im_end|>"
    turn = interpret(
        tokenizer.encode(text),
        tools=TOOLS,
        format="hermes",
        profile="verl-0.9",
        tokenizer=tokenizer,
    )
    assert turn.content == "Hi<|im_start|><|im_end|>"
    assert len(turn.tool_calls) == 1


TOOLS_CALL = '{"name": "f", "arguments": {"p": "x"}}'


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


@pytest.mark.parametrize("form", ["qwen3_xml", "hermes"])
@pytest.mark.parametrize(
    "piece",
    ["<", ">", "<tool_call>", "</tool_call>", "<tool_call><function=f><parameter=p>", xml("x")],
)
def test_work_grows_as_the_text_does(piece: str, form: str) -> None:
    small, large = (lines(partial(read, piece * n, form)) for n in (300, 1200))
    assert large <= 4.2 * small + 100
