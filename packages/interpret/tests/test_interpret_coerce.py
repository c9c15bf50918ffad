"""Typing of values: text and schema -> value and status."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_outputs import JSON_TYPES, JSON_VALUES, PLAIN, call
from outcomebox.interpret import Interpreter, ToolCall, interpret
from outcomebox.interpret.coercion.literals import MAX_DEPTH
from outcomebox.interpret.coercion.numerals import MAX_DIGITS, is_exact, read_integer, read_number


def typed(text: str, schema: Any, **root: Any) -> ToolCall:
    """Read one parameter of that schema, with further keywords beside the tool's properties."""
    parameters = {"type": "object", "properties": {"p": schema}, **root}
    turn = interpret(call("f", {"p": text}), tools=[{"name": "f", "parameters": parameters}])
    return turn.tool_calls[0]


INTEGER, NUMBER, BOOLEAN = {"type": "integer"}, {"type": "number"}, {"type": "boolean"}
STRING, NULL = {"type": "string"}, {"type": "null"}
ARRAY, OBJECT = {"type": "array"}, {"type": "object"}
FAILED = "coercion_failed"


def either(*types: str) -> dict[str, Any]:
    return {"type": list(types)}


TABLE: list[tuple[str, Any, Any, str]] = [
    # Strings stay what they are.
    ("  x  ", STRING, "  x  ", "ok"),
    ("null", STRING, "null", "ok"),
    ("007", STRING, "007", "ok"),
    ('{"a": 1}', STRING, '{"a": 1}', "ok"),
    ('"quoted"', STRING, '"quoted"', "ok"),
    ("", STRING, "", "ok"),
    # Without a type there is nothing to read.
    ("5", {}, "5", "ok"),
    ("5", {"description": "anything"}, "5", "ok"),
    ("5", True, "5", "ok"),
    ("5", {"anyOf": [{}, NULL]}, "5", "ok"),
    ("null", {"anyOf": [{}, NULL]}, None, "ok"),
    ("5", {"type": "no such type"}, "5", "ok"),
    # Integers.
    ("32", INTEGER, 32, "ok"),
    (" 32\n", INTEGER, 32, "ok"),
    ("-3", INTEGER, -3, "ok"),
    ("007", INTEGER, 7, "coerced"),
    ("+7", INTEGER, 7, "coerced"),
    ("-007", INTEGER, -7, "coerced"),
    ("7.0", INTEGER, 7, "coerced"),
    ("1e3", INTEGER, 1000, "coerced"),
    ("123456789012345678901234567890", INTEGER, 123456789012345678901234567890, "ok"),
    ("9007199254740993.0", INTEGER, 9007199254740993, "ok"),
    ('"7"', INTEGER, 7, "coerced"),
    ("7.5", INTEGER, "7.5", FAILED),
    ("2026-01-15", INTEGER, "2026-01-15", FAILED),
    ("1,000", INTEGER, "1,000", FAILED),
    ("1_000", INTEGER, "1_000", FAILED),
    ("0x1f", INTEGER, "0x1f", FAILED),
    ("\u0663", INTEGER, "\u0663", FAILED),
    ("true", INTEGER, "true", FAILED),
    ("null", INTEGER, "null", FAILED),
    ("", INTEGER, "", FAILED),
    # Numbers.
    ("1.5", NUMBER, 1.5, "ok"),
    ("5", NUMBER, 5, "ok"),
    ("9223372036854775807", NUMBER, 9223372036854775807, "ok"),
    ("9007199254740993.0", NUMBER, 9007199254740993, "ok"),
    ("1e-7", NUMBER, 1e-7, "ok"),
    (".5", NUMBER, 0.5, "coerced"),
    ("5.", NUMBER, 5.0, "coerced"),
    ("3.14159265358979323846", NUMBER, 3.141592653589793, "coerced"),
    ("1e999", NUMBER, "1e999", FAILED),
    ("-1e999", NUMBER, "-1e999", FAILED),
    ("1e999", INTEGER, "1e999", FAILED),
    ("1e-999", NUMBER, "1e-999", FAILED),
    ("nan", NUMBER, "nan", FAILED),
    ("NaN", NUMBER, "NaN", FAILED),
    ("Infinity", NUMBER, "Infinity", FAILED),
    ("-inf", NUMBER, "-inf", FAILED),
    # Booleans and null.
    ("true", BOOLEAN, True, "ok"),
    ("False", BOOLEAN, False, "repaired"),
    ("TRUE", BOOLEAN, True, "repaired"),
    ("1", BOOLEAN, True, "coerced"),
    ("0", BOOLEAN, False, "coerced"),
    ('"true"', BOOLEAN, True, "coerced"),
    ("2", BOOLEAN, "2", FAILED),
    ("yes", BOOLEAN, "yes", FAILED),
    ("maybe", BOOLEAN, "maybe", FAILED),
    ("null", NULL, None, "ok"),
    ("None", NULL, None, "repaired"),
    ("none of it", NULL, "none of it", FAILED),
    # Arrays and objects.
    ('[1, "2", null]', ARRAY, [1, "2", None], "ok"),
    ("[1, 2,]", ARRAY, [1, 2], "repaired"),
    ("(1, 'a')", ARRAY, [1, "a"], "repaired"),
    ("['it\\'s', \"b\", -1.5, True, None]", ARRAY, ["it's", "b", -1.5, True, None], "repaired"),
    ("{'x': 1}", OBJECT, {"x": 1}, "repaired"),
    ("{'x': {'y': [False]}}", OBJECT, {"x": {"y": [False]}}, "repaired"),
    ('{"a": "line\nbreak"}', OBJECT, {"a": "line\nbreak"}, "repaired"),
    ('"{\\"a\\": 1}"', OBJECT, {"a": 1}, "coerced"),
    ("a, b", ARRAY, "a, b", FAILED),
    ("(1)", ARRAY, "(1)", FAILED),
    ("{1, 2}", ARRAY, "{1, 2}", FAILED),
    ("{1: 2}", OBJECT, "{1: 2}", FAILED),
    ("{'zip': 00501}", OBJECT, "{'zip': 00501}", FAILED),
    ("__import__('os')", OBJECT, "__import__('os')", FAILED),
    ('{"a": 1, "a": 2}', OBJECT, '{"a": 1, "a": 2}', FAILED),
    ("{'a': 1, 'a': 2}", OBJECT, "{'a': 1, 'a': 2}", FAILED),
    ('{"a": 1e999}', OBJECT, '{"a": 1e999}', FAILED),
    ('{"a": NaN}', OBJECT, '{"a": NaN}', FAILED),
    ('{"a": 1', OBJECT, '{"a": 1', FAILED),
    ("[1]", OBJECT, "[1]", FAILED),
    # Where a string is allowed too, the text stays unless it writes back.
    ("501", either("string", "integer"), 501, "ok"),
    ("00501", either("string", "integer"), "00501", "ok"),
    ("1.0", either("string", "number"), 1.0, "ok"),
    ("1.50", either("string", "number"), "1.50", "ok"),
    ("1e5", either("string", "number"), "1e5", "ok"),
    ("-0", either("string", "integer"), "-0", "ok"),
    ("true", either("string", "boolean"), True, "ok"),
    ("True", either("string", "boolean"), "True", "ok"),
    ("1", either("string", "boolean"), "1", "ok"),
    ("null", either("string", "null"), None, "ok"),
    ("None", either("string", "null"), "None", "ok"),
    ("x", either("string", "null"), "x", "ok"),
    ("[1, 2]", {"anyOf": [STRING, ARRAY]}, [1, 2], "ok"),
    ("[1, 2", {"anyOf": [STRING, ARRAY]}, "[1, 2", "ok"),
    ('{"a":  1}', {"oneOf": [STRING, OBJECT]}, {"a": 1}, "ok"),
    ("{'a': 1}", {"oneOf": [STRING, OBJECT]}, "{'a': 1}", "ok"),
    ("null", {"type": "string", "nullable": True}, None, "ok"),
    ("null", {"type": "integer", "nullable": True}, None, "ok"),
    # Unions without a string.
    ("1", either("integer", "boolean"), 1, "ok"),
    ("true", either("integer", "boolean"), True, "ok"),
    ("1.5", either("integer", "number"), 1.5, "ok"),
    ("null", either("integer", "null"), None, "ok"),
    ("x", either("integer", "null"), "x", FAILED),
    ("1", {"anyOf": [BOOLEAN, INTEGER]}, 1, "ok"),
    ("1", {"anyOf": [BOOLEAN, NULL]}, True, "coerced"),
    ("01", {"anyOf": [BOOLEAN, INTEGER]}, 1, "coerced"),
    ("01", BOOLEAN, "01", FAILED),
    ('"1"', BOOLEAN, '"1"', FAILED),
    ('{"a": "1", "b": "2"}', {"anyOf": [{"properties": {"a": INTEGER}},
     {"properties": {"b": INTEGER}}]}, {"a": 1, "b": "2"}, "coerced"),
    ("1.0", {"anyOf": [INTEGER, NUMBER]}, 1.0, "ok"),
    ("True", {"anyOf": [INTEGER, BOOLEAN]}, True, "repaired"),
    ("5", {"allOf": [NUMBER, {"minimum": 0}]}, 5, "ok"),
    ("5", {"allOf": [NUMBER, INTEGER]}, 5, "ok"),
    ("5.5", {"allOf": [NUMBER, INTEGER]}, "5.5", FAILED),
    # Const and enum.
    ("7", {"const": 7}, 7, "ok"),
    ("7", {"const": "7"}, "7", "ok"),
    ("07", {"const": 7}, 7, "coerced"),
    ("8", {"const": 7}, 8, FAILED),
    ("2", {"enum": [1, 2]}, 2, "ok"),
    ("2.0", {"enum": [1, 2]}, 2, "coerced"),
    ("3", {"type": "integer", "enum": [1, 2]}, 3, FAILED),
    ("full", {"type": "string", "enum": ["summary", "full"]}, "full", "ok"),
    ('"full"', {"type": "string", "enum": ["summary", "full"]}, "full", "coerced"),
    ("null", {"type": "string", "enum": ["summary", "full"]}, "null", FAILED),
    ("null", {"enum": ["a", None]}, None, "ok"),
    ("1", {"enum": ["1", 2]}, "1", "ok"),
    ("true", {"enum": [1]}, "true", FAILED),
    ('{"a": 1}', {"const": {"a": 1.0}}, {"a": 1}, "ok"),
    # Inside arrays and objects.
    ('["1", 2]', {"type": "array", "items": INTEGER}, [1, 2], "coerced"),
    ('["a", 2]', {"type": "array", "items": INTEGER}, ["a", 2], FAILED),
    ('["7.0"]', {"type": "array", "items": INTEGER}, [7], "coerced"),
    ("[1.0]", {"type": "array", "items": INTEGER}, [1], "coerced"),
    ('["1"]', {"items": INTEGER}, [1], "coerced"),
    ('["1", "1"]', {"type": "array", "prefixItems": [INTEGER]}, [1, "1"], "coerced"),
    ('["1", "1"]', {"items": [INTEGER], "additionalItems": STRING}, [1, "1"], "coerced"),
    ('{"n": "5", "s": "5"}', {"properties": {"n": INTEGER, "s": STRING}}, {"n": 5, "s": "5"},
     "coerced"),
    ('{"n": "5"}', {"type": "object", "additionalProperties": INTEGER}, {"n": 5}, "coerced"),
    ('{"s": 5}', {"properties": {"s": STRING}}, {"s": 5}, FAILED),
    ('{"n": "00501"}', {"properties": {"n": either("string", "integer")}}, {"n": "00501"}, "ok"),
    ('{"n": "501"}', {"properties": {"n": either("string", "integer")}}, {"n": "501"}, "ok"),
    ('{"o": "{\\"a\\": 1}"}', {"properties": {"o": OBJECT}}, {"o": {"a": 1}}, "coerced"),
    ("{'n': '5'}", {"properties": {"n": INTEGER}}, {"n": 5}, "repaired"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "schema", "value", "status"), TABLE)
