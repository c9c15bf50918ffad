"""The values that one piece of text can stand for, surest first."""

from collections.abc import Callable
from typing import Any, NamedTuple

from outcomebox.interpret.coercion.literals import LiteralFault, read_json, read_loose_json
from outcomebox.interpret.coercion.numerals import read_integer, read_number

EXACT, COERCED, REPAIRED, MISFIT, WRONG = range(5)
"""Grades of a reading. EXACT: as written. COERCED: converted, nothing lost. REPAIRED: a slip was
mended. MISFIT: the right type, but something in it does not fit. WRONG: not even the type."""

_WORDS = {"true": True, "false": False, "null": None, "none": None}
_JSON_SPACE = " \t\r\n"


class Spelling(NamedTuple):
    """One value that a text can stand for, at what grade, and why if it is not plain JSON."""

    value: Any
    grade: int
    why: str


def spellings(text: str) -> list[Spelling]:
    """Return the values that `text` can stand for, besides itself."""
    bare = text.strip(_JSON_SPACE)
    found = _attempt(read_json, bare, EXACT, "")
    if found and not isinstance(found[0].value, float):
        return found
    number = read_number(bare)
    if number is None:
        return found or _near_json(bare)
    if not found and isinstance(number, float):
        found = [Spelling(number, COERCED, "another spelling of the same number")]
    whole = read_integer(bare)
    if whole is not None:
        found.append(Spelling(whole, COERCED, "another spelling of the same integer"))
    return found


def why_not(text: str) -> str:
    """Return why text that looks like an array or object was not read as one, else nothing."""
    bare = text.strip(_JSON_SPACE)
    try:
        if bare.startswith(("{", "[")):
            read_json(bare)
    except LiteralFault as fault:
        return str(fault)
    return ""


def _near_json(text: str) -> list[Spelling]:
    if text.lower() in _WORDS:
        return [Spelling(_WORDS[text.lower()], REPAIRED, "another spelling of a JSON word")]
    found: list[Spelling] = []
    if text.startswith(("{", "[", '"')):
        found = _attempt(read_loose_json, text, REPAIRED, "JSON with raw control characters")
    if not found and text.startswith(("{", "[", "(")):
        from outcomebox.interpret.coercion.pythonic import read_python  # noqa: PLC0415 - hardly ever needed

        found = _attempt(read_python, text, REPAIRED, "a Python literal")
    return found


def _attempt(read: Callable[[str], Any], text: str, grade: int, why: str) -> list[Spelling]:
    try:
        return [Spelling(read(text), grade, why)]
    except LiteralFault:
        return []
