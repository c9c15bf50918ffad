"""Values in words, short and never ambiguous: what two different values show is different too."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from outcomebox.reward.matchers import Spec
from outcomebox.sandbox.changes import Row, Value, value_to_json

_LIMIT = 60  # characters of one value that a message shows
_COLUMNS = 12  # columns of one row that a message shows
_WINDOW = 20  # characters shown on either side of the first difference of two long texts


def spec_to_json(spec: Spec) -> Any:
    """What a check accepts, as it is written in the check."""
    return spec.model_dump(mode="json") if isinstance(spec, BaseModel) else value_to_json(spec)


def row_to_json(row: Mapping[str, Spec]) -> dict[str, Any]:
    """A row of values or matchers as JSON."""
    return {column: spec_to_json(spec) for column, spec in row.items()}


def show(spec: Spec) -> str:
    """A value or a matcher, shortened."""
    if isinstance(spec, str):
        return show_text(spec)
    if spec is None:
        return "NULL"
    if isinstance(spec, BaseModel):
        return _cut(json.dumps(spec_to_json(spec), ensure_ascii=False))
    if isinstance(spec, bytes):
        return f"x'{spec[: _LIMIT // 2].hex()}'{_more(spec, _LIMIT // 2, 'bytes')}"
    return repr(spec)


def show_text(text: str) -> str:
    """Text in quotes; with code points where it is not in composed form or not printable."""
    start = text[:_LIMIT]
    shown = repr(start) if unicodedata.is_normalized("NFC", start) else ascii(start)
    return shown + _more(text, _LIMIT, "characters")


def show_row(row: Mapping[str, Spec]) -> str:
    """A row, its values shortened."""
    shown = [f"{column}: {show(spec)}" for column, spec in row.items()]
    if len(shown) > _COLUMNS:
        shown[_COLUMNS:] = [f"and {len(shown) - _COLUMNS} columns more"]
    return "{" + ", ".join(shown) + "}"


def show_key(key: Row | None) -> str:
    """A primary key as ``column=value``; code points for all that is not ASCII. Empty for None."""
    if key is None:
        return ""
    parts = [f"{name}={ascii(v) if isinstance(v, str) else show(v)}" for name, v in key.items()]
    return " " + ", ".join(parts)


def show_difference(expected: Spec, found: Value, word: str = "expected") -> str:
    """``found`` against ``expected``; for two texts that look alike, where they part."""
    if not (isinstance(expected, str) and isinstance(found, str)):
        return f"{show(found)}, {word} {show(expected)}"
    if max(len(expected), len(found)) <= _LIMIT and (expected + found).isascii():
        return f"{show_text(found)}, {word} {show_text(expected)}"
    pairs = enumerate(zip(expected, found, strict=False))
    at = next((place for place, (a, b) in pairs if a != b), min(len(expected), len(found)))
    return (
        f"{_around(found, at)}, {word} {_around(expected, at)}; they differ at character "
        f"{at + 1}: {_point(found, at)}, {word} {_point(expected, at)}"
    )


def _around(text: str, at: int) -> str:
    if len(text) <= _LIMIT:
        return show_text(text)
    start, end = max(0, at - _WINDOW), min(len(text), at + _WINDOW)
    before, after = "..." if start else "", "..." if end < len(text) else ""
    return f"{before}{show_text(text[start:end])}{after} ({len(text)} characters)"


def _point(text: str, at: int) -> str:
    return f"U+{ord(text[at]):04X}" if at < len(text) else "the end"


def _cut(shown: str) -> str:
    return shown[:_LIMIT] + _more(shown, _LIMIT, "characters")


def _more(whole: str | bytes, limit: int, unit: str) -> str:
    return "" if len(whole) <= limit else f"... ({len(whole)} {unit})"
