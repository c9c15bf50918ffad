"""Reading everything that a SQLite database holds: its tables, what they declare, and every row.

A state is read by full scans on a connection of its own, so it holds what is committed and nothing
else. Rows keep SQLite's storage classes. Two values are the same when Python's ``==`` says so for
``None | int | float | str | bytes``, which is what the checks mean by *same*: integer and real by
exact value (1 = 1.0, -0.0 = 0.0, 2**53 + 1 is not 2.0**53), text by code point, blobs by byte, and
never across text, blob, number and NULL.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from outcomebox.sandbox.errors import InputError, StateUnreadable

Value: TypeAlias = int | float | str | bytes | None
"""A SQLite value."""
Row: TypeAlias = Mapping[str, Value]
"""A row by column, generated columns left out."""
Key: TypeAlias = tuple[Value, ...]
"""The values of a primary key, in the order of :attr:`TableInfo.key`."""
Cells: TypeAlias = tuple[Value, ...]
"""The values of a row, in the order of :attr:`TableInfo.columns`."""

# What quick_check says about values that break a declared rule. Such rows are readable and are
# compared as they stand; anything else it says means that the file cannot be trusted.
_BROKEN_RULE = re.compile(r"(CHECK constraint failed|(non-)?[A-Z]+ value) in ")
_BARE_WORD = re.compile(r"[A-Za-z_]\w*")


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
        schema: (type, name) -> (table, SQL) of every table, index, view and trigger that is not
            SQLite's own.
        keyed: table -> key -> row, for rows with an identity.
        bags: table -> rows without one: every row of a table without primary key, and rows with
            NULL in the key.
    """

    tables: Mapping[str, TableInfo]
    schema: Mapping[tuple[str, str], tuple[str, str]]
    keyed: Mapping[str, Mapping[Key, Cells]]
    bags: Mapping[str, tuple[Cells, ...]]

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


def read_state(
    source: str | os.PathLike[str] | sqlite3.Connection,
    *,
    like: DatabaseState | None = None,
    require_keys: bool = False,
) -> DatabaseState:
    """Everything that a database holds.

    A file is opened read-only on a fresh connection; call it after all others were closed, since
    only committed work counts. A journal that a killed writer left behind is rolled back first.

    Args:
        source: Path of the file, or an open connection without an open transaction.
        like: An earlier state; its table infos are reused where the schema is still the same.
        require_keys: Refuse tables without a primary key instead of comparing them in full.

    Raises:
        StateUnreadable: The file is missing, empty, no database, damaged or locked, or the
            connection has an open transaction.
        SchemaError: A table has no primary key although ``require_keys`` is set.
    """
    if isinstance(source, sqlite3.Connection):
        if source.in_transaction:
            raise StateUnreadable(
                "the connection has an open transaction, whose rows are not part of the state; "
                "commit or roll back first"
            )
        with _reported("the given connection"):
            state = _read(source, like)
    else:
        path = Path(source)
        with _reported(str(path)), closing(_open(path)) as connection:
            state = _read(connection, like)
    if require_keys:
        for info in state.tables.values():
            if not info.key:
                raise SchemaError(
                    f"table {info.name} has no primary key, so its rows cannot be told apart; add "
                    f"one, such as `{info.name}_id INTEGER PRIMARY KEY`",
                    field=info.name,
                )
    return state


