"""Golden as SQL statements: evidence for a check whose backend has no tool server yet.

::

    connection = sqlite3.connect("shop.sqlite", isolation_level=None)
    evidence = statement_evidence(connection, ["UPDATE orders SET status = 'resent' WHERE id = 1"])
    linted = lint_check("resend", {"tables": {..}}, evidence)
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import TypeAlias

from outcomebox.reward.lint.evidence import Evidence, Step
from outcomebox.sandbox.changes import DatabaseState, TerminalState, read_state, terminal_state

Statement: TypeAlias = str | tuple[str, Sequence[object]]
"""SQL, or SQL with its parameters."""

_WRITES = (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)


def statement_evidence(connection: sqlite3.Connection, statements: Sequence[Statement]) -> Evidence:
    """What golden statements leave, one after the other in autocommit, twice.

    The connection's own database is left as it is; the statements run on copies of it.

    Raises:
        StateUnreadable: The database cannot be read, or a transaction is open.
    """
    data = connection.serialize()
    initial = read_state(connection)
    steps, golden = _played(data, initial, statements)
    _, again = _played(data, initial, statements)
    return Evidence(golden=golden, steps=steps, again=(("again", again),))


def _played(
    data: bytes, initial: DatabaseState, statements: Sequence[Statement]
) -> tuple[tuple[Step, ...], TerminalState]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.deserialize(data)
        connection.execute("PRAGMA foreign_keys = ON")
        steps = tuple(
            _step(connection, initial, index, *_parts(statement))
            for index, statement in enumerate(statements)
        )
        if connection.in_transaction:
            connection.rollback()
        return steps, terminal_state(initial, read_state(connection))


def _parts(statement: Statement) -> tuple[str, Sequence[object]]:
    return (statement, ()) if isinstance(statement, str) else statement


def _step(
    connection: sqlite3.Connection,
    initial: DatabaseState,
    index: int,
    sql: str,
    values: Sequence[object],
) -> Step:
    written: list[tuple[str, str | None]] = []

    def watch(action: int, table: str | None, column: str | None, *_: str | None) -> int:
        if action in _WRITES and table:
            written.append((table, column if action == sqlite3.SQLITE_UPDATE else None))
        return sqlite3.SQLITE_OK

    connection.set_authorizer(watch)
    before = connection.total_changes
    try:
        connection.execute(sql, values)
    except sqlite3.Error as error:
        words = re.findall(r"\w+", sql)
        named = next((word for word in words if word in initial.tables), None)
        return Step(index, sql, error=str(error), table=named)
    finally:
        connection.set_authorizer(None)
    if not written:
        return Step(index, sql)
    table, column = written[0]
    idle = connection.total_changes == before
    return Step(index, sql, idle=idle, table=table, column=column)
