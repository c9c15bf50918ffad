"""Whether a stored value is one that a check accepts.

Stored values are written by agents, so nothing here may raise because of one: text that cannot be
parsed is simply not the expected value, and none may take long because of its text.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from outcomebox.sandbox.changes import Value
from outcomebox.sandbox.instants import parse_instant
from outcomebox.sandbox.patterns import read_pattern
from outcomebox.sandbox.valuespec import (
    DECIMAL,
    AnyMatcher,
    CloseMatcher,
    DecimalMatcher,
    IdMatcher,
    InstantMatcher,
    JsonMatcher,
    Matcher,
    NfcMatcher,
    NotNullMatcher,
    OneOfMatcher,
    PatternMatcher,
    RubricMatcher,
)

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_DIGITS = 4_000  # of an integer in JSON text; a check's own file could not hold a longer one

Spec: TypeAlias = Value | Matcher
"""What a check accepts: a scalar or a matcher."""


def accepts(spec: Spec, value: Value) -> bool:
    """Whether ``spec`` accepts ``value``, as far as the value alone decides.

    For ``$id`` this is whether it is an id at all, for ``$rubric`` whether there is text to judge.
    Never raises because of ``value``.
    """
    match spec:
        case AnyMatcher():
            return True
        case NotNullMatcher() | IdMatcher():
            return value is not None
        case OneOfMatcher(options=options):
            return any(accepts(option, value) for option in options)
        case PatternMatcher(pattern=pattern):
            return isinstance(value, str) and read_pattern(pattern).fullmatch(value)
        case CloseMatcher(target=target, tolerance=tolerance):
            if not isinstance(value, (int, float)) or math.isinf(value):
                return False
            return abs(_exact(value) - _exact(target)) <= _exact(tolerance)
        case DecimalMatcher(decimal=text):
            return (
                isinstance(value, str)
                and DECIMAL.fullmatch(value) is not None
                and Decimal(value) == Decimal(text)
            )
        case InstantMatcher(instant=text):
            moment = parse_instant(value) if isinstance(value, str) else None
            return moment is not None and moment == parse_instant(text)
        case JsonMatcher(value=expected):
            return isinstance(value, str) and _parses_to(value, expected)
        case NfcMatcher(text=text):
            return isinstance(value, str) and _same_nfc(value, text)
        case RubricMatcher():
            return isinstance(value, str)
        case _:
            return spec == value


def _same_nfc(found: str, expected: str) -> bool:
    # Taking apart never makes a text shorter, and normalizing a long one of marks takes very long.
    if len(found) > len(unicodedata.normalize("NFD", expected)):
        return False
    return unicodedata.normalize("NFC", found) == unicodedata.normalize("NFC", expected)


def _exact(number: float) -> Fraction:
    """A finite number exactly; a real by its shortest decimal form, so that 1.1 is 1.1."""
    return Fraction(str(number))


class _OtherJson(Exception):
    """The text is no JSON, or none that a check can list."""


def _parses_to(text: str, expected: Any) -> bool:
    # What is nested deeper than the expected value is not equal to it, and can exhaust the stack.
    if _depth(text) > _depth(json.dumps(expected)):
        return False
    try:
        found = json.loads(
            text, parse_constant=_refuse, parse_int=_integer, object_pairs_hook=_object
        )
    except (json.JSONDecodeError, _OtherJson):
        return False
    return same_json(expected, found)


def _depth(text: str) -> int:
    """How deep the brackets of a JSON text are nested; strings are passed over."""
    depth = deepest = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in "]}":
            depth -= 1
    return deepest


def _refuse(constant: str) -> Any:
    raise _OtherJson(f"{constant} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise _OtherJson("a number that no check lists, and that takes long to read")
    return int(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _OtherJson("a name stands twice, so readers disagree about its value")
    return found


def same_json(expected: Any, found: Any) -> bool:
    """Whether two JSON values are equal: objects unordered, arrays ordered, true is not 1."""
    if isinstance(expected, Mapping):
        return (
            isinstance(found, Mapping)
            and expected.keys() == found.keys()
            and all(same_json(value, found[name]) for name, value in expected.items())
        )
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(found, (list, tuple))
            and len(expected) == len(found)
            and all(map(same_json, expected, found))
        )
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    return bool(expected == found)
