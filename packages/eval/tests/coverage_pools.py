"""Pools of tasks fitted to the published run, and how often intervals hold what they claim.

The published run: 507 tasks x 20 attempts in five domains, pass@1 51.7 %, correlation of two
attempts at one task .43. The chance of a task of a domain is drawn from the Beta distribution with
that domain's mean and that correlation; its attempts are independent given its chance.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaln

from outcomebox.eval.metrics.estimate import Interval

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

ATTEMPTS = 20
ICC = 0.43
SIZES = {"retail": 98, "auto insurance": 100, "travel": 104, "neobank": 104, "consulting": 101}
MEANS = {
    "retail": 0.6403,
    "auto insurance": 0.4785,
    "travel": 0.5341,
    "neobank": 0.4788,
    "consulting": 0.4569,
}


@dataclass(frozen=True)
class Pool:
    """A population of tasks, of which runs have some.

    Attributes:
        sizes: Tasks of each domain.
        attempts: Attempts at each.
        icc: Correlation of two attempts at one task.
    """

    sizes: tuple[int, ...] = tuple(SIZES.values())
    attempts: int = ATTEMPTS
    icc: float = ICC

    @property
    def labels(self) -> list[str]:
        """The domain of each task."""
        return [name for name, size in zip(MEANS, self.sizes, strict=False) for _ in range(size)]

    @property
    def shape(self) -> tuple[Floats, Floats]:
        """The two parameters of each task's Beta distribution."""
        mean = np.repeat([*MEANS.values()][: len(self.sizes)], self.sizes)
        return mean * (1 / self.icc - 1), (1 - mean) * (1 / self.icc - 1)

    def moment(self, power: float, *, of_failing: bool = False) -> float:
        """The mean of ``p ** power`` over the population, domains weighted as in the runs.

        Args:
            power: Of the chance.
            of_failing: Of the chance to fail, rather than to pass.
        """
        a, b = self.shape[::-1] if of_failing else self.shape
        return float(np.exp(betaln(a + power, b) - betaln(a, b)).mean())

    def tasks(self, random: np.random.Generator) -> Floats:
        """The chances of some tasks of it."""
        return random.beta(*self.shape)

    def passed(self, random: np.random.Generator, chances: Floats) -> Counts:
        """Passed attempts of a run of them."""
        return random.binomial(self.attempts, chances).astype(np.int64)


def pools(default: int) -> int:
    """How many pools a simulation draws; more with ``OUTCOMEBOX_COVERAGE_POOLS``."""
    return int(os.environ.get("OUTCOMEBOX_COVERAGE_POOLS", default))


def drawn(pool: Pool, number: int, seed: int) -> Iterator[tuple[np.random.Generator, Floats]]:
    """So many times the chances of some tasks, with a source of chance for their runs."""
    random = np.random.default_rng(seed)
    for _ in range(number):
        yield random, pool.tasks(random)


def covered(truth: float, interval: Interval) -> bool:
    """Whether an interval holds the truth."""
    assert interval.low is not None
    assert interval.high is not None
    return interval.low <= truth <= interval.high


def coverage(
    pool: Pool, made: Callable[[Counts], Interval], truth: float, *, number: int, seed: int
) -> float:
    """How often an interval made from a run's counts holds the truth of the population."""
    hits = [
        covered(truth, made(pool.passed(random, chances)))
        for random, chances in drawn(pool, number, seed)
    ]
    return float(np.mean(hits))
