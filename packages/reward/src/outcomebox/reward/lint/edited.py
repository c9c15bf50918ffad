"""Terminal states that differ a little from another one, made in memory.

A mutant shares everything with the state it comes from, except for the rows that were edited, so
its cost does not grow with the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from outcomebox.sandbox.changes import (
    Change,
    DatabaseState,
    Key,
    Row,
    TableInfo,
    TerminalState,
    change_order,
)
from outcomebox.sandbox.database import Cells


@dataclass(frozen=True, slots=True)
class Edit:
    """One row of the terminal state that is to be another.

    Attributes:
        table: Its table.
        old: The row as it stands there, or None to add one.
        new: The row that is to be there instead, or None to take it out. Where it has another
            primary key than ``old``, it is another row.
    """

    table: str
    old: Row | None
    new: Row | None


class _Edited(Mapping[Key, Cells]):
    """Rows by key with a few of them replaced, added or (None) taken out."""

    def __init__(self, base: Mapping[Key, Cells], edits: Mapping[Key, Cells | None]) -> None:
        self._base = base
        self._edits = edits

    def __getitem__(self, key: Key) -> Cells:
        if key in self._edits:
            cells = self._edits[key]
            if cells is None:
                raise KeyError(key)
            return cells
        return self._base[key]

    def __iter__(self) -> Iterator[Key]:
        yield from (key for key in self._base if key not in self._edits)
        yield from (key for key, cells in self._edits.items() if cells is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def identity(info: TableInfo, row: Row) -> Key | None:
    """The key of a row; None without a primary key or with NULL in it."""
    key = tuple(row[column] for column in info.key)
    return None if not key or None in key else key


def edited(state: TerminalState, edits: Iterable[Edit]) -> TerminalState:
    """A terminal state with some rows edited, and with the net changes that follow from it.

    Args:
        state: The state to start from.
        edits: What to edit; each row in one edit at most.
    """
    keyed: dict[str, dict[Key, Row | None]] = {}
    taken: list[tuple[str, Row]] = []
    added: list[tuple[str, Row]] = []
    for edit in edits:
        info = state.tables[edit.table]
        for row, new in ((edit.old, None), (edit.new, edit.new)):
            if row is None:
                continue
            key = identity(info, row)
            if key is not None:
                keyed.setdefault(edit.table, {})[key] = new
            else:
                (taken if new is None else added).append((edit.table, row))
    changes = [change for change in state.changes if not _touched(change, keyed)]
    for table, rows in keyed.items():
        changes += _net(state, table, rows)
    for table, row in taken:
        _cancel(changes, Change("delete", table, None, row, None), "insert")
    for table, row in added:
        _cancel(changes, Change("insert", table, None, None, row), "delete")
    changes.sort(key=lambda change: (change.table, change_order(change)))
    terminal = _terminal(state, keyed, taken, added)
    return replace(state, terminal=terminal, changes=tuple(changes))


def _touched(change: Change, keyed: Mapping[str, Mapping[Key, Row | None]]) -> bool:
    rows = keyed.get(change.table)
    return bool(rows) and change.key is not None and tuple(change.key.values()) in (rows or ())


def _net(state: TerminalState, table: str, rows: Mapping[Key, Row | None]) -> Iterator[Change]:
    info = state.tables[table]
    for key, new in rows.items():
        names = dict(zip(info.key, key, strict=True))
        old = state.initial.row(table, names)
        if old == new:
            continue
        if old is None:
            yield Change("insert", table, names, None, new)
        elif new is None:
            yield Change("delete", table, names, old, None)
        else:
            yield Change("update", table, names, old, new)


def _cancel(changes: list[Change], change: Change, opposite: str) -> None:
    """Add a change of a row without identity, or take its opposite out."""
    row = change.new if change.old is None else change.old
    for place, each in enumerate(changes):
        if each.key is None and each.table == change.table and each.op == opposite:
            other = each.new if each.old is None else each.old
            if other == row:
                del changes[place]
                return
    changes.append(change)


def _terminal(
    state: TerminalState,
    keyed: Mapping[str, Mapping[Key, Row | None]],
    taken: list[tuple[str, Row]],
    added: list[tuple[str, Row]],
) -> DatabaseState:
    columns = {table: info.columns for table, info in state.tables.items()}

    def cells(table: str, row: Row) -> Cells:
        return tuple(row[column] for column in columns[table])

    terminal = state.terminal
    rows = dict(terminal.keyed)
    for table, edits in keyed.items():
        made = {key: None if row is None else cells(table, row) for key, row in edits.items()}
        rows[table] = _Edited(terminal.keyed[table], made)
    bags = dict(terminal.bags)
    for table, row in taken:
        left = list(bags[table])
        left.remove(cells(table, row))
        bags[table] = tuple(left)
    for table, row in added:
        bags[table] = (*bags[table], cells(table, row))
    return replace(terminal, keyed=rows, bags=bags)


def untouched(state: TerminalState) -> TerminalState:
    """The end of an agent that does nothing."""
    return replace(state, terminal=state.initial, changes=(), schema_changes=())


def with_new_table(state: TerminalState, name: str) -> TerminalState:
    """The same end with a table more."""
    terminal = state.terminal
    schema = {**terminal.schema, ("table", name): (name, f"CREATE TABLE {name}(a)")}
    info = TableInfo(name, (), ("a",), {}, {})
    made = replace(
        terminal,
        tables={**terminal.tables, name: info},
        schema=schema,
        keyed={**terminal.keyed, name: {}},
        bags={**terminal.bags, name: ()},
    )
    changed = tuple(sorted({*state.schema_changes, name}))
    return replace(state, terminal=made, schema_changes=changed)


def with_new_index(state: TerminalState, table: str) -> TerminalState:
    """The same end with an index more on a table."""
    name = f"lint_{table}"
    column = state.tables[table].columns[0]
    sql = f'CREATE INDEX "{name}" ON "{table}"("{column}")'
    made = replace(state.terminal, schema={**state.terminal.schema, ("index", name): (table, sql)})
    changed = tuple(sorted({*state.schema_changes, name}))
    return replace(state, terminal=made, schema_changes=changed)
