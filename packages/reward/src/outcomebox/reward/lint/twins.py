"""Rows that fit a request equally well: *twins*, equal but for their key.

If golden works on one of two twins that nothing tells apart, the end in which the other one was
taken is as right, and must be accepted too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from outcomebox.reward.check import Check
from outcomebox.reward.lint.edited import Edit, edited
from outcomebox.reward.lint.findings import Finding
from outcomebox.reward.lint.killing import accepted_as
from outcomebox.reward.showing import show
from outcomebox.sandbox.changes import Change, DatabaseState, Row, TerminalState, Value

OTHERS = 3
"""How many twins of one row are tried."""


def ambiguous_operands(
    check: Check, golden: TerminalState, named: Callable[[Value], bool]
) -> list[Finding]:
    """A finding for each row that golden works on and whose twin is not accepted instead.

    Args:
        check: The check.
        golden: The right end.
        named: Whether the request itself names an id, so that there is no choice.
    """
    found = []
    for table, own, twins in _twins(golden.initial):
        places = _places(golden, table, own)
        if not places or named(own):
            continue
        for other in twins[:OTHERS]:
            if accepted_as(check, swapped(golden, table, own, other)) is None:
                where, column = places[0]
                found.append(
                    Finding(
                        "ambiguous_operand",
                        f"{table} {show(own)} and {show(other)} are equal but for their key, and "
                        "only the first is accepted",
                        "tell the two apart in the seed or in the request, or accept either",
                        table=where,
                        column=column,
                        details={"twins": [own, other]},
                    )
                )
                break
    return found


def _twins(initial: DatabaseState) -> Iterator[tuple[str, Value, list[Value]]]:
    """(table, key, keys of its twins) of all rows that have some and that nothing refers to."""
    for table, info in initial.tables.items():
        if len(info.key) != 1:
            continue
        used = _referred(initial, table, info.key[0])
        place = info.columns.index(info.key[0])
        alike: defaultdict[tuple[Value, ...], list[Value]] = defaultdict(list)
        for (key,), cells in initial.keyed[table].items():
            if key not in used:
                alike[cells[:place] + cells[place + 1 :]].append(key)
        for keys in alike.values():
            for key in keys if len(keys) > 1 else ():
                yield table, key, [other for other in keys if other != key]


def _referred(initial: DatabaseState, table: str, column: str) -> set[Value]:
    found: set[Value] = set()
    for name, info in initial.tables.items():
        for source, target in info.references.items():
            if target == (table, column):
                place = info.columns.index(source)
                rows = [*initial.keyed[name].values(), *initial.bags[name]]
                found.update(cells[place] for cells in rows)
    return found


def _places(golden: TerminalState, table: str, key: Value) -> list[tuple[str, str]]:
    """(table, column) of the changes in which the row occurs."""
    return [
        (change.table, column)
        for change in golden.changes
        for column in _columns(golden, change.table, table)
        if key in ((change.new or {}).get(column), (change.old or {}).get(column))
    ]


def _columns(golden: TerminalState, table: str, target: str) -> list[str]:
    """The columns of ``table`` that hold ids of ``target``: its key, and references to it."""
    info = golden.tables[table]
    own = [info.key[0]] if table == target and len(info.key) == 1 else []
    return own + [column for column, (name, _) in info.references.items() if name == target]


def swapped(golden: TerminalState, table: str, own: Value, other: Value) -> TerminalState:
    """The end in which another row of ``table`` was taken."""
    trade = {own: other, other: own}

    def turned(change: Change, row: Row) -> Row:
        columns = _columns(golden, change.table, table)
        return {
            column: trade.get(value, value) if column in columns else value
            for column, value in row.items()
        }

    undone = [Edit(change.table, change.new, change.old) for change in golden.changes]
    state = edited(golden, undone)
    edits = []
    for change in golden.changes:
        old = None if change.old is None else turned(change, change.old)
        new = None if change.new is None else turned(change, change.new)
        edits.append(Edit(change.table, old, new))
    return edited(state, edits)
