"""Compares two runs on the same tasks: what one gained, what it lost, what the data can carry."""

from outcomebox.eval.compare.comparing import compare
from outcomebox.eval.compare.model import (
    Comparison,
    CostDifference,
    Difference,
    DomainDifference,
    Paired,
    Side,
    TaskPair,
)

__all__ = [
    "Comparison",
    "CostDifference",
    "Difference",
    "DomainDifference",
    "Paired",
    "Side",
    "TaskPair",
    "compare",
]
