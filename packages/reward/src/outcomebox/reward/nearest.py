"""The pairing that explains a wrong state with the fewest reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from outcomebox.reward.assign import cheapest_assignment, largest_matching
from outcomebox.reward.groups import pair_alike
from outcomebox.reward.inserts import Grid, Inserts, Pair, new_row
from outcomebox.reward.labels import ClashFloor, Occurrence, clashes
from outcomebox.sandbox.changes import Change

STEPS = 5_000
"""How many pairs the search tries before it takes the best it has."""

MANY = 2_500
"""How many pairs of one table are weighed; where there are more, rows that fit come first."""

_DEEP = 200  # expected rows that a search goes through; each is a level of recursion

# Weights: first the reasons, where a bad pair never counts more than leaving both rows alone (one
# missing, one extra); then rather paired than alone; then the fewest wrong columns.
_REASON = 1_000_000
_ALONE = _REASON + 1_000
_NEVER = 10**12


@dataclass(frozen=True, slots=True)
class Nearest:
    """An explanation.

    Attributes:
        pairs: Every expected insert, with its row or without.
        extra: The inserted rows that nothing stands for.
        bounded: Whether the search was cut short, so that a shorter explanation may exist.
    """

    pairs: tuple[Pair, ...]
    extra: tuple[Change, ...]
    bounded: bool


@dataclass(frozen=True, slots=True)
class _Open:
    """What is left of a grid once some pairs are taken for granted.

    Attributes:
        rows: Its expected rows, as indices in the grid.
        places: Its inserted rows, likewise.
        weights: ``weights[row][place]``: what a pair costs against leaving the inserted row alone.
        met: ``met[row][place]``: the labels that a pair gives a value; empty without labels.
    """

    rows: Sequence[int]
    places: Sequence[int]
    weights: Sequence[Sequence[int]]
    met: Sequence[Sequence[tuple[Occurrence, ...]]]


def nearest_pairing(inserts: Inserts) -> Nearest:
    """The pairing with the fewest reasons, or the best that ``STEPS`` steps find.

    Without labels the tables are independent and the answer is exact at once. With labels it is the
    start and the lower bound of a search. Of tables with more than ``MANY`` pairs, rows that fit
    are paired first and no more than ``MANY`` pairs are weighed.
    """
    grids = inserts.grids
    many = [len(grid.wanted) * len(grid.actual) > MANY for grid in grids]
    chosen = _granted(grids, many, inserts.met)
    granted = [
        occurrence
        for grid, partners in zip(grids, chosen, strict=True)
        for row, place in enumerate(partners)
        if place is not None
        for occurrence in grid.met(row, place)
    ]
    rest = [_rest(grid, partners) for grid, partners in zip(grids, chosen, strict=True)]
    start = [_cheapest(each.weights, len(each.places)) for each in rest]
    labelled = [at for at, grid in enumerate(grids) if grid.labelled]
    search = _Search([rest[at] for at in labelled], [*inserts.met, *granted])
    for at, partners in zip(labelled, search.run([start[at] for at in labelled]), strict=True):
        start[at] = partners
    pairs = list(inserts.settled)
    extra: list[Change] = []
    for grid, partners, each, found in zip(grids, chosen, rest, start, strict=True):
        for row, place in zip(each.rows, found, strict=True):
            partners[row] = None if place is None else each.places[place]
        pairs += grid.chosen(partners)
        taken = set(partners)
        extra += [change for at, change in enumerate(grid.actual) if at not in taken]
    return Nearest(tuple(pairs), tuple(extra), any(many) or search.steps > STEPS)


def _granted(
    grids: Sequence[Grid], many: Sequence[bool], met: Sequence[Occurrence]
) -> list[list[int | None]]:
    """The partners of rows that fit, in tables with many pairs."""
    chosen: list[list[int | None]] = [[None] * len(grid.wanted) for grid in grids]
    labelled = [at for at, grid in enumerate(grids) if grid.labelled]
    if any(many[at] for at in labelled):
        alike = pair_alike([grids[at] for at in labelled], met)
        for at, partners in zip(labelled, alike, strict=True):
            if many[at]:
                chosen[at] = partners
    for at, grid in enumerate(grids):
        if many[at]:
            taken = set(chosen[at])
            left = [row for row, place in enumerate(chosen[at]) if place is None]
            free = {
                id(fitting): [place for place in fitting if place not in taken]
                for fitting in map(grid.fitting, left)
            }
            found = largest_matching([free[id(grid.fitting(row))] for row in left])
            for row, place in zip(left, found, strict=True):
                chosen[at][row] = place
    return chosen


def _rest(grid: Grid, partners: Sequence[int | None]) -> _Open:
    rows = [row for row, place in enumerate(partners) if place is None]
    taken = set(partners)
    places = [place for place in range(len(grid.actual)) if place not in taken]
    if len(rows) * len(places) > MANY:
        rows = rows[: MANY // min(len(places), _DEEP)]
        places = places[: MANY // len(rows)]
    pairs = [[grid.pair(row, place) for place in places] for row in rows]
    weights = [[_weight(pair) for pair in line] for line in pairs]
    # Who has nobody to go with need not be weighed further.
    lines = [at for at, line in enumerate(weights) if min(line, default=_NEVER) < _NEVER]
    own = [at for at in range(len(places)) if any(weights[line][at] < _NEVER for line in lines)]
    return _Open(
        [rows[line] for line in lines],
        [places[at] for at in own],
        [[weights[line][at] for at in own] for line in lines],
        [
            [pairs[line][at].met(grid.labels) if grid.labelled else () for at in own]
            for line in lines
        ],
    )


def _weight(pair: Pair) -> int:
    if pair.change is None or not pair.wanted.near(new_row(pair.change), pair.wrong):
        return _NEVER
    return min(len(pair.wrong), 2) * _REASON + len(pair.wrong) - _ALONE


def _cheapest(weights: Sequence[Sequence[int]], width: int) -> list[int | None]:
    """The best partners if labels did not matter: as many places to be alone as there are rows."""
    costs = [[*line, *[_ALONE] * len(weights)] for line in weights]
    return [place if place < width else None for place in cheapest_assignment(costs)]


class _Search:
    """Branch and bound over partners, with the clashes of labels counted in."""

    def __init__(self, grids: Sequence[_Open], met: Sequence[Occurrence]) -> None:
        self._grids = grids
        self._nodes = [
            (number, row) for number, grid in enumerate(grids) for row in range(len(grid.rows))
        ]
        # The least that the rows from a node on can cost.
        self._least = [0] * (len(self._nodes) + 1)
        for at in range(len(self._nodes) - 1, -1, -1):
            number, row = self._nodes[at]
            self._least[at] = self._least[at + 1] + min([_ALONE, *grids[number].weights[row]])
        # Partners that may be taken, the cheapest first; being alone is always one.
        self._options: list[list[tuple[int, int | None]]] = [
            [
                *sorted((weight, at) for at, weight in enumerate(line) if weight < _NEVER),
                (_ALONE, None),
            ]
            for line in (grids[number].weights[row] for number, row in self._nodes)
        ]
        self._met = list(met)
        self._clashes = ClashFloor()
        self._clashes.count(met)
        self.steps = 0

    def run(self, start: Sequence[Sequence[int | None]]) -> list[list[int | None]]:
        """The cheapest partners; ``start`` is the best if labels did not matter."""
        self._best = [list(partners) for partners in start]
        self._now: list[list[int | None]] = [[None] * len(partners) for partners in start]
        met = list(self._met)
        floor = 0
        for number, partners in enumerate(start):
            for row, place in enumerate(partners):
                floor += _ALONE if place is None else self._grids[number].weights[row][place]
                met += () if place is None else self._grids[number].met[row][place]
        self._cost = floor + len(clashes(met)) * _REASON
        if self._cost > floor and len(self._nodes) > _DEEP:
            self.steps = STEPS + 1
        elif self._cost > floor:  # else nothing can be cheaper
            self._extend(0, 0)
        return self._best

    def _extend(self, at: int, cost: int) -> None:
        if at == len(self._nodes):
            total = cost + len(clashes(self._met)) * _REASON
            if total < self._cost:
                self._cost = total
                self._best = [list(partners) for partners in self._now]
            return
        number, row = self._nodes[at]
        for weight, place in self._options[at]:
            if place is not None and place in self._now[number]:
                continue
            if cost + weight + self._least[at + 1] >= self._cost:
                return  # and all that follow cost more
            self.steps += 1
            if self.steps > STEPS:
                return
            met = () if place is None else self._grids[number].met[row][place]
            self._met += met
            self._clashes.count(met)
            least = cost + weight + self._least[at + 1] + self._clashes.floor * _REASON
            if least < self._cost:
                self._now[number][row] = place
                self._extend(at + 1, cost + weight)
                self._now[number][row] = None
            self._clashes.count(met, -1)
            del self._met[len(self._met) - len(met) :]
