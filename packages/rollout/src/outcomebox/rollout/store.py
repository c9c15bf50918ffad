"""The store of a run: one JSON row a line, appended whole with a checksum, never rewritten.

A killed run leaves at most one line that was cut off, at the end; opening the store for more takes
it out. Any other broken line means the file was damaged or edited, and is refused by its number
when it is read.

Beside the rows stands their index (:mod:`outcomebox.rollout.storing.index`), and where a run is
recorded, the exchanges with its models. A row's exchanges are written before it and its index line
after it, so that each file can be brought to the same point again: exchanges without a row are cut
off, missing index lines are made again.

What holds after what (docs/runs.md):

* A killed process loses nothing that :meth:`EpisodeStore.append` has returned from.
* A machine that loses its power loses at most the rows since the last flush to the disk, which
  comes with the first row after :data:`FLUSH_S` seconds; the next start makes them again.
* A second writer on this machine is refused by the file's lock. On another machine it is where the
  shared file system carries locks over (NFS does); where it does not, the first row written after
  the other's is refused, because the file has grown by another hand.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

from outcomebox.reward.rows import Row, seal
from outcomebox.rollout.runfolder import run_files
from outcomebox.rollout.storing.appending import Appended
from outcomebox.rollout.storing.groups import last_groups
from outcomebox.rollout.storing.index import Entry, entry_of, index_line, row_checksum, scan
from outcomebox.sandbox import InputError

FLUSH_S = 1.0


class EpisodeStore:
    """An append-only file of rows, held by one writer at a time.

    Args:
        path: The file; made if it is not there.

    Attributes:
        path: The file.
        entries: What it holds in short, in the order written.

    Raises:
        InputError: It cannot be written, another process writes it, or it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = run_files(path)
        self._rows = Appended(path)
        self._exchanges: Appended | None = None
        self._index: Appended | None = None
        try:
            self._lock()
            found = scan(path, self._files.index)
            self.entries: list[Entry] = found.entries
            self._rows.cut(found.end)
            self._mend_index(found.indexed, found.index_end)
            if self._files.exchanges.exists():
                self._open_exchanges()
        except BaseException:
            self._let_go()
            raise
        self._flushed = monotonic()

    def append(self, row: Row, exchanges: Sequence[Mapping[str, Any]] = ()) -> None:
        """Add a row; it is in the file, whole, when this returns.

        Args:
            row: The row.
            exchanges: What was said to models and back, where the run is recorded.

        Raises:
            InputError: It cannot be written, or another process has written; what was there before
                is whole.
        """
        line = seal(row)
        entry = entry_of(row, self._rows.end, len(line))
        if exchanges:
            kept = self._exchanges or self._open_exchanges()
            kept.add(b"".join(map(seal, exchanges)))
        self._rows.add(line)
        self.entries.append(entry)
        self._add_to_index(index_line(entry, row_checksum(line)))
        if monotonic() - self._flushed >= FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """See that all rows are on the disk."""
        if self._exchanges is not None:
            self._exchanges.flush()
        self._rows.flush()
        self._flushed = monotonic()

    def close(self) -> None:
        """Flush to the disk and let go of the files."""
        try:
            self.flush()
        finally:
            self._let_go()

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

    def _lock(self) -> None:
        try:
            fcntl.flock(self._rows.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                "another process is writing this run; wait for it or choose another folder",
                file=self.path,
            ) from error
        except OSError as error:
            raise InputError(
                f"cannot be locked ({error.strerror}), so that two runs could write it at once; "
                "choose a folder on a file system with locks",
                file=self.path,
            ) from error

    def _mend_index(self, indexed: int, end: int) -> None:
        """Bring the index to where the rows are."""
        try:
            self._index = Appended(self._files.index)
            self._index.cut(end)
            lines = []
            for entry in self.entries[indexed:]:
                tail = os.pread(self._rows.descriptor, 64, entry.end - min(64, entry.length))
                lines.append(index_line(entry, row_checksum(tail)))
            if lines:
                self._index.add(b"".join(lines))
        except InputError:
            self._give_up_index()

    def _add_to_index(self, line: bytes) -> None:
        if self._index is None:
            return
        try:
            self._index.add(line)
        except InputError:
            self._give_up_index()

    def _give_up_index(self) -> None:
        """Go on without: the row is safe, and the next start makes what the index lacks."""
        if self._index is not None:
            os.close(self._index.descriptor)
            self._index = None

    def _open_exchanges(self) -> Appended:
        """Open the exchanges, without those of a try that left no row."""
        path = self._files.exchanges
        self._exchanges = Appended(path)
        self._exchanges.cut(last_groups(path, {entry.key for entry in self.entries}))
        return self._exchanges

    def _let_go(self) -> None:
        for each in (self._index, self._exchanges, self._rows):
            if each is not None:
                os.close(each.descriptor)
