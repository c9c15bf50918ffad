"""Reads JSON so that nothing is lost.

Refused are a key given twice, a number that no double holds, NaN. Nesting is bounded so that the
answer does not depend on the caller's stack.
"""

import json
import re
from typing import Any

from outcomebox.interpret.coercion.numerals import read_number

MAX_DEPTH = 32
"""Deepest nesting of arrays and objects that is read."""


class LiteralFault(ValueError):
    """The text is not a literal, or reading it would lose something; the message says what."""


_SHORT = 100  # characters of an integer that is read without looking at Python's own bound
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _BRACKET.finditer(text):
        found = match.group()
        if found in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise LiteralFault(f"it is nested deeper than {MAX_DEPTH} levels")
        elif found in "]}":
            depth -= 1


def number_of(text: str) -> int | float:
    """Return the number that `text` writes.

    Raises:
        LiteralFault: No number holds it.
    """
    value = read_number(text)
    if value is None:
        raise LiteralFault(f"no number holds {text[:40]}")
    return value


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _SHORT else number_of(text)


def _constant(text: str) -> Any:
    raise LiteralFault(f"{text} is not JSON")


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these members.

    Raises:
        LiteralFault: A key is given twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise LiteralFault("a key is given twice")
    return found


def _decoder(*, strict: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=object_of,
        parse_float=number_of,
        parse_int=_integer,
        parse_constant=_constant,
        strict=strict,
    )


_STRICT = _decoder(strict=True)
_LOOSE = _decoder(strict=False)


def read_json(text: str) -> Any:
    """Return the JSON value that `text` writes.

    Raises:
        LiteralFault: It is not JSON, or reading it would lose something.
    """
    return _decode(text, _STRICT)


def read_loose_json(text: str) -> Any:
    """Return the JSON value that `text` writes, newlines and the like unescaped in its strings.

    Raises:
        LiteralFault: It is not even that, or reading it would lose something.
    """
    return _decode(text, _LOOSE)


def _decode(text: str, decoder: json.JSONDecoder) -> Any:
    _check_depth(text)
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        raise LiteralFault(f"it is not JSON: {error.msg} at character {error.pos}") from None
