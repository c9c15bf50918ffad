"""A session's PostgreSQL database as its tool server has it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.rows import dict_row

from outcomebox.sandbox.backends.postgresql.adapt import served
from outcomebox.sandbox.backends.postgresql.blame import blame
from outcomebox.sandbox.backends.postgresql.connecting import connect, told
from outcomebox.sandbox.backends.postgresql.parameters import translate
from outcomebox.sandbox.tooldatabase import Blame, DatabaseMissing


class PostgresqlToolDatabase:
    """See :class:`~outcomebox.sandbox.tooldatabase.ToolDatabase`.

    Args:
        address: The database, with a role that may read and write its rows.

    Raises:
        DatabaseMissing: It cannot be reached.
    """

    def __init__(self, address: str) -> None:
        try:
            self.connection = connect(address, adapters=served())
        except psycopg.Error as error:
            raise DatabaseMissing(told(error)) from error

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction."""
        self.connection.execute("BEGIN READ WRITE" if writes else "BEGIN READ ONLY")

    def commit(self) -> None:
        """End it, its writes kept."""
        self.connection.execute("COMMIT")

    def rollback(self) -> None:
        """End it, its writes undone: by itself where the connection is gone."""
        with suppress(psycopg.Error):
            self.connection.execute("ROLLBACK")

    def rows(self, sql: str, parameters: Sequence[object]) -> list[dict[str, Any]]:
        """All rows of a query."""
        return self._run(sql, parameters).fetchall()

    def one(self, sql: str, parameters: Sequence[object]) -> dict[str, Any] | None:
        """The first row of a query, or None."""
        return self._run(sql, parameters).fetchone()

    def execute(self, sql: str, parameters: Sequence[object]) -> int:
        """Run one statement."""
        return self._run(sql, parameters).rowcount

    def _run(self, sql: str, parameters: Sequence[object]) -> psycopg.Cursor[dict[str, Any]]:
        statement, values = translate(sql, parameters)
        cursor = self.connection.cursor(row_factory=dict_row)
        return cursor.execute(statement.encode(), values)

    def blame(self, error: BaseException) -> Blame | None:
        """Whose fault an error is."""
        if not isinstance(error, psycopg.Error):
            return None
        if error.sqlstate is None and not self.connection.broken:
            # The driver's own: a value that no column can hold, or that it cannot write.
            if isinstance(error, psycopg.DataError):
                return "refused"
            if isinstance(error, psycopg.ProgrammingError):
                return "mistake"
        return blame(error.sqlstate)

    def close(self) -> None:
        """Let go of it."""
        self.connection.close()
