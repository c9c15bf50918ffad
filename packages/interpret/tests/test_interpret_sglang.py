from typing import Any

import pytest

from interpret_parser_rows import ROWS, Row, hermes, xml
from outcomebox.interpret import interpret
from outcomebox.interpret.live.pieces import PieceTokenizer
from outcomebox.interpret.turn import Turn

PROFILES = {"sglang": "sglang-0.5", "stream": "sglang-0.5-stream"}


def tools_with(parameters: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": "f", "parameters": parameters}}]


TOOLS = tools_with({"type": "object", "properties": {"p": {"type": "string"}}})


def read(text: str, form: str = "qwen3_xml", tools: Any = TOOLS, **more: Any) -> Turn:
    return interpret(text, tools=tools, format=form, **{"profile": "sglang-0.5", **more})


@pytest.mark.parametrize("mode", list(PROFILES))
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_reads_as_a_client_of_sglang_receives_it(row: Row, mode: str) -> None:
    turn = interpret(
        row.text,
        tools=row.tools(),
        format=row.format,
        profile=PROFILES[mode],
        prompt_state=row.prompt_state,  # type: ignore[arg-type]
        finish_reason=row.finish_reason,
    )
    calls = tuple((call.name, call.arguments_json()) for call in turn.tool_calls)
    assert (turn.reasoning, turn.content, calls) == getattr(row, mode)


@pytest.mark.parametrize(
    ("schema", "text", "wire"),
    [
        ({"type": "double"}, "1.50", "1.5"),
        ({"type": "decimal(10,2)"}, "2", "2"),
        ({"type": "int32"}, "007", "7"),
        ({"type": "internal"}, "x", '"x"'),
        ({"type": "internal"}, "7", "7"),
        ({"type": "datetime"}, "7", '"7"'),
        ({"type": "list[str]"}, '["a"]', '["a"]'),
        ({"type": "map"}, '{"a": 1}', '{"a": 1}'),
        ({"type": "Bool"}, "TRUE", "true"),
        ({"type": ["null", "integer"]}, "7", "7"),
        ({"type": ["null"]}, "7", '"7"'),
        ({"type": [], "items": {}}, "[7]", "[7]"),
        ({"anyOf": [{"type": "int"}, {"type": "null"}]}, "7", "7"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "7", '"7"'),
        ({"oneOf": [{"type": "number"}, {"type": "boolean"}]}, "7", "7"),
        ({"anyOf": [], "enum": [1, 2]}, "7", "7"),
        ({"enum": []}, "7", '"7"'),
        ({"enum": [1, "a"]}, "7", '"7"'),
        ({"enum": [True]}, "true", "true"),
        ({"enum": [None]}, "7", "7"),
        ({"enum": [1.5]}, "7", "7"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "7", "7"),
        ({"allOf": [{}]}, "7", '"7"'),
        ({"properties": {}}, "{'a': 1}", '{"a": 1}'),
        ({"items": {}}, "[1", '"[1"'),
        ({}, "7", '"7"'),
        (True, "7", '"7"'),
    ],
)
def test_the_type_of_a_parameter(schema: Any, text: str, wire: str) -> None:
    tools = tools_with({"type": "object", "properties": {"p": schema}})
    for profile in PROFILES.values():
        (call,) = read(xml(text), tools=tools, profile=profile).tool_calls
        assert call.wire == f'{{"p": {wire}}}'


@pytest.mark.parametrize(
    "parameters",
    [
        {"anyOf": [{"properties": {"p": {"type": "integer"}}}, {"properties": {"p": {}}}]},
        {"p": {"type": "integer"}},
    ],
)
def test_parameters_that_are_declared_elsewhere(parameters: dict[str, Any]) -> None:
    (call,) = read(xml("7"), tools=tools_with(parameters)).tool_calls
    assert call.arguments == {"p": 7}


@pytest.mark.parametrize("profile", list(PROFILES.values()))
@pytest.mark.parametrize("ids", [False, True])
def test_without_tools_no_call_is_read_and_special_tokens_are_left_out(
    profile: str, ids: bool
) -> None:
    text = f"<think>a</think>{xml('x')}<|im_start|>b<|im_end|>"
    tokenizer = PieceTokenizer()
    output = tokenizer.encode(text) if ids else text
    turn = interpret(output, tools=[], profile=profile, tokenizer=tokenizer if ids else None)
    assert turn == Turn("a", f"{xml('x')}b")


@pytest.mark.parametrize("profile", list(PROFILES.values()))
def test_tools_that_are_not_known_are_taken_as_offered(profile: str) -> None:
    (call,) = interpret(xml("7"), tools=None, profile=profile).tool_calls
    assert (call.name, call.arguments, call.status) == ("f", {"p": "7"}, "ok")


def test_a_special_token_that_is_only_spelled_stays() -> None:
    tokenizer = PieceTokenizer()
    ids = [tokenizer.id_of(each) for each in ("a", "<", "|im_end|>")]
    for profile in PROFILES.values():
        turn = interpret(ids, tools=TOOLS, profile=profile, tokenizer=tokenizer)
        assert turn.content == "a<|im_end|>"


def test_only_one_end_of_turn_is_the_one_that_stopped_the_model() -> None:
    assert read("a<|im_end|><|endoftext|>").content == "a<|im_end|>"
    assert read("a<|im_end|>", finish_reason="length").content == "a<|im_end|>"


@pytest.mark.parametrize(
    ("state", "text", "reasoning", "content"),
    [
        ("think_open", "a", "a", None),
        ("think_open", "", None, None),
        ("think_open", "<think>a</think>b", "a", "b"),
        ("assistant_start", "a</think>\n\nb", "a", "\n\nb"),
        ("think_closed", "a</think>b", None, "a</think>b"),
        ("think_closed", "a<think>b</think>c", "a<think>b", "c"),
        ("think_closed", "a<", None, "a<"),
        ("think_open", "a</th", "a</th", None),
    ],
)
def test_reasoning_of_a_whole_answer(
    state: str, text: str, reasoning: str | None, content: str | None
) -> None:
    turn = read(text, prompt_state=state)
    assert (turn.reasoning, turn.content) == (reasoning, content or "")


@pytest.mark.parametrize("form", ["qwen3_xml", "hermes"])
@pytest.mark.parametrize("profile", list(PROFILES.values()))
def test_a_call_has_a_status_and_a_place(form: str, profile: str) -> None:
    good, bad = xml("x"), xml("x").replace("=f>", "=g>")
    if form == "hermes":
        good = hermes('{"name": "f", "arguments": {"p": "x"}}')
        bad = hermes('{"name": "f", "arguments": [1]}')
    text = f"é</think>ü {good}\n{bad}"
    first, second = read(text, form, profile=profile, prompt_state="think_open").tool_calls
    assert (first.status, first.executable, first.arguments) == ("ok", True, {"p": "x"})
    status = "malformed" if form == "hermes" else "unknown_tool"
    assert (second.status, second.executable) == (status, form != "hermes")
    assert text.index(good) == first.span[0] < first.span[1] <= text.index(bad)
    assert text.index(bad) <= second.span[0] + 1
    assert second.span[1] <= len(text)


@pytest.mark.parametrize(
    "body",
    [
        "7",
        "{'name': 'f'}",
        '{"name": ["f"], "arguments": {}}',
        '{"name": "f", "arguments": ' + "1" * 5000 + "}",
    ],
)
def test_a_hermes_call_that_cannot_be_read_makes_all_of_it_content(body: str) -> None:
    text = hermes('{"name": "f", "arguments": {}}') + hermes(body)
    assert read(text, "hermes") == Turn(None, text)


def test_hermes_calls_in_a_list_and_under_the_other_key() -> None:
    body = '[{"name": "f", "parameters": {"p": 1}, "arguments": {}}, {"name": "f"}, {"name": ""}]'
    turn = read(" a " + hermes(body), "hermes")
    assert turn.content == "a"
    assert [call.wire for call in turn.tool_calls] == ['{"p": 1}', "{}"]
