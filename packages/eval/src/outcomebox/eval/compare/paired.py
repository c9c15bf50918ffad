"""Statistics of two runs on the same tasks: everything is about the differences task by task.

Sources: resampling tasks and naming the estimand, arXiv 2411.00640; the exact test, McNemar,
Psychometrika 12 (1947), its p-value the binomial one.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from outcomebox.eval.compare.model import Difference
from outcomebox.eval.metrics.intervals import within_tasks

POWER = 0.8
"""How often the smallest difference would have been shown."""

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


def mcnemar(base_only: int, new_only: int) -> float:
    """The exact two-sided p-value of McNemar's test.

    ``min(1, 2 P(X <= min(b, c)))`` with X binomial of ``b + c`` and 1/2: a task that changed its
    answer is as likely to have changed it either way. 1 where no task did.

    Args:
        base_only: Tasks that answer yes in the base run alone.
        new_only: Tasks that answer yes in the new run alone.
    """
    from scipy.special import bdtr  # noqa: PLC0415 -- a command starts without scipy

    discordant = base_only + new_only
    if discordant == 0:
        return 1.0
    return min(1.0, 2.0 * float(bdtr(min(base_only, new_only), discordant, 0.5)))


def smallest_shown(se: float, level: float) -> float:
    """The smallest difference that such data show with power 4/5.

    ``(z(1 - a/2) + z(4/5)) se``, 2.80 standard errors at a level of 95 %: a true difference of this
    size gives an interval without zero four times in five.

    Args:
        se: The standard error of the difference.
        level: Confidence of the interval.
    """
    from scipy.special import ndtri  # noqa: PLC0415 -- a command starts without scipy

    return float((ndtri((1 + level) / 2) + ndtri(POWER)) * se)


def by_luck(passed: Counts, clean: Counts, k: int) -> float:
    """How many tasks are gained (and as many lost) where both runs are of one policy.

    A task whose chance is p is passed k/k by one of two runs and not by the other with
    ``p^k (1 - p^k)``; p has the Jeffreys posterior Beta(a, b) of both runs' attempts
    together, under which that is ``B(a+k, b)/B(a, b) - B(a+2k, b)/B(a, b)``.

    Args:
        passed: Clean runs passed of both runs together, over the tasks.
        clean: Clean runs of both together.
        k: Attempts a task.
    """
    from scipy.special import betaln  # noqa: PLC0415 -- a command starts without scipy

    a, b = passed + 0.5, clean - passed + 0.5
    whole = betaln(a, b)
    return float(np.sum(np.exp(betaln(a + k, b) - whole) - np.exp(betaln(a + 2 * k, b) - whole)))


def difference_these(
    base: tuple[Counts, Counts], new: tuple[Counts, Counts], *, of: int, level: float
) -> Difference:
    """The difference of pass@1 for these very tasks: only their attempts are repeated.

    The runs are independent given the tasks, so that the squares of their standard errors add.

    Args:
        base: Clean runs passed and clean runs, over the tasks, of the base run.
        new: The same for the new run.
        of: Tasks of the runs.
        level: Confidence of the interval, which is the normal one.
    """
    from scipy.special import ndtri  # noqa: PLC0415 -- a command starts without scipy

    rates = [float(np.mean(c / n)) for c, n in (base, new)]
    value = rates[1] - rates[0]
    found = [within_tasks(passed, clean, level) for passed, clean in (base, new)]
    se = None
    if found[0].se is not None and found[1].se is not None:
        se = math.hypot(found[0].se, found[1].se)
    notes = [each.note for each in found if each.note is not None]
    # One run whose tasks always did the same still leaves the luck of the other.
    note = notes[0] if notes and not se else None
    half = None if se is None else float(ndtri((1 + level) / 2)) * se
    return Difference(
        base=rates[0],
        new=rates[1],
        value=value,
        low=None if half is None else max(-1.0, value - half),
        high=None if half is None else min(1.0, value + half),
        se=se,
        smallest=smallest_shown(se, level) if se else None,
        n=len(base[0]),
        of=of,
        estimand="these tasks",
        method="normal, variance within tasks",
        note=note,
    )
