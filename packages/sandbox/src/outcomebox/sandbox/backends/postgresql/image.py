"""Initial states of sessions: a domain's template, and a task's own rows on top of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from threading import Lock

import anyio.to_thread
import psycopg

from outcomebox.sandbox.backends.edits import Edit, edits_of
from outcomebox.sandbox.backends.postgresql.backing import PostgresqlDatabase, log_length
from outcomebox.sandbox.backends.postgresql.catalogue import Connection
from outcomebox.sandbox.backends.postgresql.cluster import Cluster
from outcomebox.sandbox.backends.postgresql.connecting import told
from outcomebox.sandbox.backends.postgresql.parameters import translate
from outcomebox.sandbox.backends.postgresql.pool import Copy, Pool
from outcomebox.sandbox.backends.postgresql.reader import LoggedDatabase
from outcomebox.sandbox.backends.postgresql.state import Read, read_database
from outcomebox.sandbox.changelog import state_from_log
from outcomebox.sandbox.database import DatabaseState
from outcomebox.sandbox.errors import InputError, SessionOpenError
from outcomebox.sandbox.task import Task


class DomainDatabase:
    """A domain's template with what is known of it: shared by the images of all its tasks.

    Args:
        cluster: Where it is.
        pool: Of copies.
        template: Its name.
        full: Whether a session's changes are found by comparing all rows.
    """

    def __init__(self, cluster: Cluster, pool: Pool, template: str, *, full: bool) -> None:
        self.full = full
        self.cluster = cluster
        self.pool = pool
        self.template = template
        # A copy that is only ever written to in transactions that are rolled back.
        self._trial = pool.take(template)
        self._lock = Lock()
        self.read = read_database(self._trial.connection)

    def tried(self, task: Task, edits: tuple[Edit, ...]) -> Read:
        """What a copy holds after some edits.

        Raises:
            InputError: The database refuses one.
            psycopg.Error: It fails.
        """
        connection = self._trial.connection
        with self._lock, connection.transaction(force_rollback=True):
            start = log_length(connection)
            apply(connection, task.uid, edits)
            reader = LoggedDatabase(connection, self.read, start)
            state = state_from_log(self.read.state, reader).terminal
            return replace(self.read, state=state)


class PostgresqlImage:
    """A template and edits; see :class:`~outcomebox.sandbox.backends.base.Image`.

    Args:
        base: The domain's template.
        task: Whose edits; None for the seed alone.

    Raises:
        InputError: An edit names what is not there, or the database refuses it or fails.
    """

    def __init__(self, base: DomainDatabase, task: Task | None = None) -> None:
        self.base = base
        self._uid = "" if task is None else task.uid
        self._edits: tuple[Edit, ...] = ()
        self._read = base.read
        if task is not None:
            names = {name: table.relation for name, table in base.read.tables.items()}
            self._edits = tuple(edits_of(task, base.read.state, names=names))
            try:
                self._read = base.tried(task, self._edits)
            except psycopg.Error as error:
                raise InputError(
                    f"PostgreSQL fails: {told(error)}", task=task.uid, field="init"
                ) from error

    @property
    def state(self) -> DatabaseState:
        """Its tables and rows: the *before* of every comparison."""
        return self._read.state

    @asynccontextmanager
    async def open(self) -> AsyncIterator[PostgresqlDatabase]:
        """A database of its own for one session; removed on exit.

        Raises:
            SessionOpenError: There is none to be had.
        """
        pool = self.base.pool
        try:
            copy = await anyio.to_thread.run_sync(pool.take, self.base.template)
        except psycopg.Error as error:
            raise SessionOpenError(f"no database for a session: {told(error)}") from error
        try:
            try:
                database = await anyio.to_thread.run_sync(self._prepared, copy)
            except psycopg.Error as error:
                raise SessionOpenError(f"no database for a session: {told(error)}") from error
            yield database
        finally:
            pool.give_back(copy)

    def _prepared(self, copy: Copy) -> PostgresqlDatabase:
        if self._edits:
            with copy.connection.transaction():
                apply(copy.connection, self._uid, self._edits)
        address = self.base.cluster.address(copy.name)
        return PostgresqlDatabase(address, copy.connection, self._read, full=self.base.full)


def apply(connection: Connection, uid: str, edits: tuple[Edit, ...]) -> None:
    """Make a task's edits in the connection's transaction, references checked at the end.

    Raises:
        InputError: The database refuses one.
        psycopg.Error: It fails.
    """
    try:
        connection.execute("SET CONSTRAINTS ALL DEFERRED")
        for edit in edits:
            _apply(connection, uid, edit)
        connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except psycopg.IntegrityError as error:
        detail = f" ({error.diag.message_detail})" if error.diag.message_detail else ""
        raise InputError(
            f"the database refuses it: {told(error)}{detail}", task=uid, field="init"
        ) from error


def _apply(connection: Connection, uid: str, edit: Edit) -> None:
    statement, parameters = translate(edit.sql, edit.parameters)
    try:
        count = connection.execute(statement.encode(), parameters).rowcount
    except psycopg.Error as error:
        if error.sqlstate is None:
            raise
        raise InputError(
            f"the database refuses it: {told(error)}",
            task=uid,
            field=edit.field,
            value=dict(edit.shown),
        ) from error
    if edit.one and count != 1:
        raise InputError(
            "no such row in the seed; mend the key",
            task=uid,
            field=f"{edit.field}.key",
            value=dict(edit.shown),
        )
