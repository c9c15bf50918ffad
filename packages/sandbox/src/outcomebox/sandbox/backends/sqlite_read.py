"""Reading a SQLite database: all of it by full scans, or some rows by key.

A state is read on a connection of its own, so it holds what is committed and nothing else. Rows
keep SQLite's storage classes.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from outcomebox.sandbox.backends.sqlite_tables import table_infos
from outcomebox.sandbox.database import (
    Cells,
    DatabaseState,
    Key,
    Rows,
    SchemaError,
    TableInfo,
    Value,
    quoted,
)
from outcomebox.sandbox.errors import StateUnreadable

OWN = "_outcomebox_"
"""How the names of the change log's parts begin."""
LOG_TABLE = OWN + "changes"
"""The change log."""

Schema: TypeAlias = dict[tuple[str, str], tuple[str, str]]

# What quick_check says about values that break a declared rule. Such rows are readable and are
# compared as they stand; anything else it says means that the file cannot be trusted.
_BROKEN_RULE = re.compile(r"(CHECK constraint failed|(non-)?[A-Z]+ value) in ")


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
        with reported("the given connection"):
            state = read_all(source, like)
    else:
        path = Path(source)
        with reported(str(path)), closing(open_file(path)) as connection:
            state = read_all(connection, like)
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
def reported(place: str) -> Iterator[None]:
    """Turn the errors of reading into :class:`StateUnreadable`."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StateUnreadable(f"the state in {place} cannot be read: {error}") from error


def open_file(path: Path) -> sqlite3.Connection:
    """A read-only connection; a dead writer's journal is rolled back first.

    Raises:
        StateUnreadable: There is no such file, or it is empty.
    """
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


def read_all(connection: sqlite3.Connection, like: DatabaseState | None) -> DatabaseState:
    """What :func:`read_state` reads."""
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
        schema, own = schema_of(cursor)
        same = like is not None and like.schema == schema
        tables = like.tables if like is not None and same else table_infos(cursor, but=LOG_TABLE)
        keyed: dict[str, Mapping[Key, Cells]] = {}
        bags: dict[str, tuple[Cells, ...]] = {}
        for info in tables.values():
            keyed[info.name], bags[info.name] = read_rows(cursor, info)
        return DatabaseState(tables, schema, keyed, bags, own)
    finally:
        connection.text_factory = text_factory


def schema_of(cursor: sqlite3.Cursor) -> tuple[Schema, Schema]:
    """(type, name) -> (table, SQL) of all but SQLite's own: the log's parts apart from the rest."""
    schema: Schema = {}
    own: Schema = {}
    listed: Iterable[Any] = fetch(
        cursor,
        "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema "
        r"WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'",
    )
    for kind, name, table, sql in listed:
        (own if _of_log(kind, name) else schema)[kind, name] = (table, sql)
    return schema, own


def _of_log(kind: str, name: str) -> bool:
    """Whether a part of a schema belongs to the change log."""
    return name == LOG_TABLE if kind == "table" else kind == "trigger" and name.startswith(OWN)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def read_rows(cursor: sqlite3.Cursor, info: TableInfo) -> Rows:
    """All rows of a table: those with an identity by key, and those without."""
    # NOT INDEXED: a scan of the table itself, never of an index that could disagree with it.
    names = ", ".join(map(quoted, info.columns))
    rows = fetch(cursor, f"SELECT {names} FROM main.{quoted(info.name)} NOT INDEXED")
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


def escaped(value: Value) -> bool:
    """Whether a value is text that is not valid UTF-8, its bytes escaped."""
    return (
        isinstance(value, str)
        and not value.isascii()
        and any("\ud800" <= mark <= "\udfff" for mark in value)
    )


def fetch(cursor: sqlite3.Cursor, query: str, given: Sequence[Value] = ()) -> list[Cells]:
    """The rows of a query, text decoded with surrogate escapes."""
    # The library decodes valid text much faster than a function of ours.
    cursor.connection.text_factory = str
    try:
        rows: list[Cells] = cursor.execute(query, given).fetchall()
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
        cursor.connection.text_factory = _text
        rows = cursor.execute(query, given).fetchall()
    return rows
