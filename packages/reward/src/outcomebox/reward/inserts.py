"""Expected and inserted rows side by side, before it is known which stands for which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from outcomebox.reward.labels import Labels, NewIds, Occurrence
from outcomebox.reward.wanted import Wanted
from outcomebox.sandbox.changes import Change, Row


def new_row(change: Change) -> Row:
    """The row that an insert or an update leaves."""
    return change.new or {}


@dataclass(frozen=True, slots=True)
class Pair:
    """An expected insert with the row that stands for it.

    Attributes:
        wanted: The expected insert.
        change: The inserted row, or None where it is missing.
        wrong: The columns that do not fit.
    """

    wanted: Wanted
    change: Change | None
    wrong: tuple[str, ...] = ()

    def met(self, labels: Labels) -> tuple[Occurrence, ...]:
        """The shared labels that the row gives a value."""
        if self.change is None:
            return ()
        row = new_row(self.change)
        return tuple(
            labels.occurrence(self.wanted.table, column, label, row.get(column))
            for column, label in self.wanted.shared.items()
            if column not in self.wrong
        )


@dataclass(frozen=True, slots=True)
class Grid:
    """The expected and the inserted rows of one table whose partners are open.

    Attributes:
        pairs: ``pairs[row][place]``: an expected row with an inserted one.
        wanted: The expected rows.
        actual: The inserted rows.
        met: ``met[row][place]``: the shared labels that the pair gives a value.
    """

    wanted: Sequence[Wanted]
    actual: Sequence[Change]
    pairs: Sequence[Sequence[Pair]]
    met: Sequence[Sequence[tuple[Occurrence, ...]]]

    @property
    def labelled(self) -> bool:
        """Whether its pairing depends on other rows."""
        return any(wanted.shared for wanted in self.wanted)

    def fitting(self, row: int) -> list[int]:
        """The inserted rows that fit an expected one, labels aside."""
        return [place for place, pair in enumerate(self.pairs[row]) if not pair.wrong]

    def chosen(self, partners: Sequence[int | None]) -> list[Pair]:
        """The pairs of a choice of partners; None where there is none."""
        return [
            Pair(self.wanted[row], None) if place is None else self.pairs[row][place]
            for row, place in enumerate(partners)
        ]


@dataclass(frozen=True, slots=True)
class Inserts:
    """The inserts of all tables.

    Attributes:
        settled: Pairs that a fixed key decides.
        grids: What is open, one for each table.
        met: The shared labels that updates and settled pairs give a value.
    """

    settled: tuple[Pair, ...]
    grids: tuple[Grid, ...]
    met: tuple[Occurrence, ...]


def side_by_side(
    tables: Iterable[tuple[Sequence[Wanted], Sequence[Change]]],
    labels: Labels,
    new_ids: NewIds,
    met: Sequence[Occurrence],
) -> Inserts:
    """Pair what fixed keys decide, and compare everything else with everything.

    Args:
        tables: For each table its expected and its inserted rows.
        labels: The labels of the accepted end state.
        new_ids: Tells generated ids from others.
        met: The shared labels that updates give a value.
    """
    settled: list[Pair] = []
    grids: list[Grid] = []

    def pair(wanted: Wanted, change: Change) -> Pair:
        return Pair(wanted, change, wanted.wrong_columns(new_row(change), new_ids))

    for wanted, actual in tables:
        left, still_open = list(actual), []
        for each in wanted:
            if each.key is None:
                still_open.append(each)
                continue
            found = next((change for change in left if change.key == each.key), None)
            if found is None:
                settled.append(Pair(each, None))
            else:
                left.remove(found)
                settled.append(pair(each, found))
        pairs = [[pair(each, change) for change in left] for each in still_open]
        labelled = [[each.met(labels) for each in line] for line in pairs]
        grids.append(Grid(still_open, left, pairs, labelled))
    decided = [each for pair in settled for each in pair.met(labels)]
    return Inserts(tuple(settled), tuple(grids), (*met, *decided))
