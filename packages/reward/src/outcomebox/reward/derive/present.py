"""What a task's present `expect` block already decided, carried over to the derived one.

A person who wrote ``{$pattern: ..}`` where a replay shows a text meant it: a matcher of the present
block that accepts what the replay holds stays, and so do labels. Plain values, missing rows and
missing columns come from the replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from outcomebox.reward.check import MAIN
from outcomebox.reward.derive.rows import Cell, Draft, RowDraft
from outcomebox.reward.errors import CheckError
from outcomebox.reward.fit import fit
from outcomebox.reward.matchers import Spec, accepts
from outcomebox.reward.showing import spec_to_json
from outcomebox.sandbox import Task, TerminalState
from outcomebox.sandbox.changes import Op
from outcomebox.sandbox.expect import Alternative, Expect
from outcomebox.sandbox.valuespec import IdMatcher, SpecModel

Place = tuple[str, Op, int]
"""Table, operation and index of a row in a block."""


@dataclass(frozen=True)
class Merged:
    """A derived block with what is kept of the present one.

    Attributes:
        rows: Its rows: those of the present block first, in its order, then new ones.
        places: index of a row -> the place of the same row in the present block, which says all
            that this one says.
        kept: How many matchers of the present block were kept.
        same: Whether there is nothing to change in the present block.
    """

    rows: tuple[RowDraft, ...]
    places: Mapping[int, Place]
    kept: int = 0
    same: bool = False


def merge(task: Task, state: TerminalState, draft: Draft, *, matchers: bool = True) -> Merged:
    """Keep what the task's present block decided.

    Args:
        task: The task with its present block.
        state: What golden leaves.
        draft: The block derived from that.
        matchers: Whether to keep matchers; without, only labels and the order of rows are kept.
    """
    if not task.expect:
        return Merged(draft.rows, {}, same=not draft.rows)
    pairs = dict(_pairs(task, state, draft))
    renamed = _labels(task.expect, draft, pairs)
    rows: dict[Place | int, RowDraft] = {}
    whole: set[Place] = set()
    kept = 0
    for index, row in enumerate(draft.rows):
        cells = {column: _renamed(cell, renamed) for column, cell in row.cells.items()}
        place = pairs.get(index)
        if place is None:
            rows[index] = replace(row, cells=cells)
            continue
        present = _listed(task.expect, place)
        if matchers:
            cells, count = _kept(cells, present, row)
            kept += count
        rows[place] = replace(row, cells=cells)
        if _says_all(cells, present, row):
            whole.add(place)
    order = {table: number for number, table in enumerate(task.expect)}
    places = [key for key in rows if not isinstance(key, int)]
    places.sort(key=lambda place: (order[place[0]], place[1], place[2]))
    keys: list[Place | int] = [*places, *(key for key in rows if isinstance(key, int))]
    unchanged = {n: key for n, key in enumerate(keys) if not isinstance(key, int) and key in whole}
    return Merged(
        tuple(rows[key] for key in keys),
        unchanged,
        kept,
        len(whole) == len(keys) == sum(1 for _ in _places(task.expect)),
    )


def _places(expect: Expect) -> Iterator[Place]:
    ops: tuple[Op, ...] = ("insert", "update", "delete")
    for table, entry in expect.items():
        for op in ops:
            for index in range(len(getattr(entry, op))):
                yield table, op, index


def _listed(expect: Expect, place: Place) -> Mapping[str, Spec]:
    table, op, index = place
    entry = expect[table]
    if op == "insert":
        return entry.insert[index]
    return entry.update[index].set if op == "update" else {}


def _pairs(task: Task, state: TerminalState, draft: Draft) -> Iterator[tuple[int, Place]]:
    """Which row of the present block is about the same row as one of the draft."""
    numbers = {id(row.change): index for index, row in enumerate(draft.rows)}
    for table, entry in task.expect.items():
        rows = [(n, row) for n, row in enumerate(draft.rows) if row.table == table]
        for index, update in enumerate(entry.update):
            yield from (
                (n, (table, "update", index))
                for n, row in rows
                if row.op == "update" and row.change.key == update.key
            )
        for index, delete in enumerate(entry.delete):
            yield from (
                (n, (table, "delete", index))
                for n, row in rows
                if row.op == "delete"
                and (row.change.key if delete.row is None else row.change.old)
                == (delete.key if delete.row is None else delete.row)
            )
    yield from _insert_pairs(task, state, draft, numbers)


def _insert_pairs(
    task: Task, state: TerminalState, draft: Draft, numbers: Mapping[int, int]
) -> Iterator[tuple[int, Place]]:
    main = Alternative(name=MAIN, expect=task.expect, ignore=dict(task.ignore))
    try:
        found = fit(main, state).pairs
    except CheckError:
        found = None
    if found is not None:
        for pair in found:
            number = None if pair.change is None else numbers.get(id(pair.change))
            listed = task.expect[pair.wanted.table].insert
            same = (i for i, row in enumerate(listed) if row is pair.wanted.listed)
            if number is not None and (index := next(same, None)) is not None:
                yield number, (pair.wanted.table, "insert", index)
        return
    for table, entry in task.expect.items():
        free = {
            n: row for n, row in enumerate(draft.rows) if row.table == table and row.op == "insert"
        }
        for index, wanted in enumerate(entry.insert):
            scores = {
                n: sum(accepts(spec, (row.change.new or {}).get(c)) for c, spec in wanted.items())
                for n, row in free.items()
            }
            best = max(scores, key=lambda n: (scores[n], -n), default=None)
            if best is not None and 2 * scores[best] >= len(wanted):
                del free[best]
                yield best, (table, "insert", index)


def _labels(expect: Expect, draft: Draft, pairs: Mapping[int, Place]) -> dict[str, str]:
    """Derived label -> the label that the present block has for it, or one that is free."""
    renamed: dict[str, str] = {}
    for index, place in pairs.items():
        for column, spec in _listed(expect, place).items():
            cell = draft.rows[index].cells.get(column)
            label = _label(cell) if cell else None
            if label and isinstance(spec, IdMatcher) and spec.label not in renamed.values():
                renamed.setdefault(label, spec.label)
    taken = set(renamed.values())
    for row in draft.rows:
        for cell in row.cells.values():
            label = _label(cell)
            if label and label not in renamed:
                free = (f"{label}{number or ''}" for number in (0, *range(2, len(taken) + 3)))
                renamed[label] = next(name for name in free if name not in taken)
                taken.add(renamed[label])
    return renamed


def _label(cell: Cell) -> str | None:
    return cell.spec.get("$id") if isinstance(cell.spec, dict) else None


def _renamed(cell: Cell, renamed: Mapping[str, str]) -> Cell:
    label = _label(cell)
    return cell if label is None else replace(cell, spec={"$id": renamed[label]})


def _kept(
    cells: Mapping[str, Cell], present: Mapping[str, Spec], row: RowDraft
) -> tuple[dict[str, Cell], int]:
    """The cells with the matchers that a person wrote; what a person wrote plainly is decided."""
    result, kept = {}, 0
    for column, cell in cells.items():
        spec = present.get(column)
        value = (row.change.new or {}).get(column)
        matcher = isinstance(spec, SpecModel) and not isinstance(spec, IdMatcher)
        if column in present and accepts(spec, value) and (matcher or _same(spec, cell)):
            kept += matcher
            result[column] = Cell(spec_to_json(spec))
        else:
            result[column] = cell
    return result, kept


def _same(spec: Any, cell: Cell) -> bool:
    return bool(spec_to_json(spec) == cell.spec)


def _says_all(cells: Mapping[str, Cell], present: Mapping[str, Spec], row: RowDraft) -> bool:
    """Whether the present row says what the derived one does, and nothing that is not so."""
    listed = {column: spec_to_json(spec) for column, spec in present.items()}
    if any(column not in listed or listed[column] != cell.spec for column, cell in cells.items()):
        return False
    new = row.change.new or {}
    return all(
        column in cells or (column in new and accepts(spec, new[column]))
        for column, spec in present.items()
    )
