"""Values that a check accepts: scalars and matchers.

A scalar must be stored exactly (1 and 1.0 are the same number, text and blobs are never numbers). A
matcher is an object with one ``$`` key:

``{$id: label}``
    a generated id: one value a label, one label a value among the ids of a table, the same in every
    table that refers to it
``{$any: true}``, ``{$not_null: true}``
    anything, NULL too; anything but NULL
``{$one_of: [..]}``
    one of these scalars or matchers
``{$pattern: regex}``
    text that the regular expression matches as a whole; ``.`` matches newlines too. What cannot be
    matched in linear time (references to groups, atomic groups) is refused
``{$close: number, abs: number}``
    a number at most ``abs`` away, reckoned in decimal
``{$decimal: "7.50"}``
    text that is the same decimal number
``{$instant: "2026-03-02T09:00:00Z"}``
    text that names the same moment; without an offset it is UTC
``{$json: value}``
    text that parses to this JSON: objects unordered, arrays ordered, true is not 1
``{$nfc: text}``
    text that is the same after Unicode normalization (NFC)
``{$rubric: question}``
    text about which a judge answers yes
``{$blob: hex}``
    a scalar: these bytes
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    StringConstraints,
    Tag,
    WithJsonSchema,
)

from outcomebox.sandbox.instants import parse_instant
from outcomebox.sandbox.patterns import read_pattern

DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
"""A decimal number as ``$decimal`` reads it, on both sides."""

_Item = TypeVar("_Item")


def _scalar(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(  # noqa: TRY004 -- pydantic takes ValueError
            f"SQLite has no booleans: write {int(value)} instead of {str(value).lower()}"
        )
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("SQLite integers have 64 bits; write text or a real number such as 1e20")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("write a finite number; for NaN, which SQLite stores as NULL, write null")
    if isinstance(value, Mapping):
        if value.keys() == {"$blob"} and isinstance(value["$blob"], str):
            try:
                return bytes.fromhex(value["$blob"])
            except ValueError:
                raise ValueError("$blob: write its bytes as hexadecimal digits, two each") from None
        raise ValueError("only a plain value can stand here: null, a number, text or {$blob: hex}")
    if value is not None and not isinstance(value, (int, float, str, bytes)):
        raise ValueError(
            f"a {type(value).__name__} is no SQLite value: "
            "write null, a number, text, or {$blob: hex}"
        )
    return value


def _dump(value: Any) -> Any:
    return {"$blob": value.hex()} if isinstance(value, bytes) else value


_BLOB_SCHEMA = {
    "type": "object",
    "properties": {"$blob": {"type": "string", "pattern": "^([0-9a-fA-F]{2})*$"}},
    "required": ["$blob"],
    "additionalProperties": False,
}

Scalar = Annotated[
    int | float | str | bytes | None,
    BeforeValidator(_scalar),
    PlainSerializer(_dump),
    WithJsonSchema(
        {
            "description": "A SQLite value, compared exactly: null, number, text, bytes as hex.",
            "anyOf": [{"type": ["null", "number", "string"]}, _BLOB_SCHEMA],
        }
    ),
]
"""A plain SQLite value; bytes are written ``{"$blob": hex}``."""


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# YAML and JSON have lists only; strict mode would refuse them for a tuple.
Listed = Annotated[tuple[_Item, ...], BeforeValidator(_tuple)]
Text = Annotated[str, StringConstraints(min_length=1)]


class SpecModel(BaseModel):
    """The base of everything written in a check: strict, frozen, nothing unknown."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", validate_by_name=True, serialize_by_alias=True
    )


def _regex(pattern: str) -> str:
    read_pattern(pattern)
    return pattern


