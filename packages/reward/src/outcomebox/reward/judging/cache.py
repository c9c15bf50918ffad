"""Votes that were given before: in memory, or in a file that several processes share.

Every single vote is kept under what was asked (a digest of it) and its number, so that a majority
of five after a majority of three asks two more. The first vote that is written counts: whoever
asked the same at the same time takes that one, and all verdicts on one text agree. What is no vote
(an error, an unreadable reply) is never kept.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from outcomebox.sandbox.errors import InputError

_LOG = logging.getLogger(__name__)
_APPLICATION = 0x6F626A63  # "objc": outcomebox judge cache
_VERSION = 1
_WAIT_S = 30.0

Kept = Mapping[str, Any]
"""A vote as JSON."""


class VoteCache(Protocol):
    """Where votes are kept."""

    def get(self, key: str, number: int) -> Kept | None:
        """The vote of that number on what has that key, if there is one."""

    def put(self, key: str, number: int, vote: Kept) -> Kept:
        """Keep a vote; the one that counts, which another process may have been first to write."""

    def drop(self, key: str, number: int) -> None:
        """Forget a vote that turned out to be none."""

    def close(self) -> None:
        """Let go of it."""


class MemoryCache:
    """Votes of this process."""

    def __init__(self) -> None:
        self._votes: dict[tuple[str, int], Kept] = {}

    def get(self, key: str, number: int) -> Kept | None:
        """The vote of that number on what has that key, if there is one."""
        return self._votes.get((key, number))

    def put(self, key: str, number: int, vote: Kept) -> Kept:
        """Keep a vote, unless there is one."""
        return self._votes.setdefault((key, number), vote)

    def drop(self, key: str, number: int) -> None:
        """Forget a vote."""
        self._votes.pop((key, number), None)

    def close(self) -> None:
        """Nothing to let go of."""


class FileCache:
    """Votes in an SQLite file, which any number of processes may use at once.

    A vote is in the file, whole, before it counts: a process that is killed loses none and breaks
    none. A vote that no longer fits its checksum is dropped, reported and asked for again; a file
    that breaks under the run is reported and no longer used.

    Args:
        path: The file; made if it is not there. It must be on a local disk (SQLite's WAL).

    Raises:
        InputError: It cannot be opened, is damaged, or is no such cache.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._broken = False
        self._memory = MemoryCache()
        try:
            self._file = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)
        except sqlite3.Error as error:
            raise _unusable(path, error) from error
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._file.close()
            raise _unusable(path, error) from error
        except InputError:
            self._file.close()
            raise

    def _prepare(self) -> None:
        file = self._file
        # Damage may leave bytes that are no text; the checksum is what notices.
        file.text_factory = _text
        # One snapshot: another process may be making the file.
        file.execute("BEGIN")
        (application,) = file.execute("PRAGMA application_id").fetchone()
        (version,) = file.execute("PRAGMA user_version").fetchone()
        (tables,) = file.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        file.execute("COMMIT")
        if tables and (application, version) != (_APPLICATION, _VERSION):
            raise InputError(
                "is an SQLite file, but no cache of a judge; name another file",
                file=self._path,
                field="judge-cache",
            )
        (state,) = file.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise sqlite3.DatabaseError(state)
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("PRAGMA synchronous = NORMAL")
        file.execute("BEGIN IMMEDIATE")
        file.execute(
            "CREATE TABLE IF NOT EXISTS votes (key TEXT NOT NULL, number INTEGER NOT NULL, "
            "vote TEXT NOT NULL, checksum TEXT NOT NULL, PRIMARY KEY (key, number)) WITHOUT ROWID"
        )
        file.execute(f"PRAGMA application_id = {_APPLICATION}")
        file.execute(f"PRAGMA user_version = {_VERSION}")
        file.execute("COMMIT")

    def get(self, key: str, number: int) -> Kept | None:
        """The vote of that number on what has that key, if there is one and it is whole."""
        if self._broken:
            return self._memory.get(key, number)
        try:
            found = self._read(key, number)
        except sqlite3.Error as error:
            self._break(error)
            return None
        if found is None:
            return None
        body, checksum = found
        if checksum != _checksum(key, number, body):
            _LOG.warning("%s: a damaged vote was dropped and is asked for again", self._path)
            self.drop(key, number)
            return None
        vote: Kept = json.loads(body)
        return vote

    def put(self, key: str, number: int, vote: Kept) -> Kept:
        """Keep a vote, unless there is one: then that one."""
        if not self._broken:
            body = json.dumps(vote)
            row = (key, number, body, _checksum(key, number, body))
            try:
                self._file.execute("INSERT OR IGNORE INTO votes VALUES (?, ?, ?, ?)", row)
            except sqlite3.Error as error:
                self._break(error)
            else:
                return self.get(key, number) or vote
        return self._memory.put(key, number, vote)

    def drop(self, key: str, number: int) -> None:
        """Forget a vote that turned out to be none."""
        self._memory.drop(key, number)
        if not self._broken:
            try:
                self._file.execute("DELETE FROM votes WHERE key = ? AND number = ?", (key, number))
            except sqlite3.Error as error:
                self._break(error)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _break(self, error: sqlite3.Error) -> None:
        self._broken = True
        _LOG.warning(
            "%s: the judge's cache can no longer be used (%s); from now on it keeps no votes",
            self._path,
            error,
        )

    def _read(self, key: str, number: int) -> tuple[str, str] | None:
        found: tuple[str, str] | None = self._file.execute(
            "SELECT CAST(vote AS TEXT), checksum FROM votes WHERE key = ? AND number = ?",
            (key, number),
        ).fetchone()
        return found


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _checksum(key: str, number: int, body: str) -> str:
    return hashlib.sha256(f"{key} {number} {body}".encode()).hexdigest()


def _unusable(path: Path, error: sqlite3.Error) -> InputError:
    return InputError(
        f"cannot be used as the judge's cache ({error}); move it away or restore it, or name "
        "another file",
        file=path,
        field="judge-cache",
    )
