"""Whether a check means something, and can be met in a database with given tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from outcomebox.sandbox.database import Row, TableInfo, Value
from outcomebox.sandbox.expect import Alternative, Matcher, TableExpect
from outcomebox.sandbox.task import NO_CHANGE
from outcomebox.sandbox.valuespec import SpecModel

ALL = "*"
"""Every table, or every column."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """Columns that count nowhere.

    Attributes:
        ignore: table (or ``*``) -> column (or ``*``) -> reason.
    """

    ignore: Mapping[str, Mapping[str, str]]

    def whole(self, table: str) -> bool:
        """Whether nothing of a table counts, its schema included."""
        return ALL in self.ignore.get(table, {})

    def column(self, table: str, column: str) -> bool:
        """Whether a column does not count."""
        own = self.ignore.get(table, {})
        return column in own or ALL in own or column in self.ignore.get(ALL, {})


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in an end state that does not fit the tables.

    Attributes:
        field: Where it stands, such as ``expect.orders.update.0.key``.
        message: What is wrong, and what to write instead.
        value: What was found there, as JSON; None if the message says it.
    """

    field: str
    message: str
    value: object = None


def end_problems(end: Alternative, tables: Mapping[str, TableInfo]) -> Iterator[Problem]:
    """What does not fit, each with its place in the end state. Names are compared exactly."""
    ignored = Ignored(end.ignore)
    for table, expected in end.expect.items():
        field = f"expect.{table}"
        if table not in tables:
            yield Problem(field, f"there is no table {table}{_there_are(table, tables)}")
        else:
            yield from _table_problems(field, tables[table], expected, ignored)
    for table, columns in end.ignore.items():
        field = f"ignore.{table}"
        known: Iterable[str] = {name for info in tables.values() for name in info.columns}
        if table in tables:
            known = tables[table].columns
        elif table != ALL:
            if ALL not in columns:  # else a table that the tools may make for themselves
                message = (
                    f"there is no table {table}{_there_are(table, tables)}; for one that the tools "
                    "may make, ignore the column *"
                )
                yield Problem(field, message)
            continue
        for column in columns:
            if column != ALL and column not in known:
                yield Problem(field, f"{table} has no column {column}{_there_are(column, known)}")


def contradictions(ends: Sequence[Alternative], *, read_only: bool) -> Iterator[Problem]:
    """What makes a check say nothing, or two things at once, whatever the tables are.

    Args:
        ends: All accepted end states, the main one first.
        read_only: Whether no change at all is a right end.
    """
    names = [end.name for end in ends]
    for number, end in enumerate(ends):
        if end.name in names[:number]:
            message = f"two accepted end states are called {end.name!r}; rename one"
            yield Problem(place_of(number, "name"), message)
        if not end.expect and not read_only:
            message = (
                f"{end.name}: lists no change, so an agent that does nothing would pass; list the "
                f"changes that are due, or mark the check read_only (a task: the tag {NO_CHANGE})"
            )
            yield Problem(place_of(number, "expect"), message)
        yield from _unclear(number, end)
    if read_only and all(end.expect for end in ends):
        message = (
            "the check is marked read_only, but every accepted end state lists changes; take the "
            "mark away, or accept an end state without changes"
        )
        yield Problem(place_of(0, "expect"), message)


def place_of(number: int, field: str) -> str:
    """The place of a field of an end state in its task, by the end state's number."""
    return field if number == 0 else f"accept_also.{number - 1}.{field}"


def _unclear(number: int, end: Alternative) -> Iterator[Problem]:
    """What is both listed and left out: one of the two does not mean what it says."""
    ignored = Ignored(end.ignore)
    if ALL in end.ignore.get(ALL, {}):
        message = f"{end.name}: ignores every column of every table; name them"
        yield Problem(place_of(number, f"ignore.{ALL}"), message)
        return
    for table, expected in end.expect.items():
        field = place_of(number, f"expect.{table}")
        if ignored.whole(table):
            message = f"{end.name}: lists changes of {table}, which is ignored in full"
            yield Problem(field, f"{message}; take out one of the two")
            continue
        rows = (*expected.insert, *(update.set for update in expected.update))
        for column in dict.fromkeys(column for row in rows for column in row):
            if ignored.column(table, column):
                message = f"{end.name}: lists a value for {table}.{column}, which is ignored"
                yield Problem(field, f"{message}; take out one of the two")


