"""A value that a matcher accepts, made where none is at hand."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any

from outcomebox.reward.matchers import Spec, accepts
from outcomebox.sandbox.changes import Value
from outcomebox.sandbox.valuespec import (
    AnyMatcher,
    CloseMatcher,
    DecimalMatcher,
    IdMatcher,
    InstantMatcher,
    JsonMatcher,
    NfcMatcher,
    NotNullMatcher,
    OneOfMatcher,
    PatternMatcher,
    RubricMatcher,
)

_TRIES = 200
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class NoSample(Exception):
    """No value was found that a matcher accepts."""


def sample(spec: Spec, rng: Random) -> Value:
    """A value that a matcher accepts; a scalar is its own.

    Raises:
        NoSample: None was found for a pattern.
    """
    match spec:
        case AnyMatcher() | NotNullMatcher() | IdMatcher() | RubricMatcher():
            return "lint"
        case OneOfMatcher(options=options):
            return sample(options[0], rng)
        case PatternMatcher(pattern=pattern):
            return matching(pattern, rng)
        case CloseMatcher(target=target):
            return target
        case DecimalMatcher(decimal=text):
            return text
        case InstantMatcher(instant=text):
            return text
        case JsonMatcher(value=value):
            return json.dumps(value, ensure_ascii=False)
        case NfcMatcher(text=text):
            return text
        case _:
            return spec


def matching(pattern: str, rng: Random) -> str:
    """A text that a pattern matches as a whole.

    It follows the pattern and tries again where look-arounds and boundaries disagree, so it finds
    none for patterns whose parts hinder each other.

    Raises:
        NoSample: None was found.
    """
    spec = PatternMatcher.model_validate({"$pattern": pattern})
    # The parser of `re` is the only one that reads just what `re` reads.
    tree = importlib.import_module("re._parser").parse(pattern, re.DOTALL)
    for _ in range(_TRIES):
        text = _Walk(rng, tree.state.groups).text(tree)
        if accepts(spec, text):
            return text
    raise NoSample(f"no text was found that the pattern {pattern!r} accepts")


class _Walk:
    """One way through a parsed pattern."""

    def __init__(self, rng: Random, groups: int) -> None:
        self._rng = rng
        self._groups = [""] * groups

    def text(self, items: Any) -> str:
        return "".join(self._one(str(name), value) for name, value in items)

    def _one(self, name: str, value: Any) -> str:
        match name:
            case "LITERAL":
                return chr(value)
            case "NOT_LITERAL":
                return "b" if value == ord("a") else "a"
            case "ANY":
                return self._rng.choice(" ab")
            case "IN":
                return self._of_class(value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, inner = value
                times = self._rng.randint(low, min(int(high), low + 2))
                return "".join(self.text(inner) for _ in range(times))
            case "BRANCH":
                return self.text(self._rng.choice(value[1]))
            case "SUBPATTERN":
                number, _, _, inner = value
                made = self.text(inner)
                if number is not None:
                    self._groups[number] = made
                return made
            case "ATOMIC_GROUP":
                return self.text(value)
            case "GROUPREF":
                return self._groups[int(value)]
            case "ASSERT":
                # What must follow is written here; what stands behind it is mostly a wildcard.
                return self.text(value[1]) + " "
            case _:  # boundaries, anchors, and what must not follow
                return ""

    def _of_class(self, items: Sequence[tuple[Any, Any]]) -> str:
        marks = _LETTERS + _LETTERS.upper() + "0123456789 -_.:"
        if str(items[0][0]) == "NEGATE":
            inner = items[1:]
            fitting = [mark for mark in marks if not any(_is_in(mark, each) for each in inner)]
            return self._rng.choice(fitting or ["~"])
        name, value = self._rng.choice(items)
        if str(name) == "LITERAL":
            return chr(value)
        if str(name) == "RANGE":
            return chr(self._rng.randint(*value))
        return self._rng.choice([mark for mark in marks if _is_in(mark, (name, value))] or ["~"])


def _is_in(mark: str, item: tuple[Any, Any]) -> bool:
    name, value = str(item[0]), item[1]
    if name == "LITERAL":
        return ord(mark) == int(value)
    if name == "RANGE":
        return bool(value[0] <= ord(mark) <= value[1])
    classes = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
    kind = str(value).removeprefix("CATEGORY_")
    found = re.match(classes.get(kind.removeprefix("NOT_"), "."), mark) is not None
    return found != kind.startswith("NOT_")
