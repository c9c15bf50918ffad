"""The store of a run: one JSON row a line, appended whole with a checksum, never rewritten.

A killed run leaves at most one line that was cut off, at the end; opening the store for more takes
it out. Any other broken line means the file was damaged or edited, and is refused by its number.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from outcomebox.reward.rows import Row, placed_rows, seal
from outcomebox.sandbox import InputError


class EpisodeStore:
    """An append-only file of rows, held by one writer at a time.

    Args:
        path: The file; made if it is not there.

    Raises:
        InputError: It cannot be written, another process writes it, or it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=path) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise InputError(
                "another process is writing this run; wait for it or choose another folder",
                file=path,
            ) from error
        try:
            end = 0
            self.rows: list[Row] = []
            for placed in placed_rows(path):
                self.rows.append(_slim(placed.row))
                end = placed.end
            os.ftruncate(self._file, end)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, row: Row) -> None:
        """Add a row; it is in the file, whole, when this returns."""
        line = memoryview(seal(row))
        while line:
            line = line[os.write(self._file, line) :]
        self.rows.append(_slim(row))

    def close(self) -> None:
        """Flush to the disk and let go of the file."""
        os.fsync(self._file)
        os.close(self._file)

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()


def _slim(row: Row) -> Row:
    """What resuming needs of a row: the whole conversation may be long."""
    return {
        "uid": row["uid"],
        "repetition": row["repetition"],
        "try": row["try"],
        "outcome": row["verdict"]["outcome"],
        "error": row["error"],
        "task": row["versions"]["task"],
        "domain": row["versions"]["domain"],
    }
