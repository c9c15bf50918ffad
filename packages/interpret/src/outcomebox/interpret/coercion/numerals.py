"""Numbers without loss: integers of any size exactly, decimals without overflow or underflow."""

import re
import sys

Numeral = int | float

MAX_DIGITS = 4300
"""Longest integer in digits: Python's own default bound, held even where a program lifts it,
because converting a longer one takes more than linear time."""

_NUMERAL = re.compile(r"([+-]?)(\d*)(?:(\.)(\d*))?(?:[eE]([+-]?\d+))?", re.ASCII)
_MAX_EXPONENT_LENGTH = 6
_SAFE_DIGITS = 15  # a decimal of up to 15 significant digits survives the way through a double
_SAFE_SIZE = range(-300, 300)
_ALWAYS_ALLOWED = sys.int_info.str_digits_check_threshold


class _Parts:
    """A numeral taken apart: `sign * digits * 10 ** scale`."""

    __slots__ = ("digits", "integral", "scale", "sign")

    def __init__(self, sign: int, digits: str, scale: int, *, integral: bool) -> None:
        self.sign = sign
        self.digits = digits  # neither leading nor trailing zeros; empty for zero
        self.scale = scale
        self.integral = integral  # written without point or exponent


def _parts(text: str) -> _Parts | None:
    match = _NUMERAL.fullmatch(text)
    if match is None:
        return None
    sign, whole, point, fraction, exponent = match.groups()
    fraction = fraction or ""
    if not (whole or fraction) or len(exponent or "") > _MAX_EXPONENT_LENGTH:
        return None
    digits = (whole + fraction).lstrip("0")
    stripped = digits.rstrip("0")
    scale = int(exponent or 0) - len(fraction) + len(digits) - len(stripped)
    integral = point is None and exponent is None
    return _Parts(-1 if sign == "-" else 1, stripped, scale, integral=integral)


def _whole(parts: _Parts) -> int | None:
    if not parts.digits:
        return 0
    size = len(parts.digits) + parts.scale
    if parts.scale < 0 or size > MAX_DIGITS:
        return None
    if size > _ALWAYS_ALLOWED and 0 < sys.get_int_max_str_digits() < size:
        return None
    return parts.sign * int(parts.digits + "0" * parts.scale)


def read_integer(text: str) -> int | None:
    """Return the exact integer that `text` is equal to (`007`, `1.0`, `1e3`), else None."""
    parts = _parts(text)
    return None if parts is None else _whole(parts)


def read_number(text: str) -> Numeral | None:
    """Return the number that `text` writes, else None.

    A numeral without point and exponent is an int of any size. Any other is the nearest double, or
    an int where it has an integral value that no double has. None where a double would be infinite,
    or zero for something that is not.
    """
    parts = _parts(text)
    if parts is None:
        return None
    if parts.integral:
        return _whole(parts)
    value = float(text)
    if value in (float("inf"), float("-inf")) or (value == 0 and parts.digits):
        return None
    if not is_exact(text):
        whole = _whole(parts)
        return value if whole is None else whole
    return value


def is_exact(text: str) -> bool:
    """Say whether the shortest decimal of the nearest double is the number that `text` writes."""
    parts = _parts(text)
    if parts is None:
        return False
    size = len(parts.digits) + parts.scale
    if len(parts.digits) <= _SAFE_DIGITS and size in _SAFE_SIZE:
        return True
    nearest = _parts(repr(float(text)))
    if nearest is None:
        return False  # infinite
    return (nearest.digits, nearest.scale) == (parts.digits, parts.scale)
