"""The change log of a SQLite database: triggers that note the key of each row that is written.

The log is a table of the database itself, so it is right about every writer (other processes, other
connections, other languages), is undone with what is undone, and is there when a writer is killed.
It names touched rows, and must name each row that changes:

- after an insert, the new key; after a delete, the old one; after an update, the old one and, where
  it differs, the new one. Cascades and a user's own triggers are such writes too;
- *before* an insert or update, the keys of the rows that it may replace. ``OR REPLACE`` deletes the
  rows that stand in the way of a unique constraint, and tells no trigger (``recursive_triggers`` is
  off by default). They are looked up through each unique index but the exact one of the key itself:
  what is replaced there has the new row's key, which an update therefore notes ahead too;
- where rows have a rowid beside their key, that a row got this rowid: one that an initial row had
  may have replaced that row, whose key nobody knows any more.

Where that cannot be certain, a table has no triggers and is compared in full: :func:`install`.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from outcomebox.sandbox.backends.sqlite_read import LOG_TABLE, OWN
from outcomebox.sandbox.database import DatabaseState, TableInfo, quoted

_LOG = quoted(LOG_TABLE)
# Both words, in any order and with anything in between, as comments may stand there.
_MAY_IGNORE = (re.compile(r"\braise\b", re.IGNORECASE), re.compile(r"\bignore\b", re.IGNORECASE))


def install(connection: sqlite3.Connection, state: DatabaseState) -> None:
    """Give a database an empty log and the triggers that fill it.

    Tables stay without triggers, because rows of theirs could change unnoticed, if they

    - have no primary key, or are virtual;
    - have a unique index that is partial, or over an expression or a generated column;
    - have a column ``NOT NULL`` in a unique index whose default is not always the same value
      (``OR REPLACE`` puts it where NULL was given);
    - have a trigger that may ``RAISE(IGNORE)``, after which ours would not run.

    Text of the database must be UTF-8, else no table gets any.

    Args:
        connection: To the database, in autocommit mode.
        state: What it holds.
    """
    (encoding,) = connection.execute("PRAGMA encoding").fetchone()
    tables = [
        table
        for info in state.tables.values()
        if encoding == "UTF-8" and (table := _table(connection, state, info)) is not None
    ]
    width = max((len(table.info.key) for table in tables), default=0)
    connection.execute("BEGIN")
    connection.execute(
        f"CREATE TABLE {_LOG}(seq INTEGER PRIMARY KEY, tbl, at{''.join(_key_columns(width))})"
    )
    for statement in _guards():
        connection.execute(statement)
    for table in tables:
        for statement in _triggers(table):
            connection.execute(statement)
    connection.execute("COMMIT")


def logged_tables(state: DatabaseState) -> frozenset[str]:
    """The tables of an initial state whose writes are logged."""
    return frozenset(
        table for (_, name), (table, _) in state.own.items() if name.startswith(f"{OWN}insert_")
    )


def key_collations(connection: sqlite3.Connection, info: TableInfo) -> tuple[str, ...]:
    """How the index of a table's primary key compares each of its columns.

    It may compare otherwise than the columns themselves do, and is used only where told so.
    """
    found = dict.fromkeys(info.key, "BINARY")
    for index in _indexes(connection, info):
        if index.origin == "pk":
            found |= {part.column: part.collation for part in index.parts}
    return tuple(found[column] for column in info.key)


def hidden_rowid(connection: sqlite3.Connection, info: TableInfo) -> str | None:
    """A name of a table's rowid, if there is one that is not its key and that SQL can name."""
    (without,) = connection.execute(
        "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?", [info.name]
    ).fetchone()
    if without or not any(index.origin == "pk" for index in _indexes(connection, info)):
        return None  # without an index for it, the key is the rowid
    described = connection.execute(f"PRAGMA main.table_xinfo({quoted(info.name)})").fetchall()
    taken = {column.lower() for _, column, *_ in described}
    return next((name for name in ("rowid", "_rowid_", "oid") if name not in taken), None)


@dataclass(frozen=True)
class _Part:
    """A column of an index, if it is one that rows show: no expression, and not generated."""

    column: str
    collation: str
    ordinary: bool


@dataclass(frozen=True)
class _Index:
    """A unique index; its origin is ``pk``, ``u`` or ``c`` as SQLite's pragma says."""

    origin: str
    partial: bool
    parts: Sequence[_Part]

    @property
    def exact(self) -> bool:
        """Whether it tells values apart as we do."""
        return all(part.collation.upper() == "BINARY" for part in self.parts)


def _indexes(connection: sqlite3.Connection, info: TableInfo) -> list[_Index]:
    listed = connection.execute(f"PRAGMA main.index_list({quoted(info.name)})").fetchall()
    found = []
    for _, name, unique, origin, partial in listed:
        if unique:
            parts = connection.execute(f"PRAGMA main.index_xinfo({quoted(name)})").fetchall()
            found.append(
                _Index(
                    origin,
                    bool(partial),
                    [
                        _Part(column, collation, number >= 0 and column in info.columns)
                        for _, number, column, _, collation, in_key in parts
                        if in_key
                    ],
                )
            )
    return found


