"""Schemas of parameters, one of each kind that readers treat differently, and their values."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from oracle_draw import Draw, chance, pick, some


class Kind(NamedTuple):
    """A kind of schema.

    Attributes:
        name: What the counts call it.
        schema: The schema of a parameter.
        values: Values that fit it, as a format of text writes them.
        plain: Whether it has a `type`, which some loaders insist on.
    """

    name: str
    schema: Any
    values: tuple[str, ...]
    plain: bool = True


_WORDS = ("late", "Dana Ray", "O-17", "", "a\nb", "  x  ", "\tindented\n  more", "00501")
_OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}

KINDS = (
    Kind("string", {"type": "string"}, _WORDS),
    Kind("string_described", {"type": "string", "description": "An id."}, _WORDS),
    Kind("string_enum", {"type": "string", "enum": ["on", "off", "null"]}, ("on", "off", "null")),
    Kind("integer", {"type": "integer"}, ("7", "-3", "0", "9223372036854775807", "12345")),
    Kind("integer_enum", {"type": "integer", "enum": [1, 2]}, ("1", "2")),
    Kind("number", {"type": "number"}, ("7", "1.5", "-0.25", "1e3", "7.0", "9223372036854775807")),
    Kind("boolean", {"type": "boolean"}, ("true", "false", "True", "False")),
    Kind("null", {"type": "null"}, ("null",)),
    Kind("array", {"type": "array"}, ("[]", '[1, "2", null]', "[1]")),
    Kind("array_of_integers", {"type": "array", "items": {"type": "integer"}}, ("[1, 2]", '["3"]')),
    Kind(
        "array_of_objects",
        {"type": "array", "items": _OBJECT},
        ('[{"a": 1, "b": "x"}]', '[{"a": "2"}, {}]'),
    ),
    Kind("object", {"type": "object"}, ("{}", '{"x": 1}', '{"x": {"y": [1, 2]}}')),
    Kind("object_nested", _OBJECT, ('{"a": 1, "b": "x"}', '{"a": "7", "b": 7}')),
    Kind("types_string_null", {"type": ["string", "null"]}, ("x", "null", "7")),
    Kind("types_string_integer", {"type": ["string", "integer"]}, ("x", "501", "00501")),
    Kind("types_integer_null", {"type": ["integer", "null"]}, ("7", "null")),
    Kind("types_number_boolean", {"type": ["number", "boolean"]}, ("1", "true", "0.5")),
    Kind("python_int", {"type": "int"}, ("7", "007")),
    Kind("python_float", {"type": "float"}, ("7", "7.0", "0.1")),
    Kind("python_dict", {"type": "dict"}, ('{"x": 1}', "{'x': 1}")),
    Kind("upper_case", {"type": "INTEGER"}, ("7",)),
    Kind("unknown_type", {"type": "date"}, ("2026-01-02", "7", "None")),
    Kind("nullable", {"type": "string", "nullable": True}, ("x", "null")),
    Kind("any", {}, ("x", "7", "null", "[1]", '{"x": 1}', "true"), plain=False),
    Kind("described_only", {"description": "Anything."}, ("x", "7", "null"), plain=False),
    Kind("enum_only", {"enum": ["a", 1, None, True]}, ("a", "1", "null", "true"), plain=False),
    Kind("const", {"const": 7}, ("7",), plain=False),
    Kind("ref", {"$ref": "#/$defs/count"}, ("7", "x"), plain=False),
    Kind(
        "any_of_string_integer",
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        ("x", "501", "00501"),
        plain=False,
    ),
    Kind(
        "any_of_integer_null",
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        ("7", "null", "x"),
        plain=False,
    ),
    Kind(
        "any_of_object_array",
        {"anyOf": [{"type": "object"}, {"type": "array"}]},
        ('{"x": 1}', "[1]"),
        plain=False,
    ),
    Kind(
        "one_of",
        {"oneOf": [{"type": "number"}, {"type": "boolean"}]},
        ("1", "true", "1.5"),
        plain=False,
    ),
    Kind("all_of", {"allOf": [{"type": "integer"}, {"minimum": 1}]}, ("7",), plain=False),
    Kind("properties_only", {"properties": {"a": {"type": "integer"}}}, ('{"a": "1"}',), False),
)
"""All kinds of schemas."""

EDGES = (
    "null", "None", "NULL", "Null", "nil", "undefined",
    "true", "True", "TRUE", "false", "False", "yes", "no", "on", "1", "0", "2", "-1",
    "007", "00501", "+7", "-0", "7.0", "7.", ".5", "1_000", "1,000", "0x1F", "1e3", "1E3", "1e999",
    "-1e999", "1e-400", "nan", "NaN", "inf", "Infinity", "-Infinity", "9223372036854775808",
    "123456789012345678901234567890", "0.1000000000000000055", "1.0e2", "\u0663", "\uff17",
    " 7", "7 ", " 7 ",
    "", " ", "\n", "\n\n", "  ", "\t", "x", '"x"', "'x'", '"7"', '"null"', "\\n", 'say "hi"',
    "[]", "[ ]", "[1,2]", "[1, 2,]", "['a']", '["a"', "(1, 2)", "{1, 2}", "[1] x", "[null]",
    "{}", '{"x":1}', '{"x": 1,}', "{'x': 1}", "{'x': None}", '{"x": NaN}', '{"x": 1e999}', '{"x"',
    '{"x": 1, "x": 2}', '{"x": 12345678901234567890}', '{"x": 1.0}', '{"é": "\\u00e9"}',
    "\u2028", "\ufeffx", "\x00", "a\r\nb", "\r", "\uff58", "🙂", "e\u0301", "\u200b",
    "rm -rf /tmp/x", "a < b", "a > b", "<b>x</b>", "&lt;", "<", ">", "</", "<!-- -->", "a=b",
)  # fmt: skip
"""Texts that readers disagree about, whatever the schema."""

UNICODE = (
    "é",
    "e\u0301",
    "🙂",
    "👩‍👩‍👧",
    "\u2028",
    "\u0085",
    "\ufeff",
    "\x00",
    "\r\n",
    "漢字",
    "\u200f",
    "\u00a0",
)
"""Text beyond ASCII that is cut, folded or counted wrongly."""

MARKERS = (
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<function=refund>", "</function>",
    "<parameter=order>", "</parameter>", "<function=", "<parameter=", "<|im_end|>",
)  # fmt: skip
"""Markup that text may quote."""

_NAMES = ("order", "cents", "notify", "items", "note", "path", "a-b", "x.y", "größe")


def make_tools(draw: Draw, number: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Draw a set of tools; most have nothing but typed parameters.

    Returns:
        The OpenAI tool objects, and the kind of each of their parameters in order.
    """
    rich = number % 3 == 2
    kinds: Sequence[Kind] = KINDS if rich else [kind for kind in KINDS if kind.plain]
    tools: list[dict[str, Any]] = []
    used: list[str] = []
    for name in some(draw, ("refund", "get_order", "search-items", "run", "a.b"), 1, 3):
        chosen = [pick(draw, kinds) for _ in range(1 + draw.below(4))]
        used += [kind.name for kind in chosen]
        names = some(draw, _NAMES, len(chosen), len(chosen))
        parameters: dict[str, Any] = {
            "type": "object",
            "properties": {key: kind.schema for key, kind in zip(names, chosen, strict=True)},
        }
        if rich:
            parameters["$defs"] = {"count": {"type": "integer"}}
        if chance(draw, 30):
            parameters["required"] = names[:1]
        tools.append(
            {
                "type": "function",
                "function": {"name": name, "description": "Does it.", "parameters": parameters},
            }
        )
    if rich and chance(draw, 20):
        tools.append({"type": "function", "function": {"name": "ping", "description": "Pings."}})
    return tools, used


def value_for(draw: Draw, schema: Any) -> str:
    """Draw a text for a parameter of that schema; most fit it."""
    for kind in KINDS:
        if kind.schema == schema:
            return pick(draw, kind.values)
    return pick(draw, _WORDS)


def as_json(draw: Draw, text: str) -> Any:
    """Return the value that a JSON call would hold for a text; now and then the text itself."""
    if chance(draw, 20):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
