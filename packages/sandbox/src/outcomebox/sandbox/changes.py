"""What changed in a database: the net changes between its initial and its terminal state.

:func:`terminal_state` compares in full, row by row and value by value. It takes any two states and
is what :mod:`~outcomebox.sandbox.changelog`, the cheap way, has to agree with.

A row has an identity when its table has a primary key and no column of it is NULL. Rows with an
identity are compared by key, keys exactly. All others are bags: equal rows cancel out one by one,
and what remains is deleted or inserted.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from outcomebox.sandbox.backends.sqlite_read import read_state
from outcomebox.sandbox.database import (
    Cells,
    DatabaseState,
    Key,
    Row,
    SchemaError,
    TableInfo,
    Value,
)

__all__ = [
    "Change",
    "DatabaseState",
    "Key",
    "Op",
    "Row",
    "SchemaError",
    "TableInfo",
    "TerminalState",
    "Value",
    "change_from_json",
    "change_order",
    "change_to_json",
    "read_state",
    "row_change",
    "table_changes",
    "terminal_state",
    "value_from_json",
    "value_order",
    "value_to_json",
]

Op: TypeAlias = Literal["insert", "update", "delete"]
Schema: TypeAlias = Mapping[tuple[str, str], tuple[str, str]]
"""As in :attr:`DatabaseState.schema`."""
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Change:
    """One net change of one row between the initial and the terminal state.

    Attributes:
        op: What happened to the row.
        table: Its table.
        key: Its primary key by column; None for a row without identity (an insert or a delete).
        old: The whole row before, generated columns left out; None for an insert.
        new: The whole row after; None for a delete.
        calls: The session's tool calls that wrote to the row, as indices from 0 in ascending
            order; empty where that is not known.
    """

    op: Op
    table: str
    key: Row | None
    old: Row | None
    new: Row | None
    calls: tuple[int, ...] = field(default=(), compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that an update changed; empty for an insert or a delete."""
        if self.old is None or self.new is None:
            return ()
        new = self.new
        return tuple(name for name, value in self.old.items() if name in new and new[name] != value)


@dataclass(frozen=True, slots=True)
class TerminalState:
    """What a backend holds at the end, against its initial state.

    Attributes:
        initial: The state before the episode.
        terminal: The state after it.
        changes: Net row changes, sorted by table, then key; rows without identity last.
        schema_changes: Names of the tables, indexes, views and triggers that were created,
            dropped or altered, sorted.
        calls: The tools that were called, in order, where a session has made calls.
    """

    initial: DatabaseState
    terminal: DatabaseState
    changes: tuple[Change, ...]
    schema_changes: tuple[str, ...]
    calls: tuple[str, ...] = ()

    @property
    def tables(self) -> Mapping[str, TableInfo]:
        """Table infos by name: as the initial state declares them, else the terminal one."""
        if not self.schema_changes:
            return self.initial.tables
        return {**self.terminal.tables, **self.initial.tables}


def terminal_state(initial: DatabaseState, terminal: DatabaseState) -> TerminalState:
    """The terminal state with its changes against the initial one.

    Dropped and created tables count as schema changes, and their rows as deleted and inserted. In a
    table that was altered, rows are compared by the columns that both versions have.
    """
    changes: list[Change] = []
    for table in sorted(initial.tables.keys() | terminal.tables.keys()):
        found = sorted(table_changes(table, initial, terminal), key=change_order)
        changes.extend(found)
    schema = dict(_schema_changes(initial.schema, terminal.schema))
    if initial.own:  # without a log before, one that is there now is no doing of the agent's
        # What the log has on a table goes when the table is dropped, and is no change of its own.
        gone = set(schema.values())
        own = _schema_changes(initial.own, terminal.own)
        schema |= {name: table for name, table in own if table not in gone}
    return TerminalState(initial, terminal, tuple(changes), tuple(sorted(schema)))


def _schema_changes(before: Schema, after: Schema) -> Iterator[tuple[str, str]]:
    """Name and table of what was created, dropped or altered."""
    for kind, name in before.keys() | after.keys():
        entry = before.get((kind, name))
        if entry != after.get((kind, name)):
            yield name, (entry or after[kind, name])[0]


def row_change(
    info: TableInfo, key: Key, old: Cells | None, new: Cells | None, calls: tuple[int, ...] = ()
) -> Change | None:
    """The change of a row with an identity; None if there is none."""
    if old == new:
        return None
    op: Op = "insert" if old is None else "delete" if new is None else "update"
    before, after = (None if cells is None else _row(info, cells) for cells in (old, new))
    return Change(op, info.name, dict(zip(info.key, key, strict=True)), before, after, calls)


