"""What the observed attempts say about the next ones: is a task that passed dependable?

Observed k/k is noisy itself. A task that passed 20 of 20 does so again with probability .71 under
its Jeffreys posterior, so the count of such tasks stands beside what a rerun is expected to show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

DEPENDABLE = 0.95
"""A true rate from which on a task is called dependable."""

BANDS = (
    "rarely_solved",
    "difficult",
    "intermediate",
    "frequently_solved",
    "nearly_always_solved",
)
EDGES = (0.0, 0.08, 0.40, 0.60, 0.90, 1.0)
MIN_CLEAN = 4
"""Clean attempts below which a task has no band."""


def at_least(passed: ArrayLike, clean: ArrayLike, rate: float = DEPENDABLE) -> Floats:
    """Posterior probability that a task's true rate is at least ``rate``, Jeffreys' prior.

    Args:
        passed: Shape (tasks,), attempts that passed.
        clean: Shape (tasks,), attempts without system error.
        rate: The rate.

    Returns:
        Shape (tasks,); NaN without clean attempt.
    """
    from scipy.special import betaincc  # noqa: PLC0415 -- a command starts without scipy

    c, n = np.asarray(passed, dtype=np.float64), np.asarray(clean, dtype=np.float64)
    return np.where(n > 0, betaincc(c + 0.5, n - c + 0.5, rate), np.nan)


def again(passed: ArrayLike, clean: ArrayLike, k: int) -> Floats:
    """Probability that a task passes k of k attempts in a rerun: ``B(a + k, b) / B(a, b)``.

    With ``a = c + 1/2`` and ``b = n - c + 1/2``: the posterior predictive under Jeffreys' prior.

    Args:
        passed: Shape (tasks,), attempts that passed.
        clean: Shape (tasks,), attempts without system error.
        k: Attempts of the rerun.

    Returns:
        Shape (tasks,); NaN without clean attempt.
    """
    from scipy.special import betaln  # noqa: PLC0415 -- a command starts without scipy

    c, n = np.asarray(passed, dtype=np.float64), np.asarray(clean, dtype=np.float64)
    a, b = c + 0.5, n - c + 0.5
    return np.where(n > 0, np.exp(betaln(a + k, b) - betaln(a, b)), np.nan)


def count_interval(chances: ArrayLike, level: float = 0.95) -> tuple[int, int]:
    """How many of independent events of these chances will happen: an interval of counts.

    The exact distribution (Poisson binomial) by convolution; both ends are its quantiles.

    Args:
        chances: Shape (events,), each from 0 to 1.
        level: Probability inside, at least.
    """
    mass = np.ones(1)
    for chance in np.asarray(chances, dtype=np.float64):
        mass = np.convolve(mass, (1 - chance, chance))
    below = np.cumsum(mass)
    tail = (1 - level) / 2
    return int(np.searchsorted(below, tail)), int(np.searchsorted(below, 1 - tail))


def bands(
    passed: ArrayLike,
    clean: ArrayLike,
    edges: Sequence[float] = EDGES,
    names: Sequence[str] = BANDS,
) -> list[str | None]:
    """The band of each task: the one that its posterior rate lies in most probably.

    Of tied bands the harder one. None with fewer than :data:`MIN_CLEAN` clean attempts.

    Args:
        passed: Shape (tasks,), attempts that passed.
        clean: Shape (tasks,), attempts without system error.
        edges: Rising from 0 to 1, one more than there are names.
        names: Of the bands, from the hardest.
    """
    from scipy.special import betainc  # noqa: PLC0415 -- a command starts without scipy

    c, n = np.asarray(passed, dtype=np.float64), np.asarray(clean, dtype=np.float64)
    below = betainc((c + 0.5)[:, None], (n - c + 0.5)[:, None], np.asarray(edges))
    mass = np.diff(below, axis=1)
    best = np.argmax(mass >= mass.max(axis=1, keepdims=True, initial=0) - 1e-12, axis=1)
    return [names[at] if many >= MIN_CLEAN else None for at, many in zip(best, n, strict=True)]
