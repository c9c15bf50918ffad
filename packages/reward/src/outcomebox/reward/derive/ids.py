"""The generated ids of a replay, and a readable label for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from outcomebox.reward.derive.known import Known
from outcomebox.reward.labels import Space, space_of
from outcomebox.sandbox import Change, TableInfo, TerminalState, Value

_SHORTEST = 3  # characters of an id that is recognised where no foreign key says what it is


@dataclass(frozen=True)
class Ids:
    """Generated ids by where they live.

    Attributes:
        state: The terminal state that they were made for.
        labels: (space, value) -> label.
        parts: (table, column) -> (key, label) of the parts of composite keys that tools number.
    """

    state: TerminalState
    labels: dict[tuple[Space, Value], str]
    parts: dict[tuple[str, str, tuple[Value, ...]], str]

    def label(self, table: str, column: str, change: Change, value: Value) -> str | None:
        """The label of a value in a row, if it is a generated id there.

        Foreign keys say so; where none does, text that is the same as a generated id is taken for
        a reference to it.
        """
        if value is None:
            return None
        if change.key is not None:
            part = self.parts.get((table, column, tuple(change.key.values())))
            if part is not None:
                return part
        space = space_of(self.state.tables, table, column)
        found = self.labels.get((space, value))
        if found is None and isinstance(value, str) and len(value) >= _SHORTEST:
            same = [label for (_, other), label in self.labels.items() if other == value]
            # An id of the space's own table that was there before is no new one.
            if len(same) == 1 and not self._stood(space, value):
                return same[0]
        return found

    def _stood(self, space: Space, value: Value) -> bool:
        table, column = space
        info = self.state.initial.tables.get(table)
        return (
            info is not None
            and info.key == (column,)
            and self.state.initial.row(table, {column: value}) is not None
        )


def generated_ids(known: Known, order: Iterable[Change]) -> Ids:
    """The ids that the tools made up in a replay.

    A generated id is the key of an inserted row that neither the seed nor the agent named. In a
    key of several columns the part that refers to nothing is one where several new rows share the
    rest: which of them got which number depends on the order of the calls.

    Args:
        known: The replay.
        order: Its changes, in the order in which labels are to be numbered.
    """
    state = known.run.state
    inserts = [change for change in order if change.op == "insert" and change.key is not None]
    names = _Names()
    labels: dict[tuple[Space, Value], str] = {}
    parts: dict[tuple[str, str, tuple[Value, ...]], str] = {}
    for change in inserts:
        info = state.tables[change.table]
        key = change.key or {}
        if len(info.key) == 1:
            (column,) = info.key
            space = space_of(state.tables, change.table, column)
            if space == (change.table, column) and known.generated(column, key[column]):
                labels[space, key[column]] = names.next(_base(info, column))
            continue
        for column in _numbered(info, change, inserts):
            parts[change.table, column, tuple(key.values())] = names.next(_base(info, column))
    return Ids(state, labels, parts)


def _numbered(info: TableInfo, change: Change, inserts: list[Change]) -> Iterator[str]:
    """The columns of a composite key that tell new rows with an equal rest apart."""
    for column in info.key:
        if column in info.references:
            continue
        rest = _rest(change, column)
        twins = [
            other
            for other in inserts
            if other.table == change.table and other is not change and _rest(other, column) == rest
        ]
        if twins:
            yield column


def _rest(change: Change, column: str) -> list[Value]:
    return [value for name, value in (change.key or {}).items() if name != column]


def _base(info: TableInfo, column: str) -> str:
    """What ids of a column are called: ``refund_id`` gives refund, ``id`` of notes gives note."""
    name = column.lower().removesuffix("_id").removesuffix("_no").removesuffix("_number")
    if name in ("", "id", "key", "uid", "uuid"):
        name = _singular(info.name.lower())
    return name


def _singular(name: str) -> str:
    if name.endswith("ies") and len(name) > 4:
        return name[:-3] + "y"
    if name.endswith(("sses", "xes", "ches", "shes")):
        return name[:-2]
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


class _Names:
    """Gives refund, refund2, refund3 and so on."""

    def __init__(self) -> None:
        self._used: Counter[str] = Counter()
        self._given: set[str] = set()

    def next(self, base: str) -> str:
        """The next free name of this base."""
        while True:
            self._used[base] += 1
            name = base if self._used[base] == 1 else f"{base}{self._used[base]}"
            if name not in self._given:
                self._given.add(name)
                return name