def _table_problems(
    field: str, info: TableInfo, expected: TableExpect, ignored: Ignored
) -> Iterator[Problem]:
    for number, row in enumerate(expected.insert):
        yield from _unknown(f"{field}.insert.{number}", info, row)
    for number, update in enumerate(expected.update):
        place = f"{field}.update.{number}"
        yield from _unknown(f"{place}.set", info, update.set)
        yield from _key_problems(f"{place}.key", info, update.key)
        for column in update.set:
            if column in info.key:
                message = (
                    f"sets the key column {column}; a new key is another row, so list a delete "
                    "and an insert"
                )
                yield Problem(f"{place}.set", message, _plain(update.key))
    for number, delete in enumerate(expected.delete):
        place = f"{field}.delete.{number}"
        if delete.key is not None:
            yield from _key_problems(f"{place}.key", info, delete.key)
        elif delete.row is not None:
            yield from _row_problems(f"{place}.row", info, delete.row, ignored)
    yield from _insert_problems(field, info, expected, ignored)


def _unknown(field: str, info: TableInfo, row: Mapping[str, Any]) -> Iterator[Problem]:
    for column in row:
        if column not in info.columns:
            message = f"{info.name} has no column {column} to compare"
            yield Problem(field, message + _there_are(column, info.columns))


def _key_problems(field: str, info: TableInfo, key: Row) -> Iterator[Problem]:
    if not info.key:
        message = (
            f"{info.name} has no primary key, so this names no row; list the row as a delete "
            "{row: ..} and as an insert"
        )
    elif set(key) != set(info.key):
        message = f"the primary key of {info.name} is ({', '.join(info.key)}); write all of it"
    elif None in key.values():
        message = (
            "a row with NULL in the key has no identity; list it as a delete {row: ..} and as an "
            "insert"
        )
    else:
        return
    yield Problem(field, message, _plain(key))


def _row_problems(field: str, info: TableInfo, row: Row, ignored: Ignored) -> Iterator[Problem]:
    yield from _unknown(field, info, row)
    if info.key and all(row.get(column) is not None for column in info.key):
        yield Problem(field, "the row has a primary key; write {key: ..}", _plain(row))
    for column in info.columns:
        if column not in row and not ignored.column(info.name, column):
            message = f"{column} is missing; list every column of the row"
            yield Problem(field, message, _plain(row))


def _insert_problems(
    field: str, info: TableInfo, expected: TableExpect, ignored: Ignored
) -> Iterator[Problem]:
    keys = [edit.key for edit in expected.update] + [edit.key for edit in expected.delete]
    known = {_identity(key) for key in keys if key is not None}
    for number, row in enumerate(expected.insert):
        place = f"{field}.insert.{number}"
        for column in info.columns:
            if column in row or ignored.column(info.name, column):
                continue
            if column in info.computed:
                message = (
                    f"{column} is not listed and its default differs on every run; list it, such "
                    "as {$not_null: true}, or ignore it with a reason"
                )
                yield Problem(place, message, _plain(row))
            elif column in info.key and column not in info.defaults:
                message = (
                    f"the key column {column} is not listed; write {{$id: label}} for a generated "
                    "id"
                )
                yield Problem(place, message, _plain(row))
        key = {column: row.get(column, info.defaults.get(column)) for column in info.key}
        fixed = {
            column: value
            for column, value in key.items()
            if value is not None and not isinstance(value, SpecModel)
        }
        if fixed and len(fixed) == len(key):
            if _identity(fixed) in known:
                message = "this row is named twice; say everything about a row in one entry"
                yield Problem(place, message, _plain(key))
            known.add(_identity(fixed))


def _identity(key: Row) -> frozenset[tuple[str, Value]]:
    return frozenset(key.items())


def _there_are(name: str, known: Iterable[str]) -> str:
    """What there is, or what was meant if it differs in case only."""
    listed = sorted(known)
    alike = [each for each in listed if each.casefold() == name.casefold()]
    if alike:
        return f"; write {alike[0]}, with case as declared"
    return f"; there are {', '.join(listed)}"


def _plain(row: Mapping[str, Value | Matcher]) -> dict[str, Any]:
    """A row as it is written in a check."""
    return {
        column: spec.model_dump(mode="json")
        if isinstance(spec, BaseModel)
        else {"$blob": spec.hex()}
        if isinstance(spec, bytes)
        else spec
        for column, spec in row.items()
    }
