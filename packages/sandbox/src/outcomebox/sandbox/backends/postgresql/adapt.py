"""Values between PostgreSQL and Python.

A stored value is read as one of ``None | int | float | str | bytes``:

===============================  =================================================================
``boolean``                      1 or 0
``smallint integer bigint oid``  int
``real double precision``        float; NaN is the text ``NaN``
``numeric``                      its exact text, such as ``7.50``
``text varchar char name``       str
``bytea``                        bytes
``timestamptz``, ``timestamp``   ISO 8601: ``2026-03-02T09:00:00Z`` in UTC; without ``Z`` for the
                                 second
everything else                  PostgreSQL's own text (json, jsonb, uuid, date, arrays, ranges ..)
                                 under :data:`SETTINGS`
===============================  =================================================================

A tool reads the same, but for ``numeric``, which sums and averages are: a whole number is an int,
any other a float.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import psycopg
from psycopg import adapt, postgres
from psycopg.types import numeric, string

SETTINGS = {
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
}
"""Settings that decide what a value's text is, the same in every connection of ours."""

_MOMENT = re.compile(r"(\d+-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(\+00)?\Z")


class _Bool(adapt.Loader):
    def load(self, data: adapt.Buffer) -> int:
        return int(bytes(data) == b"t")


class _Float(adapt.Loader):
    def load(self, data: adapt.Buffer) -> float | str:
        number = float(bytes(data))
        return number if number == number else "NaN"  # noqa: PLR0124 -- NaN is not itself


class _Moment(adapt.Loader):
    def load(self, data: adapt.Buffer) -> str:
        text = bytes(data).decode()
        # Infinities and years before 1 have no other writing.
        found = _MOMENT.match(text)
        if found is None:
            return text
        return f"{found[1]}T{found[2]}{'Z' if found[3] else ''}"


class _Number(adapt.Loader):
    def load(self, data: adapt.Buffer) -> int | float | str:
        text = bytes(data).decode()
        if text.lstrip("-").isdecimal():
            return int(text)
        return text if text == "NaN" else float(text)


class _Flag(adapt.Dumper):
    """A truth value as a text that both a boolean and a number may be written as."""

    def dump(self, obj: bool) -> bytes:
        return b"1" if obj else b"0"


class _Int(adapt.Dumper):
    """Integers as literals have them: 4 bytes where they fit, else 8, else numeric."""

    oid = postgres.types["int4"].oid

    def get_key(self, obj: int, format: adapt.PyFormat) -> Any:  # noqa: A002, ARG002 -- psycopg's
        if -(2**31) <= obj < 2**31:
            return self.cls
        return (self.cls, _Int8 if -(2**63) <= obj < 2**63 else _IntNumeric)

    def upgrade(self, obj: int, format: adapt.PyFormat) -> adapt.Dumper:  # noqa: A002 -- psycopg's
        key = self.get_key(obj, format)
        return self if key is self.cls else key[1](self.cls, self.connection)

    def dump(self, obj: int) -> bytes:
        return str(int(obj)).encode()


class _Int8(_Int):
    oid = postgres.types["int8"].oid


class _IntNumeric(_Int):
    oid = postgres.types["numeric"].oid


class _Literal(adapt.Dumper):
    """A number as a literal without a type, so that it becomes what its column is."""

    def dump(self, obj: float) -> bytes:
        return repr(obj).encode()


def _base() -> adapt.AdaptersMap:
    made = adapt.AdaptersMap(psycopg.adapters)
    for info in postgres.types:
        for oid in (info.oid, info.array_oid):
            if oid:
                made.register_loader(oid, string.TextLoader)
    for name in ("int2", "int4", "int8", "oid"):
        made.register_loader(name, numeric.IntLoader)
    for name, loader in (
        ("bool", _Bool),
        ("float4", _Float),
        ("float8", _Float),
        ("timestamp", _Moment),
        ("timestamptz", _Moment),
        ("bytea", string.ByteaLoader),
    ):
        made.register_loader(name, loader)
    made.register_dumper(bool, _Flag)
    return made


@cache
def stored() -> adapt.AdaptersMap:
    """For the harness: reads values as they are compared, writes them as their columns want."""
    made = _base()
    made.register_dumper(int, _Literal)
    made.register_dumper(float, _Literal)
    return made


@cache
def served() -> adapt.AdaptersMap:
    """For tools: reads numbers as numbers, writes integers as the integers they are."""
    made = _base()
    made.register_loader("numeric", _Number)
    made.register_dumper(int, _Int)
    return made
