"""What a check leaves out, and the changes that are left after that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from outcomebox.sandbox.changes import Change, change_order, value_order
from outcomebox.sandbox.fitting import ALL, Ignored

__all__ = ["ALL", "Ignored", "relevant_changes"]


def relevant_changes(changes: Iterable[Change], ignored: Ignored) -> list[Change]:
    """The changes that count: a row that changed in ignored columns only has not changed.

    Of rows without identity, a deleted and an inserted one that differ in ignored columns only are
    the same row, and cancel out. The result does not depend on the order of ``changes``.
    """
    kept: list[Change] = []
    bags: defaultdict[Any, list[Change]] = defaultdict(list)
    for change in sorted(changes, key=_order):
        if ignored.whole(change.table):
            continue
        if change.op == "update" and all(
            ignored.column(change.table, column) for column in change.columns
        ):
            continue
        if change.key is not None:
            kept.append(change)
            continue
        equal = bags[_counted(change, ignored)]
        if equal and equal[-1].op != change.op:
            equal.pop()
        else:
            equal.append(change)
    if not bags:
        return kept
    kept.extend(change for equal in bags.values() for change in equal)
    return sorted(kept, key=_order)


def _order(change: Change) -> Any:
    return change.table, change_order(change)


def _counted(change: Change, ignored: Ignored) -> Any:
    row = change.new if change.old is None else change.old
    counted = {
        column: value
        for column, value in (row or {}).items()
        if not ignored.column(change.table, column)
    }
    return change.table, tuple(counted), value_order(counted.values())
