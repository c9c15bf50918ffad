"""The expected and the inserted rows of several tables as two graphs, of rows and of ids."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from outcomebox.reward.inserts import Grid, Pair, new_row
from outcomebox.reward.labels import Occurrence, Space
from outcomebox.reward.refine import Id, Side, refine
from outcomebox.reward.unions import Unions
from outcomebox.sandbox.changes import Row, Value


class Graph:
    """Rows that have to be paired: a *row* is an expected one, a *place* an inserted one.

    Both are counted through all tables.

    Args:
        grids: The tables.
        met: The shared labels that have a value from elsewhere.

    Attributes:
        shared: The labels of each row by column.
        held: What each place holds.
        expected: The rows, coloured by what they fit and refer to.
        inserted: The places, likewise; a row can stand for places of its own colour only.
        uses: Where each label stands: row and column.
        meaning: What labels mean that can mean one thing only.
        taken: The ids that have a label so.
        sound: Whether this is without contradiction.
    """

    def __init__(self, grids: Sequence[Grid], met: Sequence[Occurrence]) -> None:
        self._grids = grids
        self._rows = [(at, row) for at, grid in enumerate(grids) for row in range(len(grid.wanted))]
        self._places = [
            (at, place) for at, grid in enumerate(grids) for place in range(len(grid.actual))
        ]
        self.shared = [grids[at].wanted[row].shared for at, row in self._rows]
        self.held: list[Row] = [new_row(grids[at].actual[place]) for at, place in self._places]
        self.uses: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for row, shared in enumerate(self.shared):
            for column, label in shared.items():
                self.uses[label].append((row, column))
        self.meaning: dict[str, Value] = {}
        self.taken: dict[tuple[Space, Value], str] = {}
        self.sound = True
        self._kinds, self._fits = self._fitting()
        self.expected, self.inserted = self._sides()
        for number, each in enumerate(met):
            self._settle(each.label, each.value, each.space)
            for space in self.spaces(each.label):
                if space:
                    self.expected.ids[space, each.label] = -2 - number
                    self.inserted.ids[space, each.value] = -2 - number
        refine(self.expected, self.inserted)
        singles = _singles(self.inserted)
        for colour, (space, label) in _singles(self.expected).items():
            if colour in singles:
                self._settle(label, singles[colour][1], space)

    def fits(self, row: int, place: int) -> bool:
        """Whether a place has a row's colour and fits it, labels aside."""
        same = self.expected.rows[row] == self.inserted.rows[place]
        return same and place in self._fits[self._kinds[row]]

    def kind(self, row: int) -> int:
        """A number that rows have in common which fit the same places, labels aside."""
        return self._kinds[row]

    def space(self, row: int, column: str) -> Space | None:
        """The space of a column of a row's table, or None where labels may share values."""
        grid = self._grids[self._rows[row][0]]
        return grid.labels.space(grid.wanted[0].table, column)

    def spaces(self, label: str) -> set[Space | None]:
        """The spaces that a label stands in."""
        return {self.space(row, column) for row, column in self.uses[label]}

    def pair(self, row: int, place: int) -> Pair:
        """A row with a place of its table."""
        at, own = self._rows[row]
        return self._grids[at].pair(own, self._places[place][1])

    def by_table(self, partners: Sequence[int | None]) -> list[list[int | None]]:
        """The partner of each row as an index in its table, table by table."""
        found: list[list[int | None]] = [[None] * len(grid.wanted) for grid in self._grids]
        for (at, row), place in zip(self._rows, partners, strict=True):
            found[at][row] = None if place is None else self._places[place][1]
        return found

    def groups(self) -> tuple[list[list[int]], list[list[int]]]:
        """The rows and the places, each in groups that hold ids in common which are not settled.

        One group of all where ids do not keep rows together: where a label stands in a column that
        other rows may fill without a label, or in columns of several spaces.
        """
        open_labels = [label for label in self.uses if label not in self.meaning]
        for label in open_labels:
            if len(self.spaces(label)) > 1 or any(
                column not in self.expected.cells[row] for row, column in self.uses[label]
            ):
                return [[*range(len(self._rows))]], [[*range(len(self._places))]]
        return (
            _grouped(
                self.expected,
                {(space, label) for space, label in self.expected.ids if label in self.meaning},
            ),
            _grouped(self.inserted, set(self.taken)),
        )

    def _settle(self, label: str, value: Value, space: Space | None) -> None:
        if self.meaning.setdefault(label, value) != value:
            self.sound = False
        if space and self.taken.setdefault((space, value), label) != label:
            self.sound = False

    def _fitting(self) -> tuple[list[int], list[frozenset[int]]]:
        """The kind of each row, and the places that rows of each kind fit, labels aside."""
        starts = [0]
        for grid in self._grids:
            starts.append(starts[-1] + len(grid.actual))
        known: dict[tuple[int, str], int] = {}
        kinds: list[int] = []
        fits: list[frozenset[int]] = []
        for at, row in self._rows:
            grid = self._grids[at]
            kind = known.setdefault((at, grid.wanted[row].kind), len(fits))
            if kind == len(fits):
                fits.append(frozenset(starts[at] + place for place in grid.fitting(row)))
            kinds.append(kind)
        return kinds, fits

    def _sides(self) -> tuple[Side, Side]:
        """Both sides with first colours: what fits each other, over however many steps, has one.

        Ids count only where every row of a colour has a label and two labels are two ids: there
        the places that hold an id are exactly those of the rows that hold its label.
        """
        unions: Unions[tuple[str, int]] = Unions()
        for kind, fitting in enumerate(self._fits):
            for place in fitting:
                unions.join(("kind", kind), ("place", place))
        names: dict[tuple[str, int], int] = {}
        rows, places = (
            [names.setdefault(unions.find((what, one)), len(names)) for one in ones]
            for what, ones in (("kind", self._kinds), ("place", range(len(self._places))))
        )
        columns: dict[int, dict[str, Space]] = {}  # by colour, those that count
        for row, (colour, shared) in enumerate(zip(rows, self.shared, strict=True)):
            own = {name: space for name in shared if (space := self.space(row, name))}
            kept = columns.setdefault(colour, own)
            columns[colour] = {name: kept[name] for name in kept if name in own}
        expected = [
            {name: (space, shared[name]) for name, space in columns[colour].items()}
            for colour, shared in zip(rows, self.shared, strict=True)
        ]
        inserted = [
            {name: (space, held.get(name)) for name, space in columns.get(colour, {}).items()}
            for colour, held in zip(places, self.held, strict=True)
        ]
        return Side(rows, expected), Side(places, inserted)


def _singles(side: Side) -> dict[int, Id]:
    """The ids whose colours no other id of their side has."""
    counts = Counter(side.ids.values())
    return {colour: each for each, colour in side.ids.items() if counts[colour] == 1}


def _grouped(side: Side, settled: Collection[Id]) -> list[list[int]]:
    """Rows that hold ids in common, be it through other rows, in the order of their first ones."""
    unions: Unions[tuple[str, object]] = Unions()
    for row, cells in enumerate(side.cells):
        for each in cells.values():
            if each not in settled:
                unions.join(("row", row), ("id", each))
    groups: defaultdict[tuple[str, object], list[int]] = defaultdict(list)
    for row in range(len(side.rows)):
        groups[unions.find(("row", row))].append(row)
    return list(groups.values())
