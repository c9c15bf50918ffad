"""One session's SQLite database: a file in the session's folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from outcomebox.sandbox.backends.sqlite_read import open_file, read_state, reported
from outcomebox.sandbox.backends.sqlite_reader import LENGTH, InitialLog, SqliteReader
from outcomebox.sandbox.backends.sqlite_tail import last_rowid
from outcomebox.sandbox.changelog import Mark, state_from_log
from outcomebox.sandbox.changes import TerminalState, terminal_state
from outcomebox.sandbox.database import DatabaseState
from outcomebox.sandbox.errors import StateUnreadable

_FILE = "database.sqlite"


class SqliteFile:
    """A copy of an image; see :class:`~outcomebox.sandbox.backends.base.Backing`.

    Args:
        data: The image's bytes.
        state: What they hold.
        log: The change log in them, if there is one.
    """

    address = "{folder}/" + _FILE

    def __init__(self, data: bytes, state: DatabaseState, log: InitialLog | None) -> None:
        self.files: Mapping[str, bytes] = {_FILE: data}
        self._state = state
        self._log = log
        self._folder = Path()
        self._path = ""

    def settle(self, folder: Path) -> None:
        """Learn the session's folder."""
        self._folder = folder
        self._path = str(folder / _FILE)

    async def mark(self) -> int | None:
        """Length of the change log now; None where it cannot be told.

        Read from the file, without a lock, wherever that can be done; else on a connection, which
        does not wait if the file is locked.
        """
        if self._log is None:
            return None
        found = last_rowid(self._path, self._log.root)
        if found is not None:
            return found
        try:
            uri = f"{Path(self._path).as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True, timeout=0)) as connection:
                (length,) = connection.execute(LENGTH).fetchone()
                return length or 0
        except sqlite3.Error:
            return None  # locked, or broken: the terminal state will tell

    async def so_far(self, calls: Sequence[Mark]) -> TerminalState:
        """What the session holds between two calls: committed work, read as at its end.

        Raises:
            StateUnreadable: The database is missing or broken, or a writer keeps it locked.
        """
        return await self.terminal_state(calls)

    async def terminal_state(self, calls: Sequence[Mark]) -> TerminalState:
        """What the session has left.

        With a log, only what it names is read: no page of the file that the session has not
        written, and no scan for damage. SQLite itself wrote the file, from a sound image; where it
        did not, the header, the schema or a page on the way is unreadable, or the log is gone, and
        then all is read.

        Raises:
            StateUnreadable: The database is missing or broken.
        """
        path = self._folder / _FILE
        try:
            if self._log is None:
                state = terminal_state(self._state, read_state(path, like=self._state))
                return replace(state, calls=tuple(name for name, _ in calls))
            with reported(str(path)), closing(open_file(path)) as connection:
                return state_from_log(self._state, SqliteReader(connection, self._log), calls)
        except StateUnreadable as error:
            placeless = str(error).replace(str(self._folder), "<session>")
            raise StateUnreadable(placeless) from error
