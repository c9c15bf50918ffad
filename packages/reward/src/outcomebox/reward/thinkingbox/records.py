"""The base of the values that test code handles: plain dataclasses with the usual conversions.

The data's own framework builds these on pydantic. Here they are dataclasses, because a grader forks
once per check and pays for every page its parent holds; the conversions that test code calls on
them bear the names it knows.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Self


class Record:
    """A dataclass with conversions to and from plain JSON values."""

    def model_dump(self, **_: Any) -> dict[str, Any]:
        """The fields as plain values, all the way down; options of pydantic have no effect."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type] # subclasses are dataclasses
        return {field.name: plain(getattr(self, field.name)) for field in fields}

    def model_dump_json(self, *, indent: int | None = None, **_: Any) -> str:
        """The fields as JSON text."""
        return json.dumps(self.model_dump(), indent=indent, ensure_ascii=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, with some fields replaced."""
        made = copy.deepcopy(self) if deep else copy.copy(self)
        for name, value in (update or {}).items():
            setattr(made, name, value)
        return made

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        """The record itself, or one made of a mapping; unknown keys are left out.

        Raises:
            TypeError: It is neither, or a field is missing.
            ValueError: A field's value is not allowed.
        """
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise TypeError(f"{cls.__name__} is made of a mapping, not of {type(value).__name__}")
        known = {field.name for field in dataclasses.fields(cls) if field.init}  # type: ignore[arg-type]
        return cls(**{name: each for name, each in value.items() if name in known})


def plain(value: Any) -> Any:
    """A value with every record in it turned into a dict."""
    if isinstance(value, Record):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def one_of(value: Any, allowed: tuple[Any, ...], what: str) -> None:
    """Refuse a value that is none of the allowed ones.

    Raises:
        ValueError: It is none of them.
    """
    if value not in allowed:
        raise ValueError(f"{what} must be one of {', '.join(map(repr, allowed))}, not {value!r}")
