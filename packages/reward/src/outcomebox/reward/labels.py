"""Generated ids: which columns hold ids of one kind, and whether labels stand for ids one to one.

A column's *space* is where its foreign keys lead in the end: ids of one table, wherever they are
stored. Within a check a label stands for one value everywhere, and within a space one value has
one label. Parts of a composite key are numbered anew under each parent, so there labels may share
values.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from outcomebox.sandbox.changes import DatabaseState, Key, TableInfo, Value
from outcomebox.sandbox.expect import Alternative
from outcomebox.sandbox.valuespec import IdMatcher

Space: TypeAlias = tuple[str, str]
"""(table, column) that a column's references lead to."""


def space_of(tables: Mapping[str, TableInfo], table: str, column: str) -> Space:
    """The space of a column; its own if it refers to nothing."""
    seen = {(table, column)}
    while table in tables and column in tables[table].references:
        table, column = tables[table].references[column]
        if (table, column) in seen:  # tables that refer to each other in a ring
            return min(seen)
        seen.add((table, column))
    return table, column


def one_to_one(tables: Mapping[str, TableInfo], space: Space) -> bool:
    """Whether two labels of a space must have two values."""
    table, column = space
    return table not in tables or column not in tables[table].key or len(tables[table].key) == 1


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A label met with a value.

    Attributes:
        column: Where it was met.
        label: The label.
        value: The stored value.
        space: The column's space, or None where labels may share values.
        defines: Whether the column is the key of the row, rather than a reference to it.
    """

    column: str
    label: str
    value: Value
    space: Space | None
    defines: bool


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of an accepted end state.

    Attributes:
        tables: The database's tables.
        shared: Labels that one row alone cannot decide: they occur more than once, or share their
            space with others and do not all stand in one column of unique values.
    """

    tables: Mapping[str, TableInfo]
    shared: frozenset[str]
    _spaces: dict[tuple[str, str], Space | None] = field(
        default_factory=dict, compare=False, repr=False
    )

    @classmethod
    def of(cls, alternative: Alternative, tables: Mapping[str, TableInfo]) -> Labels:
        """The labels of one accepted end state."""
        uses = Counter(label for _, _, label in _uses(alternative))
        spaces: defaultdict[Space, set[tuple[str, str, str]]] = defaultdict(set)
        for table, column, label in _uses(alternative):
            spaces[space_of(tables, table, column)].add((table, column, label))
        shared: set[str] = set()
        for space, places in spaces.items():
            names = {label for _, _, label in places}
            repeated = {label for label in names if uses[label] > 1}
            columns = {(table, column) for table, column, _ in places}
            unique = all(tables[table].key == (column,) for table, column in columns)
            if not one_to_one(tables, space):
                shared |= repeated
            elif repeated or not (len(names) == 1 or (unique and len(columns) == 1)):
                shared |= names
        return cls(tables, frozenset(shared))

    def occurrence(self, table: str, column: str, label: str, value: Value) -> Occurrence:
        """A label met with a value in a column."""
        defines = self.tables[table].key == (column,)
        return Occurrence(column, label, value, self.space(table, column), defines)

    def space(self, table: str, column: str) -> Space | None:
        """The space of a column, or None where labels may share values."""
        if (table, column) not in self._spaces:
            space = space_of(self.tables, table, column)
            apart = one_to_one(self.tables, space)
            self._spaces[table, column] = space if apart else None
        return self._spaces[table, column]


def _uses(alternative: Alternative) -> Iterator[tuple[str, str, str]]:
    for table, expected in alternative.expect.items():
        for row in (*expected.insert, *(update.set for update in expected.update)):
            for column, spec in row.items():
                if isinstance(spec, IdMatcher):
                    yield table, column, spec.label


@dataclass(frozen=True, slots=True)
class NewIds:
    """Tells ids that were generated in the episode from those that were there before.

    Attributes:
        initial: The initial state.
        inserted: (table, key) of every new row with a key, reused keys included.
    """

    initial: DatabaseState
    inserted: frozenset[tuple[str, Key]]

    def accepts(self, table: str, column: str, value: Value) -> bool:
        """Whether a column can hold ``value`` as a generated id."""
        table, column = space_of(self.initial.tables, table, column)
        info = self.initial.tables.get(table)
        if info is None or info.key != (column,) or (table, (value,)) in self.inserted:
            return True
        return (value,) not in self.initial.keyed[table]


def clashes(met: Sequence[Occurrence]) -> list[int]:
    """The occurrences that do not fit a one-to-one meaning of the labels, by index, ascending.

    A label means the value that it has most often; on a tie the one of a defining occurrence, else
    the first. Of two labels with one meaning in a space, the later is wrong.
    """
    meaning = meanings(met)
    taken: dict[tuple[Space, Value], str] = {}
    wrong = []
    for index, each in enumerate(met):
        owner = each.label
        if each.space and each.value == meaning[each.label]:
            owner = taken.setdefault((each.space, each.value), each.label)
        if each.value != meaning[each.label] or owner != each.label:
            wrong.append(index)
    return wrong


class ClashFloor:
    """Counts occurrences one by one, and knows how many of them must clash whatever follows."""

    def __init__(self) -> None:
        self._values: defaultdict[str, Counter[Value]] = defaultdict(Counter)
        self._labels: defaultdict[tuple[Space, Value], Counter[str]] = defaultdict(Counter)
        self._outliers = 0
        self._doubled = 0

    def count(self, met: Iterable[Occurrence], step: Literal[1, -1] = 1) -> None:
        """Count occurrences in, or with -1 out again."""
        for each in met:
            values = self._values[each.label]
            self._outliers -= _outliers(values)
            values[each.value] += step
            self._outliers += _outliers(values)
            if each.space:
                labels = self._labels[each.space, each.value]
                self._doubled -= len(labels) > 1
                labels[each.label] += step
                if not labels[each.label]:
                    del labels[each.label]
                self._doubled += len(labels) > 1

    @property
    def floor(self) -> int:
        """All but the most frequent value of each label; one if two labels share a value."""
        return self._outliers or int(self._doubled > 0)


def _outliers(values: Counter[Value]) -> int:
    return sum(values.values()) - max(values.values(), default=0)


def meanings(met: Iterable[Occurrence]) -> dict[str, Value]:
    """What each label stands for, as :func:`clashes` says."""
    counts: defaultdict[str, Counter[Value]] = defaultdict(Counter)
    defined: dict[str, Value] = {}
    for each in met:
        counts[each.label][each.value] += 1
        if each.defines:
            defined.setdefault(each.label, each.value)
    return {
        label: max(values, key=lambda value: (values[value], defined.get(label) == value))
        for label, values in counts.items()
    }
