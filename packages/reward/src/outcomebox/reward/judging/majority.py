"""A majority of yes/no votes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Split:
    """How votes fell; their number is odd, so that one side has more.

    Attributes:
        yes: Votes for yes.
        no: Votes for no.

    Raises:
        ValueError: Their number is even.
    """

    yes: int
    no: int

    def __post_init__(self) -> None:
        if (self.yes + self.no) % 2 == 0:
            raise ValueError(f"{self.yes + self.no} votes have no majority; take an odd number")

    @classmethod
    def of(cls, votes: Iterable[bool]) -> Split:
        """The split of some votes.

        Raises:
            ValueError: Their number is even.
        """
        given = list(votes)
        return cls(sum(given), len(given) - sum(given))

    @property
    def answer(self) -> bool:
        """What most say."""
        return self.yes > self.no

    @property
    def agreement(self) -> float:
        """The share that says so."""
        return max(self.yes, self.no) / (self.yes + self.no)

    def to_json(self) -> dict[str, int]:
        """As plain JSON."""
        return {"yes": self.yes, "no": self.no}
