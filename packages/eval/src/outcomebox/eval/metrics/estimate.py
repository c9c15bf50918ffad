"""A figure with its uncertainty, and with the words that say what the uncertainty is about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Estimand: TypeAlias = Literal[
    "these tasks", "population of tasks", "one task", "share of tasks", "a rerun"
]
"""What an interval is about.

``these tasks``: the same tasks run again; only the luck of the attempts varies. ``population of
tasks``: other tasks of the same kind; the choice of tasks varies as well. ``one task``: the true
rate of one task. ``share of tasks``: how many tasks of a population are so. ``a rerun``: what the
same attempts at the same tasks come to another time.
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, its interval, and how many it rests on.

    Attributes:
        value: The figure; None where it is not defined.
        low: Lower end of the interval; None where there is none.
        high: Upper end of the interval; None where there is none, or where it is without bound.
        n: What the figure was computed over: tasks, attempts or tries with a value.
        of: How many of them there are.
        estimand: What the interval is about.
        method: How the interval was made, for a table's head.
        se: Standard error, where the method has one.
        note: What has to stand beside the figure; None if nothing.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    of: int
    estimand: Estimand
    method: str
    se: float | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """The ends of an interval, with the standard error that came with it.

    Attributes:
        low: Lower end; None where there is no interval.
        high: Upper end; None where there is none, or where it is without bound.
        se: Standard error; None where it is not defined.
        note: Why there is no interval, or what is odd about it.
    """

    low: float | None
    high: float | None
    se: float | None = None
    note: str | None = None


def with_interval(estimate: Estimate, interval: Interval) -> Estimate:
    """An estimate with the ends, the standard error and the note of an interval."""
    notes = "; ".join(each for each in (estimate.note, interval.note) if each)
    return replace(
        estimate, low=interval.low, high=interval.high, se=interval.se, note=notes or None
    )


def refused(estimate: Estimate, note: str) -> Estimate:
    """An estimate without its figure, and why there is none."""
    return replace(estimate, value=None, low=None, high=None, se=None, note=note)