def _number(value: Any) -> Any:
    infinite = isinstance(value, float) and not math.isfinite(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or infinite:
        raise ValueError(f"{value!r} is no number to be near to; write a finite number")
    return value


def _not_negative(number: float) -> float:
    if number < 0:
        raise ValueError(f"{number} is no distance; write 0 or more")
    return number


def _decimal(text: str) -> str:
    if not DECIMAL.fullmatch(text):
        raise ValueError(f"{text!r} is no decimal number: write text such as '7.50'")
    return text


def _json(value: Any) -> Any:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"this is no JSON value: {error}") from None
    return value


def _instant(text: str) -> str:
    if parse_instant(text) is None:
        raise ValueError(f"{text!r} is no moment: write ISO 8601 such as '2026-03-02T09:00:00Z'")
    return text


class IdMatcher(SpecModel):
    """A generated id, named by a label."""

    label: Text = Field(
        validation_alias="$id",
        serialization_alias="$id",
        description="The same label means the same id.",
    )


class AnyMatcher(SpecModel):
    """Anything, NULL too."""

    any: Literal[True] = Field(validation_alias="$any", serialization_alias="$any")


class NotNullMatcher(SpecModel):
    """Anything but NULL."""

    not_null: Literal[True] = Field(validation_alias="$not_null", serialization_alias="$not_null")


class PatternMatcher(SpecModel):
    """Text that a regular expression matches as a whole."""

    pattern: Annotated[str, AfterValidator(_regex)] = Field(
        validation_alias="$pattern",
        serialization_alias="$pattern",
        description="Matches the whole text; `.` matches newlines too.",
    )


class CloseMatcher(SpecModel):
    """A number near another one."""

    target: Annotated[int | float, BeforeValidator(_number)] = Field(
        validation_alias="$close", serialization_alias="$close", description="The number aimed at."
    )
    tolerance: Annotated[int | float, BeforeValidator(_number), AfterValidator(_not_negative)] = (
        Field(
            validation_alias="abs",
            serialization_alias="abs",
            description="Greatest distance from it, in the column's own unit.",
            json_schema_extra={"minimum": 0},
        )
    )


class DecimalMatcher(SpecModel):
    """Text that is the same decimal number."""

    decimal: Annotated[str, AfterValidator(_decimal)] = Field(
        validation_alias="$decimal", serialization_alias="$decimal"
    )


class InstantMatcher(SpecModel):
    """Text that names the same moment."""

    instant: Annotated[str, AfterValidator(_instant)] = Field(
        validation_alias="$instant", serialization_alias="$instant"
    )


class JsonMatcher(SpecModel):
    """Text that parses to the same JSON."""

    value: Annotated[Any, AfterValidator(_json)] = Field(
        validation_alias="$json",
        serialization_alias="$json",
        description="The JSON value itself, not its text.",
    )


class NfcMatcher(SpecModel):
    """Text that is the same after Unicode normalization."""

    text: str = Field(validation_alias="$nfc", serialization_alias="$nfc")


class RubricMatcher(SpecModel):
    """Text about which a judge answers a question with yes."""

    question: Text = Field(
        validation_alias="$rubric",
        serialization_alias="$rubric",
        description="A yes/no question about the text.",
    )


_INNER: dict[str, type[SpecModel]] = {
    "$pattern": PatternMatcher,
    "$close": CloseMatcher,
    "$decimal": DecimalMatcher,
    "$instant": InstantMatcher,
    "$json": JsonMatcher,
    "$nfc": NfcMatcher,
}
_ALL = {
    "$id": IdMatcher,
    "$any": AnyMatcher,
    "$not_null": NotNullMatcher,
    "$one_of": None,
    **_INNER,
    "$rubric": RubricMatcher,
}
_MEND = {
    "$any": "write {$any: true}",
    "$not_null": "write {$not_null: true}; for NULL write null",
    "$close": "write {$close: number, abs: number}: the tolerance has no default",
    "$one_of": "write {$one_of: [value, ..]}",
    "$nan": "SQLite stores NaN as NULL: write null",
    "$regex": "write {$pattern: ..}",
    "$in": "write {$one_of: [..]}",
    "$null": "write null, or {$not_null: true} for anything else",
}


