"""Intervals, each named after what it is about.

A run has two kinds of chance in it: which tasks there are, and how an attempt at one turns out.
Attempts at one task resemble each other, so pooling them as independent makes intervals far too
short; nothing here does. Sources: naming the estimand and clustering by task, Miller, arXiv
2411.00640; few tasks, Bowyer et al., arXiv 2503.01747.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outcomebox.eval.metrics.estimate import Interval

Floats = NDArray[np.float64]
LEVEL = 0.95
RESAMPLES = 10_000

ONE_TASK = "one task says nothing of other tasks"
NO_TASK = "no task has a value"
CONSTANT = "all tasks agree: zero width says that no difference was seen, not that there is none"
_BLOCK = 1 << 21  # weights held at a time


def wilson(successes: int, total: int, level: float = LEVEL) -> Interval:
    """Wilson's score interval of a share.

    The end at an edge is exactly that edge. Source: Wilson, JASA 22 (1927); Brown, Cai and
    DasGupta, Statistical Science 16 (2001).

    Args:
        successes: How many are so.
        total: Of how many; with 0 there is no interval.
        level: Confidence.

    Raises:
        ValueError: unless 0 <= successes <= total.
    """
    from scipy.special import ndtri  # noqa: PLC0415 -- a command starts without scipy

    if not 0 <= successes <= total:
        raise ValueError(f"{successes} of {total} is no share")
    if total == 0:
        return Interval(None, None, note=NO_TASK)
    z = float(ndtri((1 + level) / 2))
    share = successes / total
    centre = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    half /= 1 + z * z / total
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == total else min(1.0, centre + half)
    return Interval(low, high)


def jeffreys(passed: ArrayLike, clean: ArrayLike, level: float = LEVEL) -> Floats:
    """The interval of one task's true rate: quantiles of ``Beta(c + 1/2, n - c + 1/2)``.

    Both tails hold what they claim, also at 0/n and n/n: the ends are the raw quantiles.

    Args:
        passed: Shape (tasks,), attempts that passed.
        clean: Shape (tasks,), attempts without system error.
        level: Probability inside.

    Returns:
        Shape (tasks, 2), low and high; NaN for a task without clean attempt.
    """
    from scipy import special  # noqa: PLC0415 -- a command starts without scipy

    c, n = np.asarray(passed, dtype=np.float64), np.asarray(clean, dtype=np.float64)
    tail = (1 - level) / 2
    a, b = c + 0.5, n - c + 0.5
    ends = np.stack([special.betaincinv(a, b, tail), special.betainccinv(a, b, tail)], axis=-1)
    return np.where((n > 0)[..., None], ends, np.nan)


def within_tasks(passed: ArrayLike, clean: ArrayLike, level: float = LEVEL) -> Interval:
    """The interval of the mean rate of *these tasks*: only the luck of the attempts varies.

    ``mean ± z sqrt(sum of p (1-p) / (n-1)) / tasks``, cut to [0, 1], p the rate of a task in its n
    clean attempts. None where a task has fewer than two: its luck cannot be seen.

    Args:
        passed: Shape (tasks,), attempts that passed.
        clean: Shape (tasks,), attempts without system error, each at least 1.
        level: Confidence.
    """
    from scipy.special import ndtri  # noqa: PLC0415 -- a command starts without scipy

    c, n = np.asarray(passed, dtype=np.float64), np.asarray(clean, dtype=np.float64)
    if n.size == 0:
        return Interval(None, None, note=NO_TASK)
    if bool((n < 2).any()):
        return Interval(
            None, None, note="a task with a single clean attempt does not show its luck"
        )
    rate = c / n
    se = float(np.sqrt(np.sum(rate * (1 - rate) / (n - 1)))) / n.size
    if se == 0:
        value = float(rate.mean())
        return Interval(value, value, 0.0, "every task always did the same: zero width")
    return _around(float(rate.mean()), se, float(ndtri((1 + level) / 2)))


def strata_of(labels: Sequence[str]) -> list[NDArray[np.intp]]:
    """Positions by stratum, in the order of the labels' names.

    Strata of a single task show no spread, so they are taken together; a single one that is left
    joins the smallest other (collapsed strata, Cochran, Sampling Techniques, 5A.12).

    Args:
        labels: The stratum of each task.
    """
    found: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        found.setdefault(label, []).append(place)
    named = [found[label] for label in sorted(found)]
    single = [place for places in named if len(places) == 1 for place in places]
    strata = [places for places in named if len(places) > 1]
    if len(single) > 1 or not strata:
        strata.append(sorted(single))
    elif single:
        smallest = min(range(len(strata)), key=lambda at: len(strata[at]))
        strata[smallest] = sorted([*strata[smallest], *single])
    return [np.asarray(places, dtype=np.intp) for places in strata if places]


def cluster_t(
    values: ArrayLike,
    labels: Sequence[str] | None = None,
    *,
    level: float = LEVEL,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """The interval of a mean for a *population of tasks*, by Student's t over task values.

    Standard error ``sqrt(sum over strata of (N_h / N)^2 s_h^2 / N_h)`` with N - H degrees of
    freedom (Cochran, Sampling Techniques, 5.4).

    Args:
        values: Shape (tasks,), one value a task; its attempts are in it as their mean.
        labels: The stratum of each task; one stratum by default.
        level: Confidence.
        bounds: The ends are cut to these.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 -- a command starts without scipy

    x = np.asarray(values, dtype=np.float64)
    if x.size < 2:
        return Interval(None, None, note=ONE_TASK if x.size else NO_TASK)
    strata = strata_of(["all"] * x.size if labels is None else labels)
    variance = sum(x[places].var(ddof=1) * len(places) for places in strata) / x.size**2
    quantile = float(stdtrit(x.size - len(strata), (1 + level) / 2))
    se = math.sqrt(float(variance))
    return _around(float(x.mean()), se, quantile, bounds, note=None if se else CONSTANT)


