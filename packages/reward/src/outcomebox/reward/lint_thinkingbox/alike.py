"""Whether two ends mean the same: equal up to the order of rows and the names of generated ids.

Servers make up ids as calls come in, so that two calls in the other order exchange theirs. Two ends
are *alike* if the rows that are new or changed against the start can be paired, table by table, so
that paired cells are equal, or hold values that were made up on both sides and stand for one
another everywhere: one value of the one end for one of the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from outcomebox.reward.lint_thinkingbox.tables import Row, Tables, canonical, identity, scalars

STEPS = 20_000
"""Pairs of rows that are compared, at most."""

Renaming: TypeAlias = dict[Any, Any]
_TOKEN = re.compile(r"[\w-]+")
_MEASURE = re.compile(r"-?[0-9]+\.[0-9]+\Z|[0-9]{4}-[0-9]{2}-[0-9]{2}")
"""Amounts and moments: they may differ from row to row, and name none."""
_TELLING = re.compile(r"[^0-9]")
"""An id that is more than a number is that id wherever it stands; 6 may also be something else."""


def alike(start: Tables, one: Tables, other: Tables, *, known: Collection[Any]) -> bool | None:
    """Whether two ends of the same start mean the same.

    Args:
        start: The state before the first call.
        one: An end.
        other: Another.
        known: Scalars that were given in arguments and so cannot have been made up.

    Returns:
        None if the bound on the search was hit before an answer was found.
    """
    changed = []
    for table in {*start, *one, *other}:
        news = _new(start.get(table, []), one.get(table, []))
        others = _new(start.get(table, []), other.get(table, []))
        if news.gone != others.gone or len(news.rows) != len(others.rows):
            return False
        if news.rows:
            changed.append((table, news.rows, others.rows))
    # Calls in another order exchange ids: what is to stand for another is there in both ends.
    made_up = _made_up(start, one, known) & _made_up(start, other, known)
    search = _Search(
        [(table, row) for table, rows, _ in changed for row in rows],
        {table: rows for table, _, rows in changed},
        made_up,
    )
    return search.found()


@dataclass(frozen=True)
class _New:
    rows: list[Row]
    gone: Counter[str]


def _new(start: list[Row], end: list[Row]) -> _New:
    """The rows that an end has and the start has not, and the other way round."""
    before = Counter(map(canonical, start))
    left = Counter(before)
    rows = []
    for row in end:
        text = canonical(row)
        if left[text] > 0:
            left[text] -= 1
        else:
            rows.append(row)
    return _New(rows, +left)


def _made_up(start: Tables, end: Tables, known: Collection[Any]) -> set[Any]:
    """Ids of an end that the start does not have in that column, and nobody gave.

    An id tells the rows of its table apart. Numbers count only where they are what identifies the
    row: sums and stocks often differ from row to row too.
    """
    found: set[Any] = set()
    for table, rows in end.items():
        key = identity(rows)
        before = start.get(table, [])
        for column in rows[0] if rows else ():
            held = [row.get(column) for row in rows]
            names = {value for value in held if _is_name(value, key=column == key)}
            if len(names) == len(rows):
                found |= (
                    names
                    - {each for row in before if isinstance(each := row.get(column), str | int)}
                    - {*known}
                )
    return found


def _is_name(value: Any, *, key: bool) -> bool:
    if isinstance(value, str):
        return value != "" and not _MEASURE.match(value)
    return key and isinstance(value, int) and not isinstance(value, bool)


def _names(value: Any) -> Iterator[Any]:
    """The scalars in a value that could be an id."""
    return (
        each
        for each in scalars(value)
        if isinstance(each, str | int) and not isinstance(each, bool) and each != ""
    )


@dataclass
class _Search:
    """Pairs rows, one after the other, and goes back where that leads nowhere."""

    rows: list[tuple[str, Row]]
    others: Tables
    made_up: set[Any]
    steps: int = 0
    pairs: list[tuple[str, Row, Row]] = field(default_factory=list)

    def found(self) -> bool | None:
        there = self._pair(0, {}, {})
        return None if not there and self.steps > STEPS else there

    def _pair(self, number: int, names: Renaming, back: Renaming) -> bool:
        if number == len(self.rows):
            return self._holds(names)
        table, row = self.rows[number]
        used = {id(other) for _, _, other in self.pairs}
        for other in self.others.get(table, ()):
            if id(other) in used:
                continue
            self.steps += 1
            if self.steps > STEPS:
                return False
            more = self._renamed(row, other, names, back)
            if more is None:
                continue
            self.pairs.append((table, row, other))
            if self._pair(number + 1, *more):
                return True
            self.pairs.pop()
        return False

    def _renamed(
        self, row: Row, other: Row, names: Renaming, back: Renaming
    ) -> tuple[Renaming, Renaming] | None:
        """The renaming that makes two rows equal, on top of one; None if there is none."""
        if row.keys() != other.keys():
            return None
        names, back = {**names}, {**back}
        for column, value in row.items():
            for left, right in _pairs(value, other[column]):
                there = left in self.made_up
                if left == right and not (there and _TELLING.search(str(left))):
                    continue
                if not there or right not in self.made_up:
                    return None
                if names.setdefault(left, right) != right or back.setdefault(right, left) != left:
                    return None
        return names, back

    def _holds(self, names: Renaming) -> bool:
        """Whether every column that holds renamed values holds them renamed throughout.

        This is for ids that are mere numbers: they may stand elsewhere as what they are, but not
        in a column where they are ids.
        """
        renamed = {
            (table, column)
            for table, row, other in self.pairs
            for column in row
            if canonical(row[column]) != canonical(other[column])
        }
        return all(
            names.get(value, value) in set(_names(other[column]))
            for table, row, other in self.pairs
            for column in row
            if (table, column) in renamed
            for value in _names(row[column])
            if value in names
        )


def _pairs(one: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    """Scalars of two values that stand in the same place, and words of texts that do."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from _pairs(one[name], other[name])
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for left, right in zip(one, other, strict=True):
            yield from _pairs(left, right)
    else:
        yield from _words(one, other) or [(_plain(one), _plain(other))]


def _words(one: Any, other: Any) -> list[tuple[str, str]] | None:
    """The words of two texts that have several, if all between the words is the same."""
    if not isinstance(one, str) or not isinstance(other, str):
        return None
    left, right = _TOKEN.findall(one), _TOKEN.findall(other)
    if len(left) < 2 or len(left) != len(right) or _TOKEN.split(one) != _TOKEN.split(other):
        return None
    return [*zip(left, right, strict=True)]


def _plain(value: Any) -> Any:
    """A value that can be looked up; 1, 1.0 and true are three, and what is no scalar is no id."""
    return value if isinstance(value, str) or type(value) is int else (canonical(value),)