def _checked(known: Iterable[str]) -> Any:
    """A validator that says in one line what is wrong with a matcher, before its model is tried."""

    def check(value: Any) -> Any:
        if not isinstance(value, Mapping):
            if isinstance(value, (list, tuple)):
                raise ValueError(  # noqa: TRY004 -- pydantic takes ValueError
                    "a list is no SQLite value: write {$one_of: [..]} or {$json: [..]}"
                )
            return value
        marks = [key for key in value if isinstance(key, str) and key.startswith("$")]
        names = ", ".join(["$blob", *known])
        if len(marks) != 1:
            raise ValueError(
                f"an object here is a matcher with one of {names}; "
                "for JSON text write {$json: ..}"
            )
        (mark,) = marks
        if mark == "$blob":
            return _scalar(value)
        if mark not in known:
            mend = "it cannot stand inside another matcher" if mark in _ALL else _MEND.get(mark)
            raise ValueError(f"no matcher {mark} here: {mend or f'the matchers are {names}'}")
        extra = sorted(value.keys() - {mark, *(["abs"] if mark == "$close" else [])})
        if extra or (mark == "$close" and "abs" not in value):
            also = f"; {', '.join(map(str, extra))} cannot stand beside it" if extra else ""
            raise ValueError(f"{mark}: {_MEND.get(mark, f'write {{{mark}: ..}}')}{also}")
        if mark in ("$any", "$not_null") and value[mark] is not True:
            raise ValueError(f"{mark}: {_MEND[mark]}")
        return value

    return check


def _tag(value: Any) -> str:
    if isinstance(value, Mapping):
        return next((key for key in value if key.startswith("$")), "scalar")
    if isinstance(value, OneOfMatcher):
        return "$one_of"
    return next((mark for mark, kind in _ALL.items() if kind and type(value) is kind), "scalar")


_InnerValue = Annotated[
    Annotated[Scalar, Tag("scalar")]
    | Annotated[PatternMatcher, Tag("$pattern")]
    | Annotated[CloseMatcher, Tag("$close")]
    | Annotated[DecimalMatcher, Tag("$decimal")]
    | Annotated[InstantMatcher, Tag("$instant")]
    | Annotated[JsonMatcher, Tag("$json")]
    | Annotated[NfcMatcher, Tag("$nfc")],
    Discriminator(_tag),
    BeforeValidator(_checked(_INNER)),
]


class OneOfMatcher(SpecModel):
    """One of several scalars or matchers."""

    options: Annotated[Listed[_InnerValue], Field(min_length=1)] = Field(
        validation_alias="$one_of", serialization_alias="$one_of"
    )


ValueSpec = Annotated[
    Annotated[Scalar, Tag("scalar")]
    | Annotated[IdMatcher, Tag("$id")]
    | Annotated[AnyMatcher, Tag("$any")]
    | Annotated[NotNullMatcher, Tag("$not_null")]
    | Annotated[OneOfMatcher, Tag("$one_of")]
    | Annotated[PatternMatcher, Tag("$pattern")]
    | Annotated[CloseMatcher, Tag("$close")]
    | Annotated[DecimalMatcher, Tag("$decimal")]
    | Annotated[InstantMatcher, Tag("$instant")]
    | Annotated[JsonMatcher, Tag("$json")]
    | Annotated[NfcMatcher, Tag("$nfc")]
    | Annotated[RubricMatcher, Tag("$rubric")],
    Discriminator(_tag),
    BeforeValidator(_checked(_ALL)),
]
"""A value that a check accepts: a scalar, or a matcher."""

Matcher: TypeAlias = (
    IdMatcher
    | AnyMatcher
    | NotNullMatcher
    | OneOfMatcher
    | PatternMatcher
    | CloseMatcher
    | DecimalMatcher
    | InstantMatcher
    | JsonMatcher
    | NfcMatcher
    | RubricMatcher
)
