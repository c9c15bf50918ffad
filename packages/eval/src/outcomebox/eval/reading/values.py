"""Checks of single values of foreign rows; each error names place, field, value and the mend."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from outcomebox.sandbox.errors import InputError

LARGEST = 2**31
"""No repetition, try or count of tokens is as large as this by intention."""


class Place(NamedTuple):
    """Where a row stands: file, and line (or entry) from 1."""

    path: Path
    number: int
    what: str = "line"

    def refuse(self, message: str, *, field: str | None = None, value: object = None) -> InputError:
        """The error of something in this row."""
        where = f"{self.what} {self.number}"
        name = f"{where}: {field}" if field else where
        return InputError(message, file=self.path, field=name, value=value)


def text(value: Any, field: str, place: Place) -> str:
    """A text that is not empty, in whole characters.

    Raises:
        InputError: It is not one.
    """
    if type(value) is str and value.isascii() and not value.isspace() and value:
        return value  # nearly all are like this
    if not isinstance(value, str):
        kind = type(value).__name__
        raise place.refuse(f"must be a text, not {kind}; mend the row", field=field, value=value)
    if not value.strip():
        raise place.refuse("is empty; mend the row", field=field, value=value)
    return whole_text(value, field, place)


def optional_text(value: Any, field: str, place: Place) -> str | None:
    """A text, or nothing where it is null or empty.

    Raises:
        InputError: It is neither.
    """
    return None if value is None or value == "" else text(value, field, place)


def whole_text(value: str, field: str, place: Place) -> str:
    """A text without half characters (lone surrogates), which no table can hold.

    Raises:
        InputError: It has one.
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        raise place.refuse(
            "holds half a character (a lone surrogate); mend the row", field=field, value=value
        ) from None
    return value


def count(value: Any, field: str, place: Place, *, least: int = 0) -> int:
    """A whole number from 0.

    Raises:
        InputError: It is not one; True and 1.0 are not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < LARGEST:
        raise place.refuse(
            f"must be a whole number from {least}; mend the row",
            field=field,
            value="null" if value is None else value,
        )
    return value


def optional_count(value: Any, field: str, place: Place) -> int | None:
    """A whole number from 0, or nothing."""
    if type(value) is int and 0 <= value < LARGEST:
        return value  # nearly all are like this
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else count(value, field, place)


def total(counts: Iterable[int | None]) -> int | None:
    """The sum of some counts; None where one of them is not told, for then nobody knows it."""
    found = list(counts)
    return None if None in found else sum(each for each in found if each is not None)


def optional_number(value: Any, field: str, place: Place, *, least: float = 0) -> float | None:
    """A finite number, or nothing where it is null.

    Raises:
        InputError: It is NaN, infinite, too small, or no number.
    """
    if value is None:
        return None
    if type(value) is float and least <= value < math.inf:
        return value  # nearly all are like this, and NaN is not
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise place.refuse("must be a number; mend the row", field=field, value=value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number < least:
        raise place.refuse(
            f"must be a finite number from {least:g}; mend the row", field=field, value=value
        )
    return number


def optional_flag(value: Any, field: str, place: Place) -> bool | None:
    """True, False, 1 or 0, or nothing where it is null; the text "false" is none of them.

    Raises:
        InputError: It is something else.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in {0, 1}:
        return bool(value)
    raise place.refuse("must be true, false, 1 or 0; mend the row", field=field, value=value)


def mapping(value: Any, field: str, place: Place) -> Mapping[str, Any]:
    """An object; an empty one for null.

    Raises:
        InputError: It is something else.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise place.refuse("must be an object; mend the row", field=field, value=value)
    return value


def texts(value: Any, field: str, place: Place) -> list[str]:
    """A list of texts; an empty one for null.

    Raises:
        InputError: It is something else.
    """
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise place.refuse("must be a list of texts; mend the row", field=field, value=value)
    return [text(each, field, place) for each in value]
