"""Reading everything that a PostgreSQL database holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from outcomebox.sandbox.backends.postgresql.catalogue import Connection, Table, read_tables
from outcomebox.sandbox.backends.postgresql.parts import Fingerprint, fingerprint, read_parts
from outcomebox.sandbox.database import Cells, DatabaseState, Key, Rows, quoted


@dataclass(frozen=True)
class Read:
    """A database's state, with what it takes to read from its tables again."""

    state: DatabaseState
    tables: Mapping[str, Table]
    fingerprint: Fingerprint


def read_database(connection: Connection, *, like: Read | None = None) -> Read:
    """Everything that a database holds, seen in the connection's current transaction.

    Args:
        connection: Reads values as they are stored (:func:`.adapt.stored`).
        like: An earlier state; its tables are reused where the schema is still the same.

    Raises:
        psycopg.Error: It cannot be read.
    """
    mark = fingerprint(connection)
    if like is not None and like.fingerprint == mark:
        schema, own, tables = like.state.schema, like.state.own, like.tables
    else:
        schema, own = read_parts(connection)
        tables = read_tables(connection)
    keyed: dict[str, Mapping[Key, Cells]] = {}
    bags: dict[str, tuple[Cells, ...]] = {}
    for name, table in tables.items():
        keyed[name], bags[name] = read_rows(connection, table)
    infos = {name: table.info for name, table in tables.items()}
    return Read(DatabaseState(infos, schema, keyed, bags, own), tables, mark)


def read_rows(connection: Connection, table: Table) -> Rows:
    """All rows of a table.

    Raises:
        psycopg.Error: They cannot be read.
    """
    info = table.info
    names = ", ".join(map(quoted, info.columns))
    query = f"SELECT {names} FROM {table.source}"
    rows = connection.execute(query.encode()).fetchall()
    if not info.key:
        return {}, tuple(rows)
    places = [info.columns.index(column) for column in info.key]
    return {tuple([cells[place] for place in places]): cells for cells in rows}, ()
