"""Whether all rows can be paired so that every column fits and every label stands for one id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from outcomebox.reward.assign import complete_matching
from outcomebox.reward.errors import CheckError
from outcomebox.reward.inserts import Grid, Inserts, Pair
from outcomebox.reward.labels import Occurrence, Space, clashes
from outcomebox.sandbox.changes import Value

STEPS = 100_000
"""How many pairs the search tries before it gives up undecided."""

Allowed: TypeAlias = Callable[[Pair], bool]
_Node: TypeAlias = tuple[int, int]  # a grid and one of its expected rows


def exact_pairing(inserts: Inserts, allowed: Allowed | None = None) -> tuple[Pair, ...] | None:
    """A pairing in which everything fits, or None if there is none.

    Args:
        inserts: The rows.
        allowed: A further condition on a pair that fits otherwise; asked only for pairs that are
            tried.

    Raises:
        CheckError: Undecided after ``STEPS`` steps, because too many labelled rows are alike.
    """
    if any(pair.change is None or pair.wrong for pair in inserts.settled):
        return None
    if any(len(grid.wanted) != len(grid.actual) for grid in inserts.grids):
        return None
    if allowed and not all(map(allowed, inserts.settled)):
        return None
    pairs = list(inserts.settled)
    for grid in inserts.grids:
        if not grid.labelled:
            found = complete_matching(
                [grid.fitting(row) for row in range(len(grid.wanted))], _on(grid, allowed)
            )
            if found is None:
                return None
            pairs += grid.chosen(found)
    search = _LabelSearch([grid for grid in inserts.grids if grid.labelled], allowed)
    rest = search.solve(inserts.met)
    return None if rest is None else (*pairs, *rest)


def _on(grid: Grid, allowed: Allowed | None) -> Callable[[int, int], bool] | None:
    return None if allowed is None else lambda row, place: allowed(grid.pairs[row][place])


class _LabelSearch:
    """Depth-first search for partners under which every label stands for one id.

    The row with the fewest partners left is next, so that a dead end shows early.
    """

    def __init__(self, grids: Sequence[Grid], allowed: Allowed | None) -> None:
        self._grids = grids
        self._allowed = allowed
        self._open = {
            (number, row): [at for at in grid.fitting(row) if not clashes(grid.met[row][at])]
            for number, grid in enumerate(grids)
            for row in range(len(grid.wanted))
        }
        self._used: set[_Node] = set()  # a grid and one of its inserted rows
        self._meaning: dict[str, Value] = {}
        self._taken: dict[tuple[Space, Value], str] = {}
        self._pairs: list[Pair] = []
        self._steps = 0

    def solve(self, met: Sequence[Occurrence]) -> list[Pair] | None:
        if clashes(met):
            return None
        self._meet(met)
        return self._pairs if self._extend() else None

    def _extend(self) -> bool:
        if not self._open:
            return True
        node, partners = self._next()
        number, row = node
        grid = self._grids[number]
        kept = self._open.pop(node)
        for place in partners:
            self._steps += 1
            if self._steps > STEPS:
                raise CheckError(
                    f"{grid.wanted[row].table}: undecided after {STEPS} steps, because too many "
                    "expected inserts are alike; list columns that tell them apart"
                )
            pair = grid.pairs[row][place]
            if self._allowed is not None and not self._allowed(pair):
                continue
            meaning, taken = dict(self._meaning), dict(self._taken)
            self._meet(grid.met[row][place])
            self._used.add((number, place))
            self._pairs.append(pair)
            if self._extend():
                return True
            self._pairs.pop()
            self._used.discard((number, place))
            self._meaning, self._taken = meaning, taken
        self._open[node] = kept
        return False

    def _next(self) -> tuple[_Node, list[int]]:
        found: tuple[_Node, list[int]] | None = None
        for node in self._open:
            partners = self._partners(node)
            if found is None or len(partners) < len(found[1]):
                found = node, partners
            if len(partners) <= 1:
                break
        assert found is not None  # noqa: S101 -- called only while rows are open
        return found

    def _partners(self, node: _Node) -> list[int]:
        number, row = node
        met = self._grids[number].met[row]
        return [
            place
            for place in self._open[node]
            if (number, place) not in self._used and all(map(self._agrees, met[place]))
        ]

    def _agrees(self, each: Occurrence) -> bool:
        if self._meaning.get(each.label, each.value) != each.value:
            return False
        return not each.space or self._taken.get((each.space, each.value), each.label) == each.label

    def _meet(self, met: Sequence[Occurrence]) -> None:
        for each in met:
            self._meaning[each.label] = each.value
            if each.space:
                self._taken[each.space, each.value] = each.label
