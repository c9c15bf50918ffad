"""Everything that a database holds at one moment: its tables, what they declare, and every row.

Values are those of SQLite's storage classes, whatever the backend. Two are the same when Python's
``==`` says so for ``None | int | float | str | bytes``, which is what the checks mean by *same*:
integer and real by exact value (1 = 1.0, -0.0 = 0.0, 2**53 + 1 is not 2.0**53), text by code point,
blobs by byte, and never across text, blob, number and NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from outcomebox.sandbox.errors import InputError

Value: TypeAlias = int | float | str | bytes | None
"""A SQLite value."""
Row: TypeAlias = Mapping[str, Value]
"""A row by column, generated columns left out."""
Key: TypeAlias = tuple[Value, ...]
"""The values of a primary key, in the order of :attr:`TableInfo.key`."""
Cells: TypeAlias = tuple[Value, ...]
"""The values of a row, in the order of :attr:`TableInfo.columns`."""
Rows: TypeAlias = tuple[Mapping[Key, Cells], tuple[Cells, ...]]
"""Rows of a table: those with an identity by key, and those without."""


class SchemaError(InputError):
    """A table cannot be tracked by primary key."""


@dataclass(frozen=True, slots=True)
class TableInfo:
    """What a table declares.

    Attributes:
        name: Its name.
        key: The columns of its primary key, in key order; empty if it has none.
        columns: All columns but generated and hidden ones, in declared order.
        defaults: column -> the value that an insert without this column stores, the column's
            affinity applied. Columns without a default are absent, as are those in ``computed``.
        references: column -> (table, column) that a foreign key refers to.
        computed: Columns whose default differs by insert, such as ``CURRENT_TIMESTAMP``.
    """

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    defaults: Row
    references: Mapping[str, tuple[str, str]]
    computed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """Everything that a database holds at one moment.

    Attributes:
        tables: Table infos by name.
        schema: (type, name) -> (table, SQL) of every table, index, view and trigger that is neither
            the database's own nor of the change log.
        keyed: table -> key -> row, for rows with an identity.
        bags: table -> rows without one: every row of a table without primary key, and rows with
            NULL in the key.
        own: As ``schema``, the parts of the change log; empty without one.
    """

    tables: Mapping[str, TableInfo]
    schema: Mapping[tuple[str, str], tuple[str, str]]
    keyed: Mapping[str, Mapping[Key, Cells]]
    bags: Mapping[str, tuple[Cells, ...]]
    own: Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def row(self, table: str, key: Row) -> dict[str, Value] | None:
        """The row with this primary key, or None.

        Raises:
            KeyError: There is no such table, or ``key`` lacks a column of its key.
        """
        info = self.tables[table]
        cells = self.keyed[table].get(tuple(key[column] for column in info.key))
        return None if cells is None else dict(zip(info.columns, cells, strict=True))

    def rows(self, table: str) -> list[dict[str, Value]]:
        """All rows of a table, in no particular order.

        Raises:
            KeyError: There is no such table.
        """
        columns = self.tables[table].columns
        cells = [*self.keyed[table].values(), *self.bags[table]]
        return [dict(zip(columns, row, strict=True)) for row in cells]


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
