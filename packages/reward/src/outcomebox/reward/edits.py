"""Expected updates and deletes against the changes of one table; both are found by key."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from outcomebox.reward import reasons
from outcomebox.reward.ignored import Ignored
from outcomebox.reward.labels import Labels, NewIds, Occurrence
from outcomebox.reward.matchers import Spec
from outcomebox.reward.verdict import Reason
from outcomebox.reward.wanted import fits
from outcomebox.sandbox.changes import Change, DatabaseState, Row, TerminalState, Value
from outcomebox.sandbox.expect import DeleteExpect, TableExpect, UpdateExpect
from outcomebox.sandbox.valuespec import IdMatcher, RubricMatcher


@dataclass(frozen=True, slots=True)
class UpdatedCell:
    """A column of an updated row that fits as far as it alone decides.

    Attributes:
        table: Its table.
        key: The row's primary key.
        column: The column.
        spec: What the check accepts.
        old: The row in the initial state.
        new: The row in the terminal state.
        calls: The tool calls that wrote to the row, as far as known.
    """

    table: str
    key: Row
    column: str
    spec: Spec
    old: Row
    new: Row
    calls: tuple[int, ...] = ()

    def wrong(self) -> Reason:
        """The reason if it turns out not to fit."""
        found = self.new.get(self.column)
        cell = (self.table, self.key, self.column, self.spec, found)
        if found == self.old.get(self.column):
            return reasons.missing_update(*cell)
        return reasons.wrong_value(*cell, calls=self.calls)


@dataclass(slots=True)
class Edits:
    """What comparing updates and deletes found.

    Attributes:
        reasons: What is wrong.
        inserted: The inserts of the table, to be paired with expected ones.
        met: Columns with a label that other rows have a say in, with what they hold.
        rubrics: Columns that a judge has to look at.
    """

    reasons: list[Reason] = field(default_factory=list)
    inserted: list[Change] = field(default_factory=list)
    met: list[tuple[UpdatedCell, Occurrence]] = field(default_factory=list)
    rubrics: list[tuple[UpdatedCell, str]] = field(default_factory=list)


def with_reused_keys(changes: Sequence[Change], expected: TableExpect | None) -> list[Change]:
    """The changes, with an update of a row that must be deleted taken as a delete and an insert.

    A generated id may be one that a deleted row has just given up; what is left in the database is
    then the same as after an update.
    """
    if expected is None or not (expected.insert and expected.delete):
        return list(changes)
    gone = {_identity(delete.key) for delete in expected.delete if delete.key is not None}
    result: list[Change] = []
    for change in changes:
        if change.op == "update" and _identity(change.key) in gone:
            result.append(replace(change, op="delete", new=None))
            result.append(replace(change, op="insert", old=None))
        else:
            result.append(change)
    return result


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison with one accepted end state needs to know everywhere.

    Attributes:
        state: The terminal state.
        ignored: What does not count.
        labels: The labels of the accepted end state.
        new_ids: Tells generated ids from others.
    """

    state: TerminalState
    ignored: Ignored
    labels: Labels
    new_ids: NewIds


def compare_edits(
    table: str, expected: TableExpect | None, changes: Sequence[Change], about: Comparison
) -> Edits:
    """Compare the updates and deletes of one table, and set its inserts apart."""
    edits = Edits(inserted=[change for change in changes if change.op == "insert"])
    updated = {_identity(change.key): change for change in changes if change.op == "update"}
    deleted = [change for change in changes if change.op == "delete"]
    gone = {_identity(change.key) for change in deleted}
    for update in expected.update if expected else ():
        if _identity(update.key) in gone:
            continue  # one extra delete says it all
        change = updated.pop(_identity(update.key), None)
        _compare_update(table, update, change, edits, about)
        if change is not None:
            edits.reasons += _extra_updates(change, about.ignored, besides=update.set)
    edits.reasons += _compare_deletes(table, expected.delete if expected else (), deleted, about)
    for change in updated.values():
        edits.reasons += _extra_updates(change, about.ignored)
    return edits


def _compare_deletes(
    table: str, expected: Sequence[DeleteExpect], deleted: Sequence[Change], about: Comparison
) -> Iterator[Reason]:
    keyed = {_identity(change.key): change for change in deleted if change.key is not None}
    bag = [change for change in deleted if change.key is None]
    for delete in expected:
        if delete.key is not None:
            if keyed.pop(_identity(delete.key), None) is not None:
                continue
        elif found := next((each for each in bag if _is_meant(delete, each, about.ignored)), None):
            bag.remove(found)
            continue
        row = _still_there(table, delete, about)
        if row is None:
            yield reasons.missing_row(table, delete.key, "delete", delete.row or {})
        else:
            yield reasons.missing_delete(table, delete.key, row)
    yield from map(reasons.extra_row, (*keyed.values(), *bag))


def _compare_update(
    table: str, update: UpdateExpect, change: Change | None, edits: Edits, about: Comparison
) -> None:
    old = _row(about.state.initial, table, update.key)
    new = _row(about.state.terminal, table, update.key)
    if old is None or new is None:
        edits.reasons.append(reasons.missing_row(table, update.key, "update", update.set))
        return
    labels, calls = about.labels, change.calls if change else ()
    for column, spec in update.set.items():
        cell = UpdatedCell(table, update.key, column, spec, old, new, calls)
        # An id that was there before was not generated in the episode.
        stale = isinstance(spec, IdMatcher) and new.get(column) == old.get(column)
        if stale or not fits(table, column, spec, new, about.new_ids):
            edits.reasons.append(cell.wrong())
        elif isinstance(spec, IdMatcher) and spec.label in labels.shared:
            edits.met.append((cell, labels.occurrence(table, column, spec.label, new.get(column))))
        elif isinstance(spec, RubricMatcher):
            edits.rubrics.append((cell, spec.question))


def _extra_updates(
    change: Change, ignored: Ignored, besides: Collection[str] = ()
) -> Iterator[Reason]:
    for column in change.columns:
        if column not in besides and not ignored.column(change.table, column):
            yield reasons.extra_update(change, column)


def _is_meant(delete: DeleteExpect, change: Change, ignored: Ignored) -> bool:
    return _same(delete.row or {}, change.old or {}, change.table, ignored)


def _still_there(table: str, delete: DeleteExpect, about: Comparison) -> Row | None:
    terminal = about.state.terminal
    if delete.key is not None:
        return _row(terminal, table, delete.key)
    wanted = delete.row or {}
    columns = terminal.tables[table].columns if table in terminal.tables else ()
    rows = (dict(zip(columns, cells, strict=True)) for cells in terminal.bags.get(table, ()))
    return next((row for row in rows if _same(wanted, row, table, about.ignored)), None)


def _same(wanted: Row, row: Row, table: str, ignored: Ignored) -> bool:
    return all(
        row.get(column) == value
        for column, value in wanted.items()
        if not ignored.column(table, column)
    )


def _identity(key: Row | None) -> frozenset[tuple[str, Value]] | None:
    """A key as something that can be looked up, in whatever order its columns stand."""
    return None if key is None else frozenset(key.items())


def _row(state: DatabaseState, table: str, key: Row) -> Row | None:
    """A row by key; None too if the table is gone or has another key now."""
    info = state.tables.get(table)
    return state.row(table, key) if info is not None and set(info.key) == set(key) else None
