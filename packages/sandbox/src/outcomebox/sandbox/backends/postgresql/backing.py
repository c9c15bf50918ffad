"""One session's PostgreSQL database."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import anyio.to_thread
import psycopg
from psycopg import sql

from outcomebox.sandbox.backends.postgresql.catalogue import Connection
from outcomebox.sandbox.backends.postgresql.connecting import told
from outcomebox.sandbox.backends.postgresql.log import SCHEMA
from outcomebox.sandbox.backends.postgresql.reader import LoggedDatabase
from outcomebox.sandbox.backends.postgresql.state import Read
from outcomebox.sandbox.changelog import Mark, state_from_log
from outcomebox.sandbox.changes import TerminalState, terminal_state
from outcomebox.sandbox.errors import StateUnreadable

_LENGTH = f"SELECT coalesce(max(position), 0) FROM {SCHEMA}.log"
_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
_ENDS_WITHIN_S = 10.0


class PostgresqlDatabase:
    """A copy of a template; see :class:`~outcomebox.sandbox.backends.base.Backing`.

    Args:
        address: What its tool server is told.
        connection: The harness's own connection to it.
        initial: What it holds.
        full: Whether all rows are compared in the end, whatever the log says.
    """

    files: Mapping[str, bytes] = {}

    def __init__(
        self, address: str, connection: Connection, initial: Read, *, full: bool = False
    ) -> None:
        self._full = full
        self.address = address
        self._connection = connection
        self._initial = initial
        self._start = log_length(connection)

    def settle(self, folder: Path) -> None:
        """Nothing of it is in the session's folder."""

    async def mark(self) -> int | None:
        """Length of the change log now; None where the database cannot be asked."""
        return await anyio.to_thread.run_sync(self._mark)

    def _mark(self) -> int | None:
        try:
            return log_length(self._connection) - self._start
        except psycopg.Error:
            return None  # the end of the session will tell

    async def so_far(self, calls: Sequence[Mark]) -> TerminalState:
        """What the session holds between two calls.

        Raises:
            StateUnreadable: The database is gone, or cannot be read.
        """
        return await anyio.to_thread.run_sync(self._state, calls)

    async def terminal_state(self, calls: Sequence[Mark]) -> TerminalState:
        """What the session has left.

        Raises:
            StateUnreadable: The database is gone, or cannot be read.
        """
        return await anyio.to_thread.run_sync(self._terminal_state, calls)

    def _terminal_state(self, calls: Sequence[Mark]) -> TerminalState:
        try:
            end_others(self._connection)
        except psycopg.Error as error:
            raise StateUnreadable(f"the state cannot be read: {told(error)}") from error
        return self._state(calls)

    def _state(self, calls: Sequence[Mark]) -> TerminalState:
        connection = self._connection
        try:
            # One moment, in which nothing can be written.
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                reader = LoggedDatabase(connection, self._initial, self._start)
                if self._full:
                    found = terminal_state(self._initial.state, reader.whole())
                    return replace(found, calls=tuple(name for name, _ in calls))
                return state_from_log(self._initial.state, reader, calls)
            finally:
                connection.execute("ROLLBACK")
        except psycopg.Error as error:
            raise StateUnreadable(f"the state cannot be read: {told(error)}") from error


def log_length(connection: Connection) -> int:
    """How far the change log goes.

    Raises:
        psycopg.Error: It cannot be read.
    """
    row = connection.execute(_LENGTH.encode()).fetchone()
    return 0 if row is None else int(row[0])


def end_others(connection: Connection) -> None:
    """End all other connections to the database, and take back what they had only prepared.

    Raises:
        StateUnreadable: They do not end.
        psycopg.Error: The server refuses.
    """
    deadline = time.monotonic() + _ENDS_WITHIN_S
    while connection.execute(_OTHERS).fetchall():
        if time.monotonic() > deadline:
            raise StateUnreadable("a connection of the tool server does not end")
        time.sleep(0.001)
    prepared = "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"
    for (name,) in connection.execute(prepared.encode()).fetchall():
        connection.execute(sql.SQL("ROLLBACK PREPARED {}").format(sql.Literal(name)))
