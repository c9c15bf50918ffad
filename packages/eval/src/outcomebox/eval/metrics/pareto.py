"""The Pareto set: what nobody beats in cost and accuracy at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """A policy with its two figures.

    Attributes:
        name: Its name.
        cost: For example per success; None where not known.
        accuracy: For example pass@1; None where not known.
    """

    name: str
    cost: float | None
    accuracy: float | None


def pareto(points: Sequence[Point]) -> tuple[str, ...]:
    """Names of the points that no other one dominates, from the cheapest.

    A point is dominated if another is no more expensive and at least as accurate, and better in one
    of both: two equal points stay. A point without one of its figures is in no set and dominates
    nothing.

    Args:
        points: All of them.
    """
    known = [
        (each.cost, each.accuracy, each.name)
        for each in points
        if each.cost is not None and each.accuracy is not None
    ]
    kept = [
        (cost, -accuracy, name)
        for cost, accuracy, name in known
        if not any(c <= cost and a >= accuracy and (c < cost or a > accuracy) for c, a, _ in known)
    ]
    return tuple(name for *_, name in sorted(kept))
