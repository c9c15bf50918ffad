"""What a pool will give: mixed groups, useful groups a step, wasted rollouts and their cost.

Every function takes draws of the tasks' true pass rates, shape (draws, tasks), and gives one value
a draw; `span` makes an expectation with a 95 % interval of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from outcomebox.selection.posterior import Floats

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Span:
    """An expectation and the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Span:
        """The span of something that is `factor` (at least 0) times as large."""
        return Span(self.value * factor, self.low * factor, self.high * factor)

    def to_json(self) -> dict[str, float]:
        """Plain values of six digits."""
        return {
            "value": round(self.value, 6),
            "low": round(self.low, 6),
            "high": round(self.high, 6),
        }


def span(values: ArrayLike) -> Span:
    """Mean and central 95 % of draws.

    Args:
        values: shape (draws,).
    """
    found = np.asarray(values, np.float64)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    return Span(float(found.mean()), float(low), float(high))


def mixed(rates: Floats, group_size: int) -> Floats:
    """Chance that a group of g attempts is mixed, 1 - p^g - (1 - p)^g, of known pass rates."""
    chance: Floats = 1 - rates**group_size - (1 - rates) ** group_size
    return chance


def mixed_share(rates: Floats, group_size: int) -> Floats:
    """Share of mixed groups when every task of a pool is tried by one group.

    Args:
        rates: shape (draws, tasks).
        group_size: attempts in a group.

    Returns:
        Shape (draws,).
    """
    share: Floats = mixed(rates, group_size).mean(axis=-1)
    return share


@dataclass(frozen=True, slots=True)
class Steps:
    """One training step in each draw.

    Attributes:
        useful: shape (draws,), mixed groups.
        wasted: shape (draws,), rollouts in the other groups, weighed by what each costs.
    """

    useful: Floats
    wasted: Floats


def steps(
    rates: Floats,
    group_size: int,
    groups: int,
    rng: np.random.Generator,
    cost: ArrayLike | None = None,
) -> Steps:
    """Plays one training step for each draw: its tasks are chosen and its groups come out.

    A step takes different tasks of the pool as long as there are enough, and each one as often as
    another (give or take one) if there are not.

    Args:
        rates: shape (draws, tasks).
        group_size: attempts in a group.
        groups: groups in a step.
        rng: what chance is played with.
        cost: shape (tasks,), what one rollout of each task costs; 1 by default.
    """
    draws, tasks = rates.shape
    price = np.ones(tasks) if cost is None else np.asarray(cost, np.float64)
    chance = np.clip(mixed(rates, group_size), 0, 1)
    rounds, rest = divmod(groups, tasks)
    times = np.full((draws, tasks), rounds)
    if rest:
        chosen = rng.random((draws, tasks)).argpartition(rest - 1, axis=-1)[:, :rest]
        np.put_along_axis(times, chosen, rounds + 1, axis=-1)
    useful = rng.binomial(times, chance)
    return Steps(useful.sum(axis=-1), (times - useful) @ price * group_size)
