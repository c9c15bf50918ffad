"""Reads short rows by the million: those that differ from one row in the facts alone.

A row is written out again with holes for its facts; the text between the holes is its shape. Lines
of one shape are cut at their quotes by polars' CSV reader, which takes the facts out of the columns
where the holes are. A line that is the shape from its first byte to its last, with plain texts and
whole numbers in the holes, is JSON that says just these facts. Any other line is left to whoever
reads rows one by one, so nothing is read that would not be read there, and nothing else.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from outcomebox.selection.errors import InputError
from outcomebox.selection.reading.facts import (
    COUNT_LIMIT,
    FACTS,
    Rows,
    add_row,
)
from outcomebox.selection.reading.fields import Fields
from outcomebox.selection.rowfile import CHECKSUM

_TEXTS = ("uid", "outcome", "domain", "family", "hash", "content")
_NUMBERS = ("repetition", "try")
# A text without JSON's escapes and what it does not allow; a number as it would be written again.
_TEXT, _NUMBER = r'[^"\\\x00-\x1f]+', "(?:0|[1-9][0-9]*)"
_STYLES: tuple[dict[str, Any], ...] = (
    {"separators": (",", ":"), "ensure_ascii": False},
    {"separators": (", ", ": "), "ensure_ascii": False},
    {"separators": (",", ":"), "ensure_ascii": True},
    {"separators": (", ", ": "), "ensure_ascii": True},
)
# Of the private use area, so that no row holds them by chance; a row that does has no shape.
_OPEN, _CLOSE = "\ue0f1", "\ue0f2"


class Hole(NamedTuple):
    """Where lines of a shape may differ.

    Attributes:
        field: the fact that stands there.
        column: which of the pieces between quotes holds it, from 0.
        before: text of that piece before the fact; only numbers have some.
        after: text of that piece behind it.
    """

    field: str
    column: int
    before: str
    after: str


@dataclass(frozen=True)
class Shape:
    """What many rows share.

    Attributes:
        pieces: the pieces between quotes that a line of this shape has.
        holes: in the order of the line.
        constants: facts that all lines of this shape share.
        pattern: the lines that have it, as a regular expression.
    """

    pieces: int
    holes: tuple[Hole, ...]
    constants: Mapping[str, Any]
    pattern: str

    def read(self, data: bytes, lines: pl.Series) -> tuple[pl.DataFrame, pl.Series] | None:
        """Reads the lines that have this shape.

        Args:
            data: some lines.
            lines: the same lines as texts.

        Returns:
            The facts of those that have it, as in `FACTS` with the position of the line from 0 for
            its number, and for every line whether it has it. None if polars cannot cut the lines.
        """
        columns = {
            # Categories of their own: they go when the numbers are read, and count from 0.
            f"column_{hole.column}": pl.Categorical(pl.Categories.random())
            if hole.field in _NUMBERS
            else pl.String()
            for hole in self.holes
        }
        try:
            cut = pl.read_csv(
                io.BytesIO(data),
                has_header=False,
                separator='"',
                quote_char=None,
                schema={
                    name: columns.get(name, pl.String())
                    for name in (f"column_{n}" for n in range(self.pieces))
                },
                columns=sorted(columns),
                truncate_ragged_lines=True,
            )
        except pl.exceptions.PolarsError:
            return None
        if cut.height != lines.len():
            return None
        facts = pl.DataFrame([_fact(cut[f"column_{hole.column}"], hole) for hole in self.holes])
        facts = facts.with_columns(
            pl.col(name).cast(FACTS[name], strict=False) for name in _TEXTS if name in facts.columns
        )
        told = facts.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
        fits = lines.str.contains(self.pattern) & told
        whole = facts.with_columns(
            *(pl.lit(value, FACTS[name]).alias(name) for name, value in self.constants.items()),
            line=pl.int_range(pl.len(), dtype=pl.Int64),
        ).select(*FACTS)
        return whole if fits.all() else whole.filter(fits), fits


def _fact(column: pl.Series, hole: Hole) -> pl.Series:
    """What stands in a hole of every line; null where it is no such fact."""
    if hole.field in _TEXTS:
        return column.alias(hole.field)
    # Each distinct number is read once: the same few stand in most rows.
    each = column.unique().drop_nulls()
    digits = each.cast(pl.String).str.strip_prefix(hole.before).str.strip_suffix(hole.after)
    # A number that is written otherwise than it would be again does not fit.
    number = digits.cast(pl.Int64, strict=False)
    number = number.set(~number.is_between(0, COUNT_LIMIT - 1), None)
    codes = each.to_physical()
    known = pl.Series([None], dtype=pl.Int64).new_from_index(0, 1 + max(codes, default=0))
    return known.scatter(codes, number).gather(column.to_physical()).alias(hole.field)


def shape_of(line: bytes, fields: Fields) -> Shape | None:
    """The shape of a row.

    Args:
        line: the row.
        fields: where it has its facts.

    Returns:
        The shape; None where rows like it have to be read one by one.
    """
    try:
        text = line.decode().rstrip("\n")
        row = json.loads(text)
        rows = Rows()
        add_row(row, fields, "", 0, rows)
    except (ValueError, InputError):
        return None
    # A checksum would have to be checked. What marks an error decides what the outcome may be.
    if CHECKSUM in row or fields.get(row, "system_error") not in (None, False):
        return None
    if _OPEN in text or _CLOSE in text or "\\" in text:
        return None
    style = next((s for s in _STYLES if json.dumps(row, **s) == text), None)
    if style is None:
        return None
    known: dict[str, Any] = rows.frame().row(0, named=True)
    for field in (*_TEXTS, *_NUMBERS):
        value = fields.get(row, field)
        if value is None:
            continue
        if isinstance(value, bool):
            return None
        _put(row, fields.name(field), f"{_OPEN}{field}{_CLOSE}")
    holed = json.dumps(row, **{**style, "ensure_ascii": False})
    for field in _NUMBERS:
        holed = holed.replace(f'"{_OPEN}{field}{_CLOSE}"', f"{_OPEN}{field}{_CLOSE}")
    return _cut(holed, known)


def _put(row: dict[str, Any], name: str, value: str) -> None:
    *parts, last = name.split(".")
    for part in parts:
        row = row[part]
    row[last] = value


def _cut(holed: str, known: Mapping[str, Any]) -> Shape | None:
    first, *rest = holed.split(_OPEN)
    between, fields = [first], []
    for part in rest:
        field, text = part.split(_CLOSE)
        fields.append(field)
        between.append(text)
    if len(set(fields)) != len(fields) or not {"uid", "outcome"} <= set(fields):
        return None
    holes, quotes = [], 0
    for field, before, after in zip(fields, between, between[1:], strict=False):
        quotes += before.count('"')
        holes.append(Hole(field, quotes, before.rpartition('"')[2], after.partition('"')[0]))
    if len({hole.column for hole in holes}) != len(holes):
        return None  # two numbers in one piece
    constants = {name: value for name, value in known.items() if name not in (*fields, "line")}
    pieces = quotes + between[-1].count('"') + 1
    parts = [pl.escape_regex(text) for text in between]
    for number, field in enumerate(fields):
        parts[number] += _NUMBER if field in _NUMBERS else _TEXT
    return Shape(pieces, tuple(holes), constants, rf"\A{''.join(parts)}\z")
