"""Why one argument has two values: the classes of value pairs.

A class is derived from the two values alone, so that it holds for any tool and any reader.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from outcomebox.interpret.replay.causes import Finding, Side
from outcomebox.interpret.replay.jsonvalues import is_number, same, written

_ABSENT = object()


def argument_findings(left: dict[str, Any], right: dict[str, Any], where: str) -> Iterator[Finding]:
    """Yield a finding for each argument that the two readers pass differently.

    Args:
        left: The arguments as the left reader passes them.
        right: The same of the right reader.
        where: The call, such as `calls[0]`.
    """
    names = [*left, *(name for name in right if name not in left)]
    for name in names:
        one, other = left.get(name, _ABSENT), right.get(name, _ABSENT)
        path = f"{where}.arguments.{name}"
        if one is _ABSENT or other is _ABSENT:
            yield Finding(
                "argument_lost",
                "left" if one is _ABSENT else "right",
                path,
                None if one is _ABSENT else written(one),
                None if other is _ABSENT else written(other),
                changes_call=True,
            )
        elif not same(one, other):
            cause, by = value_cause(one, other)
            yield Finding(cause, by, path, written(one), written(other), changes_call=True)


def value_cause(left: Any, right: Any) -> tuple[str, Side | None]:
    """Return the class of two values that are not the same, and whose doing it is."""
    left, right = _first_difference(left, right)
    for one, other, by in ((left, right, "left"), (right, left, "right")):
        cause = _directed(one, other)
        if cause is not None:
            side: Side = "left" if by == "left" else "right"
            return cause, side
    return "value_differs", None


def _first_difference(left: Any, right: Any) -> tuple[Any, Any]:
    """Go into lists and objects of one shape, down to the first values that differ."""
    while True:
        if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
            pairs = [(left[key], right[key]) for key in left]
        elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
            pairs = list(zip(left, right, strict=True))
        else:
            return left, right
        left, right = next(pair for pair in pairs if not same(*pair))


def _directed(one: Any, other: Any) -> str | None:
    """Return the class in which `one` is the value of whoever does it; None if it is the other."""
    if isinstance(one, str) and isinstance(other, str):
        if one.strip() == other.strip():
            return "white_space_stripped" if len(one) < len(other) else None
        begins = other.strip().startswith(one.strip()) and len(one) < len(other)
        return "value_cut" if begins else None
    if one is None:
        word = isinstance(other, str) and other.strip().lower() == "null"
        return "null_for_string" if word else "null_or_value"
    if isinstance(one, bool):
        if isinstance(other, bool):
            return "boolean_flipped" if one else None
        return None if other is None else "boolean_or_other"
    if isinstance(other, bool) or other is None:
        return None
    if isinstance(one, float):
        return "not_finite_number"
    if is_number(one):
        if is_number(other):
            return _numbers(one, other)
        return "number_or_text" if isinstance(other, str) else None
    if isinstance(one, str) and isinstance(other, list | dict):
        return "structure_as_text"
    return None


def _numbers(one: Any, other: Any) -> str | None:
    if isinstance(other, float):
        return None
    if one == other:
        return "number_form" if isinstance(one, Decimal) else None
    rounds = _double(one) == _double(other) and _digits(one) <= _digits(other)
    if rounds and (_digits(one) < _digits(other) or isinstance(one, Decimal) or _is_double(one)):
        return "number_rounded"
    return None


def _digits(number: Any) -> int:
    return len(Decimal(number).normalize().as_tuple().digits)


def _is_double(number: Any) -> bool:
    """Say whether a number is exactly what a double holds."""
    try:
        return bool(Decimal(float(number)) == number)
    except OverflowError:
        return False


def _double(number: Any) -> float | None:
    try:
        return float(number)
    except OverflowError:
        return None
