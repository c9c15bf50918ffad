"""From the changes of a replay to what an `expect` block says about them, row by row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from outcomebox.reward.derive.ids import Ids, generated_ids
from outcomebox.reward.derive.known import Known
from outcomebox.reward.derive.words import Advice, own_words
from outcomebox.reward.golden import GoldenRun
from outcomebox.reward.ignored import Ignored, relevant_changes
from outcomebox.sandbox import Change, Task, Value
from outcomebox.sandbox.changes import Op, change_order
from outcomebox.sandbox.expect import Expect, TableExpect

CellKey = tuple[str, str, tuple[Value, ...] | None, str]
"""op, table, key values, column."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What a column must hold, as it is written in a task file.

    Attributes:
        spec: A plain value or a matcher as an object.
        advice: Why a person should look, and what else could be written; None if nothing is open.
    """

    spec: Any
    advice: Advice | None = None


@dataclass(frozen=True, slots=True)
class RowDraft:
    """One row of an `expect` block.

    Attributes:
        change: The change that it is about.
        key: The key of an update or a delete; None otherwise.
        cells: What the columns of an insert or an update must hold; the whole row for a delete of
            a row without identity.
    """

    change: Change
    key: Mapping[str, Any] | None
    cells: Mapping[str, Cell]

    @property
    def op(self) -> Op:
        """insert, update or delete."""
        return self.change.op

    @property
    def table(self) -> str:
        """The row's table."""
        return self.change.table

    def plain(self) -> dict[str, Any]:
        """The row as it stands in its list."""
        values = {column: cell.spec for column, cell in self.cells.items()}
        if self.op == "insert":
            return values
        if self.op == "update":
            return {"key": dict(self.key or {}), "set": values}
        return {"row": values} if self.key is None else {"key": dict(self.key)}


@dataclass(frozen=True)
class Draft:
    """An `expect` block as derived.

    Attributes:
        rows: Its rows in the order of the calls that wrote them.
        ids: The generated ids and their labels.
        problems: What cannot be said in an `expect` block.
    """

    rows: tuple[RowDraft, ...]
    ids: Ids
    problems: tuple[str, ...] = ()

    def plain(self) -> dict[str, dict[str, list[Any]]]:
        """The block as JSON, tables in the order of their first row."""
        return plain_block(self.rows)

    def expect(self) -> Expect:
        """The block as a check reads it."""
        return expect_of(self.plain())


def plain_block(rows: tuple[RowDraft, ...]) -> dict[str, dict[str, list[Any]]]:
    """Rows as an `expect` block in JSON: by table, then insert, update, delete."""
    block: dict[str, dict[str, list[Any]]] = {}
    for row in rows:
        block.setdefault(row.table, {})
    for op in ("insert", "update", "delete"):
        for row in rows:
            if row.op == op:
                block[row.table].setdefault(op, []).append(row.plain())
    return block


def expect_of(block: Mapping[str, Any]) -> Expect:
    """An `expect` block in JSON as a check reads it."""
    return {table: TableExpect.model_validate(entry) for table, entry in block.items()}


def draft_expect(
    task: Task, run: GoldenRun, varying: Mapping[CellKey, Cell] | None = None
) -> Draft:
    """The strictest `expect` block that a replay's terminal state fits, whoever made the ids.

    Every changed cell is listed by its exact value; generated ids are labelled. Columns that hold
    their declared default are left out of inserts, as are columns that the task ignores.

    Args:
        task: The task.
        run: A replay of its golden calls.
        varying: What to write for cells that differ between replays.
    """
    ignored = Ignored(task.ignore)
    changes = sorted(relevant_changes(run.state.changes, ignored), key=written)
    known = Known(task, run)
    ids = generated_ids(known, changes)
    problems = [
        f"{name} was created, dropped or altered, which no expect block can allow"
        for name in run.state.schema_changes
    ]
    rows = []
    for change in changes:
        row = _row(change, known, ids, ignored, varying or {})
        rows.append(row)
        problems += _unwritable(row)
    return Draft(tuple(rows), ids, tuple(problems))


def cell_key(change: Change, column: str) -> CellKey:
    """What names a cell of a change."""
    key = None if change.key is None else tuple(change.key.values())
    return change.op, change.table, key, column


def plain_value(value: Value) -> Any:
    """A value as a task file writes it.

    Raises:
        ValueError: A task file has no way to write it.
    """
    if isinstance(value, bytes):
        return {"$blob": value.hex()}
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} cannot be written")
    if isinstance(value, str) and any("\ud800" <= mark <= "\udfff" for mark in value):
        raise ValueError("text that is not UTF-8 cannot be written")
    return value


def written(change: Change) -> tuple[Any, ...]:
    """A sort key: by the call that wrote a row first, then by table and key."""
    first = change.calls[0] if change.calls else 0
    return (first, change.table, change_order(change))


def _row(
    change: Change, known: Known, ids: Ids, ignored: Ignored, varying: Mapping[CellKey, Cell]
) -> RowDraft:
    if change.op == "delete" and change.key is not None:
        return RowDraft(change, {name: _loose(value) for name, value in change.key.items()}, {})
    if change.op == "delete":
        cells = {
            column: Cell(_loose(value))
            for column, value in (change.old or {}).items()
            if not ignored.column(change.table, column)
        }
        return RowDraft(change, None, cells)
    cells = dict(_cells(change, known, ids, ignored, varying))
    if change.op == "insert":
        if not cells:  # nothing but defaults in a row without a key: one of them says so
            name, value = next(iter((change.new or {}).items()))
            cells = {name: Cell(_loose(value))}
        return RowDraft(change, None, cells)
    return RowDraft(change, {name: _loose(v) for name, v in (change.key or {}).items()}, cells)


def _cells(
    change: Change, known: Known, ids: Ids, ignored: Ignored, varying: Mapping[CellKey, Cell]
) -> Iterator[tuple[str, Cell]]:
    info = known.run.state.tables[change.table]
    row = change.new or {}
    columns = info.columns if change.op == "insert" else change.columns
    for column in columns:
        if ignored.column(change.table, column):
            continue
        value = row.get(column)
        differs = varying.get(cell_key(change, column))
        label = ids.label(change.table, column, change, value)
        if label is not None:
            yield column, Cell({"$id": label})
        elif differs is not None:
            yield column, differs
        elif (
            change.op == "insert"
            and column not in info.key
            and column not in info.computed
            and value == info.defaults.get(column)
        ):
            continue
        else:
            yield column, Cell(_loose(value), own_words(known, value) or _lost(value))


def _loose(value: Value) -> Any:
    try:
        return plain_value(value)
    except ValueError:
        return {"$not_null": True}


def _lost(value: Value) -> Advice | None:
    try:
        plain_value(value)
    except ValueError as error:
        return Advice(f"{error}, so anything but NULL passes here")
    return None


def _unwritable(row: RowDraft) -> Iterator[str]:
    """Keys and deleted rows hold plain values only."""
    plain = row.key or ({n: c.spec for n, c in row.cells.items()} if row.op == "delete" else {})
    for column, spec in plain.items():
        if spec == {"$not_null": True}:
            yield f"{row.table}.{column}: a row to {row.op} is named by a value no file can hold"
