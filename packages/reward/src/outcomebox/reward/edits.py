"""Expected updates and deletes against the changes of one table; both are found by key."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from outcomebox.reward import reasons
from outcomebox.reward.ignored import Ignored
from outcomebox.reward.labels import Labels, NewIds, Occurrence
from outcomebox.reward.matchers import Spec
from outcomebox.reward.verdict import Reason
from outcomebox.reward.wanted import fits
from outcomebox.sandbox.changes import Change, DatabaseState, Row, TerminalState
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
    """

    table: str
    key: Row
    column: str
    spec: Spec
    old: Row
    new: Row

    def wrong(self) -> Reason:
        """The reason if it turns out not to fit."""
        found = self.new.get(self.column)
        kind = reasons.missing_update if found == self.old.get(self.column) else reasons.wrong_value
        return kind(self.table, self.key, self.column, self.spec, found)


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
    gone = [delete.key for delete in expected.delete]
    result: list[Change] = []
    for change in changes:
        if change.op == "update" and change.key in gone:
            result.append(Change("delete", change.table, change.key, change.old, None))
            result.append(Change("insert", change.table, change.key, None, change.new))
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
    updated = [change for change in changes if change.op == "update"]
    deleted = [change for change in changes if change.op == "delete"]
    for update in expected.update if expected else ():
        if any(change.key == update.key for change in deleted):
            continue  # one extra delete says it all
        _compare_update(table, update, edits, about)
        found = next((change for change in updated if change.key == update.key), None)
        if found is not None:
            updated.remove(found)
            edits.reasons += _extra_updates(found, about.ignored, besides=update.set)
    for delete in expected.delete if expected else ():
        found = next((each for each in deleted if _is_meant(delete, each, about.ignored)), None)
        if found is not None:
            deleted.remove(found)
            continue
        row = _still_there(table, delete, about)
        edits.reasons.append(
            reasons.missing_row(table, delete.key, "delete", delete.row or {})
            if row is None
            else reasons.missing_delete(table, delete.key, row)
        )
    for change in updated:
        edits.reasons += _extra_updates(change, about.ignored)
    edits.reasons += map(reasons.extra_row, deleted)
    return edits


def _compare_update(table: str, update: UpdateExpect, edits: Edits, about: Comparison) -> None:
    old = _row(about.state.initial, table, update.key)
    new = _row(about.state.terminal, table, update.key)
    if old is None or new is None:
        edits.reasons.append(reasons.missing_row(table, update.key, "update", update.set))
        return
    labels = about.labels
    for column, spec in update.set.items():
        cell = UpdatedCell(table, update.key, column, spec, old, new)
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
    if delete.key is not None:
        return change.key == delete.key
    return change.key is None and _same(delete.row or {}, change.old or {}, change.table, ignored)


def _still_there(table: str, delete: DeleteExpect, about: Comparison) -> Row | None:
    terminal = about.state.terminal
    if delete.key is not None:
        return _row(terminal, table, delete.key)
    rows = terminal.rows(table) if table in terminal.tables else []
    wanted = delete.row or {}
    return next((row for row in rows if _same(wanted, row, table, about.ignored)), None)


def _same(wanted: Row, row: Row, table: str, ignored: Ignored) -> bool:
    return all(
        row.get(column) == value
        for column, value in wanted.items()
        if not ignored.column(table, column)
    )


def _row(state: DatabaseState, table: str, key: Row) -> Row | None:
    """A row by key; None too if the table is gone or has another key now."""
    info = state.tables.get(table)
    return state.row(table, key) if info is not None and set(info.key) == set(key) else None
