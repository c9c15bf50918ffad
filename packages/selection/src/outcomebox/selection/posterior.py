"""What k passes in n clean runs say about a task's pass rate.

The posterior under Jeffreys' prior is Beta(k + 1/2, n - k + 1/2) (Brown, Cai and DasGupta, 2001,
"Interval estimation for a binomial proportion"). Everything here takes arrays, one entry a task.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from outcomebox.selection.bands import DEFAULT_EDGES

Floats = NDArray[np.float64]

# Masses closer than this are a tie. Edges that lie symmetrically about 1/2 make exact ties, and the
# last bit of a floating-point difference must not choose the band.
TIE = 1e-12


def jeffreys(passes: ArrayLike, clean_runs: ArrayLike) -> tuple[Floats, Floats]:
    """Parameters of the posterior.

    Args:
        passes: shape (tasks,), passes k of each task.
        clean_runs: shape (tasks,), clean runs n of each task.

    Returns:
        `a = k + 1/2` and `b = n - k + 1/2`, each of shape (tasks,).

    Raises:
        ValueError: unless 0 <= k <= n everywhere.
    """
    k = np.asarray(passes, dtype=np.float64)
    n = np.asarray(clean_runs, dtype=np.float64)
    if not bool(np.all((k >= 0) & (k <= n))):
        raise ValueError("passes must lie between 0 and the number of clean runs")
    return k + 0.5, n - k + 0.5


def band_masses(
    passes: ArrayLike, clean_runs: ArrayLike, edges: Sequence[float] = DEFAULT_EDGES
) -> Floats:
    """Posterior probability that the true pass rate lies in each band.

    Args:
        passes: shape (tasks,).
        clean_runs: shape (tasks,).
        edges: rising from 0 to 1, one more than there are bands.

    Returns:
        Shape (tasks, bands); each row sums to 1.
    """
    a, b = jeffreys(passes, clean_runs)
    below: Floats = special.betainc(a[..., None], b[..., None], np.asarray(edges, np.float64))
    return np.diff(below, axis=-1)


def band_index(masses: Floats) -> NDArray[np.intp]:
    """The band with the greatest mass; of tied bands the harder one.

    Args:
        masses: shape (tasks, bands).

    Returns:
        Shape (tasks,), positions in the bands.
    """
    greatest = masses.max(axis=-1, keepdims=True)
    first: NDArray[np.intp] = np.argmax(masses >= greatest - TIE, axis=-1)
    return first


def posterior_mean(passes: ArrayLike, clean_runs: ArrayLike) -> Floats:
    """Mean of the posterior, (k + 1/2) / (n + 1). Shape (tasks,)."""
    a, b = jeffreys(passes, clean_runs)
    return a / (a + b)


def interval(passes: ArrayLike, clean_runs: ArrayLike, level: float = 0.95) -> Floats:
    """Jeffreys interval with equal tails.

    The ends are the raw quantiles, also at k = 0 and k = n: both tails hold what they claim.

    Args:
        passes: shape (tasks,).
        clean_runs: shape (tasks,).
        level: probability inside, strictly between 0 and 1.

    Returns:
        Shape (tasks, 2), low and high.
    """
    a, b = jeffreys(passes, clean_runs)
    tail = (1 - level) / 2
    return np.stack(
        [special.betaincinv(a, b, tail), special.betainccinv(a, b, tail)], axis=-1, dtype=np.float64
    )