def table_changes(table: str, initial: DatabaseState, terminal: DatabaseState) -> Iterator[Change]:
    """The changes of one table, in no order, by a comparison of all its rows."""
    before, after = initial.tables.get(table), terminal.tables.get(table)
    info = before or after
    if info is None:
        return
    before, after = before or info, after or info
    old_rows, new_rows = initial.keyed.get(table, {}), terminal.keyed.get(table, {})
    old_bag, new_bag = initial.bags.get(table, ()), terminal.bags.get(table, ())
    if before == after and old_rows == new_rows and old_bag == new_bag:
        return  # most tables of most episodes
    if before.key != after.key:  # rows of the two versions cannot be paired
        old_bag = (*old_rows.values(), *old_bag)
        new_bag = (*new_rows.values(), *new_bag)
        old_rows, new_rows = {}, {}
    old_shared, new_shared = _shared(before, after)
    for key, old in old_rows.items():
        new = new_rows.get(key)
        names = dict(zip(before.key, key, strict=True))
        if new is None:
            yield Change("delete", table, names, _row(before, old), None)
        elif old != new and old_shared(old) != new_shared(new):
            yield Change("update", table, names, _row(before, old), _row(after, new))
    for key in new_rows.keys() - old_rows.keys():
        names = dict(zip(after.key, key, strict=True))
        yield Change("insert", table, names, None, _row(after, new_rows[key]))
    if old_bag == new_bag and before.columns == after.columns:
        return
    left: defaultdict[Cells, list[Cells]] = defaultdict(list)
    for old in old_bag:
        left[old_shared(old)].append(old)
    for new in new_bag:
        equal = left[new_shared(new)]
        if equal:
            equal.pop()
        else:
            yield Change("insert", table, None, None, _row(after, new))
    for rest in left.values():
        for old in rest:
            yield Change("delete", table, None, _row(before, old), None)


def _shared(before: TableInfo, after: TableInfo) -> tuple[Any, Any]:
    """Two functions from the cells of either version to those of the columns that both have."""
    if before.columns == after.columns:
        return tuple, tuple
    names = [name for name in before.columns if name in after.columns]
    old = [before.columns.index(name) for name in names]
    new = [after.columns.index(name) for name in names]
    return (
        lambda cells: tuple(cells[place] for place in old),
        lambda cells: tuple(cells[place] for place in new),
    )


def _row(info: TableInfo, cells: Cells) -> dict[str, Value]:
    return dict(zip(info.columns, cells, strict=True))


def change_order(change: Change) -> tuple[Any, ...]:
    """A sort key for the changes of one table: by key, rows without identity last."""
    row = change.new if change.old is None else change.old
    identity = row if change.key is None else change.key
    assert identity is not None  # noqa: S101 -- one of old and new is always there
    return (change.key is None, value_order(identity.values()), change.op)


def value_order(values: Iterable[Value]) -> tuple[tuple[int, Any], ...]:
    """A sort key in SQLite's order: NULL, numbers, text, blobs."""
    return tuple(map(_rank, values))


def _rank(value: Value) -> tuple[int, Any]:
    if value is None:
        return (0, 0)
    if isinstance(value, str):
        return (2, value)
    if isinstance(value, bytes):
        return (3, value)
    return (1, value)


def value_to_json(value: Value) -> Any:
    """A value as JSON.

    Blobs become ``{"$blob": hex}``, infinities ``{"$real": "inf" | "-inf"}``, and text that is not
    valid UTF-8 ``{"$text": hex}``; every other value stands for itself.
    """
    if isinstance(value, bytes):
        return {"$blob": value.hex()}
    if isinstance(value, float) and math.isinf(value):
        return {"$real": str(value)}
    if isinstance(value, str) and not value.isascii() and _SURROGATE.search(value):
        return {"$text": value.encode("utf-8", "surrogateescape").hex()}
    return value


def value_from_json(data: Any) -> Value:
    """The value that :func:`value_to_json` wrote.

    Raises:
        ValueError: It wrote no such thing.
    """
    match data:
        case {"$blob": str(text), **rest} if not rest:
            return bytes.fromhex(text)
        case {"$text": str(text), **rest} if not rest:
            return bytes.fromhex(text).decode("utf-8", "surrogateescape")
        case {"$real": "inf" | "-inf" as text, **rest} if not rest:
            return float(text)
        case bool():
            pass
        case None | int() | float() | str():
            return data
    raise ValueError(f"not a recorded value: {data!r}")


def change_to_json(change: Change) -> dict[str, Any]:
    """A change as plain JSON, for records."""
    return {
        "op": change.op,
        "table": change.table,
        "key": _row_to_json(change.key),
        "old": _row_to_json(change.old),
        "new": _row_to_json(change.new),
        "calls": list(change.calls),
    }


def change_from_json(data: Mapping[str, Any]) -> Change:
    """The change that :func:`change_to_json` wrote.

    Raises:
        ValueError: A value or the operation is none it writes.
        KeyError: A field other than ``calls`` is missing.
    """
    op = data["op"]
    if op not in ("insert", "update", "delete"):
        raise ValueError(f"not a recorded change: op is {op!r}")
    key, old, new = (_row_from_json(data[name]) for name in ("key", "old", "new"))
    return Change(op, data["table"], key, old, new, tuple(data.get("calls", ())))


def _row_to_json(row: Row | None) -> dict[str, Any] | None:
    return None if row is None else {name: value_to_json(value) for name, value in row.items()}


def _row_from_json(data: Mapping[str, Any] | None) -> Row | None:
    return None if data is None else {name: value_from_json(value) for name, value in data.items()}
