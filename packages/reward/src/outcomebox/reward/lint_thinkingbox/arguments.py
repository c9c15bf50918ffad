"""Values in the arguments of calls: where they stand, of what kind they are, what else could be."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

from outcomebox.reward.lint_thinkingbox.tables import Tables
from outcomebox.sandbox.thinkingbox import GoldenCall

Kind: TypeAlias = Literal["text", "word", "number", "flag", "moment"]
"""``text`` has several words; ``word`` is any other text that is no number and no moment."""

_NUMBER = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,6})?\Z")
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})([T ].*)?\Z")


@dataclass(frozen=True, slots=True)
class Place:
    """A value in the arguments of a golden call.

    Attributes:
        call: Index of the call.
        path: Names and positions that lead to it.
        value: The value.
        kind: Of what kind it is.
    """

    call: int
    path: tuple[str | int, ...]
    value: Any
    kind: Kind

    @property
    def name(self) -> str:
        """The path as text, such as ``item.subject``; positions in lists are left out."""
        return ".".join(part for part in self.path if isinstance(part, str))

    @property
    def token(self) -> str:
        """A made-up word that stands for this place and no other."""
        text = f"{self.call} {self.path}".encode()
        return f"zq{blake2b(text, digest_size=4).hexdigest()}"


def places(index: int, call: GoldenCall) -> Iterator[Place]:
    """The values in a call's arguments that can be changed; nulls and empty texts are left out."""
    for path, value in _walk(call.arguments, ()):
        kind = _kind(value)
        if kind is not None:
            yield Place(index, path, value, kind)


def put(call: GoldenCall, path: tuple[str | int, ...], value: Any) -> GoldenCall:
    """A call with another value at a place."""
    arguments = copy.deepcopy(dict(call.arguments))
    holder: Any = arguments
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    return call.model_copy(update={"arguments": arguments})


def another_text(place: Place) -> str:
    """A text that says something else, and by which its place can be told."""
    return f"Please see the file {place.token} for what was agreed."


def another(place: Place, tables: Tables) -> Any:
    """Another value of the same kind, as plausible as can be told without knowing the tool.

    Args:
        place: The value to be replaced.
        tables: The end that golden leaves. For a word, the first other word in a column that holds
            it is taken: very likely another id, or another choice, of the same sort.
    """
    value = place.value
    if place.kind == "flag":
        return not value
    if place.kind == "number":
        if isinstance(value, str):
            return str(Decimal(value) + 1)
        return value + 1
    if place.kind == "moment":
        return (date.fromisoformat(value[:10]) + timedelta(days=1)).isoformat() + value[10:]
    if place.kind == "text":
        return another_text(place)
    return _sibling(value, tables) or f"{value}-{place.token}"


def _sibling(value: str, tables: Tables) -> str | None:
    for rows in tables.values():
        for column in rows[-1] if rows else ():
            held = [row.get(column) for row in rows]
            if value in held:
                for other in held:
                    if isinstance(other, str) and other not in {value, ""} and " " not in other:
                        return other
    return None


def _kind(value: Any) -> Kind | None:
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int | float):
        return "number"
    if not isinstance(value, str) or not value.strip():
        return None
    if _NUMBER.match(value):
        return "number"
    if _is_moment(value):
        return "moment"
    return "text" if len(value.split()) > 1 else "word"


def _is_moment(value: str) -> bool:
    found = _MOMENT.match(value)
    if found is None:
        return False
    try:
        date.fromisoformat(found[1]) + timedelta(days=1)
    except (ValueError, OverflowError):
        return False
    return True


def _walk(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _walk(each, (*path, name))
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _walk(each, (*path, number))
    elif path:
        yield path, value
