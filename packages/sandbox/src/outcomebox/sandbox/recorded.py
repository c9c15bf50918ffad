"""A terminal state from a record: an initial state and the changes that were once found against it.

A record holds what changed and not what did not, so it says what the end was only together with
the initial state that it was made against. Each recorded change is held against the given one: a
row that was changed or deleted must stand there as it stood then, and an inserted one must not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from outcomebox.sandbox.changes import Change, Schema, TerminalState
from outcomebox.sandbox.database import Cells, DatabaseState, Key, Row, TableInfo
from outcomebox.sandbox.domain import Domain
from outcomebox.sandbox.overlay import Overlay
from outcomebox.sandbox.task import Task


class InitialDiffers(ValueError):
    """A record was made against another initial state than the given one.

    Attributes:
        differences: What is not as it was, a line a row.
    """

    def __init__(self, differences: Sequence[str]) -> None:
        self.differences = tuple(differences)
        more = f"; and {len(differences) - 3} more" if len(differences) > 3 else ""
        super().__init__("; ".join(differences[:3]) + more)


def initial_hash(domain: Domain, task: Task) -> str:
    """SHA-256 of all that a task's initial state is made of: schema, seed and ``init``.

    Two episodes of one hash began alike, whatever else of the task and its domain was edited.
    """
    edits = {table: edit.model_dump(mode="json") for table, edit in sorted(task.init.items())}
    parts = [domain.schema_sql, domain.seed_sql, edits]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def recorded_state(
    initial: DatabaseState,
    changes: Iterable[Change],
    schema_changes: Iterable[str] = (),
    *,
    schema: Schema | None = None,
    calls: Sequence[str] = (),
) -> TerminalState:
    """The terminal state that a record tells of.

    Args:
        initial: What the session started from.
        changes: Its net changes, as they were recorded.
        schema_changes: Names of what was created, dropped or altered.
        schema: The terminal schema, as in :attr:`DatabaseState.schema`; needed only where there are
            ``schema_changes``, since names alone do not tell it.
        calls: Names of the session's tool calls in order.

    Raises:
        InitialDiffers: The changes were not made against this initial state.
        ValueError: There are schema changes and no ``schema``.
    """
    changes, schema_changes = tuple(changes), tuple(schema_changes)
    if schema_changes and schema is None:
        raise ValueError(f"the schema changed ({', '.join(schema_changes)}); give the terminal one")
    tables = dict(initial.tables)
    by_table: dict[str, list[Change]] = {}
    for change in changes:
        by_table.setdefault(change.table, []).append(change)
    keyed, bags = dict(initial.keyed), dict(initial.bags)
    altered = frozenset(schema_changes)
    differences: list[str] = []
    for name, its in by_table.items():
        info = tables.get(name)
        if info is None and name in altered and its[0].new is not None:
            info = tables[name] = _created(name, its[0])
        if info is None:
            differences.append(f"{name}: there is no such table now")
            continue
        table = _Table(info, keyed.get(name, {}), {}, list(bags.get(name, ())), name in altered)
        for change in its:
            differences += table.apply(change)
        keyed[name], bags[name] = Overlay(table.before, table.after), tuple(table.bag)
    if differences:
        raise InitialDiffers(differences)
    after = initial.schema if schema is None else schema
    terminal = DatabaseState(tables, after, keyed, bags, initial.own)
    return TerminalState(initial, terminal, changes, schema_changes, calls=tuple(calls))


def _created(name: str, change: Change) -> TableInfo:
    """What a row of a table that the session created tells of it."""
    return TableInfo(name, tuple(change.key or ()), tuple(change.new or ()), {}, {})


@dataclass(frozen=True, slots=True)
class _Table:
    """One table on its way from the initial to the terminal state.

    Attributes:
        info: What it declares now.
        before: Its rows with an identity.
        after: Those of them that changed; None where one is gone.
        bag: Its rows without one, changed as the record says.
        altered: Whether its two versions may have columns of their own.
    """

    info: TableInfo
    before: Mapping[Key, Cells]
    after: dict[Key, Cells | None]
    bag: list[Cells]
    altered: bool

    def apply(self, change: Change) -> Iterator[str]:
        """Make one change; yields what is not as the record says."""
        info = self.info
        for row in (change.old, change.new):
            if row is not None and not self.altered and set(row) != set(info.columns):
                now, then = ", ".join(info.columns), ", ".join(row)
                yield f"{info.name}: its columns are {now} now, and were {then}"
                return
        if change.key is None:
            yield from self._apply_to_bag(change)
        elif set(change.key) != set(info.key):
            now, then = ", ".join(info.key), ", ".join(change.key)
            yield f"{info.name}: its key is ({now}) now, and was ({then})"
        else:
            yield from self._apply_by_key(change, change.key)

    def _apply_by_key(self, change: Change, identity: Row) -> Iterator[str]:
        info = self.info
        key = tuple(identity[column] for column in info.key)
        found = self.before.get(key)
        shown = f"{info.name} " + ", ".join(f"{name}={each!r}" for name, each in identity.items())
        if change.old is None:
            if found is not None:
                yield f"{shown}: was added then, and is there from the start now"
        elif found is None:
            yield f"{shown}: was there from the start, and is not now"
        else:
            now = dict(zip(info.columns, found, strict=True))
            for column, value in change.old.items():
                if column in now and now[column] != value:
                    yield f"{shown}: {column} is {now[column]!r} from the start now, was {value!r}"
        self.after[key] = None if change.new is None else _cells(info, change.new)

    def _apply_to_bag(self, change: Change) -> Iterator[str]:
        if change.old is not None:
            old = _cells(self.info, change.old)
            if old in self.bag:
                self.bag.remove(old)
            else:
                row = dict(change.old)
                yield f"{self.info.name}: the row {row!r} was there from the start, and is not now"
        if change.new is not None:
            self.bag.append(_cells(self.info, change.new))


def _cells(info: TableInfo, row: Row) -> Cells:
    return tuple(row.get(column) for column in info.columns)