@dataclass(frozen=True)
class _Table:
    """A table that can be logged, and what decides which rows a write of it may replace.

    Attributes:
        info: What it declares.
        uniques: Indexes through which rows with another key may be replaced.
        rowid: A name of its rowid, where that is not the key and can be written, else None.
        instead: column -> literal that may be stored where NULL was given.
    """

    info: TableInfo
    uniques: Sequence[_Index]
    rowid: str | None
    instead: dict[str, str]


def _table(connection: sqlite3.Connection, state: DatabaseState, info: TableInfo) -> _Table | None:
    if not info.key or any(
        kind == "trigger"
        and table.lower() == info.name.lower()
        and all(word.search(sql) for word in _MAY_IGNORE)
        for (kind, _), (table, sql) in state.schema.items()
    ):
        return None
    indexes = _indexes(connection, info)
    uniques = [index for index in indexes if index.origin != "pk" or not index.exact]
    described = connection.execute(f"PRAGMA main.table_xinfo({quoted(info.name)})").fetchall()
    required = {column for _, column, _, not_null, _, _, _ in described if not_null}
    instead = {}
    for index in uniques:
        for part in index.parts:
            if index.partial or not part.ordinary:
                return None
            if part.column not in required:
                continue
            if part.column in info.computed:
                return None
            default = info.defaults.get(part.column)
            if default is not None:
                (instead[part.column],) = connection.execute(
                    "SELECT quote(?)", [default]
                ).fetchone()
    rowid = hidden_rowid(connection, info)
    return _Table(info, uniques, rowid, instead)


def _triggers(table: _Table) -> Iterator[str]:
    name, key = table.info.name, table.info.key
    told = "'" + name.replace("'", "''") + "'"
    into = f"INSERT INTO {_LOG}(tbl{''.join(_key_columns(len(key)))}"
    own, old, new = (_listed(prefix, key) for prefix in ("", "OLD.", "NEW."))

    def trigger(kind: str, event: str, *statements: str) -> str:
        body = " ".join(f"{statement};" for statement in statements)
        called = quoted(f"{OWN}{kind}_{name}")
        return f"CREATE TRIGGER {called} {event} ON {quoted(name)} BEGIN {body} END"

    inserted = f"{into}) VALUES ({told}, {new})"
    moved = f"{into}) SELECT {told}, {new} WHERE {_differ(key)}"
    if table.rowid is not None:
        now, before = f"NEW.{table.rowid}", f"OLD.{table.rowid}"
        inserted = f"{into}, at) VALUES ({told}, {new}, {now})"
        moved = (
            f"{into}, at) SELECT {told}, {new}, nullif({now}, {before}) "
            f"WHERE {now} <> {before} OR {_differ(key)}"
        )
    yield trigger("insert", "AFTER INSERT", inserted)
    yield trigger("delete", "AFTER DELETE", f"{into}) VALUES ({told}, {old})")
    yield trigger("update", "AFTER UPDATE", f"{into}) VALUES ({told}, {old})", moved)
    replaced = f"{into}) SELECT {told}, {own} FROM {quoted(name)} WHERE"
    # The row may be gone before it is updated: what it replaces is deleted with all that refers to
    # it, and that may be the row itself.
    before_insert, before_update = [], [moved]
    for index in table.uniques:
        same = " AND ".join(
            # Without the plus sign, the column's affinity would not reach the new value.
            f"{quoted(part.column)} = {_given(table, part.column)} COLLATE {quoted(part.collation)}"
            for part in index.parts
        )
        before_insert.append(f"{replaced} {same}")
        changed = _differ([part.column for part in index.parts])
        before_update.append(f"{replaced} ({changed}) AND {same}")
    if before_insert:
        yield trigger("before_insert", "BEFORE INSERT", *before_insert)
    yield trigger("before_update", "BEFORE UPDATE", *before_update)


def _given(table: _Table, column: str) -> str:
    value = f"+NEW.{quoted(column)}"
    instead = table.instead.get(column)
    return value if instead is None else f"coalesce({value}, {instead})"


def _listed(prefix: str, columns: Sequence[str]) -> str:
    return ", ".join(prefix + quoted(column) for column in columns)


def _differ(columns: Sequence[str]) -> str:
    """Whether a row's new values differ from its old ones, whatever their collation."""
    return " OR ".join(
        f"NEW.{quoted(column)} IS NOT OLD.{quoted(column)} COLLATE BINARY" for column in columns
    )


def _key_columns(count: int) -> Iterator[str]:
    return (f", k{number + 1}" for number in range(count))


def _guards() -> Iterator[str]:
    """Triggers that refuse to take anything out of the log, or to put it out of order."""
    for event, when in (
        ("UPDATE", ""),
        ("DELETE", ""),
        # What SQLite numbers itself has -1 here.
        ("INSERT", "WHEN NEW.seq > 0 "),
    ):
        yield (
            f"CREATE TRIGGER {quoted(f'{OWN}guard_{event.lower()}')} BEFORE {event} ON {_LOG} "
            f"{when}BEGIN SELECT RAISE(ABORT, 'only triggers write here'); END"
        )
