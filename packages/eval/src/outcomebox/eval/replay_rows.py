"""The rows of a replay on disk: written as they come, in the tasks' order when all are there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from outcomebox.sandbox import InputError

Row = dict[str, Any]
Key = tuple[str, str]
"""uid and policy."""

_NEEDED = ("uid", "policy", "task", "verdict", "error", "cpu_s", "wall_s")


def read_rows(file: Path) -> dict[Key, Row]:
    """The rows of a file by key, the last of each key; a last line that was cut off is left out.

    Raises:
        InputError: It cannot be read, or a line of it is no row.
    """
    found: dict[Key, Row] = {}
    try:
        lines = file.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error
    for number, line in enumerate(lines, 1):
        if number == len(lines) and not line.endswith(b"\n"):
            break  # a killed run leaves at most this
        try:
            row = json.loads(line)
            missing = [name for name in _NEEDED if name not in row]
        except (ValueError, TypeError) as error:
            raise InputError(
                f"line {number} is no row of a replay ({error}); give another --out", file=file
            ) from error
        if missing:
            words = f"line {number} is no row of a replay (no {', '.join(missing)})"
            raise InputError(f"{words}; give another --out", file=file)
        found[row["uid"], row["policy"]] = row
    return found


class RowFile:
    """Takes rows as they come.

    While a run goes on they are in ``<file>.part``, so that a killed one can be resumed; when it
    ends, the file holds all of them in order and the part is gone.

    Args:
        file: Where they are to stand in the end.
        kept: Rows of an earlier run.

    Raises:
        InputError: It cannot be written.
    """

    def __init__(self, file: Path, kept: Mapping[Key, Row]) -> None:
        self.file = file
        self.rows: dict[Key, Row] = dict(kept)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._part: TextIO = part_of(file).open("w", encoding="utf-8")
            for row in kept.values():
                self._write(row)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=file) from error

    def append(self, row: Row) -> None:
        """Add a row; it is in the part, whole, when this returns."""
        self.rows[row["uid"], row["policy"]] = row
        self._write(row)

    def finish(self, order: Iterable[Key]) -> None:
        """Write the file with all rows in order, and remove the part."""
        lines = [_line(self.rows[key]) for key in order if key in self.rows]
        whole = self.file.with_name(f".{self.file.name}.new")
        with whole.open("w", encoding="utf-8") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        whole.replace(self.file)
        part_of(self.file).unlink()

    def _write(self, row: Row) -> None:
        self._part.write(_line(row))
        self._part.flush()

    def __enter__(self) -> Self:
        """The file itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the part."""
        self._part.close()


def part_of(file: Path) -> Path:
    """Where the rows of an unfinished run stand."""
    return file.with_name(f"{file.name}.part")


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"
