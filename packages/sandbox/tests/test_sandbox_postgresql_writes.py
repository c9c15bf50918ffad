"""The same writes on SQLite and PostgreSQL leave the same changes, by log and by comparison."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import psycopg
from hypothesis import given, settings

from outcomebox.sandbox import TerminalState, load_domain, read_state, terminal_state
from outcomebox.sandbox.backends.postgresql.backing import log_length
from outcomebox.sandbox.backends.postgresql.image import PostgresqlImage
from outcomebox.sandbox.backends.postgresql.pool import Copy
from outcomebox.sandbox.backends.postgresql.reader import LoggedDatabase
from outcomebox.sandbox.backends.postgresql.tools import PostgresqlToolDatabase
from outcomebox.sandbox.backends.sqlite_log import install
from outcomebox.sandbox.backends.sqlite_read import open_file
from outcomebox.sandbox.backends.sqlite_reader import SqliteReader
from outcomebox.sandbox.changelog import state_from_log
from outcomebox.sandbox.image import SqliteImage
from postgresql_server import needed, shared
from write_sequences import PORTABLE, PORTABLE_SEED, Write, portable

pytestmark = needed

EXAMPLES = int(os.environ.get("OUTCOMEBOX_EXAMPLES", "2000"))
DOMAIN = """
name: portable
title: Tables that both databases have
now: 2026-01-05T10:00:00Z
postgresql: {}
server: {file: server.py}
"""
TABLES = ("customers", "orders", "lines", "tags")


@dataclass
class Statements:
    """What is open after the statements so far, so that both databases are given the same ones.

    The two differ in what they make of a control statement out of place: a savepoint outside of a
    transaction begins one in SQLite and is an error in PostgreSQL, which also ends the transaction.
    """

    savepoints: list[str] = field(default_factory=list)
    begun: bool = False

    def allowed(self, write: Write) -> bool:
        """Whether both databases take a control statement here, and what it leaves open."""
        verb, name = write.sql.split()[0], write.sql.split()[-1]
        if verb == "BEGIN":
            taken, self.begun = not self.begun, True
            return taken
        if verb == "SAVEPOINT":
            if self.begun:
                self.savepoints.append(name)
            return self.begun
        if verb == "COMMIT" or write.sql == "ROLLBACK":
            taken, self.begun = self.begun, False
            self.savepoints.clear()
            return taken
        if name not in self.savepoints:
            return False
        # The newest of this name: what is newer goes with it, and so does it itself if released.
        place = len(self.savepoints) - 1 - self.savepoints[::-1].index(name)
        del self.savepoints[place + (verb == "ROLLBACK") :]
        return True


def control(write: Write) -> bool:
    return write.sql.split()[0] in ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")


@cache
def sqlite_image() -> SqliteImage:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(PORTABLE + PORTABLE_SEED)
        install(connection, read_state(connection))
        return SqliteImage(connection.serialize())


@cache
def postgresql_copy() -> tuple[PostgresqlImage, Copy, PostgresqlToolDatabase]:
    folder = Path(tempfile.mkdtemp())
    try:
        schema = PORTABLE.replace(" INTEGER", " BIGINT").replace(" BLOB", " BYTEA")
        files = {"domain.yaml": DOMAIN, "schema.postgresql.sql": schema, "seed.sql": PORTABLE_SEED}
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        image = shared().domain_image(load_domain(folder))
    finally:
        shutil.rmtree(folder)
    copy = shared().pool.take(image.base.template)
    return image, copy, PostgresqlToolDatabase(shared().cluster.address(copy.name))


def on_sqlite(writes: Sequence[Write]) -> tuple[list[bool], list[TerminalState]]:
    """Which writes were taken, and the state they left: by the log, and by a comparison."""
    taken = []
    start = sqlite_image()
    assert start.log is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "database.sqlite"
        path.write_bytes(start.data)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = OFF")
            for write in writes:
                try:
                    connection.execute(write.sql, write.given)
                    taken.append(True)
                except sqlite3.IntegrityError:
                    taken.append(False)
        with closing(open_file(path)) as connection:
            by_log = state_from_log(start.state, SqliteReader(connection, start.log))
        full = terminal_state(start.state, read_state(path, like=start.state))
    return taken, [by_log, full]


def on_postgresql(writes: Sequence[Write]) -> tuple[list[bool], list[TerminalState]]:
    """The same on PostgreSQL, in one database that gets its seed back afterwards."""
    image, copy, tools = postgresql_copy()
    start = log_length(copy.connection)
    taken = []
    begun = False
    for write in writes:
        if control(write):
            tools.connection.execute(write.sql)
            begun = write.sql not in {"COMMIT", "ROLLBACK"}
            taken.append(True)
            continue
        try:
            # What SQLite does by itself: a statement that fails undoes its own writes only.
            with tools.connection.transaction():
                tools.execute(write.sql, write.given)
            taken.append(True)
        except psycopg.IntegrityError:
            taken.append(False)
    if begun:
        tools.connection.execute("ROLLBACK")
    connection = copy.connection
    with connection.transaction():
        reader = LoggedDatabase(connection, image.base.read, start)
        by_log = state_from_log(image.state, reader)
        full = terminal_state(image.state, reader.whole())
    with connection.transaction():
        for table in reversed(TABLES):
            connection.execute(f"DELETE FROM {table}".encode())
        connection.execute(PORTABLE_SEED.encode())
    return taken, [by_log, full]


@settings(max_examples=EXAMPLES, deadline=None)
@given(portable(20))
def test_both_databases_tell_the_same_changes(writes: list[Write]) -> None:
    model = Statements()
    allowed = [write for write in writes if not control(write) or model.allowed(write)]
    taken, states = on_sqlite(allowed)
    taken_too, states_too = on_postgresql(allowed)
    assert taken == taken_too
    first, *others = [*states, *states_too]
    rows = {table: dict(first.terminal.keyed[table]) for table in TABLES}
    for other in others:
        assert other.changes == first.changes
        assert {table: dict(other.terminal.keyed[table]) for table in TABLES} == rows
        assert other.schema_changes == ()
