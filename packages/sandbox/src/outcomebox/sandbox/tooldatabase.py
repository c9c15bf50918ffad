"""The database as a tool server has it: the same few operations, whichever it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, cast

Blame: TypeAlias = Literal["refused", "mistake", "failed"]
"""Whose fault an error is. ``refused``: the values break a rule, which the agent reads;
``mistake``: the server's own SQL is wrong, an error result that names it; ``failed``:
infrastructure, so that no answer may be given."""

POSTGRESQL = "postgresql://"
"""How the address of a PostgreSQL database begins; any other is the path of a SQLite file."""


class ToolDatabase(Protocol):
    """One session's database, on a connection of its own."""

    @property
    def connection(self) -> Any:
        """The connection itself: sqlite3's or psycopg's."""
        ...

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction; without ``writes`` it cannot write."""
        ...

    def commit(self) -> None:
        """End it, its writes kept."""
        ...

    def rollback(self) -> None:
        """End it, its writes undone; never raises."""
        ...

    def rows(self, sql: str, parameters: Sequence[object]) -> list[dict[str, Any]]:
        """All rows of a query, each a dict of column to value."""
        ...

    def one(self, sql: str, parameters: Sequence[object]) -> dict[str, Any] | None:
        """The first row of a query, or None."""
        ...

    def execute(self, sql: str, parameters: Sequence[object]) -> int:
        """Run one statement; the number of rows it touched."""
        ...

    def blame(self, error: BaseException) -> Blame | None:
        """Whose fault an error is; None for one that is none of the database's."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def open_database(address: str) -> ToolDatabase:
    """The database at an address.

    Raises:
        DatabaseMissing: It is not there, or cannot be reached.
    """
    if address.startswith(POSTGRESQL):
        # Not at the top: psycopg is there for those who use PostgreSQL.
        from outcomebox.sandbox.backends.postgresql.tools import (  # noqa: PLC0415
            PostgresqlToolDatabase,
        )

        return PostgresqlToolDatabase(address)
    return SqliteToolDatabase(Path(address))


class DatabaseMissing(Exception):
    """A session's database is not there, or cannot be reached."""


class SqliteToolDatabase:
    """A SQLite file; see :class:`ToolDatabase`.

    Args:
        path: The file, which must exist.

    Raises:
        DatabaseMissing: It does not, or is no database.
    """

    def __init__(self, path: Path) -> None:
        try:
            # mode=rw: a missing file is a fault, never a new empty database.
            self.connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=rw",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
            self.connection.row_factory = sqlite3.Row
            self.connection.execute("PRAGMA foreign_keys = ON")
            # The file lives as long as the session: it has to outlive the process, not a power cut.
            self.connection.execute("PRAGMA synchronous = OFF")
            self.connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except (sqlite3.Error, OSError) as error:
            raise DatabaseMissing(str(error)) from error

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction."""
        self.connection.execute(f"PRAGMA query_only = {0 if writes else 1}")
        self.connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    def commit(self) -> None:
        """End it, its writes kept."""
        self.connection.execute("COMMIT")

    def rollback(self) -> None:
        """End it, its writes undone."""
        self.connection.rollback()

    def rows(self, sql: str, parameters: Sequence[object]) -> list[dict[str, Any]]:
        """All rows of a query."""
        return [dict(row) for row in self.connection.execute(sql, parameters)]

    def one(self, sql: str, parameters: Sequence[object]) -> dict[str, Any] | None:
        """The first row of a query, or None."""
        row = self.connection.execute(sql, parameters).fetchone()
        return None if row is None else dict(row)

    def execute(self, sql: str, parameters: Sequence[object]) -> int:
        """Run one statement."""
        return self.connection.execute(sql, parameters).rowcount

    def blame(self, error: BaseException) -> Blame | None:
        """Whose fault an error is."""
        if not isinstance(error, sqlite3.DatabaseError):
            return None
        if isinstance(error, sqlite3.IntegrityError):
            return "refused"
        if isinstance(error, sqlite3.ProgrammingError):
            return "mistake"
        primary = cast(int, getattr(error, "sqlite_errorcode", 0)) & 0xFF
        statement = primary in {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_READONLY}
        operational = isinstance(error, sqlite3.OperationalError)
        return "mistake" if operational and statement else "failed"

    def close(self) -> None:
        """Let go of it."""
        self.connection.close()
