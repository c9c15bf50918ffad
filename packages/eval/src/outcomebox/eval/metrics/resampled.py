"""Ratios of sums over tasks, all of them with intervals from one set of resampled tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from outcomebox.eval.metrics.estimate import Estimate, Interval
from outcomebox.eval.metrics.intervals import (
    CONSTANT,
    LEVEL,
    NO_TASK,
    ONE_TASK,
    RESAMPLES,
    Resampler,
    percentiles,
    strata_of,
    tail_of,
)

Floats = NDArray[np.float64]

NO_VALUE = "not defined: nothing to divide by"
NOT_DRAWN = "no interval"
UNBOUND = "without upper bound: in some draws there is nothing to divide by"


@dataclass(frozen=True)
class Bootstrap:
    """How intervals for a population of tasks are made.

    Attributes:
        level: Confidence.
        seed: The same seed gives the same digits.
        resamples: How many draws.
    """

    level: float = LEVEL
    seed: int = 0
    resamples: int = RESAMPLES


class Ratios:
    """Ratios of sums over some of the tasks that are resampled.

    Args:
        places: Positions of these tasks among all that are resampled, rising.
    """

    def __init__(self, places: NDArray[np.intp]) -> None:
        self.places = places
        self._columns: dict[bytes, Floats] = {}
        self._pairs: dict[str, tuple[Floats, Floats | None]] = {}
        self._drawn: list[str] = []
        self._found: dict[str, Interval] = {}
        self._method = ""

    def add(
        self, name: str, above: Floats, below: Floats | None = None, *, drawn: bool = True
    ) -> None:
        """A ratio of two sums, or a sum; arrays of the same numbers are drawn once.

        Args:
            name: It is asked for by this.
            above: Shape (these tasks,).
            below: Shape (these tasks,); None: the sum itself.
            drawn: Whether it gets an interval.
        """
        self._pairs[name] = (above, below)
        if not drawn:
            return
        self._drawn.append(name)
        for column in (above, below):
            if column is not None:
                self._columns[column.tobytes()] = column

    @property
    def columns(self) -> Floats:
        """All that is summed, shape (columns, these tasks)."""
        return np.stack([*self._columns.values()])

    def drawn(self, totals: Floats, labels: Sequence[str], settings: Bootstrap) -> None:
        """Take the sums of each draw.

        Args:
            totals: Shape (columns, resamples).
            labels: The stratum of each of these tasks.
            settings: How they were drawn.
        """
        place = {column: at for at, column in enumerate(self._columns)}
        strata = len(strata_of(labels))
        layers = "tasks within domains" if strata > 1 else "tasks"
        self._method = f"bootstrap of {layers}, {settings.resamples} draws, seed {settings.seed}"
        if len(labels) <= strata:
            return
        tail = tail_of(len(labels), strata, settings.level)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Infinite where only the divisor is 0, NaN where both are.
            draws = np.stack(
                [
                    totals[place[above.tobytes()]]
                    if below is None
                    else totals[place[above.tobytes()]] / totals[place[below.tobytes()]]
                    for above, below in map(self._pairs.__getitem__, self._drawn)
                ]
            )
        self._found = dict(zip(self._drawn, _intervals(draws, tail), strict=True))

    def value(self, name: str) -> float | None:
        """The ratio of the sums over the tasks as they are; None where it is not defined."""
        above, below = self._pairs[name]
        if below is None:
            return float(above.sum())
        divisor = float(below.sum())
        return float(above.sum()) / divisor if divisor else None

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
        if name not in self._drawn:
            return replace(plain, method=NOT_DRAWN)
        found = self._found.get(name)
        if found is None or self._tasks(name) < 2:
            return replace(plain, note=note or (ONE_TASK if self.places.size else NO_TASK))
        notes = "; ".join(each for each in (note, found.note) if each)
        return replace(plain, low=found.low, high=found.high, se=found.se, note=notes or None)

    def _tasks(self, name: str) -> int:
        """How many tasks a ratio rests on."""
        above, below = self._pairs[name]
        if below is None:
            return self.places.size
        return int(np.count_nonzero((above != 0) | (below != 0)))


def resample(groups: Sequence[Ratios], labels: Sequence[str], settings: Bootstrap) -> None:
    """Draw tasks once, for all groups of them.

    Within a group whose tasks make up whole strata these are its own draws; in another one the
    number of its tasks that is drawn varies, as it would in a population (a subpopulation's ratio,
    Cochran, Sampling Techniques, 2.12).

    Args:
        groups: Of the tasks; a task may be in several.
        labels: The stratum of each task, in the order of uids.
        settings: How.
    """
    made = [group.columns for group in groups]
    totals = [np.empty((len(columns), settings.resamples)) for columns in made]
    rows = [_rows(group.places) for group in groups]
    resampler = Resampler(strata_of(labels), settings.seed, settings.resamples)
    at = 0
    for weights in resampler.blocks():
        end = at + weights.shape[1]
        for places, columns, into in zip(rows, made, totals, strict=True):
            np.matmul(columns, weights[places], out=into[:, at:end])
        at = end
    for group, into in zip(groups, totals, strict=True):
        group.drawn(into, [labels[place] for place in group.places], settings)


def _rows(places: NDArray[np.intp]) -> NDArray[np.intp] | slice:
    """Positions, as a slice where they are neighbours: then nothing is copied."""
    neighbours = places.size > 0 and places[-1] - places[0] == places.size - 1
    return slice(int(places[0]), int(places[-1]) + 1) if neighbours else places


def _intervals(draws: Floats, tail: float) -> list[Interval]:
    low, high = percentiles(draws, tail)
    sound: NDArray[np.bool_] = np.isfinite(draws.sum(axis=1))
    se = np.full(len(draws), np.nan)
    se[sound] = draws[sound].std(axis=1)
    return [
        Interval(
            float(low[place]),
            float(high[place]),
            float(se[place]),
            CONSTANT if low[place] == high[place] else None,
        )
        if sound[place]
        else _odd(draws[place], tail)
        for place in range(len(draws))
    ]


def _odd(draws: Floats, tail: float) -> Interval:
    """The interval of draws some of which are not defined or have no bound."""
    defined = draws[~np.isnan(draws)]
    if not len(defined):
        return Interval(None, None, note=NO_VALUE)
    low, high = percentiles(defined[None], tail)
    ends = [float(end) if np.isfinite(end) else None for end in (low[0], high[0])]
    return Interval(ends[0], ends[1], note=UNBOUND if ends[1] is None else None)
