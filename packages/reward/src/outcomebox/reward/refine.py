"""Telling rows apart by what they hold and by what they refer to.

Expected rows and inserted ones are two graphs: rows, and the ids that their columns hold. If the
rows can be paired, the graphs have one shape. Colours are given to rows and ids of both by what
they are, then again and again by the colours around them (colour refinement, Weisfeiler and Leman
1968): whatever stands for each other keeps one colour, and most of the rest gets different ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

ROUNDS = 64
"""How far away a difference may be to be seen; what lies further is left to the search."""

Id: TypeAlias = tuple[tuple[str, str], Any]
"""An id: its space, and the label that stands for it or its value."""


@dataclass(slots=True)
class Side:
    """Either the expected rows or the inserted ones, coloured.

    Attributes:
        rows: The colour of each row.
        cells: For each row the ids it holds, by column.
        ids: The colour of each id.
    """

    rows: list[int]
    cells: Sequence[Mapping[str, Id]]
    ids: dict[Id, int] = field(default_factory=dict)


def refine(expected: Side, inserted: Side) -> None:
    """Give both sides the finest colours that what surrounds their rows justifies.

    Args:
        expected: With first colours; ids that have none start alike.
        inserted: Likewise; one colour means the same on both sides.
    """
    sides = (expected, inserted)
    for side in sides:
        for cells in side.cells:
            for each in cells.values():
                side.ids.setdefault(each, -1)
    count = 0
    for _ in range(ROUNDS):
        names: dict[Any, int] = {}
        for side in sides:
            around: defaultdict[Id, list[tuple[str, int]]] = defaultdict(list)
            for colour, cells in zip(side.rows, side.cells, strict=True):
                for column, each in cells.items():
                    around[each].append((column, colour))
            side.ids = {
                each: names.setdefault((colour, tuple(sorted(around[each]))), len(names))
                for each, colour in side.ids.items()
            }
        for side in sides:
            side.rows = [
                names.setdefault(
                    (colour, *((column, side.ids[each]) for column, each in cells.items())),
                    len(names),
                )
                for colour, cells in zip(side.rows, side.cells, strict=True)
            ]
        if len(names) == count:
            return  # as many as before: the same as before
        count = len(names)
