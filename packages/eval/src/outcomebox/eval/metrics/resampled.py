"""Ratios of sums over tasks, all of them with intervals from one set of resampled tasks."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from outcomebox.eval.metrics.estimate import Estimate, Interval
from outcomebox.eval.metrics.intervals import (
    CONSTANT,
    NO_TASK,
    ONE_TASK,
    Resampler,
    percentiles,
    strata_of,
)

Floats = NDArray[np.float64]

NO_VALUE = "not defined: nothing to divide by"
UNBOUND = "without upper bound: in some draws there is nothing to divide by"


@dataclass(frozen=True)
class Bootstrap:
    """How intervals for a population of tasks are made.

    Attributes:
        level: Confidence.
        seed: The same seed gives the same digits.
        resamples: How many draws.
    """

    level: float = 0.95
    seed: int = 0
    resamples: int = 10_000

    def method(self, strata: Sequence[object]) -> str:
        """In words, for a table's head."""
        layers = "tasks within domains" if len(strata) > 1 else "tasks"
        return f"bootstrap of {layers}, {self.resamples} draws, seed {self.seed}"


@dataclass
class Ratios:
    """Collects ratios of sums over some tasks, then resamples all of them at once.

    Args:
        labels: The stratum of each task, in the order of uids.
        settings: How.
        salt: Tells the draws of one group of tasks from those of another.
    """

    labels: Sequence[str]
    settings: Bootstrap
    salt: str = ""
    _columns: list[Floats] = field(default_factory=list)
    _pairs: dict[str, tuple[int, int]] = field(default_factory=dict)
    _found: dict[str, Interval] = field(default_factory=dict)
    _draws: Floats | None = None
    _method: str = ""

    def add(self, name: str, above: Floats, below: Floats | None = None) -> None:
        """A ratio of two sums, or a sum.

        Args:
            name: It is asked for by this.
            above: Shape (tasks,).
            below: Shape (tasks,); None: the sum itself.
        """
        self._pairs[name] = (self._place(above), -1 if below is None else self._place(below))

    def resample(self) -> None:
        """Draw; nothing can be added afterwards."""
        strata = strata_of(self.labels)
        self._method = self.settings.method(strata)
        if len(self.labels) < 2 or not self._pairs:
            return
        seed = (self.settings.seed, zlib.crc32(self.salt.encode()))
        resampler = Resampler(strata, seed, self.settings.resamples)
        totals = resampler.totals(np.column_stack(self._columns))
        self._draws = np.column_stack(
            [_divided(totals[:, above], below, totals) for above, below in self._pairs.values()]
        )
        self._found = dict(
            zip(
                self._pairs,
                _intervals(self._draws, resampler.tail(self.settings.level)),
                strict=True,
            )
        )

    def value(self, name: str) -> float | None:
        """The ratio of the sums over the tasks as they are; None where it is not defined."""
        above, below = self._pairs[name]
        total = float(self._columns[above].sum())
        if below < 0:
            return total
        divisor = float(self._columns[below].sum())
        return total / divisor if divisor else None

    def estimate(self, name: str, n: int, of: int, note: str | None = None) -> Estimate:
        """A ratio with its interval.

        Args:
            name: Which.
            n: What it was computed over.
            of: How many of them there are.
            note: What has to stand beside it.
        """
        value = self.value(name)
        plain = Estimate(value, None, None, n, of, "population of tasks", self._method, note=note)
        if value is None:
            return replace(plain, note=note or NO_VALUE)
        if self._draws is None or self._tasks(name) < 2:
            return replace(plain, note=note or (ONE_TASK if self.labels else NO_TASK))
        found = self._found[name]
        notes = "; ".join(each for each in (note, found.note) if each)
        return replace(plain, low=found.low, high=found.high, se=found.se, note=notes or None)

    def _tasks(self, name: str) -> int:
        """How many tasks a ratio rests on."""
        _, below = self._pairs[name]
        return len(self.labels) if below < 0 else int(np.count_nonzero(self._columns[below]))

    def _place(self, column: Floats) -> int:
        for place, known in enumerate(self._columns):
            if known is column:
                return place
        self._columns.append(column)
        return len(self._columns) - 1


def _divided(above: Floats, below: int, totals: Floats) -> Floats:
    """Draws of a ratio: infinite where only the divisor is 0, NaN where both are."""
    if below < 0:
        return above
    with np.errstate(divide="ignore", invalid="ignore"):
        return above / totals[:, below]


def _intervals(draws: Floats, tail: float) -> list[Interval]:
    low, high = percentiles(draws, tail)
    sound = np.isfinite(draws).all(axis=0)
    se = draws[:, sound].std(axis=0)
    plain = {
        place: Interval(
            float(low[place]),
            float(high[place]),
            float(error),
            CONSTANT if low[place] == high[place] else None,
        )
        for place, error in zip(np.flatnonzero(sound).tolist(), se, strict=True)
    }
    return [plain.get(place) or _odd(draws[:, place], tail) for place in range(draws.shape[1])]


def _odd(draws: Floats, tail: float) -> Interval:
    """The interval of draws some of which are not defined or have no bound."""
    defined = draws[~np.isnan(draws)]
    if not len(defined):
        return Interval(None, None, note=NO_VALUE)
    low, high = percentiles(defined[:, None], tail)
    ends = [float(end) if np.isfinite(end) else None for end in (low[0], high[0])]
    return Interval(ends[0], ends[1], note=UNBOUND if ends[1] is None else None)
