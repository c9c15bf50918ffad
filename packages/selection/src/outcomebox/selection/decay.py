"""How a pool wears off as the policy improves.

A pool is chosen for the policy that was probed. As training lifts the pass rates, its tasks leave
the bands that give contrast. The estimate lifts every task by the same number of log-odds,
p -> p e^s / (1 - p + p e^s): one step of the logistic scale, as item response theory has ability.
Training does not lift all tasks alike, so this is a yardstick for when to probe again and no
forecast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from outcomebox.selection.posterior import Floats
from outcomebox.selection.prediction import mixed_share


@dataclass(frozen=True, slots=True)
class Worn:
    """A pool under a better policy, one value a draw.

    Attributes:
        rate: shape (draws,), mean pass rate of the pool.
        mixed: shape (draws,), share of mixed groups.
        left: shape (draws,), tasks whose rate is no longer in a retained band and was before.
        bands: shape (draws, bands), tasks in each band.
    """

    rate: Floats
    mixed: Floats
    left: Floats
    bands: Floats


def lifted(rates: Floats, shift: float) -> Floats:
    """Pass rates after a shift in log-odds; 0 and 1 stay."""
    odds = np.exp(shift)
    better: Floats = rates * odds / (1 - rates + rates * odds)
    return better


def worn(
    rates: Floats,
    shift: float,
    group_size: int,
    edges: Sequence[float],
    retained: Sequence[bool],
) -> Worn:
    """Looks at a pool after a shift.

    Args:
        rates: shape (draws, tasks), of the pool under the policy that was probed.
        shift: how much better the policy is, in log-odds; below 0 for a worse one.
        group_size: attempts in a group.
        edges: band edges in force.
        retained: whether each band is retained.
    """
    after = lifted(rates, shift)
    keep = np.asarray(retained)
    inner = np.asarray(edges[1:-1])
    before_band = np.searchsorted(inner, rates, side="right")
    band = np.searchsorted(inner, after, side="right")
    counts = np.stack([(band == each).sum(axis=-1) for each in range(keep.size)], axis=-1)
    left = (keep[before_band] & ~keep[band]).sum(axis=-1)
    return Worn(
        after.mean(axis=-1),
        mixed_share(after, group_size),
        left.astype(np.float64),
        counts.astype(np.float64),
    )


def half_life(
    rates: Floats, edges: Sequence[float], retained: Sequence[bool], furthest: float = 8.0
) -> float | None:
    """The shift at which half of the tasks now in retained bands have left them.

    Args:
        rates: shape (draws, tasks).
        edges: band edges in force.
        retained: whether each band is retained.
        furthest: the greatest shift that is looked at.

    Returns:
        Log-odds, to about a hundredth; None if it is not reached, or no task is there to leave.
    """
    inner, keep = np.asarray(edges[1:-1]), np.asarray(retained)

    def inside(shift: float) -> float:
        band = np.searchsorted(inner, lifted(rates, shift), side="right")
        stays = keep[band] & keep[np.searchsorted(inner, rates, side="right")]
        return float(stays.mean())

    half = inside(0.0) / 2
    if half == 0 or inside(furthest) > half:
        return None
    low, high = 0.0, furthest
    while high - low > 0.005:
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) > half else (low, middle)
    return high
