"""Databases with a change log, how tests write to them, and both ways to read what was left."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path

from outcomebox.sandbox import TerminalState, read_state, terminal_state
from outcomebox.sandbox.backends.sqlite_log import install
from outcomebox.sandbox.backends.sqlite_read import open_file
from outcomebox.sandbox.backends.sqlite_reader import SqliteReader
from outcomebox.sandbox.changelog import Mark, state_from_log
from outcomebox.sandbox.image import SqliteImage
from write_sequences import PORTABLE, PORTABLE_SEED, SQLITE, SQLITE_SEED, Write

EVERYTHING = (PORTABLE, SQLITE, PORTABLE_SEED, SQLITE_SEED)


@cache
def image(*scripts: str) -> SqliteImage:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for script in scripts:
            connection.executescript(script)
        install(connection, read_state(connection))
        return SqliteImage(connection.serialize())


@contextmanager
def copy_of(start: SqliteImage) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "database.sqlite"
        path.write_bytes(start.data)
        yield path


def play(path: Path, writes: Sequence[Write]) -> int:
    """Run writes, each rejected or not; every connection closes without commit."""
    done = 0
    with ExitStack() as stack:
        connections = [
            stack.enter_context(closing(sqlite3.connect(path, isolation_level=None, timeout=0)))
            for _ in range(2)
        ]
        for connection in connections:
            connection.execute("PRAGMA foreign_keys = ON")
        for write in writes:
            try:
                connections[write.connection].execute(write.sql, write.given)
                done += 1
            except (sqlite3.Error, OverflowError):
                pass
    return done


def by_log(
    path: Path, start: SqliteImage, calls: Sequence[Mark] = ()
) -> tuple[TerminalState, bool]:
    """The terminal state, and whether the log was of use."""
    assert start.log is not None
    with closing(open_file(path)) as connection:
        reader = SqliteReader(connection, start.log)
        return state_from_log(start.state, reader, calls), reader.touched() is not None


def assert_agree(path: Path, start: SqliteImage) -> bool:
    found, used = by_log(path, start)
    wanted = terminal_state(start.state, read_state(path, like=start.state))
    assert repr(found.changes) == repr(wanted.changes)
    assert found.schema_changes == wanted.schema_changes
    assert found.terminal == wanted.terminal
    return used
