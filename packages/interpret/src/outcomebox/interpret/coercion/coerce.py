"""Types a parameter's text by its JSON Schema, losing nothing.

A parameter arrives as text. Where its schema wants something else, the text is read as JSON of
that type; where that fails, as another spelling of a value of that type. Where the schema allows a
string too, the text stays unless what it reads as writes back as that very text. What fits nothing
stays as it is and is reported.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from outcomebox.interpret.coercion.jsontypes import equal, is_of, type_of
from outcomebox.interpret.coercion.numerals import is_exact
from outcomebox.interpret.coercion.schemas import (
    Own,
    allows_only_text,
    branches,
    child,
    conjuncts,
    own_of,
)
from outcomebox.interpret.coercion.spellings import (
    COERCED,
    EXACT,
    MISFIT,
    WRONG,
    Spelling,
    spellings,
    why_not,
)
from outcomebox.interpret.turn import Coercion

Path = tuple[Any, str | int]
"""A place in an argument: the path of what holds it, and the last step; written when needed."""

_SHOWN = 60


class Misfit(NamedTuple):
    """A value that does not fit, and what was wanted in its place."""

    path: Path
    value: Any
    own: Own

    def __str__(self) -> str:
        text = self.value if isinstance(self.value, str) else json.dumps(self.value)
        because = ""
        if isinstance(self.value, str) and "string" not in self.own.types:
            because = why_not(text)
        wanted = f"{self.own.wanted()}{because and f': {because}'}"
        return f"{write_path(self.path)} is {_clip(text)!r}, not {wanted}"


class Change(NamedTuple):
    """A conversion: a `Coercion` whose path is not written yet."""

    path: Path
    text: str
    value: Any
    why: str

    def written(self) -> Coercion:
        """Return the conversion with its path as people write it."""
        return Coercion(write_path(self.path), self.text, self.value, self.why)


class Reading(NamedTuple):
    """A value, and how it was come by.

    Attributes:
        value: The value.
        grade: How well it fits, from `EXACT` to `WRONG`.
        named: Whether the schema names a type or value for it, rather than allowing anything.
        changes: What was converted.
        misfits: What does not fit.
    """

    value: Any
    grade: int
    named: bool = False
    changes: tuple[Change, ...] = ()
    misfits: tuple[Misfit, ...] = ()


class Coercer:
    """Types the parameters of one call.

    Attributes:
        unresolved: References that lead nowhere; what they stand for is unknown.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.unresolved: set[str] = set()
        self._root = root
        self._active: set[tuple[int, int]] = set()
        # Keyed by identity; the value is kept, so that no other takes its identity.
        self._memo: dict[tuple[int, int], tuple[Any, Reading | None]] = {}
        self._spellings: dict[tuple[Path, str], list[Spelling]] = {}

    def read(self, name: str, text: str, schema: Any) -> Reading:
        """Type the text of parameter `name`. An empty or missing schema leaves it as it is."""
        if not isinstance(schema, Mapping) or allows_only_text(schema):
            return Reading(text, EXACT)
        path: Path = (None, name)
        as_json = self._as_json(path, text, schema)
        if as_json and as_json.grade == EXACT and as_json.named and _same(as_json.value, text):
            return as_json
        as_text = self._fit(text, schema, path)
        if as_json and as_json.grade < WRONG and EXACT < as_text.grade >= as_json.grade:
            return as_json
        return as_text

    def _as_json(self, path: Path, text: str, schema: Any) -> Reading | None:
        """Fit the JSON value that a text writes, if it writes one."""
        found = self._spell(text, path)
        if not found or found[0].grade != EXACT:
            return None
        value = found[0].value
        reading = self._fit(value, schema, path)
        why = ""
        if isinstance(value, str):
            why = "a JSON string for its text"
        elif isinstance(reading.value, float) and not is_exact(text.strip()):
            why = "rounded to the nearest double"
        if why and reading.grade == EXACT:
            change = Change(path, text, reading.value, why)
            reading = reading._replace(grade=COERCED, changes=(change,))
        return reading

    def _fit(self, value: Any, schema: Any, path: Path) -> Reading:
        return self._adapt(value, schema, path) or Reading(value, EXACT)

    def _adapt(self, value: Any, schema: Any, path: Path) -> Reading | None:
        """Fit a value to a schema; None where the schema refers to itself and says nothing."""
        if not isinstance(schema, Mapping) or not schema:
            return Reading(value, EXACT)
        key = (id(value), id(schema))
        if key in self._memo:
            return self._memo[key][1]
        if key in self._active:
            return None
        self._active.add(key)
        reading = self._all_parts(value, schema, path)
        self._active.discard(key)
        if isinstance(value, dict | list):
            self._memo[key] = (value, reading)
        return reading

    def _all_parts(self, value: Any, schema: Mapping[str, Any], path: Path) -> Reading | None:
        """Fit a value to every part of a schema in turn: all of them hold."""
        if value is None and schema.get("nullable") is True:
            return Reading(value, EXACT, named=True)
        original = value
        parts, nowhere = conjuncts(schema, self._root)
        self.unresolved.update(nowhere)
        reading: Reading | None = None
        for part in parts:
            found = self._adapt(value if reading is None else reading.value, part, path)
            reading = _both(reading, found)
        if reading:
            value = reading.value
        own = own_of(schema)
        if own:
            reading = _both(reading, self._own(value, own, path))
            value = reading.value
        for options in branches(schema):
            reading = _both(reading, self._best(value, options, path))
            value = reading.value
        if isinstance(value, dict | list):
            reading = _both(reading, self._children(value, schema, path))
        if reading and reading.grade == WRONG:
            return reading._replace(value=original, changes=())
        return reading if reading or parts else Reading(value, EXACT)

    def _own(self, value: Any, own: Own, path: Path) -> Reading:
        """Fit a value to the type and the values that a schema itself names."""
        grade = _grade(value, own)
        if grade == EXACT:
            return Reading(value, EXACT, named=True)
        for other in self._conversions(value, path):
            if _grade(other.value, own) == EXACT:
                text = value if isinstance(value, str) else json.dumps(value)
                why = other.why or f"text for a value of type {type_of(other.value)}"
                change = Change(path, text, other.value, why)
                return Reading(other.value, max(other.grade, COERCED), True, (change,))
        return Reading(value, grade, True, (), (Misfit(path, value, own),))

    def _conversions(self, value: Any, path: Path) -> list[Spelling]:
        """Return the other values that a value of the wrong type can stand for."""
        return self._spell(value, path) if isinstance(value, str) else _recast(value)

    def _spell(self, text: str, path: Path) -> list[Spelling]:
        """Return what a text can stand for. Kept per place, so that no two places share a value."""
        key = (path, text)
        if key not in self._spellings:
            self._spellings[key] = spellings(text)
        return self._spellings[key]

    def _best(self, value: Any, options: list[Any], path: Path) -> Reading:
        """Fit a value to one of several schemas: the best fit, the first of equals."""
        best: Reading | None = None
        for option in options:
            found = self._adapt(value, option, path)
            if found and (best is None or _rank(found) < _rank(best)):
                best = found
        return best or Reading(value, EXACT)

    def _children(self, value: Any, schema: Mapping[str, Any], path: Path) -> Reading:
        """Fit the members of an array or object, in a copy if one of them changes."""
        new = value
        grade = EXACT
        changes: list[Change] = []
        misfits: list[Misfit] = []
        for key in value if isinstance(value, dict) else range(len(value)):
            sub = child(schema, key)
            if sub is None:
                continue
            found = self._fit(value[key], sub, (path, key))
            if found.value is not value[key]:
                new = value.copy() if new is value else new
                new[key] = found.value
            grade = max(grade, found.grade)
            changes += found.changes
            misfits += found.misfits
        return Reading(new, min(grade, MISFIT), False, tuple(changes), tuple(misfits))


