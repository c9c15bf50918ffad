"""``filter_by``: conditions on fields, read into one function of a document.

Spoken here: ``field:=v``, ``field:v``, ``field:!=v``, ``field:>v`` (``>=``, ``<``, ``<=``), lists
``[a, b]``, number ranges ``[1..9]``, values in backticks, ``&&``, ``||`` and brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from outcomebox.sandbox.search.refusal import SearchRefused, bad_request, not_found, unsupported
from outcomebox.sandbox.search.schema import Schema

Condition = Callable[[Mapping[str, Any]], bool]

_FIELD = re.compile(r"\s*([^\s:()&|]+)\s*:\s*(!=|=|>=|<=|>|<|!)?\s*")
_VALUE = re.compile(r"`[^`]*`|\[(?:`[^`]*`|[^\]`])*\]|(?:\([^()]*\)|[^()`&|]|&(?!&)|\|(?!\|))+")
_ITEM = re.compile(r"\s*(?:`([^`]*)`|([^,]*))\s*(?:,|$)")
_RANGE = re.compile(r"([^.]+(?:\.\d+)?)\.\.(.+)")
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}
_MAX_DEPTH = 50


def read_filter(text: str, schema: Schema) -> Condition:
    """Read a filter; an empty one lets every document pass.

    Raises:
        SearchRefused: It cannot be read, or names a field that is not there.
    """
    if not text.strip():
        return lambda _: True
    condition, end = _either(text, 0, schema, 0)
    if text[end:].strip():
        raise _unreadable(text, end)
    return condition


def _either(text: str, at: int, schema: Schema, depth: int) -> tuple[Condition, int]:
    """Conditions joined by ``||``; they bind less than ``&&``."""
    parts = []
    while True:
        part, at = _all_of(text, at, schema, depth)
        parts.append(part)
        if not (found := re.compile(r"\s*\|\|").match(text, at)):
            return (parts[0] if len(parts) == 1 else _any_passes(parts)), at
        at = found.end()


def _all_of(text: str, at: int, schema: Schema, depth: int) -> tuple[Condition, int]:
    parts = []
    while True:
        part, at = _one(text, at, schema, depth)
        parts.append(part)
        if not (found := re.compile(r"\s*&&").match(text, at)):
            return (parts[0] if len(parts) == 1 else _all_pass(parts)), at
        at = found.end()


def _one(text: str, at: int, schema: Schema, depth: int) -> tuple[Condition, int]:
    if opened := re.compile(r"\s*\(").match(text, at):
        if depth >= _MAX_DEPTH:
            raise bad_request(f"The filter nests deeper than {_MAX_DEPTH} brackets.")
        condition, end = _either(text, opened.end(), schema, depth + 1)
        if not (closed := re.compile(r"\s*\)").match(text, end)):
            raise _unreadable(text, end)
        return condition, closed.end()
    head = _FIELD.match(text, at)
    value = _VALUE.match(text, head.end()) if head else None
    if head is None or value is None or not value[0].strip():
        raise _unreadable(text, at)
    return _condition(head[1], head[2] or "", value[0].strip(), schema), value.end()


def _condition(name: str, operator: str, value: str, schema: Schema) -> Condition:
    if name != "id" and name not in schema.fields:
        raise not_found(f"Could not find a filter field named `{name}` in the schema.")
    kind = "string" if name == "id" else schema.fields[name].base_type
    if kind not in {"string", "int32", "int64", "float", "bool"}:
        raise unsupported(f"A filter on the {kind} field `{name}`")
    # A backtick makes a bracket part of the value, so a list is told by its first character.
    if value.startswith("[") and value.endswith("]"):
        items = [a or b.strip() for a, b in _ITEM.findall(value[1:-1]) if a or b.strip()]
    else:
        items = [value[1:-1] if value.startswith("`") else value]
    if kind == "string" and operator in {*_COMPARE}:
        raise bad_request(f"`{operator}` compares numbers, and `{name}` is a string.")
    if kind == "string":
        exact = operator in {"=", "!="} or name == "id"
        tests = [_equals(item) if exact else _contains(item) for item in items]
    else:
        tests = [_number_test(name, kind, operator, item) for item in items]
    wanted = not operator.startswith("!")

    def holds(document: Mapping[str, Any]) -> bool:
        found = document.get(name)
        values = found if isinstance(found, list) else [] if found is None else [found]
        return any(test(one) for one in values for test in tests) is wanted

    return holds


def _equals(item: str) -> Callable[[Any], bool]:
    return lambda value: bool(value == item)


def _contains(item: str) -> Callable[[Any], bool]:
    words = re.findall(r"\w+", item.casefold())
    return lambda value: set(words) <= set(re.findall(r"\w+", value.casefold()))


def _number_test(name: str, kind: str, operator: str, item: str) -> Callable[[Any], bool]:
    if compare := _COMPARE.get(operator):
        bound = _number(name, kind, item)
        return lambda value: compare(value, bound)
    if kind != "bool" and (found := _RANGE.fullmatch(item)):
        low, high = (_number(name, kind, part.strip()) for part in found.groups())
        return lambda value: low <= value <= high
    number = _number(name, kind, item)
    return lambda value: bool(value == number)


def _number(name: str, kind: str, item: str) -> float:
    if kind == "bool":
        if item.lower() not in {"true", "false"}:
            raise bad_request(f"Filter on `{name}`: `{item}` is neither true nor false.")
        return item.lower() == "true"
    try:
        return float(item) if kind == "float" else int(item)
    except ValueError:
        raise bad_request(f"Filter on `{name}`: `{item}` is not of type {kind}.") from None


def _any_passes(parts: list[Condition]) -> Condition:
    return lambda document: any(part(document) for part in parts)


def _all_pass(parts: list[Condition]) -> Condition:
    return lambda document: all(part(document) for part in parts)


def _unreadable(text: str, at: int) -> SearchRefused:
    return bad_request(
        f"Could not parse the filter query at character {at} of `{text[:200]}`; "
        "put a value with `&&`, `||` or a bracket in it between backticks."
    )