@contextmanager
def _reported(place: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StateUnreadable(f"the state in {place} cannot be read: {error}") from error


def _open(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise StateUnreadable(f"there is no database file at {path}")
    if path.stat().st_size == 0:
        # For SQLite this is a database without tables, but no database that had some shrinks to it.
        raise StateUnreadable(f"the database file {path} is empty")
    uri = path.resolve().as_uri()
    if any(path.with_name(path.name + suffix).exists() for suffix in ("-journal", "-wal")):
        # A read-only connection may not roll a dead writer's journal back, and refuses to read.
        with closing(sqlite3.connect(f"{uri}?mode=rw", uri=True)) as writer:
            writer.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, isolation_level=None)
    # CHECKs may call functions that only the tool server defines, and are no matter of reading.
    connection.execute("PRAGMA ignore_check_constraints = ON")
    return connection


def _read(connection: sqlite3.Connection, like: DatabaseState | None) -> DatabaseState:
    text_factory = connection.text_factory
    # Text need not be valid UTF-8; escaped bytes keep such values apart and readable.
    connection.text_factory = _text
    try:
        cursor = connection.cursor()
        cursor.row_factory = None
        faults = [fault for (fault,) in cursor.execute("PRAGMA quick_check")]
        damage = [fault for fault in faults if fault != "ok" and not _BROKEN_RULE.match(fault)]
        if damage:
            raise StateUnreadable(f"the database is damaged: {damage[0]}")
        schema = {
            (kind, name): (table, sql or "")
            for kind, name, table, sql in cursor.execute(
                "SELECT type, name, tbl_name, sql FROM sqlite_schema "
                r"WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'"
            )
        }
        same = like is not None and like.schema == schema
        tables = like.tables if like is not None and same else _table_infos(cursor)
        keyed: dict[str, Mapping[Key, Cells]] = {}
        bags: dict[str, tuple[Cells, ...]] = {}
        for info in tables.values():
            keyed[info.name], bags[info.name] = _rows(cursor, info)
        return DatabaseState(tables, schema, keyed, bags)
    finally:
        connection.text_factory = text_factory


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _rows(cursor: sqlite3.Cursor, info: TableInfo) -> tuple[Mapping[Key, Cells], tuple[Cells, ...]]:
    # NOT INDEXED: a scan of the table itself, never of an index that could disagree with it.
    names = ", ".join(map(quoted, info.columns))
    rows = _fetch(cursor, f"SELECT {names} FROM main.{quoted(info.name)} NOT INDEXED")
    if not info.key:
        return {}, tuple(rows)
    places = [info.columns.index(column) for column in info.key]
    keyed: dict[Key, Cells] = {tuple([cells[place] for place in places]): cells for cells in rows}
    if len(keyed) == len(rows) and not any(None in key for key in keyed):
        return keyed, ()
    keyed = {}
    bag: list[Cells] = []
    for cells in rows:
        key = tuple([cells[place] for place in places])
        if None in key:
            bag.append(cells)
        elif key in keyed:
            raise StateUnreadable(
                f"the database is damaged: two rows of {info.name} have the primary key {key!r}"
            )
        else:
            keyed[key] = cells
    return keyed, tuple(bag)


def _fetch(cursor: sqlite3.Cursor, query: str) -> list[Cells]:
    # The library decodes valid text much faster than a function of ours.
    cursor.connection.text_factory = str
    try:
        rows: list[Cells] = cursor.execute(query).fetchall()
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
        cursor.connection.text_factory = _text
        rows = cursor.execute(query).fetchall()
    return rows


def _table_infos(cursor: sqlite3.Cursor) -> dict[str, TableInfo]:
    listed = cursor.execute(
        "SELECT name, type, strict FROM pragma_table_list WHERE schema = 'main' "
        r"AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name"
    ).fetchall()
    described = {
        name: cursor.execute(f"PRAGMA main.table_xinfo({quoted(name)})").fetchall()
        for name, _, _ in listed
    }
    keys = {
        name: tuple(row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5])
        for name, rows in described.items()
    }
    infos = {}
    with closing(sqlite3.connect(":memory:")) as scratch:
        for name, _, strict in listed:
            visible = [row for row in described[name] if row[6] == 0]
            defaults: dict[str, Value] = {}
            computed = set()
            for _, column, declared, _, default, _, _ in visible:
                if default is None:
                    continue
                value = _default(scratch, _affinity(declared, strict=bool(strict)), default)
                if value is _COMPUTED:
                    computed.add(column)
                else:
                    defaults[column] = value
            infos[name] = TableInfo(
                name=name,
                key=keys[name],
                columns=tuple(row[1] for row in visible),
                defaults=defaults,
                references=_references(cursor, name, described, keys),
                computed=frozenset(computed),
            )
    return infos


def _references(
    cursor: sqlite3.Cursor,
    name: str,
    described: Mapping[str, list[tuple[Any, ...]]],
    keys: Mapping[str, tuple[str, ...]],
) -> dict[str, tuple[str, str]]:
    """Foreign keys with names as declared; of several on one column the first declared counts."""
    tables = {table.lower(): table for table in described}
    found: dict[str, tuple[str, str]] = {}
    for _, sequence, parent, source, target, *_ in cursor.execute(
        f"PRAGMA main.foreign_key_list({quoted(name)})"
    ).fetchall():  # newest first, so that older ones overwrite
        table = tables.get(parent.lower())
        if table is None or (target is None and sequence >= len(keys[table])):
            continue  # a dangling reference: SQLite allows declaring it
        own = _declared(described[name], source)
        other = keys[table][sequence] if target is None else _declared(described[table], target)
        if own is not None and other is not None:
            found[own] = (table, other)
    return found


def _declared(described: list[tuple[Any, ...]], column: str) -> str | None:
    names = {row[1].lower(): row[1] for row in described}
    return names.get(column.lower())


_COMPUTED: Any = object()


def _default(scratch: sqlite3.Connection, affinity: str, text: str) -> Any:
    """The value of a DEFAULT clause, or ``_COMPUTED``.

    A generated column takes exactly the expressions that always give the same value.
    """
    if _BARE_WORD.fullmatch(text) and text.upper() not in ("NULL", "TRUE", "FALSE"):
        if text.upper().startswith("CURRENT_"):
            return _COMPUTED
        text = "'" + text + "'"  # SQLite reads a bare word here as text
    try:
        scratch.execute(f"CREATE TABLE d(k, v {affinity} AS ({text}) STORED)")
        scratch.execute("INSERT INTO d(k) VALUES (1)")
        return scratch.execute("SELECT v FROM d").fetchone()[0]
    except sqlite3.Error:
        return _COMPUTED  # not repeatable, or a function that only the tool server has
    finally:
        scratch.rollback()
        scratch.execute("DROP TABLE IF EXISTS d")


def _affinity(declared: str, *, strict: bool) -> str:
    """A type name with the affinity that SQLite gives a declared type (datatype3.html, 3.1)."""
    name = declared.upper()
    if "INT" in name:
        return "INTEGER"
    if any(part in name for part in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if "BLOB" in name or not name or (strict and name == "ANY"):
        return "BLOB"
    if any(part in name for part in ("REAL", "FLOA", "DOUB")):
        return "REAL"
    return "NUMERIC"


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
