"""What a terminal SQLite database tells by its change log, and rows of it by key."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from outcomebox.sandbox.backends.sqlite_log import hidden_rowid, key_collations, logged_tables
from outcomebox.sandbox.backends.sqlite_read import (
    LOG_TABLE,
    escaped,
    fetch,
    read_all,
    read_rows,
    schema_of,
)
from outcomebox.sandbox.changelog import Touch
from outcomebox.sandbox.database import Cells, DatabaseState, Key, Rows, TableInfo, Value, quoted

LENGTH = f"SELECT max(seq) FROM main.{quoted(LOG_TABLE)}"
"""A query for the length of a log; NULL if it is empty."""


@dataclass(frozen=True)
class _Lookup:
    """How a row is found by its key.

    Attributes:
        select: The query, up to its condition.
        conditions: One of each column of the key, as what comes before and after its value.
        places: Where these columns are among all.
    """

    select: str
    conditions: tuple[tuple[str, str], ...]
    places: tuple[int, ...]

    @classmethod
    def of(cls, info: TableInfo, collations: Sequence[str]) -> _Lookup:
        """The lookup of a table whose key's index compares like this."""
        columns = ", ".join(map(quoted, info.columns))
        return cls(
            f"SELECT {columns} FROM main.{quoted(info.name)} WHERE ",
            tuple(
                (f"{quoted(column)} = ", f" COLLATE {quoted(collation)}")
                for column, collation in zip(info.key, collations, strict=True)
            ),
            tuple(info.columns.index(column) for column in info.key),
        )

    def query(self, key: Key) -> str:
        """The query for a key; its parameters are the key's values as ``_given`` makes them."""
        marks = ("CAST(? AS TEXT)" if escaped(value) else "?" for value in key)
        return self.select + " AND ".join(
            before + mark + after
            for (before, after), mark in zip(self.conditions, marks, strict=True)
        )


def _given(value: Value) -> Value:
    return str(value).encode("utf-8", "surrogateescape") if escaped(value) else value


@dataclass(frozen=True)
class InitialLog:
    """What an initial database says of its log.

    Attributes:
        state: What the database holds.
        cookie: Its ``PRAGMA schema_version``, which every change of the schema moves.
        length: How many entries the log has (a task's ``init`` leaves some).
        root: Number of the log's root page.
        logged: The tables whose writes are logged.
        rowids: The greatest rowid of each table that has rowids beside its key.
        lookups: Queries for rows by key that have been made, by table.
    """

    state: DatabaseState
    cookie: int
    length: int
    root: int
    logged: frozenset[str]
    rowids: Mapping[str, int]
    lookups: dict[str, _Lookup] = field(default_factory=dict)


def initial_log(connection: sqlite3.Connection, state: DatabaseState) -> InitialLog | None:
    """The log of an initial database; None if it has none.

    Args:
        connection: To the database.
        state: What it holds.
    """
    if ("table", LOG_TABLE) not in state.own:
        return None
    (cookie,) = connection.execute("PRAGMA schema_version").fetchone()
    (length,) = connection.execute(LENGTH).fetchone()
    (root,) = connection.execute(
        "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?", [LOG_TABLE]
    ).fetchone()
    logged = logged_tables(state)
    rowids = {}
    for table in logged:
        name = hidden_rowid(connection, state.tables[table])
        if name is not None:
            query = f"SELECT max({name}) FROM main.{quoted(table)}"
            (rowids[table],) = connection.execute(query).fetchone()
    known = {table: rowid for table, rowid in rowids.items() if rowid is not None}
    return InitialLog(state, cookie, length or 0, root, logged, known)


class SqliteReader:
    """See :class:`~outcomebox.sandbox.changelog.LogReader`.

    Args:
        connection: To the terminal database.
        initial: The log it began with.
    """

    def __init__(self, connection: sqlite3.Connection, initial: InitialLog) -> None:
        self._cursor = connection.cursor()
        self._initial = initial

    @property
    def unlogged(self) -> frozenset[str]:
        """Tables whose log could miss a row."""
        return frozenset(self._initial.state.tables.keys() - self._initial.logged)

    def touched(self) -> list[Touch] | None:
        """The log in order; None if the schema differs, or the log is not whole."""
        initial = self._initial
        state = initial.state
        (cookie,) = self._cursor.execute("PRAGMA schema_version").fetchone()
        if cookie != initial.cookie or schema_of(self._cursor) != (state.schema, state.own):
            return None
        log = quoted(LOG_TABLE)
        ((count, first, last),) = fetch(
            self._cursor, f"SELECT count(*), min(seq), max(seq) FROM main.{log}"
        )
        if count and (first, last) != (1, count):
            return None
        found: list[Touch] = []
        entries: list[Any] = fetch(
            self._cursor,
            f"SELECT * FROM main.{log} WHERE seq > ? ORDER BY seq",
            [initial.length],
        )
        for number, table, rowid, *key in entries:
            if table not in initial.logged:
                return None  # no trigger of ours wrote it
            known = tuple(key[: len(state.tables[table].key)])
            found.append((number - 1, table, known))
            if rowid is not None and rowid <= initial.rowids.get(table, rowid - 1):
                # Perhaps an initial row's, which then is gone, and nobody knows its key.
                found.append((number - 1, table, (None,)))
        return found

    def row(self, info: TableInfo, key: Key) -> Cells | None:
        """The row with exactly this key."""
        lookup = self._initial.lookups.get(info.name)
        if lookup is None:
            lookup = _Lookup.of(info, key_collations(self._cursor.connection, info))
            self._initial.lookups[info.name] = lookup
        for cells in fetch(self._cursor, lookup.query(key), list(map(_given, key))):
            if tuple([cells[place] for place in lookup.places]) == key:
                return cells
        return None  # none, or one whose key only collates as equal

    def rows(self, info: TableInfo) -> Rows:
        """All rows of a table."""
        return read_rows(self._cursor, info)

    def whole(self) -> DatabaseState:
        """Everything, read in full."""
        return read_all(self._cursor.connection, self._initial.state)
