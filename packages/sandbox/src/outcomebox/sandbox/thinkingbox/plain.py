"""Values that can travel as JSON, whatever YAML made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from outcomebox.sandbox.errors import InputError


def as_json(
    value: Any, *, file: Path | str | None = None, task: str | None = None, field: str = ""
) -> Any:
    """A copy of a value that is JSON as it stands.

    A number, a truth value or nothing as a key becomes text as ``json.dumps`` writes it, which is
    what a tool server gets to see in any case.

    Raises:
        InputError: There is something in it that JSON has no word for (a date that was meant as
            text, NaN, bytes, a set, a value that holds itself), two keys become one, or it is
            nested too deep.
    """
    try:
        return _Walk(file, task).value(value, field, ())
    except RecursionError as error:
        message = "nested too deep; make it flatter"
        raise InputError(message, file=file, task=task, field=field) from error


def loosely(value: Any) -> Any:
    """A copy that is JSON, dates as ISO text: for metadata, which no tool server reads."""
    return to_jsonable_python(value, inf_nan_mode="strings", fallback=repr)


class _Walk:
    def __init__(self, file: Path | str | None, task: str | None) -> None:
        self._file = file
        self._task = task

    def value(self, value: Any, field: str, above: tuple[int, ...]) -> Any:
        if value is None or isinstance(value, str | bool | int):
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise self._error("JSON has no such number; use null or text", field, value)
            return value
        if id(value) in above:
            raise self._error("holds itself through an alias; write it out", field, None)
        if isinstance(value, Mapping):
            return self._mapping(value, field, (*above, id(value)))
        if isinstance(value, list | tuple):
            inner = (*above, id(value))
            return [self.value(item, f"{field}.{n}", inner) for n, item in enumerate(value)]
        kind = type(value).__name__
        raise self._error(f"YAML reads this as a {kind}; put it in quotes", field, str(value))

    def _mapping(
        self, value: Mapping[Any, Any], field: str, above: tuple[int, ...]
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in value.items():
            name = self._key(key, field)
            if name in found:
                raise self._error("two keys are the same as text; keep one", field, name)
            found[name] = self.value(item, f"{field}.{name}" if field else name, above)
        return found

    def _key(self, key: Any, field: str) -> str:
        if isinstance(key, str):
            return key
        if key is None:
            return "null"
        if isinstance(key, bool):
            return "true" if key else "false"
        if isinstance(key, int) or (isinstance(key, float) and math.isfinite(key)):
            return repr(key)
        kind = type(key).__name__
        raise self._error(f"YAML reads a key as a {kind}; put it in quotes", field, str(key))

    def _error(self, message: str, field: str, value: object) -> InputError:
        return InputError(message, file=self._file, task=self._task, field=field, value=value)
