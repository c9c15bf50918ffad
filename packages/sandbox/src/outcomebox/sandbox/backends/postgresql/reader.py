"""A session's terminal database, read by its change log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from outcomebox.sandbox.backends.postgresql.catalogue import Connection, Table
from outcomebox.sandbox.backends.postgresql.log import SCHEMA
from outcomebox.sandbox.backends.postgresql.parts import fingerprint, read_parts
from outcomebox.sandbox.backends.postgresql.state import Read, read_database, read_rows
from outcomebox.sandbox.changelog import Touch
from outcomebox.sandbox.database import Cells, DatabaseState, Key, Rows, TableInfo, quoted

_LOG = f"SELECT position, relation, key IS NULL FROM {SCHEMA}.log WHERE position > %s ORDER BY 1"


class LoggedDatabase:
    """See :class:`~outcomebox.sandbox.changelog.LogReader`.

    Args:
        connection: To the database, in a transaction that sees one moment.
        initial: What the database held when the log stood at ``start``.
        start: Length of the log then.
    """

    def __init__(self, connection: Connection, initial: Read, start: int) -> None:
        self._connection = connection
        self._initial = initial
        self._start = start
        self._rows: dict[str, dict[Key, Cells | None]] = {}

    @cached_property
    def unlogged(self) -> frozenset[str]:
        """Tables that were truncated: the log does not say of which rows."""
        return frozenset(name for _, name, whole in self._log if whole)

    @cached_property
    def _log(self) -> list[tuple[int, str, bool]]:
        return self._connection.execute(_LOG, [self._start]).fetchall()

    def touched(self) -> Iterable[Touch] | None:
        """The log in order; None where the schema is not what it was."""
        if self._altered():
            return None
        keys: dict[int, Key] = {}
        for name in {name for _, name, whole in self._log if not whole}:
            for position, key, cells in self._looked_up(self._initial.tables[name]):
                keys[position] = key
                self._rows.setdefault(name, {})[key] = cells
        return [
            (position - self._start - 1, name, keys[position])
            for position, name, whole in self._log
            if not whole
        ]

    def _altered(self) -> bool:
        state = self._initial.state
        # What a large object holds is in no catalogue that all may read.
        large = any(kind == "large object" for kind, _ in state.schema)
        if not large and fingerprint(self._connection) == self._initial.fingerprint:
            return False
        # Truncating a table shows in the catalogue, and alters nothing.
        return read_parts(self._connection) != (state.schema, state.own)

    def _looked_up(self, table: Table) -> Iterator[tuple[int, Key, Cells | None]]:
        """Position, key and (where there is one) row of each entry of the log about a table."""
        info = table.info
        casts = [f"key[{n}]::{kind}" for n, kind in enumerate(table.key_types, 1)]
        names = [quoted(column) for column in info.key]
        on = " AND ".join(f"r.{name} = l.k{n}" for n, name in enumerate(names))
        query = f"""
            SELECT l.*, {", ".join(f"r.{quoted(column)}" for column in info.columns)}
            FROM (SELECT position, {", ".join(f"{c} AS k{n}" for n, c in enumerate(casts))}
                  FROM {SCHEMA}.log
                  WHERE position > %s AND relation = %s AND key IS NOT NULL) l
            LEFT JOIN {table.source} r ON {on}
        """
        width = len(info.key)
        places = [info.columns.index(column) for column in info.key]
        found = self._connection.execute(query.encode(), [self._start, info.name])
        for position, *values in found:
            key, cells = tuple(values[:width]), tuple(values[width:])
            # A collation or a numeric type may find a row whose key reads otherwise.
            exact = tuple([cells[place] for place in places]) == key
            yield position, key, cells if exact else None

    def row(self, info: TableInfo, key: Key) -> Cells | None:
        """The row with exactly this key, which the log has named."""
        return self._rows[info.name][key]

    def rows(self, info: TableInfo) -> Rows:
        """All rows of a table."""
        return read_rows(self._connection, self._initial.tables[info.name])

    def whole(self) -> DatabaseState:
        """Everything, read in full."""
        return read_database(self._connection, like=self._initial).state
