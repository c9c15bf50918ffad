"""The five difficulty bands and their edges.

A band is a range of true pass rates *of one policy*. Its lower edge belongs to it, its upper edge
to the next band; the last band holds 1 as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

BAND_NAMES = (
    "rarely_solved",
    "difficult",
    "intermediate",
    "frequently_solved",
    "nearly_always_solved",
)
DEFAULT_EDGES = (0.0, 0.08, 0.40, 0.60, 0.90, 1.0)
DEFAULT_RETAIN = ("difficult", "intermediate", "frequently_solved")


@dataclass(frozen=True, slots=True)
class Band:
    """A named range of pass rates, `low` inclusive, `high` exclusive unless it is 1."""

    name: str
    low: float
    high: float

    @property
    def text(self) -> str:
        """The range as mathematics writes it, for example `[0.08, 0.40)`."""
        return f"[{self.low:.2f}, {self.high:.2f}{']' if self.high == 1 else ')'}"

    @property
    def title(self) -> str:
        """The name for people, for example `rarely solved`."""
        return self.name.replace("_", " ")


def make_bands(edges: Sequence[float] = DEFAULT_EDGES) -> tuple[Band, ...]:
    """Builds the five bands between six edges.

    Args:
        edges: six pass rates, strictly rising from 0 to 1.

    Returns:
        The bands from hardest to easiest.

    Raises:
        ValueError: if there are not six edges, or they do not rise strictly from 0 to 1.
    """
    wanted = len(BAND_NAMES) + 1
    if len(edges) != wanted:
        raise ValueError(
            f"there are {len(edges)} edges and five bands need {wanted}; "
            f"give for example {list(DEFAULT_EDGES)}"
        )
    if edges[0] != 0 or edges[-1] != 1:
        raise ValueError(f"the edges run from {edges[0]} to {edges[-1]}; start at 0 and end at 1")
    # `not low < high` and not `low >= high`: it refuses a NaN as well.
    if any(not low < high for low, high in pairwise(edges)):
        raise ValueError("the edges do not rise strictly; sort them and leave out repeated ones")
    return tuple(
        Band(name, float(low), float(high))
        for name, (low, high) in zip(BAND_NAMES, pairwise(edges), strict=True)
    )
