"""Net changes from a log of touched keys: the cost is that of the changes, not of the rows.

A database that logs the primary key of each row it writes needs no full comparison: only a touched
row can have changed. The log says *where* to look and nothing else; what a row holds is read from
the terminal database by key, and compared with the initial state, which is in memory. A log may
therefore name too many keys (writes that were undone, or came to nothing), but never too few;
tables for which that is not certain are compared in full.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

from outcomebox.sandbox.changes import (
    Change,
    TerminalState,
    change_order,
    row_change,
    table_changes,
    terminal_state,
)
from outcomebox.sandbox.database import Cells, DatabaseState, Key, Rows, TableInfo
from outcomebox.sandbox.overlay import Overlay

Touch: TypeAlias = tuple[int, str, Key]
"""Position in the log, table, and primary key of a row that was written."""
Mark: TypeAlias = tuple[str, int | None]
"""Tool of a call, and the length of the log after it (None: not known)."""


class LogReader(Protocol):
    """A terminal database with a log. Each method may raise :class:`StateUnreadable`."""

    @property
    def unlogged(self) -> frozenset[str]:
        """Tables whose log could miss a row; they are compared in full."""
        ...

    def touched(self) -> Iterable[Touch] | None:
        """The log in order, from the end of the initial state on; None if it cannot be trusted.

        It cannot where the schema differs from the initial one, or the log itself was tampered
        with. Keys hold values as the table stores them; the first of a log has position 0.
        """
        ...

    def row(self, info: TableInfo, key: Key) -> Cells | None:
        """The row with exactly this key, its cells in the order of ``info.columns``."""
        ...

    def rows(self, info: TableInfo) -> Rows:
        """All rows of a table."""
        ...

    def whole(self) -> DatabaseState:
        """Everything, read in full."""
        ...


def state_from_log(
    initial: DatabaseState, reader: LogReader, calls: Sequence[Mark] = ()
) -> TerminalState:
    """The terminal state, equal to ``terminal_state(initial, reader.whole())``.

    Its changes know which calls wrote them: a call wrote what the log holds between the mark before
    it and its own. Nothing is said where marks in between are not known, and of tables that had to
    be compared in full.

    Args:
        initial: What the database held when the log began.
        reader: The terminal database.
        calls: The calls in order.

    Raises:
        StateUnreadable: The database is missing or broken.
    """
    names = tuple(name for name, _ in calls)
    touches = reader.touched()
    if touches is None:
        return replace(terminal_state(initial, reader.whole()), calls=names)
    callers = _Callers([mark for _, mark in calls])
    written: dict[str, dict[Key, set[int | None]]] = {}
    in_full = set(reader.unlogged)
    for position, table, key in touches:
        if None in key:
            in_full.add(table)  # a row without identity, or one whose key is not known
        else:
            by = written.setdefault(table, {}).setdefault(key, set())
            by.add(callers.of(position))
    keyed: dict[str, Mapping[Key, Cells]] = dict(initial.keyed)
    bags = dict(initial.bags)
    terminal = DatabaseState(initial.tables, initial.schema, keyed, bags, initial.own)
    changes: list[Change] = []
    for table in sorted(written.keys() | in_full):
        info = initial.tables[table]
        if table in in_full:
            keyed[table], bags[table] = reader.rows(info)
            found = list(table_changes(table, initial, terminal))
        else:
            before = initial.keyed[table]
            after = {key: reader.row(info, key) for key in written[table]}
            keyed[table] = Overlay(before, after)
            made = (
                row_change(info, key, before.get(key), new, _sorted(written[table][key]))
                for key, new in after.items()
            )
            found = [change for change in made if change is not None]
        changes += sorted(found, key=change_order)
    return TerminalState(initial, terminal, tuple(changes), (), names)


def _sorted(calls: set[int | None]) -> tuple[int, ...]:
    known = sorted(call for call in calls if call is not None)
    return tuple(known) if len(known) == len(calls) else ()  # some of them would mislead


class _Callers:
    """Who wrote what stands at a position of the log."""

    def __init__(self, marks: Sequence[int | None]) -> None:
        self._ends: list[int] = []
        self._calls: list[int | None] = []
        since: list[int] = []
        for call, mark in enumerate(marks):
            since.append(call)
            if mark is not None:
                self._ends.append(mark)
                self._calls.append(since[0] if len(since) == 1 else None)
                since = []
        # What a call wrote that was never answered: the server broke in it.
        self._calls.append(since[0] if len(since) == 1 else None)
        # A log that shrank (a server put an older copy of its file back) tells nothing of whom.
        self._known = self._ends == sorted(self._ends)

    def of(self, position: int) -> int | None:
        return self._calls[bisect_right(self._ends, position)] if self._known else None
