"""Values of parameters as sglang 0.5 converts them."""

import json
from typing import Any

from outcomebox.interpret.profiles.pythonic import NOT_A_LITERAL, literal

_TEXT = ("string", "str", "text", "varchar", "char", "enum")
_INTEGERS = ("int", "uint", "long", "short", "unsigned")
_NUMBERS = ("num", "float")
_BOOLEANS = ("boolean", "bool", "binary")
_JSON = ("object", "array", "arr")


def convert(text: str, kind: str | None) -> Any:
    """Return what sglang makes of a value.

    Args:
        text: The value, without the newlines of its markup.
        kind: The parameter's type; None for a parameter that the tool does not have.
    """
    if text.lower() == "null":
        return None
    if kind is None or kind in _TEXT:
        return text
    if kind.startswith(_INTEGERS):
        try:
            return int(text)
        except ValueError:
            return text
    if kind.startswith(_NUMBERS):
        return _number(text)
    if kind in _BOOLEANS:
        return text.lower() == "true"
    if kind in _JSON or kind.startswith(("dict", "list")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass  # It is tried as a literal.
    try:
        return literal(text)
    except NOT_A_LITERAL:
        return text


def _number(text: str) -> int | float | str:
    """Read a number by way of a double; one without point and exponent becomes an integer."""
    try:
        value = float(text)
    except ValueError:
        return text
    whole = "." not in text and "e" not in text.lower() and value.is_integer()
    return int(value) if whole else value
