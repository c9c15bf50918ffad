"""Ends that are a little wrong: each differs from a right one in one cell, row or schema entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

from outcomebox.reward.ignored import Ignored
from outcomebox.reward.lint.edited import Edit, edited, identity, with_new_index, with_new_table
from outcomebox.reward.lint.wrongs import Columns, wrong_values
from outcomebox.reward.matchers import Spec
from outcomebox.reward.showing import show
from outcomebox.sandbox.changes import Change, Row, TableInfo, TerminalState, Value
from outcomebox.sandbox.valuespec import IdMatcher

NEW_TABLE = "lint_scratch"
"""The table that a mutant creates."""
_LAST_NUMBER = re.compile(r"(\d+)(?!.*\d)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Right:
    """A right end, with what the check accepts in the rows that it adds and changes.

    Attributes:
        state: The end.
        specs: For each of its changes, by index: column -> what is accepted there.
        ignored: What the accepted end state leaves out.
    """

    state: TerminalState
    specs: Mapping[int, Mapping[str, Spec]]
    ignored: Ignored


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong end.

    Attributes:
        kind: What was done to the right end.
        table: Where.
        column: In which column; None for a whole row.
        key: In which row, as it was before; None without identity.
        what: The same in words.
        state: The wrong end.
        value: What the column holds in it.
        change: Index of the change of the right end whose cell is wrong; None elsewhere.
    """

    kind: str
    table: str
    column: str | None
    key: Row | None
    what: str
    state: TerminalState
    value: Value = None
    change: int | None = None


def mutants(right: Right, columns: Columns, *, seed: str) -> Iterator[Mutant]:
    """All mutants of a right end, each made when it is asked for.

    The same arguments give the same mutants. What the database would refuse is not left out: a
    check must not rely on constraints, which change.

    Args:
        right: The right end.
        columns: What the initial state holds.
        seed: Chooses rows and values where there are many.
    """
    state = right.state
    ids = _new_ids(state)
    for index, change in enumerate(state.changes):
        rng = Random(f"{seed}/{change.table}/{index}")
        yield from _of_rows(state, change)
        if change.new is not None:
            specs = right.specs.get(index, {})
            yield from _of_cells(state, columns, index, change, specs, ids, rng)
    for table in sorted(state.initial.tables):
        rng = Random(f"{seed}/{table}")
        yield from _elsewhere(right, columns, table, rng)
    if NEW_TABLE not in state.tables:
        made = with_new_table(state, NEW_TABLE)
        yield Mutant("schema_changed", NEW_TABLE, None, None, "a table is created", made)
    for table in sorted(state.initial.tables)[:1]:
        made = with_new_index(state, table)
        yield Mutant("schema_changed", table, None, None, f"an index of {table} is created", made)


def _new_ids(state: TerminalState) -> dict[tuple[str, str], list[Value]]:
    found: dict[tuple[str, str], list[Value]] = {}
    for change in state.changes:
        if change.op == "insert" and change.key is not None and len(change.key) == 1:
            ((column, value),) = change.key.items()
            found.setdefault((change.table, column), []).append(value)
    return found


def _of_rows(state: TerminalState, change: Change) -> Iterator[Mutant]:
    """A change that was not made, and a row that was added twice."""
    table, key = change.table, change.key
    left = edited(state, [Edit(table, change.new, change.old)])
    if change.op == "insert":
        yield Mutant("row_dropped", table, None, key, "a row that is due is not added", left)
        assert change.new is not None  # noqa: S101 -- an insert has a new row
        info = state.tables[table]
        double = with_new_key(state, info, change.new)
        made = edited(state, [Edit(table, None, double)])
        yield Mutant("row_doubled", table, None, key, "a row is added twice", made)
    elif change.op == "delete":
        yield Mutant("row_restored", table, None, key, "a row that must go is left", left)
    else:
        yield Mutant("row_restored", table, None, key, "a row that must change is left", left)
        gone = edited(state, [Edit(table, change.new, None)])
        yield Mutant("row_removed", table, None, key, "a row is deleted instead of changed", gone)


