"""The pairing that explains a wrong state with the fewest reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from outcomebox.reward.assign import cheapest_assignment
from outcomebox.reward.inserts import Grid, Inserts, Pair, new_row
from outcomebox.reward.labels import ClashFloor, Occurrence, clashes
from outcomebox.sandbox.changes import Change

STEPS = 5_000
"""How many pairs the search tries before it takes the best it has."""

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


def nearest_pairing(inserts: Inserts) -> Nearest:
    """The pairing with the fewest reasons, or the best that ``STEPS`` steps find.

    Without labels the tables are independent and the answer is exact at once. With labels it is the
    start and the lower bound of a search.
    """
    weights = [_weights(grid) for grid in inserts.grids]
    chosen = [_cheapest(grid, costs) for grid, costs in zip(inserts.grids, weights, strict=True)]
    open_grids = [at for at, grid in enumerate(inserts.grids) if grid.labelled]
    search = _Search(
        [inserts.grids[at] for at in open_grids], [weights[at] for at in open_grids], inserts.met
    )
    for at, partners in zip(open_grids, search.run([chosen[at] for at in open_grids]), strict=True):
        chosen[at] = partners
    pairs = list(inserts.settled)
    extra: list[Change] = []
    for grid, partners in zip(inserts.grids, chosen, strict=True):
        pairs += grid.chosen(partners)
        extra += [change for at, change in enumerate(grid.actual) if at not in partners]
    return Nearest(tuple(pairs), tuple(extra), search.steps > STEPS)


def _weights(grid: Grid) -> list[list[int]]:
    """What each pair costs, compared with leaving the inserted row alone."""
    return [
        [
            min(len(pair.wrong), 2) * _REASON + len(pair.wrong) - _ALONE
            if pair.change and pair.wanted.near(new_row(pair.change), pair.wrong)
            else _NEVER
            for pair in line
        ]
        for line in grid.pairs
    ]


def _cheapest(grid: Grid, weights: Sequence[Sequence[int]]) -> list[int | None]:
    """The best partners if labels did not matter: as many places to be alone as there are rows."""
    width = len(grid.actual)
    costs = [[*line, *[_ALONE] * len(grid.wanted)] for line in weights]
    return [place if place < width else None for place in cheapest_assignment(costs)]


class _Search:
    """Branch and bound over partners, with the clashes of labels counted in."""

    def __init__(
        self,
        grids: Sequence[Grid],
        weights: Sequence[Sequence[Sequence[int]]],
        met: Sequence[Occurrence],
    ) -> None:
        self._grids = grids
        self._weights = weights
        self._nodes = [
            (number, row) for number, grid in enumerate(grids) for row in range(len(grid.wanted))
        ]
        # The least that the rows from a node on can cost.
        self._least = [0] * (len(self._nodes) + 1)
        for at in range(len(self._nodes) - 1, -1, -1):
            number, row = self._nodes[at]
            self._least[at] = self._least[at + 1] + min([_ALONE, *weights[number][row]])
        # Partners that may be taken, the cheapest first; being alone is always one.
        self._options: list[list[tuple[int, int | None]]] = [
            [
                *sorted((weight, at) for at, weight in enumerate(line) if weight < _NEVER),
                (_ALONE, None),
            ]
            for line in (weights[number][row] for number, row in self._nodes)
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
                floor += _ALONE if place is None else self._weights[number][row][place]
                met += () if place is None else self._grids[number].met[row][place]
        self._cost = floor + len(clashes(met)) * _REASON
        if self._cost > floor:  # else nothing can be cheaper
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
