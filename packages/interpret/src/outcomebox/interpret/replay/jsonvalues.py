"""The JSON of a call's arguments, read exactly: numerals keep their digits."""

import json
from decimal import Decimal, InvalidOperation
from typing import Any


def read_arguments(wire: str) -> dict[str, Any] | None:
    """Return the object that `wire` is the JSON of; None where it is none.

    Numbers with a point or an exponent, and integers too long for `int`, become `Decimal`, so that
    nothing is rounded here. `NaN` and `Infinity`, which Python writes, become floats.
    """
    try:
        value = json.loads(wire, parse_float=_number, parse_int=_integer)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _number(text: str) -> Any:
    try:
        return Decimal(text)
    except InvalidOperation:
        # An exponent beyond what decimals can hold.
        return text


def _integer(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        return Decimal(text)


def is_number(value: object) -> bool:
    """Say whether a value is a number; booleans are not."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def same(left: Any, right: Any) -> bool:
    """Say whether two JSON values are the same for a tool: type for type, key order aside."""
    stack = [(left, right)]
    while stack:
        one, other = stack.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, dict):
            if one.keys() != other.keys():
                return False
            stack += [(one[key], other[key]) for key in one]
        elif isinstance(one, list):
            if len(one) != len(other):
                return False
            stack += zip(one, other, strict=True)
        elif isinstance(one, float):
            if repr(one) != repr(other):
                return False
        elif one != other:
            return False
    return True


def written(value: Any) -> str:
    """Return a value as JSON for people to read; decimals keep their digits."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k, ensure_ascii=False)}: {written(v)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, Decimal):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