def _of_cells(  # noqa: PLR0917 -- what all of a change's cells share
    state: TerminalState,
    columns: Columns,
    index: int,
    change: Change,
    specs: Mapping[str, Spec],
    ids: Mapping[tuple[str, str], Iterable[Value]],
    rng: Random,
) -> Iterator[Mutant]:
    """Wrong values in a row that was added or changed."""
    assert change.new is not None  # noqa: S101 -- the caller has looked
    info = state.tables[change.table]
    for column, value in change.new.items():
        generated = isinstance(specs.get(column), IdMatcher) and column not in info.references
        if column in info.key and (generated or change.op == "update"):
            continue  # another generated id means the same
        found = list(wrong_values(columns, change.table, column, value, rng, ids=ids))
        if change.old is not None:
            old = change.old[column]
            found = [each for each in found if each[1] != old]
            if old == value:  # a column that must not change: one wrong value says it all
                found = [("column_touched", each) for _, each in _best(found, rng)]
            else:
                found.insert(0, ("old_value", old))
        for kind, wrong in found:
            new = {**change.new, column: wrong}
            made = edited(state, [Edit(change.table, change.new, new)])
            what = f"{column} is {show(wrong)} instead of {show(value)}"
            yield Mutant(kind, change.table, column, change.key, what, made, wrong, index)


def _best(found: list[tuple[str, Value]], rng: Random) -> list[tuple[str, Value]]:
    """One of the most plausible values."""
    kind = next((kind for kind, _ in found if kind != "null"), None)
    options = [each for each in found if each[0] == kind] or found
    return [rng.choice(options)] if options else []


def _elsewhere(right: Right, columns: Columns, table: str, rng: Random) -> Iterator[Mutant]:
    """A row that nothing should happen to is touched, added or removed.

    Columns are alike to a check that denies by default, except for those it ignores: one is
    touched, and each ignored one.
    """
    state = right.state
    info = state.tables[table]
    busy = {tuple(each.key.values()) for each in state.changes if each.table == table and each.key}
    rows = [row for row in state.initial.rows(table) if identity(info, row) not in busy]
    if not rows:
        blank: Row = {column: info.defaults.get(column) for column in info.columns}
        added = {**blank, **dict.fromkeys(info.key, "lint-1")}
        made = edited(state, [Edit(table, None, added)])
        yield Mutant("extra_row_added", table, None, None, "one more row is added", made)
        return
    row = rng.choice(rows)
    made = edited(state, [Edit(table, row, None)])
    yield Mutant("extra_row_removed", table, None, _key(info, row), "one more row is deleted", made)
    added = with_new_key(state, info, row)
    made = edited(state, [Edit(table, None, added)])
    yield Mutant("extra_row_added", table, None, None, "one more row is added", made)
    free = [column for column in info.columns if column not in info.key]
    left_out = [column for column in free if right.ignored.column(table, column)]
    others = [column for column in free if column not in left_out]
    for column in left_out + ([rng.choice(others)] if others else []):
        row = rng.choice(rows)
        found = _best(list(wrong_values(columns, table, column, row[column], rng)), rng)
        for _, wrong in found:
            made = edited(state, [Edit(table, row, {**row, column: wrong})])
            what = f"{column} of one more row is {show(wrong)} instead of {show(row[column])}"
            key = _key(info, row)
            yield Mutant("extra_row_touched", table, column, key, what, made, wrong)


def with_new_key(state: TerminalState, info: TableInfo, row: Row) -> dict[str, Value]:
    """The row under a primary key that neither state holds yet; itself without a key."""
    if not info.key or None in (row[column] for column in info.key):
        return dict(row)
    # Of a composite key, the part that refers to nothing numbers the rows.
    own = [column for column in info.key if column not in info.references] or list(info.key)
    column = own[-1]
    made = dict(row)
    for step in range(1, 1_000_000):
        made[column] = _next(row[column], step)
        key = identity(info, made)
        if key not in state.terminal.keyed[info.name] and key not in state.initial.keyed[info.name]:
            break
    return made


def _next(value: Value, step: int) -> Value:
    if isinstance(value, (int, float)):
        return value + step
    if isinstance(value, bytes):
        return value + step.to_bytes(4, "big")
    text = value or ""
    if _LAST_NUMBER.search(text) is None:
        return f"{text}-{step}"
    return _LAST_NUMBER.sub(lambda match: str(int(match[0]) + step).zfill(len(match[0])), text)


def _key(info: TableInfo, row: Row) -> Row | None:
    key = identity(info, row)
    return None if key is None else dict(zip(info.key, key, strict=True))
