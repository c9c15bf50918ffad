"""A domain's template database: its schema and seed, with the change log set up."""

from __future__ import annotations

import hashlib

import psycopg

from outcomebox.sandbox.backends.postgresql import log
from outcomebox.sandbox.backends.postgresql.catalogue import Connection, Table, read_tables
from outcomebox.sandbox.backends.postgresql.cluster import Cluster
from outcomebox.sandbox.backends.postgresql.connecting import told
from outcomebox.sandbox.database import quoted
from outcomebox.sandbox.domain import Domain, PostgresqlSettings
from outcomebox.sandbox.errors import InputError

# What a session's role may do in a copy: read and write rows. It alone can connect to it.
_GRANTS = """
GRANT USAGE ON SCHEMA {schemas} TO PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA {schemas} TO PUBLIC;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {schemas} TO PUBLIC;
"""
_DEFERRABLE = """
SELECT pg_catalog.format('ALTER TABLE %%s ALTER CONSTRAINT %%I DEFERRABLE INITIALLY IMMEDIATE',
    conrelid::regclass, conname)
FROM pg_catalog.pg_constraint
WHERE contype = 'f' AND NOT condeferrable AND conparentid = 0 AND conrelid = ANY(%s::oid[])
"""


def digest(domain: Domain) -> str:
    """What tells templates apart: SHA-256 over all that is in one.

    Raises:
        InputError: The domain has no such SQL.
    """
    found = hashlib.sha256()
    for part in (*domain.postgresql_sql, log.LAYOUT, _GRANTS):
        found.update(hashlib.sha256(part.encode()).digest())
    return found.hexdigest()


def domain_template(cluster: Cluster, domain: Domain) -> str:
    """The name of a domain's template, made where it is not there yet.

    Raises:
        InputError: The SQL fails, or a table has no primary key.
        psycopg.Error: The server fails.
    """
    name, there = cluster.template(digest(domain))
    if not there:
        with cluster.making(name) as needed:
            if needed:
                with cluster.connect(name) as connection:
                    _fill(connection, domain)
    return name


def _fill(connection: Connection, domain: Domain) -> None:
    settings = domain.settings.postgresql or PostgresqlSettings()
    schema, seed = domain.postgresql_sql
    for field, script, file in (
        ("schema", schema, settings.schema_file),
        ("seed", seed, settings.seed_file or domain.settings.seed_file),
    ):
        try:
            with connection.transaction():
                connection.execute(script.encode())
        except psycopg.Error as error:
            if error.sqlstate is None:
                raise
            raise InputError(
                f"the SQL fails: {_placed(error, script)}",
                file=domain.folder / file,
                field=f"postgresql.{field}",
            ) from error
    tables = read_tables(connection)
    for table in tables.values():
        if not table.info.key:
            raise InputError(
                f"table {table.info.name} has no primary key, so its rows cannot be told apart; "
                f"add one, such as `{table.info.name}_id bigint PRIMARY KEY`",
                file=domain.folder / settings.schema_file,
                field="postgresql.schema",
            )
    with connection.transaction():
        _set_up(connection, tables)
    connection.execute("ANALYZE")


def _set_up(connection: Connection, tables: dict[str, Table]) -> None:
    # A task's own rows may come in any order of tables: its references are checked at the end.
    oids = [table.oid for table in tables.values()]
    for (statement,) in connection.execute(_DEFERRABLE, [oids]).fetchall():
        connection.execute(statement.encode())
    connection.execute(log.START.encode())
    for table in tables.values():
        connection.execute(log.logging(table).encode())
    spaces = {table.relation.rsplit(".", 1)[0] for table in tables.values()}
    schemas = ", ".join(sorted(spaces | {quoted("public")}))
    connection.execute(_GRANTS.format(schemas=schemas).encode())


def _placed(error: psycopg.Error, script: str) -> str:
    position = error.diag.statement_position
    if position is None:
        return told(error)
    line = script.count("\n", 0, int(position)) + 1
    return f"{told(error)} (line {line})"