def test_value_and_status(text: str, schema: Any, value: Any, status: str) -> None:
    read = typed(text, schema)
    found = read.arguments["p"]
    assert (found, type(found), read.status) == (value, type(value), status)
    assert json.dumps(found) == json.dumps(value)
    assert read.executable
    assert bool(read.changes) == (status in ("coerced", "repaired"))


REFERENCES: list[tuple[str, Any, dict[str, Any], Any, str]] = [
    ("7", {"$ref": "#/$defs/N"}, {"$defs": {"N": INTEGER}}, 7, "ok"),
    ("7", {"$ref": "#/definitions/N"}, {"definitions": {"N": INTEGER}}, 7, "ok"),
    ("7", {"$ref": "#/$defs/a~1b%20c"}, {"$defs": {"a/b c": INTEGER}}, 7, "ok"),
    ("7", {"$ref": "#/$defs/M"}, {"$defs": {"M": {"$ref": "#/$defs/N"}, "N": INTEGER}}, 7, "ok"),
    ("7", {"$ref": "#/allOf/0"}, {"allOf": [INTEGER]}, 7, "ok"),
    ("7", {"$ref": "#/$defs/N", "description": "d"}, {"$defs": {"N": INTEGER}}, 7, "ok"),
    ("7", {"anyOf": [{"$ref": "#/$defs/N"}, NULL]}, {"$defs": {"N": INTEGER}}, 7, "ok"),
    ("7", {"$ref": "#/$defs/Loop"}, {"$defs": {"Loop": {"$ref": "#/$defs/Loop"}}}, "7", "ok"),
    ("7", {"$ref": "#/$defs/A"},
     {"$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, INTEGER]}}}, 7, "ok"),
    ("x", {"$ref": "#/$defs/A"},
     {"$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, INTEGER]}}}, "x", FAILED),
    ('{"v": "1", "next": {"v": 2, "next": null}}', {"$ref": "#/$defs/Node"},
     {"$defs": {"Node": {"type": "object", "properties": {
         "v": INTEGER, "next": {"anyOf": [{"$ref": "#/$defs/Node"}, NULL]}}}}},
     {"v": 1, "next": {"v": 2, "next": None}}, "coerced"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "schema", "root", "value", "status"), REFERENCES)
def test_references(text: str, schema: Any, root: dict[str, Any], value: Any, status: str) -> None:
    read = typed(text, schema, **root)
    assert (read.arguments["p"], read.status) == (value, status)


def test_a_reference_that_leads_nowhere_leaves_the_text_and_is_noticed() -> None:
    tool = {
        "name": "f",
        "parameters": {"properties": {"p": {"$ref": "other.json#/N"}, "q": {"$ref": "#/no"}}},
    }
    turn = interpret(call("f", {"p": "7", "q": "8"}), tools=[tool])
    assert turn.tool_calls[0].arguments == {"p": "7", "q": "8"}
    assert [each.code for each in turn.diagnostics] == ["unresolved_ref"] * 2
    assert "'#/no'" in turn.diagnostics[0].message


def test_parameters_are_found_through_references_and_combinations() -> None:
    parameters = {
        "$ref": "#/$defs/Args",
        "$defs": {
            "Args": {"allOf": [{"$ref": "#/$defs/More"}], "properties": {"n": INTEGER}},
            "More": {"properties": {"on": BOOLEAN}},
        },
    }
    output = call("f", {"n": "1", "on": "true"})
    turn = interpret(output, tools=[{"name": "f", "parameters": parameters}])
    assert turn.tool_calls[0].arguments == {"n": 1, "on": True}


def test_a_parameter_nobody_declares_stays_text_and_is_noticed() -> None:
    turn = interpret(
        call("f", {"p": "7"}), tools=[{"name": "f", "parameters": {"properties": {"q": INTEGER}}}]
    )
    assert turn.tool_calls[0].arguments == {"p": "7"}
    assert turn.tool_calls[0].status == "ok"
    assert [each.code for each in turn.diagnostics] == ["unknown_parameter"]


def test_each_change_is_reported_with_its_place() -> None:
    schema = {"type": "array", "items": {"properties": {"n": INTEGER, "on": BOOLEAN}}}
    read = typed('[{"n": 1, "on": true}, {"n": "02", "on": 0}]', schema)
    assert [(each.parameter, each.text, each.value) for each in read.changes] == [
        ("p[1].n", "02", 2),
        ("p[1].on", "0", False),
    ]
    assert all(each.why for each in read.changes)


def test_a_failure_says_where_what_and_why() -> None:
    read = typed('{"a": [1, "x"]}', {"properties": {"a": {"items": INTEGER}}})
    assert read.message == "p.a[1] is 'x', not of type integer"
    assert "a key is given twice" in typed('{"a": 1, "a": 2}', OBJECT).message
    assert "no number holds 1e999" in typed("[1e999]", ARRAY).message


def test_two_places_never_share_a_value() -> None:
    schema = {"type": "array", "items": ARRAY}
    first, second = typed('["[1]", "[1]"]', schema).arguments["p"]
    first.append(2)
    assert second == [1]
    items = {"type": "array", "items": {"properties": {"a": ARRAY}}}
    left, right = typed('[{"a": "[1]"}, {"a": "[1]"}]', items).arguments["p"]
    left["a"].append(2)
    assert right == {"a": [1]}


def test_nesting_is_bounded() -> None:
    def nested(depth: int) -> str:
        return "[" * depth + "]" * depth

    assert typed(nested(MAX_DEPTH), ARRAY).status == "ok"
    assert typed(nested(MAX_DEPTH + 1), ARRAY).status == FAILED
    assert typed(nested(100_000), ARRAY).status == FAILED
    assert typed("{'a': " * 100_000, OBJECT).status == FAILED
    # Brackets inside strings do not nest.
    assert typed(json.dumps(["[" * 500, "\\" * 3 + '"]}']), ARRAY).status == "ok"


def test_the_deepest_value_is_typed_through_references_far_down_the_stack() -> None:
    tree = {"anyOf": [{"allOf": [{"$ref": "#/$defs/L"}]}, INTEGER]}
    root = {"$defs": {"T": tree, "L": {"type": "array", "items": {"$ref": "#/$defs/T"}}}}
    text = "[" * MAX_DEPTH + '"7"' + "]" * MAX_DEPTH

    def below(frames: int) -> ToolCall:
        return below(frames - 1) if frames else typed(text, {"$ref": "#/$defs/T"}, **root)

    read = below(300)
    assert read.status == "coerced"
    assert read.changes[0].parameter == "p" + "[0]" * MAX_DEPTH


def test_integers_are_exact_up_to_a_bound() -> None:
    long = "9" * MAX_DIGITS
    assert typed(long, INTEGER).arguments["p"] == 10**MAX_DIGITS - 1
    assert typed(long + "9", INTEGER).status == FAILED
    assert typed(f"[{long}9]", ARRAY).status == FAILED


ODD_SCHEMAS = [
    {"type": 5},
    {"type": ["integer", 5, None]},
    {"enum": "abc"},
    {"enum": []},
    {"properties": [1]},
    {"properties": {"a": 3}},
    {"items": 3},
    {"anyOf": "x"},
    {"anyOf": []},
    {"anyOf": [3, None]},
    {"allOf": {}},
    {"$ref": 3},
    {"$ref": "#/properties/p"},
    {"$ref": "#"},
    {"const": None},
    [],
    False,
    "integer",
]


@pytest.mark.parametrize("schema", ODD_SCHEMAS, ids=repr)
@pytest.mark.parametrize("text", ["7", "x", '{"a": [1]}', "null", ""])
def test_an_odd_schema_breaks_nothing(schema: Any, text: str) -> None:
    read = typed(text, schema)
    assert read.executable
    assert read.arguments["p"] == text or json.loads(text) == read.arguments["p"]


@given(JSON_VALUES)
@settings(max_examples=200, deadline=None)
def test_what_json_writes_is_read_back_exactly(value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    read = typed(text, {"type": JSON_TYPES[type(value)]})
    assert json.dumps(read.arguments["p"]) == json.dumps(value)
    assert read.status == "ok"


@given(JSON_VALUES.filter(lambda each: isinstance(each, dict | list)))
@settings(max_examples=200, deadline=None)
def test_what_python_writes_is_read_back_or_refused(value: Any) -> None:
    text = repr(value)
    read = typed(text, {"type": JSON_TYPES[type(value)]})
    assert read.arguments["p"] in (value, text)
    assert (read.arguments["p"] == text) == (read.status == FAILED)


@given(PLAIN, st.sampled_from([INTEGER, NUMBER, BOOLEAN, ARRAY, OBJECT, NULL, {"enum": [1, "a"]}]))
@settings(max_examples=200, deadline=None)
def test_no_text_breaks_the_typing_or_is_lost(text: str, schema: Any) -> None:
    read = typed(text, schema)
    if read.status == FAILED and isinstance(read.arguments["p"], str):
        assert read.arguments["p"] == text


@given(st.integers(), st.integers(0, 5), st.sampled_from(["", ".", ".0", "e0", ".00e0"]))
def test_an_integer_survives_every_spelling(number: int, zeros: int, tail: str) -> None:
    sign, digits = ("-", str(-number)) if number < 0 else ("", str(number))
    assert read_integer(sign + "0" * zeros + digits + tail) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_survives_its_shortest_decimal(number: float) -> None:
    assert read_number(repr(number)) == number
    assert is_exact(repr(number))


def test_the_schema_is_not_changed() -> None:
    tool = {"name": "f", "parameters": {"properties": {"p": {"enum": [["a"]]}}}}
    before = json.dumps(tool)
    reader = Interpreter(tools=[tool])
    reader.feed(call("f", {"p": "['a']"}))
    reader.finish().tool_calls[0].arguments["p"].append("b")
    assert json.dumps(tool) == before
