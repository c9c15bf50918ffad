"""Things that belong together, by pairs of which that is known."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Unions(Generic[T]):
    """Sets that grow together (union-find with path halving)."""

    def __init__(self) -> None:
        self._above: dict[T, T] = {}

    def find(self, one: T) -> T:
        """The member that stands for the set of ``one``."""
        above = self._above
        above.setdefault(one, one)
        while above[one] != one:
            above[one] = one = above[above[one]]
        return one

    def join(self, one: T, other: T) -> None:
        """Make one set of the sets of two members."""
        self._above[self.find(other)] = self.find(one)
