"""What a PostgreSQL database declares: its tables, and all else that a schema consists of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import psycopg

from outcomebox.sandbox.database import Row, TableInfo, Value, quoted

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
# Partitions are part of their table. Temporary tables end with their connection.
_TABLES = r"""
SELECT c.oid, n.nspname, c.relname, c.relkind = 'p',
    pg_catalog.array_to_json(ARRAY(
        SELECT pg_catalog.format('%I.%I', pn.nspname, p.relname)
        FROM pg_catalog.pg_partition_tree(c.oid) t
        JOIN pg_catalog.pg_class p ON p.oid = t.relid
        JOIN pg_catalog.pg_namespace pn ON pn.oid = p.relnamespace
        WHERE c.relkind = 'p' AND t.relid <> c.oid))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND n.nspname NOT LIKE 'pg\_%' AND n.nspname NOT IN ('information_schema', '_outcomebox')
ORDER BY n.nspname, c.relname
"""
_COLUMNS = """
SELECT a.attrelid, a.attnum, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
    pg_catalog.pg_get_expr(d.adbin, d.adrelid), a.attidentity <> ''
FROM pg_catalog.pg_attribute a
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = ANY(%s::oid[]) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attrelid, a.attnum
"""
_KEYS = """
SELECT conrelid, contype, pg_catalog.array_to_json(conkey), confrelid,
    pg_catalog.array_to_json(confkey)
FROM pg_catalog.pg_constraint
WHERE contype IN ('p', 'f') AND conrelid = ANY(%s::oid[]) ORDER BY oid
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, with what it takes to read and write it.

    Attributes:
        info: What it declares. Tables outside of the schema ``public`` are named with theirs.
        oid: Its number in the catalogue.
        relation: Its name in SQL.
        types: The type of each column of ``info.columns``, in SQL.
        partitioned: Whether its rows are in partitions.
        partitions: Their names in SQL.
    """

    info: TableInfo
    oid: int
    relation: str
    types: tuple[str, ...]
    partitioned: bool = False
    partitions: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """What a query that reads its rows selects from: itself, without tables that inherit."""
        return self.relation if self.partitioned else f"ONLY {self.relation}"

    @property
    def key_types(self) -> tuple[str, ...]:
        """The types of ``info.key``, in SQL."""
        types = dict(zip(self.info.columns, self.types, strict=True))
        return tuple(types[column] for column in self.info.key)


def read_tables(connection: Connection) -> dict[str, Table]:
    """All tables of a database, by the names of their infos.

    Raises:
        psycopg.Error: They cannot be read.
    """
    listed = connection.execute(_TABLES).fetchall()
    oids = [row[0] for row in listed]
    columns: dict[int, list[tuple[Any, ...]]] = {oid: [] for oid in oids}
    for oid, *described in connection.execute(_COLUMNS, [oids]):
        columns[oid].append(tuple(described))
    names = {oid: shown_name(schema, name) for oid, schema, name, *_ in listed}
    by_number = {oid: {number: name for number, name, *_ in rows} for oid, rows in columns.items()}
    keys: dict[int, tuple[str, ...]] = {}
    references: dict[int, dict[str, tuple[str, str]]] = {oid: {} for oid in oids}
    for oid, kind, own, other, theirs in connection.execute(_KEYS, [oids]):
        if kind == "p":
            keys[oid] = tuple([by_number[oid][number] for number in json.loads(own)])
        elif other in names:
            for source, target in zip(json.loads(own), json.loads(theirs), strict=True):
                if source in by_number[oid] and target in by_number[other]:
                    parent = (names[other], by_number[other][target])
                    references[oid].setdefault(by_number[oid][source], parent)
    found = {}
    for oid, schema, name, partitioned, partitions in listed:
        defaults, computed = _defaults(connection, columns[oid])
        info = TableInfo(
            name=names[oid],
            key=keys.get(oid, ()),
            columns=tuple(column for _, column, *_ in columns[oid]),
            defaults=defaults,
            references=references[oid],
            computed=computed,
        )
        relation = f"{quoted(schema)}.{quoted(name)}"
        types = tuple(kind for _, _, kind, *_ in columns[oid])
        within = tuple(json.loads(partitions))
        found[info.name] = Table(info, oid, relation, types, bool(partitioned), within)
    return found


def shown_name(schema: str, name: str) -> str:
    """How a table is called in infos, changes and checks."""
    own = quoted(name) if "." in name else name
    return own if schema == "public" else f"{schema}.{own}"


def _defaults(
    connection: Connection, columns: Sequence[tuple[Any, ...]]
) -> tuple[Row, frozenset[str]]:
    defaults: dict[str, Value] = {}
    computed = set()
    for _, column, kind, expression, identity in columns:
        if identity:
            computed.add(column)
        elif expression is not None:
            try:
                defaults[column] = _default(connection, kind, expression)
            except psycopg.Error as error:
                if error.sqlstate is None:
                    raise  # the connection, not the expression
                computed.add(column)
    return defaults, frozenset(computed)


def _default(connection: Connection, kind: str, expression: str) -> Value:
    """The value of a default.

    A generated column takes exactly the expressions that always give the same value.

    Raises:
        psycopg.Error: It differs by insert.
    """
    with connection.transaction(force_rollback=True):
        connection.execute(
            "CREATE TEMPORARY TABLE outcomebox_default "
            f"(k integer, v {kind} GENERATED ALWAYS AS ({expression}) STORED)".encode()
        )
        row = connection.execute(
            "INSERT INTO pg_temp.outcomebox_default (k) VALUES (1) RETURNING v"
        ).fetchone()
        assert row is not None  # noqa: S101 -- RETURNING of one row
        value: Value = row[0]
        return value
