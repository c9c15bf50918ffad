"""JSON's types and equality, as JSON Schema means them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_TYPES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


def type_of(value: Any) -> str:
    """Return the JSON type of a value that was read from JSON; an int is an `integer`."""
    return _TYPES.get(type(value), "")


def is_of(value: Any, types: Iterable[str]) -> bool:
    """Say whether the value is of one of the types; an integer is a number too."""
    own = type_of(value)
    return own in types or (own == "integer" and "number" in types)


def equal(left: Any, right: Any) -> bool:
    """Compare as JSON does: 1 is 1.0, and true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, Sequence) and not isinstance(right, str):
        return len(left) == len(right) and all(map(equal, left, right))
    return bool(left == right)
