"""Answers of models as plain JSON and back, unchanged to the last bit."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import Any

from outcomebox.reward.errors import JudgeError
from outcomebox.rollout.errors import GoldenError, PolicyError, UserError, classify


def plain(value: Any) -> Any:
    """A dataclass as plain JSON values; fields without a value are left out."""
    return {name: item for name, item in asdict(value).items() if item is not None}


def rebuilt(kind: Any, value: Any) -> Any:
    """What :func:`plain` was given.

    Args:
        kind: The type of the value: a dataclass, a tuple of one kind, a union with None, or
            anything that JSON has itself.
        value: Its JSON form.
    """
    if isinstance(kind, type) and is_dataclass(kind):
        known = _kinds(kind)
        return kind(**{name: rebuilt(known[name], item) for name, item in value.items()})
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in {types.UnionType, typing.Union} and value is not None:
        return rebuilt(next(each for each in inner if each is not types.NoneType), value)
    if origin is tuple and value is not None:
        each = inner if Ellipsis not in inner else (inner[0],) * len(value)
        return tuple(rebuilt(part, item) for part, item in zip(each, value, strict=True))
    return value


@cache
def _kinds(kind: Any) -> Mapping[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


_ERRORS: Mapping[str, type[Exception]] = {
    each.__name__: each for each in (GoldenError, PolicyError, UserError, JudgeError)
}
_BASES: tuple[type[Exception], ...] = (PolicyError, UserError, JudgeError)


def error_to_json(error: Exception) -> dict[str, Any]:
    """An error of a model, without secrets, so that :func:`error_from_json` raises the like."""
    told = classify(error).to_json()
    if not str(error):
        told["message"] = ""
    base = next((each.__name__ for each in _BASES if isinstance(error, each)), None)
    record = dict(getattr(error, "record", {}))
    return {**told, "base": base, "bare": not error.args, "record": record}


def error_from_json(told: Mapping[str, Any]) -> Exception:
    """An error that is classified as the recorded one was."""
    kind = _ERRORS.get(told["type"])
    if kind is None:
        base = _ERRORS.get(told["base"] or "", Exception)
        kind = type(told["type"], (base,), {"phase": told["phase"]})
    error = kind() if told["bare"] else kind(told["message"])
    if told["record"]:
        error.record = dict(told["record"])  # type: ignore[attr-defined]
    return error
