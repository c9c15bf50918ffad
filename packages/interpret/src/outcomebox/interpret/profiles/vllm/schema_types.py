"""vLLM's typing of values by the tool's schema, the same in both releases."""

import json
import math
from collections.abc import Mapping
from typing import Any

_ALIASES = {
    "string": ("str", "text", "varchar", "char", "enum"),
    "integer": (
        *("int", "int32", "int64", "uint", "uint32", "uint64"),
        *("long", "short", "unsigned"),
    ),
    "number": ("float", "float32", "float64", "double"),
    "boolean": ("bool",),
    "object": ("dict",),
    "array": ("arr", "list", "sequence"),
}
_TYPE_OF_ALIAS = {alias: name for name, aliases in _ALIASES.items() for alias in aliases}

_NO_VALUE = object()


def types_of(schema: Any) -> frozenset[str]:
    """Return the types that a schema names: its own, of its enum's values, of its alternatives.

    `$ref` and `const` are not looked at; a schema that names no type is one of strings.
    """
    if not isinstance(schema, Mapping):
        return frozenset({"string"})
    types: set[str] = set()
    own = schema.get("type")
    if isinstance(own, str):
        types.add(own)
    elif isinstance(own, list):
        types.update(each for each in own if isinstance(each, str))
    enum = schema.get("enum")
    if isinstance(enum, list):
        types.update(_type_of(each) for each in enum)
    for key in ("anyOf", "oneOf", "allOf"):
        choices = schema.get(key)
        if isinstance(choices, list):
            for choice in choices:
                types |= types_of(choice)
    return frozenset(types) or frozenset({"string"})


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def typed(text: str, types: frozenset[str]) -> Any:
    """Return the value that a text is read as: the first type, in a fixed order, that takes it.

    Where none does, whatever JSON the text is; else the text.
    """
    names = {name.strip().lower() for name in types}
    wanted = {_TYPE_OF_ALIAS.get(name, name) for name in names}
    if "null" in wanted and text.lower() == "null":
        return None
    if "integer" in wanted and (number := _integer(text)) is not None:
        return number
    if "number" in wanted and (real := _number(text)) is not None:
        return real
    if "boolean" in wanted:
        word = text.lower().strip()
        if word in ("true", "1", "false", "0"):
            return word in ("true", "1")
    structured = "object" in wanted or "array" in wanted
    if not structured and "string" in wanted:
        return text
    value = _json(text)
    return text if value is _NO_VALUE else value


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _number(text: str) -> float | int | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _json(text: str) -> Any:
    """Return the JSON value of a text; none where it holds a number that JSON cannot write."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        # vLLM lets the error of JSON nested too deep through, and answers the request with it.
        return _NO_VALUE
    return value


def retyped(value: Any, schema: Any, *, exactly: bool) -> Any:
    """Return a value from JSON as its schema types it, members and items too.

    Args:
        value: The value. It may be changed in place.
        schema: Its schema.
        exactly: Whether 1 is replaced by true where the schema wants that.
    """
    if isinstance(value, str):
        return typed(value, types_of(schema))
    if isinstance(value, dict):
        members = schema.get("properties")
        if isinstance(members, Mapping):
            for key, member in value.items():
                if isinstance(members.get(key), Mapping):
                    value[key] = retyped(member, members[key], exactly=exactly)
        return value
    if isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, Mapping):
            value[:] = [retyped(item, items, exactly=exactly) for item in value]
        return value
    other = typed(json.dumps(value, ensure_ascii=False), types_of(schema))
    same = other == value and (not exactly or type(other) is type(value))
    return value if same else other
