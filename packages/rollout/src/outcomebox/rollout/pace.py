"""How many episodes run at a time: fewer when an endpoint pushes back, one more a round when not.

Additive increase, multiplicative decrease, as for congestion in networks (RFC 5681, 3.1). A round
is as many episodes as may run at a time; what began before a cut says nothing of the pace after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from outcomebox.rollout.errors import ErrorRecord

MODEL_PHASES = ("policy", "user", "judge")
"""The boundaries behind which a model's endpoint is."""

_CUT = 0.5


@dataclass(frozen=True, slots=True)
class Paced:
    """What a pace has been, for a report.

    Attributes:
        most: Episodes at a time that were asked for.
        lowest: The fewest it came down to.
        last: Where it stood at the end.
        cuts: Times it was cut.
    """

    most: int
    lowest: int
    last: int
    cuts: int


class Pace:
    """A limit that moves between two bounds.

    Args:
        low: Fewest episodes at a time.
        high: Most; where it begins.
    """

    def __init__(self, low: int, high: int) -> None:
        self.limiter = anyio.CapacityLimiter(high)
        self._low = min(low, high)
        self._high = high
        self._limit = float(high)
        self._lowest = high
        self._cuts = 0

    @property
    def limit(self) -> int:
        """Episodes that may run at a time now."""
        return int(self._limit)

    @property
    def running(self) -> int:
        """Episodes that run now."""
        return self.limiter.borrowed_tokens

    @property
    def mark(self) -> int:
        """To be taken when an episode begins, and given to :meth:`settle`."""
        return self._cuts

    @property
    def paced(self) -> Paced:
        """What it has been so far."""
        return Paced(self._high, self._lowest, self.limit, self._cuts)

    def settle(self, mark: int, *, pushed_back: bool) -> None:
        """Take account of an episode that has ended.

        Args:
            mark: The mark of when it began.
            pushed_back: Whether an endpoint had too much of it.
        """
        if not pushed_back:
            self._limit = min(float(self._high), self._limit + 1 / self._limit)
        elif mark == self._cuts and self.limit > self._low:
            self._limit = max(float(self._low), self._limit * _CUT)
            self._cuts += 1
            self._lowest = min(self._lowest, self.limit)
        self.limiter.total_tokens = self.limit


def pushed_back(row: Mapping[str, Any]) -> bool:
    """Whether an endpoint pushed back in an episode: 429, 5xx, or no usable answer in the end.

    Args:
        row: The episode's row.
    """
    error = None if row["error"] is None else ErrorRecord(**row["error"])
    if error is not None and error.phase in MODEL_PHASES and not error.refused:
        return True
    return any(
        counts.get("rate_limited") or counts.get("server_errors")
        for counts in row.get("traffic", {}).values()
    )
