"""What pydantic finds wrong in settings, as one line with the field, the value and the mend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from outcomebox.sandbox import InputError

_MENDS = {
    "int_type": "write a whole number without quotes",
    "int_from_float": "write a whole number",
    "bool_type": "write true or false",
    "string_type": "write text; put it in quotes if it looks like a number",
    "tuple_type": "write a list, for example [a, b]",
    "dict_type": "write a mapping of names to values",
    "model_type": "write a mapping of fields to values",
    "model_attributes_type": "write a mapping of fields to values",
    "too_short": "name at least one entry",
    "string_too_short": "write at least one character",
    "finite_number": "write a finite number",
}
_BOUNDS = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}


def problem(error: ValidationError, model: type[BaseModel], file: str) -> InputError:
    """The first thing that is wrong.

    Args:
        error: What pydantic raised.
        model: What was to be made.
        file: Where the values stand.
    """
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    more = error.error_count() - 1
    also = f" [and {more} more]" if more else ""
    kind = first["type"]
    shown = None if kind in {"missing", "value_error"} else first["input"]
    return InputError(_message(first, model) + also, file=file, field=field or None, value=shown)


def _message(found: ErrorDetails, model: type[BaseModel]) -> str:
    kind, value = found["type"], found["input"]
    context: Mapping[str, Any] = found.get("ctx", {})
    if kind == "missing":
        return "is missing; add it, or start from a preset"
    if kind == "extra_forbidden":
        known = _fields(model, found["loc"][:-1])
        near = get_close_matches(str(found["loc"][-1]), known, n=1)
        hint = f"write {near[0]}" if near else f"there are {', '.join(known)}"
        return f"is no field; {hint}"
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        return f"is none of the choices; write {context['expected']}"
    if kind == "float_type" and isinstance(value, str) and _number(value) is not None:
        return f"is text in YAML; write {_number(value)!r}, with a point and a sign"
    if kind == "float_type":
        return "is no number; write one without quotes"
    for name, words in _BOUNDS.items():
        if name in context:
            return f"is out of range; write {words} {context[name]}"
    message = found["msg"][:1].lower() + found["msg"][1:]
    return f"{message}; {_MENDS.get(kind, 'see outcomebox-train presets --show NAME')}"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _fields(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    for part in location:
        inner = model.model_fields[str(part)].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return list(model.model_fields)
