"""The store of a run: one JSON row a line, appended whole with a checksum, never rewritten.

A killed run leaves at most one broken line, at the end; opening the store for more cuts that line
off. A broken line elsewhere means the file was damaged or edited, and is refused by its number.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from outcomebox.rollout.record import Row
from outcomebox.sandbox import InputError

_SEAL = re.compile(rb',"checksum":"([0-9a-f]{8})"\}\Z')


def seal(row: Mapping[str, Any]) -> bytes:
    """A row as one line, its checksum (CRC-32 of the rest) as the last field."""
    plain = {name: value for name, value in row.items() if name != "checksum"}
    # Not orjson: a model may write whole numbers of any size.
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate (half a character of a model's output) becomes its own JSON escape.
    body = text.encode("utf-8", "backslashreplace")
    return body[:-1] + b',"checksum":"%08x"}\n' % zlib.crc32(body)


def unseal(line: bytes) -> Row:
    """The row of a line.

    Raises:
        ValueError: The line is cut off or not JSON, or its checksum is missing or wrong.
    """
    if not line.endswith(b"\n"):
        raise ValueError("cut off")
    line = line[:-1]
    match = _SEAL.search(line)
    if match is None:
        raise ValueError("no checksum")
    body = line[: match.start()] + b"}"
    if zlib.crc32(body) != int(match.group(1), 16):
        raise ValueError("the checksum does not fit")
    row: Row = json.loads(body)
    return row


def read_rows(path: Path) -> Iterator[Row]:
    """All whole rows of a store, in the order written; a broken last line is left out.

    Raises:
        InputError: The file cannot be read, or a line that is not the last is broken.
    """
    for row, _ in _scan(path):
        yield row


def _scan(path: Path) -> Iterator[tuple[Row, int]]:
    """Rows with the offset behind each."""
    offset = 0
    broken: tuple[int, ValueError] | None = None
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if broken is not None:
                    raise InputError(
                        f"line {broken[0]} is damaged ({broken[1]}); restore the file, or take the "
                        "line out to run that attempt again",
                        file=path,
                    )
                try:
                    row = unseal(line)
                except ValueError as error:
                    broken = number, error
                    continue
                offset += len(line)
                yield row, offset
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error


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
            for row, behind in _scan(path):
                self.rows.append(_slim(row))
                end = behind
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
