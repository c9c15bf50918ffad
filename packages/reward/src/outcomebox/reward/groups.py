"""Pairing rows that refer to each other.

Rows are first told apart by what they hold and refer to (:mod:`~outcomebox.reward.refine`). An id
whose colour no other has can mean one thing only. What is left falls into groups of rows that hold
ids in common; a group stands for a group as a whole, so that nothing in one has to be exchanged for
the sake of another. Only within a group is there a search, id by id along the references.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from outcomebox.reward.assign import largest_matching
from outcomebox.reward.graphs import Graph
from outcomebox.reward.inserts import Grid, Pair
from outcomebox.reward.labels import Occurrence
from outcomebox.sandbox.changes import Value

STEPS = 300_000
"""How often the search looks at an inserted row before it gives up undecided."""

Allowed: TypeAlias = Callable[[Pair], bool]


class Undecided(Exception):
    """The search was cut short."""


def pair_labelled(
    grids: Sequence[Grid], met: Sequence[Occurrence], allowed: Allowed | None = None
) -> list[Pair] | None:
    """A pair for every expected row, each label with one meaning; None if there is none.

    Args:
        grids: The tables; as many inserted rows as expected ones in each.
        met: The shared labels that have a value from elsewhere.
        allowed: A further condition on a pair, asked only for pairs that are tried.

    Raises:
        Undecided: After ``STEPS`` steps.
    """
    graph = Graph(grids, met)
    if not graph.sound or Counter(graph.expected.rows) != Counter(graph.inserted.rows):
        return None
    partners = _partners(graph, allowed)
    found = [graph.pair(row, at) for row, at in enumerate(partners) if at is not None]
    return found if len(found) == len(partners) else None


def pair_alike(grids: Sequence[Grid], met: Sequence[Occurrence]) -> list[list[int | None]]:
    """The partners of those rows whose whole groups fit, table by table; None for the others."""
    graph = Graph(grids, met)
    try:
        return graph.by_table(_partners(graph, None))
    except Undecided:
        return graph.by_table([None] * len(graph.shared))


def _partners(graph: Graph, allowed: Allowed | None) -> list[int | None]:
    rows, places = graph.groups()
    search = _GroupSearch(graph, allowed)
    alike: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, group in enumerate(places):
        alike[_signature(graph.inserted.rows, group)].append(number)
    found: dict[tuple[int, int], dict[int, int] | None] = {}

    def fits(one: int, other: int) -> bool:
        if (one, other) not in found:
            found[one, other] = search.pair(rows[one], places[other])
        return found[one, other] is not None

    options = [alike[_signature(graph.expected.rows, group)] for group in rows]
    partners: list[int | None] = [None] * len(graph.shared)
    for one, other in enumerate(largest_matching(options, fits)):
        if other is not None:
            for row, place in (found[one, other] or {}).items():
                partners[row] = place
    return partners


def _signature(colours: Sequence[int], group: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(colours[row] for row in group))


class _GroupSearch:
    """Whether a group of rows can stand for a group of places."""

    def __init__(self, graph: Graph, allowed: Allowed | None) -> None:
        self._graph = graph
        self._allowed = allowed
        self._meaning = dict(graph.meaning)
        self._taken = dict(graph.taken)
        self._rarity = Counter(graph.expected.rows)
        self._steps = 0

    def pair(self, rows: Sequence[int], places: Sequence[int]) -> dict[int, int] | None:
        """The place of each row; None if they do not fit.

        Depth first over what labels mean; rows whose labels are all known are then only matched.

        Raises:
            Undecided: After ``STEPS`` steps of all groups together.
        """
        self._places: defaultdict[object, list[int]] = defaultdict(list)
        for place in places:
            colour = self._graph.inserted.rows[place]
            self._places[colour].append(place)
            for column, (_, value) in self._graph.inserted.cells[place].items():
                self._places[colour, column, value].append(place)
        labels = self._order(rows)
        tried: list[Iterator[Value]] = []
        while True:
            if len(tried) < len(labels):
                tried.append(iter(self._values(labels[len(tried)])))
            elif (found := self._match(rows)) is not None:
                for label in labels:
                    self._forget(label)
                return found
            while tried:
                label = labels[len(tried) - 1]
                self._forget(label)
                value = next(tried[-1], None)  # no label means NULL
                if value is not None:
                    self._mean(label, value)
                    break
                tried.pop()
            else:
                return None

    def _order(self, rows: Sequence[int]) -> list[str]:
        """The labels that are open, each but the first of a part beside one that comes earlier."""
        ordered: dict[str, None] = {}
        for first in sorted(rows, key=lambda row: self._rarity[self._graph.expected.rows[row]]):
            queue = [first]
            for row in queue:
                for label in self._graph.shared[row].values():
                    if label not in self._meaning and label not in ordered:
                        ordered[label] = None
                        queue += [other for other, _ in self._graph.uses[label]]
        return list(ordered)

    def _values(self, label: str) -> list[Value]:
        """What a label can mean, as things stand."""
        values: dict[Value, None] | None = None
        seen = set()
        for row, column in self._graph.uses[label]:
            view = (column, self._view(row))
            if view not in seen:
                seen.add(view)
                here: dict[Value, None] = dict.fromkeys(
                    self._graph.held[place].get(column) for place in self._fitting(row)
                )
                values = here if values is None else {each: None for each in values if each in here}
        return list(values or ())

    def _view(self, row: int) -> tuple[object, ...]:
        """What rows have in common that fit the same places, as things stand."""
        shared = self._graph.shared[row]
        first = {label: column for column, label in reversed([*shared.items()])}
        known = (
            (column, self._meaning.get(label), first[label]) for column, label in shared.items()
        )
        return (self._graph.expected.rows[row], self._graph.kind(row), *known)

    def _fitting(self, row: int) -> list[int]:
        """The places that fit a row, as things stand."""
        colour = self._graph.expected.rows[row]
        likely = self._places[colour]
        for column, (_, label) in self._graph.expected.cells[row].items():
            if label in self._meaning:
                held = self._places.get((colour, column, self._meaning[label]), [])
                likely = min(likely, held, key=len)
        self._steps += 1 + len(likely)
        if self._steps > STEPS:
            raise Undecided
        return [
            place for place in likely if self._graph.fits(row, place) and self._agrees(row, place)
        ]

    def _agrees(self, row: int, place: int) -> bool:
        """Whether what a place holds is what a row's labels mean, or may come to mean."""
        own: dict[str, Value] = {}
        taken: dict[object, str] = {}
        held = self._graph.held[place]
        for column, label in self._graph.shared[row].items():
            value = held.get(column)
            if value != self._meaning.get(label, own.setdefault(label, value)):
                return False
            if space := self._graph.space(row, column):
                each = (space, value)
                if label != self._taken.get(each, taken.setdefault(each, label)):
                    return False
        return True

    def _mean(self, label: str, value: Value) -> None:
        self._meaning[label] = value
        for space in self._graph.spaces(label):
            if space:
                self._taken[space, value] = label

    def _forget(self, label: str) -> None:
        if label in self._meaning:
            value = self._meaning.pop(label)
            for space in self._graph.spaces(label):
                if space:
                    del self._taken[space, value]

    def _match(self, rows: Sequence[int]) -> dict[int, int] | None:
        """The place of each row now that every label has a meaning."""
        known: dict[object, list[int]] = {}
        options = []
        for row in rows:
            view = self._view(row)
            if view not in known:
                known[view] = self._fitting(row)
            options.append(known[view])
        allowed = self._allowed
        check = None if allowed is None else self._asking(rows, allowed)
        found = largest_matching(options, check)
        matched = {row: place for row, place in zip(rows, found, strict=True) if place is not None}
        return matched if len(matched) == len(rows) else None

    def _asking(self, rows: Sequence[int], allowed: Allowed) -> Callable[[int, int], bool]:
        return lambda at, place: allowed(self._graph.pair(rows[at], place))
