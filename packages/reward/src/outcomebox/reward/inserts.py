"""Expected and inserted rows side by side, before it is known which stands for which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from outcomebox.reward.labels import Labels, NewIds, Occurrence
from outcomebox.reward.wanted import Wanted
from outcomebox.sandbox.changes import Change, Row, Value
from outcomebox.sandbox.valuespec import SpecModel


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


@dataclass(frozen=True)
class Grid:
    """The expected and the inserted rows of one table whose partners are open.

    Nothing is compared before it is asked for, and rows of one kind are compared once, so that many
    rows cost about as much as they are many.

    Attributes:
        wanted: The expected rows.
        actual: The inserted rows.
        labels: The labels of the accepted end state.
        new_ids: Tells generated ids from others.
    """

    wanted: Sequence[Wanted]
    actual: Sequence[Change]
    labels: Labels
    new_ids: NewIds
    _fitting: dict[str, list[int]] = field(default_factory=dict, compare=False, repr=False)
    _alike: dict[tuple[str, ...], dict[tuple[Value, ...], list[int]]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def labelled(self) -> bool:
        """Whether its pairing depends on other rows."""
        return any(wanted.shared for wanted in self.wanted)

    def pair(self, row: int, place: int) -> Pair:
        """An expected row with an inserted one."""
        wanted, change = self.wanted[row], self.actual[place]
        return Pair(wanted, change, wanted.wrong_columns(new_row(change), self.new_ids))

    def met(self, row: int, place: int) -> tuple[Occurrence, ...]:
        """The shared labels that a pair gives a value."""
        return self.pair(row, place).met(self.labels)

    def fitting(self, row: int) -> list[int]:
        """The inserted rows that fit an expected one, labels aside; one list for a whole kind."""
        wanted = self.wanted[row]
        if wanted.kind not in self._fitting:
            # Plain values are looked up, so that only likely partners are compared.
            plain = tuple(
                name for name, spec in wanted.specs.items() if not isinstance(spec, SpecModel)
            )
            if plain not in self._alike:
                alike = defaultdict(list)
                for place, change in enumerate(self.actual):
                    found = new_row(change)
                    alike[tuple([found.get(name) for name in plain])].append(place)
                self._alike[plain] = alike
            values: Any = tuple([wanted.specs[name] for name in plain])
            likely = self._alike[plain].get(values, [])
            self._fitting[wanted.kind] = [
                place
                for place in likely
                if not wanted.wrong_columns(new_row(self.actual[place]), self.new_ids)
            ]
        return self._fitting[wanted.kind]

    def chosen(self, partners: Sequence[int | None]) -> list[Pair]:
        """The pairs of a choice of partners; None where there is none."""
        return [
            Pair(self.wanted[row], None) if place is None else self.pair(row, place)
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
    """Pair what fixed keys decide, and leave everything else open.

    Args:
        tables: For each table its expected and its inserted rows.
        labels: The labels of the accepted end state.
        new_ids: Tells generated ids from others.
        met: The shared labels that updates give a value.
    """
    settled: list[Pair] = []
    grids: list[Grid] = []
    for wanted, actual in tables:
        fixed = [each for each in wanted if each.key is not None]
        places: dict[tuple[Value, ...], int] = {}
        for at, change in enumerate(actual if fixed else ()):
            if change.key is not None:
                places[tuple([change.key.get(name) for name in fixed[0].key or ()])] = at
        taken = set()
        for each in fixed:
            found = places.get(tuple((each.key or {}).values()))
            if found is None:
                settled.append(Pair(each, None))
            else:
                taken.add(found)
                wrong = each.wrong_columns(new_row(actual[found]), new_ids)
                settled.append(Pair(each, actual[found], wrong))
        still_open = [each for each in wanted if each.key is None]
        left = [change for at, change in enumerate(actual) if at not in taken]
        grids.append(Grid(still_open, left, labels, new_ids))
    decided = [each for pair in settled for each in pair.met(labels)]
    return Inserts(tuple(settled), tuple(grids), (*met, *decided))
