"""Values of parameters as verl 0.9 converts them: by the first word of their schema's type."""

import json
from typing import Any

from outcomebox.interpret.profiles.pythonic import NOT_A_LITERAL, literal

_TEXT = ("string", "str", "text", "varchar", "char", "enum")
_INTEGERS = ("int", "uint", "long", "short", "unsigned")
_NUMBERS = ("num", "float")
_BOOLEANS = ("boolean", "bool", "binary")


def convert(text: str, kind: str | None) -> Any:
    """Return what verl makes of a value.

    Args:
        text: The value, without the newlines of its markup.
        kind: The type in the parameter's schema, in small letters: a list of types is the text
            that Python writes of it, which is no type, so it is tried as a literal. None for a
            parameter that the tool does not have.
    """
    if text.lower() == "null":
        return None
    if kind is None or kind in _TEXT:
        return text
    if kind.startswith(_INTEGERS):
        return _integer(text)
    if kind.startswith(_NUMBERS):
        return _number(text)
    if kind in _BOOLEANS:
        return text.lower() == "true"
    if kind == "object" or kind.startswith("dict"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass  # It is tried as a literal.
    try:
        return literal(text)
    except NOT_A_LITERAL:
        return text


def _integer(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _number(text: str) -> int | float | str:
    """Read a number by way of a double, so digits beyond its precision are lost."""
    try:
        value = float(text)
        return value if value - int(value) != 0 else int(value)
    except (ValueError, OverflowError):
        return text
