"""Where the generator's choices come from: a seed for the corpus, hypothesis for properties."""

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Draw(Protocol):
    """A source of choices."""

    def below(self, limit: int) -> int:
        """Return a number of 0 to `limit` - 1."""
        ...


class SeededDraw:
    """Choices of a seed; the same on every version of Python that has this `random.random`."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def below(self, limit: int) -> int:
        """Return a number of 0 to `limit` - 1."""
        return int(self._random.random() * limit)


class HypothesisDraw:
    """Choices of hypothesis, which shrinks towards the first of each."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def below(self, limit: int) -> int:
        """Return a number of 0 to `limit` - 1."""
        return self._draw(st.integers(0, limit - 1)) if limit > 1 else 0


def pick(draw: Draw, options: Sequence[T]) -> T:
    """Return one of the options."""
    return options[draw.below(len(options))]


def chance(draw: Draw, percent: int) -> bool:
    """Return true so many times in a hundred."""
    return draw.below(100) >= 100 - percent


def some(draw: Draw, options: Sequence[T], least: int, most: int) -> list[T]:
    """Return so many of the options, without one twice, in their order."""
    left = list(range(len(options)))
    wanted = min(least + draw.below(most - least + 1), len(left))
    chosen = sorted(left.pop(draw.below(len(left))) for _ in range(wanted))
    return [options[index] for index in chosen]
