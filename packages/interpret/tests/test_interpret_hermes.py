"""The strict reading of Hermes calls: one JSON value behind each opener, and its slips."""

import json
from typing import Any

import pytest

from interpret_outputs import TOOLS, call_in
from outcomebox.interpret import PromptState, Turn, interpret

ARGUMENTS: dict[str, Any] = {"code": "x", "n": 1}
OBJECT = json.dumps({"name": "edit", "arguments": ARGUMENTS})
EDIT = call_in("hermes", "edit", ARGUMENTS)
PING = call_in("hermes", "ping")


def wrap(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


def read(output: str, **keywords: Any) -> Turn:
    keywords.setdefault("tools", TOOLS)
    return interpret(output, format="hermes", **keywords)


def statuses(turn: Turn) -> list[tuple[str, str]]:
    return [(each.name, each.status) for each in turn.tool_calls]


WHOLE = [
    "see </tool_call> x",
    "<tool_call>",
    EDIT,
    f"{EDIT}\n{PING}",
    "</think>",
    '"}}\n</tool_call>',
    "mkdir t/{t1,t2",
    "back\\slash \\u0041",
    "\U0001f600 \u2028",
    "<|im_end|>",
    "",
]


@pytest.mark.parametrize("value", WHOLE)
@pytest.mark.parametrize("around", ["@", "Text. @", "@ Text.", f"{PING}\n@", f"@\n{PING}"])
def test_what_a_string_holds_is_text(value: str, around: str) -> None:
    written = call_in("hermes", "edit", {"code": value, "n": 1})
    turn = read(around.replace("@", written))
    edits = [each for each in turn.tool_calls if each.name == "edit"]
    assert [(each.arguments, each.status) for each in edits] == [({"code": value, "n": 1}, "ok")]
    assert (turn.content or "").strip() in ("", "Text.")


def test_white_space_around_the_object_is_free() -> None:
    for body in (OBJECT, f" \r\n\t{OBJECT}\n\n", json.dumps(json.loads(OBJECT), indent=2)):
        turn = read(f"<tool_call>{body}</tool_call>")
        assert [(each.arguments, each.status) for each in turn.tool_calls] == [(ARGUMENTS, "ok")]


REPAIRED = {
    "no closer": (f"<tool_call>\n{OBJECT}", "it has no </tool_call>"),
    "text before its closer": (wrap(f"{OBJECT} so"), "text stands before its </tool_call>"),
    "a Python literal": (wrap(str(json.loads(OBJECT))), "it is a Python literal"),
    "a comma too many": (wrap(OBJECT[:-2] + ",}}"), "it is a Python literal"),
    "raw newlines": (
        wrap(OBJECT.replace('"x"', '"x\ny"')),
        "its strings hold raw control characters",
    ),
    "a bracket missing": (wrap(OBJECT[:-1]), "its last } is missing"),
    "a bracket too many": (wrap(OBJECT + "}"), "a bracket too many stands behind its JSON"),
    "parameters": (
        wrap(OBJECT.replace("arguments", "parameters")),
        "'parameters' stands for 'arguments'",
    ),
    "a list of one": (wrap(f"[{OBJECT}]"), "it has no <tool_call> of its own"),
    "a list without end": (wrap(f"[{OBJECT}"), "its list has no ]"),
    "a list with a comma": (wrap(f"[{OBJECT},]"), "a comma too many stands in its list"),
}


@pytest.mark.parametrize("after", ["", "\nDone.", "\n" + PING, "<|im_end|>\n"])
@pytest.mark.parametrize(("output", "says"), REPAIRED.values(), ids=REPAIRED.keys())
def test_one_slip_is_repaired(output: str, says: str, after: str) -> None:
    turn = read(output + after)
    assert statuses(turn) == [("edit", "repaired")] + [("ping", "ok")] * after.count("ping")
    first = turn.tool_calls[0]
    assert first.arguments["n"] == 1
    assert first.arguments["code"].startswith("x")
    assert says in first.message


@pytest.mark.parametrize("body", ['{"name": "ping"}', '{"name": "ping", "arguments": null}'])
def test_a_call_without_arguments_is_repaired(body: str) -> None:
    call = read(wrap(body)).tool_calls[0]
    assert (call.name, call.arguments, call.status) == ("ping", {}, "repaired")
    assert call.message == "it has no arguments"


def test_arguments_in_a_string_are_decoded_once() -> None:
    inner = json.dumps({"code": '{"a": 1}', "n": "7"})
    turn = read(wrap(json.dumps({"name": "edit", "arguments": inner})))
    call = turn.tool_calls[0]
    assert (call.arguments, call.status) == ({"code": '{"a": 1}', "n": 7}, "coerced")
    whole, member = call.changes
    assert (whole.parameter, whole.text) == ("arguments", inner)
    assert whole.why == "a JSON string for its object"
    assert (member.parameter, member.value) == ("n", 7)


TYPED: list[tuple[Any, Any, str]] = [
    (7, 7, "ok"),
    ("7", 7, "coerced"),
    (7.0, 7, "coerced"),
    (True, True, "coercion_failed"),
    ("x", "x", "coercion_failed"),
    (7.5, 7.5, "coercion_failed"),
    (12345678901234567890123, 12345678901234567890123, "ok"),
]


@pytest.mark.parametrize(("written", "value", "status"), TYPED)
def test_values_are_typed_by_the_schema(written: Any, value: Any, status: str) -> None:
    call = read(call_in("hermes", "edit", {"n": written})).tool_calls[0]
    assert (call.arguments["n"], call.status) == (value, status)
    assert type(call.arguments["n"]) is type(value)


def test_a_string_stays_a_string_where_the_schema_allows_one() -> None:
    tool = {"name": "f", "parameters": {"properties": {"a": {"type": ["string", "integer"]}}}}
    for value in ("7", "null", "true", "007"):
        turn = read(call_in("hermes", "f", {"a": value, "other": value}), tools=[tool])
        assert turn.tool_calls[0].arguments == {"a": value, "other": value}
        assert turn.tool_calls[0].status == "ok"


@pytest.mark.parametrize("numeral", ["1e999", "NaN", "-Infinity", "1" * 5000])
def test_a_number_that_nothing_holds_stays_text(numeral: str) -> None:
    call = read(wrap(OBJECT.replace("1", numeral))).tool_calls[0]
    assert (call.arguments["n"], call.status) == (numeral, "coercion_failed")
    assert "no number holds" in call.message


AMBIGUOUS = {
    "an argument twice": (wrap(OBJECT.replace('"n": 1', '"n": 1, "n": 2')), "'n' is given more"),
    "a name twice": (wrap(OBJECT.replace("{", '{"name": "ping", ', 1)), "'name' is given more"),
    "arguments beside the arguments": (wrap(OBJECT[:-1] + ', "n": 2}'), "'n' stands beside"),
    "two kinds of arguments": (wrap(OBJECT[:-1] + ', "parameters": {}}'), "it has both"),
    "more JSON": (wrap(OBJECT + ', "n": 2}'), "its JSON seems to go on"),
}


@pytest.mark.parametrize(("output", "says"), AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_more_than_one_reading_is_ambiguous(output: str, says: str) -> None:
    call = read(output).tool_calls[0]
    assert (call.status, call.executable) == ("ambiguous", False)
    assert says in call.message


def test_members_that_say_nothing_about_the_arguments_are_left_out() -> None:
    body = OBJECT[:-1] + ', "id": "call_1", "type": "function"}'
    call = read(wrap(body)).tool_calls[0]
    assert (call.arguments, call.status) == (ARGUMENTS, "ok")


MALFORMED = {
    "no JSON": '{"name": "edit", "arguments": {bad}}',
    "no name": '{"arguments": {}}',
    "a name that is no string": '{"name": 1, "arguments": {}}',
    "a list of arguments": '{"name": "edit", "arguments": []}',
    "no arguments, other members": '{"name": "edit", "n": 1}',
    "text for arguments": '{"name": "edit", "arguments": "n=1"}',
    "never closed": '{"name": "edit", "arguments": {"code": "x',
    "nested too deep": '{"name": "edit", "arguments": {"opts": ' + "[" * 40 + "]" * 40 + "}}",
    "nested far too deep": '{"name": "edit", "arguments": {"opts": ' + "[" * 9000,
    "XML": "<function=edit>\n</function>",
    "an empty list": '[{"name"',
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_no_reading_is_malformed_and_hides_nothing(body: str) -> None:
    bad = wrap(body)
    turn = read(f"So: {EDIT}\n{bad}\n{PING}")
    assert [status for _, status in statuses(turn)] == ["ok", "malformed", "ok"]
    first, attempt, last = turn.tool_calls
    assert turn.content == "So: "
    assert (first.name, last.name) == ("edit", "ping")
    start = len(f"So: {EDIT}\n")
    assert attempt.span == (start, start + len(bad))
    assert attempt.message.startswith("not executable; ")


def test_the_name_of_an_attempt_is_told_where_it_is_known() -> None:
    for body in ('{"name": "edit", "arguments": {bad}}', '{"type": "function", "name": "edit", x'):
        assert statuses(read(wrap(body))) == [("edit", "malformed")]
    for end in range(len('<tool_call>\n{"name": "edit"'), len(EDIT)):
        turn = read(f"So: {EDIT[:end]}", finish_reason="length")
        assert statuses(turn) == [("edit", "truncated")]
        assert turn.content == "So: "


@pytest.mark.parametrize("end", range(len("<tool_"), len('<tool_call>\n{"name": "edit"')))
def test_a_call_cut_before_its_name_is_truncated(end: int) -> None:
    turn = read(f"So: {EDIT[:end]}", finish_reason="length")
    assert statuses(turn) == [("", "truncated")]
    assert turn.content == "So: "


def test_a_cut_inside_a_python_literal_is_truncated() -> None:
    output = "<tool_call>\n{'name': 'edit', 'arguments': {'code': 'x"
    assert statuses(read(output, finish_reason="length")) == [("edit", "truncated")]
    assert statuses(read(output)) == [("edit", "malformed")]


def test_a_call_that_may_stand_in_a_broken_one_is_ambiguous() -> None:
    # The quotes of a quoted call were not escaped.
    output = wrap(f'{{"name": "edit", "arguments": {{"code": "doc: "{PING}"}}}}')
    assert statuses(read(output)) == [("edit", "malformed"), ("ping", "ambiguous")]
    bad = wrap('{"name": "edit", "arguments": {bad}}')
    assert statuses(read(f"{bad}{PING} and", finish_reason="length")) == [
        ("edit", "malformed"),
        ("ping", "ambiguous"),
    ]


def test_several_objects_in_one_wrapper() -> None:
    for body in (f"{OBJECT}\n{OBJECT}", f"[{OBJECT}, {OBJECT}]"):
        turn = read(wrap(body))
        assert [each.arguments for each in turn.tool_calls] == [ARGUMENTS, ARGUMENTS]
        assert turn.tool_calls[1].status == "repaired"
        assert turn.content is None
    turn = read(wrap(f"{OBJECT}\n{{bad}}"))
    assert [status for _, status in statuses(turn)] == ["ok", "malformed"]


PROSE = [
    "Use the <tool_call> tag",
    "Use <tool_call> and </tool_call> around calls.",
    "It ends with <tool_call>",
    "a <tool_call>[sic]</tool_call>",
    "a < b > c <tool_call",
    OBJECT,
]


@pytest.mark.parametrize("text", PROSE)
def test_prose_about_markup_is_content(text: str) -> None:
    assert read(text) == Turn(None, text)
    turn = read(f"{text}.\n{PING}")
    assert (turn.content, statuses(turn)) == (text + ".\n", [("ping", "ok")])


LEFT_OUT = {
    "empty_call": "A <tool_call>\n</tool_call> B " + PING,
    "doubled_opener": "<tool_call>\n" + EDIT,
    "stray_marker": EDIT + "\n</tool_call>",
}


@pytest.mark.parametrize(("code", "output"), LEFT_OUT.items(), ids=LEFT_OUT.keys())
def test_empty_markup_is_left_out_and_noticed(code: str, output: str) -> None:
    turn = read(output)
    assert [each.code for each in turn.diagnostics] == [code]
    assert [each.status for each in turn.tool_calls] == ["ok"]
    assert "<" not in (turn.content or "")


@pytest.mark.parametrize(
    ("prompt_state", "opener"),
    [("think_open", ""), ("assistant_start", "<think>"), ("think_closed", "<think>")],
)
@pytest.mark.parametrize("draft", [EDIT, EDIT[:30], EDIT + EDIT[:40], "<tool_call>", wrap("{bad}")])
def test_a_call_drafted_in_reasoning_is_reasoning(
    prompt_state: PromptState, opener: str, draft: str
) -> None:
    turn = read(f"{opener}hm {draft} ok</think>\n{PING}", prompt_state=prompt_state)
    assert turn.reasoning == f"hm {draft} ok"
    assert turn.content is None
    assert statuses(turn) == [("ping", "ok")]


def test_a_call_ends_reasoning_that_is_never_closed() -> None:
    turn = read(f"hm {EDIT} so", prompt_state="think_open")
    assert (turn.reasoning, turn.content) == ("hm ", " so")
    assert statuses(turn) == [("edit", "ok")]
    cut = read(f"hm {EDIT} so", prompt_state="think_open", finish_reason="length")
    assert statuses(cut) == [("edit", "ambiguous")]


def test_the_end_of_reasoning_inside_a_string_is_ambiguous() -> None:
    written = call_in("hermes", "edit", {"code": "use </think> here"})
    turn = read(f"hm {written} so", prompt_state="think_open")
    assert (turn.reasoning, turn.content) == ("hm ", " so")
    assert statuses(turn) == [("edit", "ambiguous")]
    assert turn.tool_calls[0].span == (3, 3 + len(written))


def test_unknown_tools_are_flagged_where_tools_are_known() -> None:
    output = call_in("hermes", "nope", {"n": "7"})
    unknown = read(output).tool_calls[0]
    assert (unknown.status, unknown.executable) == ("unknown_tool", True)
    assert unknown.arguments == {"n": "7"}
    assert read(output, tools=None).tool_calls[0].status == "ok"


def test_unknown_parameters_are_noticed() -> None:
    turn = read(call_in("hermes", "edit", {"other": 1}))
    assert [each.code for each in turn.diagnostics] == ["unknown_parameter"]
    assert statuses(turn) == [("edit", "ok")]
