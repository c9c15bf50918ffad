"""The pass rates of all probed tasks together: what a pool-wide figure is predicted from.

Jeffreys' prior serves one task. Summed over a pool it is right only if the tasks' pass rates are
spread as that prior is, Beta(1/2, 1/2); on pools that are not, its 95 % interval for the share of
mixed groups covered 0 to 82 % in simulation. So the spread is learned from the tasks themselves:
pass rates come from one Beta(a, b), and every (a, b) on a grid is weighed by how well it explains
the counts of *all* probed tasks, kept or not (Gelman et al., "Bayesian Data Analysis", chapter 5).
When a task was stopped does not matter here: the likelihood of its counts is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from outcomebox.selection.posterior import Floats

_GRID = 49
_MEANS = special.expit(np.linspace(-4.0, 4.0, _GRID))
_SIZES = np.geomspace(0.1, 200.0, _GRID)
_CHUNK = 250_000
_BUDGET, _FEWEST, _MOST = 1_000_000, 200, 2_000
MOST_TASKS = 5_000
"""Tasks that draws are made of: a share over more hardly differs from that over a sample."""


@dataclass(frozen=True)
class Population:
    """How likely each spread of pass rates is.

    Attributes:
        a: shape (spreads,), first parameter of each Beta.
        b: shape (spreads,), second parameter.
        weight: shape (spreads,), sums to 1.
    """

    a: Floats
    b: Floats
    weight: Floats

    @property
    def mean(self) -> float:
        """Expected mean pass rate of the population."""
        return float(np.sum(self.weight * self.a / (self.a + self.b)))


def learn(passes: ArrayLike, clean_runs: ArrayLike) -> Population:
    """Weighs the spreads by the counts of all probed tasks.

    The prior is flat in the mean and falls as 1 / (1 + a + b)^2.

    Args:
        passes: shape (tasks,).
        clean_runs: shape (tasks,), 0 for a task that says nothing.
    """
    means, sizes = (each.ravel() for each in np.meshgrid(_MEANS, _SIZES, indexing="ij"))
    a, b = means * sizes, (1 - means) * sizes
    counts = np.stack([np.asarray(passes, np.int64), np.asarray(clean_runs, np.int64)], axis=-1)
    score = np.log(means * (1 - means)) + np.log(sizes) - 2 * np.log1p(sizes)
    for (k, n), tasks in zip(*np.unique(counts, axis=0, return_counts=True), strict=True):
        score += tasks * (special.betaln(a + k, b + n - k) - special.betaln(a, b))
    weight = np.exp(score - score.max())
    return Population(a, b, weight / weight.sum())


def draws_for(tasks: int) -> int:
    """How many posterior draws are made: fewer for many tasks, whose mean varies less."""
    return min(_MOST, max(_FEWEST, _BUDGET // max(1, tasks)))


def draw_rates(
    population: Population, passes: ArrayLike, clean_runs: ArrayLike, seed: int
) -> Iterator[Floats]:
    """Draws true pass rates of all tasks from their joint posterior.

    Args:
        population: what `learn` gave.
        passes: shape (tasks,).
        clean_runs: shape (tasks,).
        seed: the same seed gives the same draws.

    Yields:
        Parts of shape (draws, tasks), `draws_for(tasks)` draws in all, so that the memory held
        does not grow with their number.
    """
    rng = np.random.default_rng(seed)
    k, n = np.asarray(passes, np.float64), np.asarray(clean_runs, np.float64)
    left = draws_for(k.size)
    part = max(1, _CHUNK // max(1, k.size))
    while left:
        here = min(part, left)
        chosen = rng.choice(population.weight.size, here, p=population.weight)
        yield rng.beta(population.a[chosen][:, None] + k, population.b[chosen][:, None] + n - k)
        left -= here