class Resampler:
    """Draws tasks with replacement within strata, as counts of how often each was drawn.

    The same strata, seed and number give the same draws.

    Args:
        strata: Positions of the tasks, by stratum.
        seed: Of the draws.
        resamples: How many draws.
    """

    def __init__(self, strata: Sequence[NDArray[np.intp]], seed: int, resamples: int) -> None:
        self.strata = [*strata]
        self.seed = seed
        self.resamples = resamples
        self.tasks = sum(len(places) for places in self.strata)

    def blocks(self) -> Iterator[Floats]:
        """How often each task is in each draw, of shape (tasks, draws), some draws at a time."""
        generator = np.random.default_rng(self.seed)
        most = max(1, _BLOCK // max(1, self.tasks))
        for start in range(0, self.resamples, most):
            number = min(most, self.resamples - start)
            weights = np.empty((self.tasks, number))
            for places in self.strata:
                size = len(places)
                drawn = generator.integers(0, size, (size, number))
                drawn *= number
                drawn += np.arange(number)
                counts = np.bincount(drawn.ravel(), minlength=number * size)
                weights[places] = counts.reshape(size, number)
            yield weights


def tail_of(tasks: int, strata: int, level: float) -> float:
    """The share of draws to cut off on either side for an interval.

    Draws of few tasks spread too little, by ``sqrt((N - H) / N)``, and a normal tail is too thin.
    The tail is widened to what Student's t says: ``Phi(-sqrt(N / (N - H)) t)``, the expanded
    percentile interval of Hesterberg, The American Statistician 69 (2015).

    Args:
        tasks: N, resampled.
        strata: H, fewer than that.
        level: Confidence.
    """
    from scipy.special import ndtr, stdtrit  # noqa: PLC0415 -- a command starts without scipy

    free = tasks - strata
    return float(ndtr(-math.sqrt(tasks / free) * stdtrit(free, (1 + level) / 2)))


def percentiles(draws: Floats, tail: float) -> tuple[Floats, Floats]:
    """Lower and upper percentile of draws, each a value that was drawn (inverted CDF).

    Args:
        draws: Shape (rows, resamples); infinite where a ratio has no bound.
        tail: Share of draws cut off on either side.

    Returns:
        Two arrays of shape (rows,).
    """
    number = draws.shape[1]
    low = max(math.ceil(tail * number - 1e-9) - 1, 0)
    high = number - 1 - low
    placed = np.partition(draws, sorted({low, high}), axis=1)
    return placed[:, low], placed[:, high]


def bootstrap(
    values: ArrayLike,
    labels: Sequence[str] | None = None,
    *,
    level: float = LEVEL,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """The interval of a mean for a *population of tasks*, by resampling tasks within strata.

    Args:
        values: Shape (tasks,), one value a task, in an order that does not depend on the file's.
        labels: The stratum of each task; one stratum by default.
        level: Confidence.
        seed: The same seed gives the same digits.
        resamples: How many draws.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.size < 2:
        return Interval(None, None, note=ONE_TASK if x.size else NO_TASK)
    strata = strata_of(["all"] * x.size if labels is None else labels)
    if bool((x == x[0]).all()):
        return Interval(float(x[0]), float(x[0]), 0.0, CONSTANT)
    blocks = Resampler(strata, seed, resamples).blocks()
    draws = np.concatenate([x @ weights for weights in blocks]) / x.size
    low, high = percentiles(draws[None], tail_of(x.size, len(strata), level))
    return Interval(float(low[0]), float(high[0]), float(draws.std()))


def _around(
    value: float,
    se: float,
    quantile: float,
    bounds: tuple[float, float] = (0.0, 1.0),
    note: str | None = None,
) -> Interval:
    """An interval about a value, its ends cut to the bounds."""
    lowest, highest = bounds
    half = quantile * se
    return Interval(max(lowest, value - half), min(highest, value + half), se, note)
