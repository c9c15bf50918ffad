"""What the tables of a SQLite database declare."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from outcomebox.sandbox.database import TableInfo, Value, quoted

_BARE_WORD = re.compile(r"[A-Za-z_]\w*")


def table_infos(cursor: sqlite3.Cursor, *, but: str) -> dict[str, TableInfo]:
    """What the tables declare, by name; those of SQLite and of virtual tables are left out.

    Args:
        cursor: Of the database.
        but: One more table to leave out.
    """
    listed = cursor.execute(
        "SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND name <> ? "
        r"AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name",
        [but],
    ).fetchall()
    described = {
        name: cursor.execute(f"PRAGMA main.table_xinfo({quoted(name)})").fetchall()
        for name, _ in listed
    }
    keys = {
        name: tuple(row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5])
        for name, rows in described.items()
    }
    infos = {}
    with closing(sqlite3.connect(":memory:")) as scratch:
        for name, strictly in listed:
            visible = [row for row in described[name] if row[6] == 0]
            defaults: dict[str, Value] = {}
            computed = set()
            for _, column, declared, _, default, _, _ in visible:
                if default is None:
                    continue
                value = _default(scratch, _affinity(declared, strict=bool(strictly)), default)
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
