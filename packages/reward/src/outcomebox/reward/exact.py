"""Whether all rows can be paired so that every column fits and every label stands for one id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from outcomebox.reward.assign import complete_matching
from outcomebox.reward.groups import Undecided, pair_labelled
from outcomebox.reward.inserts import Grid, Inserts, Pair

Allowed: TypeAlias = Callable[[Pair], bool]


@dataclass(frozen=True, slots=True)
class Exact:
    """What the search for a pairing in which everything fits has come to.

    Attributes:
        pairs: The pairing; None if there is none, or none was found.
        bounded: Whether the search was cut short, so that there may be one all the same.
    """

    pairs: tuple[Pair, ...] | None
    bounded: bool = False


_NONE = Exact(None)


def exact_pairing(inserts: Inserts, allowed: Allowed | None = None) -> Exact:
    """A pairing in which everything fits.

    Args:
        inserts: The rows.
        allowed: A further condition on a pair that fits otherwise; asked only for pairs that are
            tried.
    """
    if any(pair.change is None or pair.wrong for pair in inserts.settled):
        return _NONE
    if any(len(grid.wanted) != len(grid.actual) for grid in inserts.grids):
        return _NONE
    if allowed and not all(map(allowed, inserts.settled)):
        return _NONE
    pairs = list(inserts.settled)
    for grid in inserts.grids:
        if not grid.labelled:
            found = complete_matching(
                [grid.fitting(row) for row in range(len(grid.wanted))], _on(grid, allowed)
            )
            if found is None:
                return _NONE
            pairs += grid.chosen(found)
    labelled = [grid for grid in inserts.grids if grid.labelled]
    try:
        rest = pair_labelled(labelled, inserts.met, allowed)
    except Undecided:
        return Exact(None, bounded=True)
    return _NONE if rest is None else Exact((*pairs, *rest))


def _on(grid: Grid, allowed: Allowed | None) -> Callable[[int, int], bool] | None:
    return None if allowed is None else lambda row, place: allowed(grid.pair(row, place))
