"""What servers of the ThinkingBox form tell of their state, as tables of rows.

The form leaves open what effects hold. Servers that keep a database tell it under
``result_db_state``; of any other, everything counts that is not said to be the start, the golden
end, a hash, a difference or a rubric.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
Tables: TypeAlias = dict[str, list[Row]]

RESULT = "result_db_state"
KEY = "(key)"
"""The column that holds the key where a table is told as a mapping from key to row."""
_VALUE = "(value)"
_BESIDE = ("initial_", "golden_", "result_db_hash", "diff", "rubrics")


@dataclass(frozen=True, slots=True)
class Cell:
    """A place where two states differ.

    Attributes:
        table: The table, with its server's name before it where there are several.
        column: The column; None where a whole row is there in one of them only.
        key: What tells the row from others, by column; None where nothing does.
    """

    table: str
    column: str | None
    key: Row | None = None


def tables_of(effects: Mapping[str, Any]) -> Tables:
    """The tables of all servers at one moment.

    Args:
        effects: What the servers told, by server.
    """
    found: Tables = {}
    for server, told in effects.items():
        for table, held in _state(told).items():
            found[f"{server}.{table}" if len(effects) > 1 else table] = _rows(held)
    return found


def canonical(value: Any) -> str:
    """A JSON value as text that is the same for the same value."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def same(one: Tables, other: Tables) -> bool:
    """Whether two states hold the same rows, in whatever order."""
    return all(
        Counter(map(canonical, one.get(table, ()))) == Counter(map(canonical, other.get(table, ())))
        for table in {*one, *other}
    )


def differences(one: Tables, other: Tables) -> list[Cell]:
    """Where two states differ, a cell each; rows are paired by what identifies them in both."""
    found: list[Cell] = []
    for table in [*one, *(name for name in other if name not in one)]:
        found += _differences(table, one.get(table, []), other.get(table, []))
    return found


def landed(tables: Tables, text: str) -> list[Cell]:
    """The cells that hold a text, alone or within more."""
    found: list[Cell] = []
    for table, rows in tables.items():
        name = identity(rows)
        for row in rows:
            found += [
                Cell(table, column, None if name is None else {name: row[name]})
                for column, value in row.items()
                if any(isinstance(each, str) and text in each for each in scalars(value))
            ]
    return found


def scalars(value: Any) -> Iterator[Any]:
    """All scalars in a JSON value."""
    if isinstance(value, dict):
        for each in value.values():
            yield from scalars(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from scalars(each)
    else:
        yield value


def identity(rows: list[Row]) -> str | None:
    """A column whose values tell all rows apart: the first such, ``id`` before others."""
    if not rows:
        return None
    names = sorted(rows[0], key=lambda name: name not in {KEY, "id"})
    for name in names:
        values = {
            value for row in rows if isinstance(value := row.get(name), str | int) and value != ""
        }
        if len(values) == len(rows):
            return name
    return None


def _state(told: Any) -> Mapping[str, Any]:
    if not isinstance(told, dict):
        return {_VALUE: told}
    state = told.get(RESULT)
    if isinstance(state, dict):
        return state
    return {name: held for name, held in told.items() if not name.startswith(_BESIDE)}


def _rows(held: Any) -> list[Row]:
    if isinstance(held, dict) and held and all(isinstance(row, dict) for row in held.values()):
        return [{KEY: key, **row} for key, row in held.items()]
    if isinstance(held, list):
        return [row if isinstance(row, dict) else {_VALUE: row} for row in held]
    if isinstance(held, dict):
        return [held] if held else []
    return [{_VALUE: held}]


def _differences(table: str, one: list[Row], other: list[Row]) -> Iterator[Cell]:
    name = identity(one) or identity(other)
    if name is None or name != (identity(other) or name):
        left = Counter(map(canonical, one))
        right = Counter(map(canonical, other))
        if left != right:
            yield Cell(table, None)
        return
    before = {row.get(name): row for row in one}
    after = {row.get(name): row for row in other}
    for key in [*before, *(key for key in after if key not in before)]:
        where = {name: key}
        if key not in before or key not in after:
            yield Cell(table, None, where)
            continue
        old, new = before[key], after[key]
        for column in [*old, *(column for column in new if column not in old)]:
            if canonical(old.get(column)) != canonical(new.get(column)):
                yield Cell(table, column, where)