def write_path(path: Path) -> str:
    """Return a path as people write it: `items[1].price`; long names are shortened."""
    steps: list[str] = []
    rest: Any = path
    while rest:
        rest, step = rest
        steps.append(f"[{step}]" if isinstance(step, int) else f".{_clip(step)}")
    return "".join(reversed(steps))[1:]


def _grade(value: Any, own: Own) -> int:
    if own.types and not is_of(value, own.types):
        return WRONG
    if own.values is None or any(equal(value, each) for each in own.values):
        return EXACT
    return MISFIT if own.types else WRONG


def _rank(reading: Reading) -> tuple[int, bool]:
    return reading.grade, not reading.named


def _recast(value: Any) -> list[Spelling]:
    """Return the same value as another JSON type."""
    if isinstance(value, float) and value.is_integer():
        return [Spelling(int(value), COERCED, "a number without fraction")]
    if type(value) is int and value in (0, 1):
        return [Spelling(bool(value), COERCED, "0 or 1 for a boolean")]
    return []


def _both(left: Reading | None, right: Reading | None) -> Any:
    """Return what holds when two parts of a schema were fitted, the right one after the left."""
    if left is None or right is None:
        return left or right
    return Reading(
        right.value,
        max(left.grade, right.grade),
        left.named or right.named,
        left.changes + right.changes,
        left.misfits + right.misfits,
    )


def _same(value: Any, text: str) -> bool:
    """Say whether a value writes back as the text it was read from; layout aside in containers."""
    return isinstance(value, dict | list) or json.dumps(value) == text


def _clip(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
