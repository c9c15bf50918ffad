"""Rates of success over repeated attempts at tasks.

All functions take arrays, one entry a task: ``passed`` c of ``clean`` n attempts. NaN marks a task
for which a rate is not defined, because it has fewer clean attempts than k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def pass_at_1(passed: ArrayLike, clean: ArrayLike) -> Floats:
    """The chance that an attempt passes, c / n.

    Args:
        passed: Shape (tasks,), attempts that passed.
        clean: Shape (tasks,), attempts without system error.

    Returns:
        Shape (tasks,); NaN where there is no clean attempt.
    """
    return pass_hat_k(passed, clean, 1)


def pass_at_k(passed: ArrayLike, clean: ArrayLike, k: int) -> Floats:
    """The chance that at least one of k attempts passes: ``1 - C(n-c, k) / C(n, k)``, unbiased.

    Source: Chen et al., arXiv 2107.03374.

    Args:
        passed: Shape (tasks,), attempts that passed.
        clean: Shape (tasks,), attempts without system error.
        k: Attempts drawn without replacement, at least 1.

    Returns:
        Shape (tasks,); NaN where k > n.

    Raises:
        ValueError: k < 1, or not 0 <= c <= n.
    """
    c, n = _counts(passed, clean)
    return 1 - _all_of(n - c, n, k)


def pass_hat_k(passed: ArrayLike, clean: ArrayLike, k: int) -> Floats:
    """The chance that all of k attempts pass, pass^k: ``C(c, k) / C(n, k)``, unbiased.

    Source: Yao et al., arXiv 2406.12045. ``(c / n)^k`` is biased upward and is not used.

    Args:
        passed: Shape (tasks,), attempts that passed.
        clean: Shape (tasks,), attempts without system error.
        k: Attempts drawn without replacement, at least 1.

    Returns:
        Shape (tasks,); NaN where k > n.

    Raises:
        ValueError: k < 1, or not 0 <= c <= n.
    """
    c, n = _counts(passed, clean)
    return _all_of(c, n, k)


def all_of_k(passed: ArrayLike, clean: ArrayLike, k: int) -> Floats:
    """Whether a task passed every one of its k attempts, as observed: 1, 0 or NaN.

    A failure decides it at once. A task without failure and with fewer than k clean attempts is
    undecided: 1/1 is not 4/4.

    Args:
        passed: Shape (tasks,), attempts that passed.
        clean: Shape (tasks,), attempts without system error.
        k: Attempts that were due.

    Returns:
        Shape (tasks,).
    """
    c, n = _counts(passed, clean)
    return np.where(c < n, 0.0, np.where(n >= k, 1.0, np.nan))


def any_of_k(passed: ArrayLike, clean: ArrayLike, k: int) -> Floats:
    """Whether a task passed at least one of its k attempts, as observed: 1, 0 or NaN.

    A pass decides it at once. A task without pass and with fewer than k clean attempts is
    undecided.

    Args:
        passed: Shape (tasks,), attempts that passed.
        clean: Shape (tasks,), attempts without system error.
        k: Attempts that were due.

    Returns:
        Shape (tasks,).
    """
    c, n = _counts(passed, clean)
    return np.where(c > 0, 1.0, np.where(n >= k, 0.0, np.nan))


def mean(values: ArrayLike) -> float | None:
    """The mean over tasks; None while it is undefined (NaN) for one of them, or there is none."""
    array = np.asarray(values, dtype=np.float64)
    return None if array.size == 0 or np.isnan(array).any() else float(array.mean())


def mean_of_defined(values: ArrayLike) -> tuple[float | None, int]:
    """The mean over the tasks where it is defined, and how many these are."""
    array = np.asarray(values, dtype=np.float64)
    defined = array[~np.isnan(array)]
    return (float(defined.mean()) if defined.size else None), int(defined.size)


def _counts(passed: ArrayLike, clean: ArrayLike) -> tuple[Floats, Floats]:
    c, n = np.asarray(passed, dtype=np.float64), np.asarray(clean, dtype=np.float64)
    if not bool(np.all((c >= 0) & (c <= n))):
        raise ValueError("the attempts that passed lie between 0 and the clean attempts")
    return c, n


def _all_of(wanted: Floats, n: Floats, k: int) -> Floats:
    """``C(wanted, k) / C(n, k)`` as a product, which is exactly 0 and 1 where it must be."""
    if k < 1:
        raise ValueError(f"k is {k}; it counts attempts, from 1")
    # A factor is 0 as soon as there are too few wanted ones, and the product stays so.
    ratio = np.ones(np.broadcast(wanted, n).shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        for drawn in range(min(k, int(n.max(initial=0)))):
            ratio = ratio * np.maximum(wanted - drawn, 0) / (n - drawn)
    return np.where(n >= k, ratio, np.nan)
