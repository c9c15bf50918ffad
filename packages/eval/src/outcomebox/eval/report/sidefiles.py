"""Transcripts beside the page: the rows as they stand in their files, some to a script each.

A page that was opened from a disk may load scripts and nothing else. A side file calls the page
with texts that it reads as JSON; rows are copied byte for byte (no row is read a second time), so a
quarter of a gigabyte takes well under a second.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from outcomebox.sandbox.errors import InputError

_PART = 1024 * 1024

Place = tuple[str, int]
"""A file, and the number of a line in it, from 1."""


@dataclass
class SideFiles:
    """Writes rows to side files, in the order in which they are asked for.

    Attributes:
        folder: Where they go; made when there is a row.
        count: Files written.
    """

    folder: Path
    count: int = 0
    _rows: list[bytes] = field(default_factory=list)
    _size: int = 0

    def write(self, places: Sequence[Place]) -> list[tuple[int, int]]:
        """Write the rows of a run.

        Args:
            places: Where each stands; those that are read together should be neighbours.

        Returns:
            For each, the number of its side file and its place in that.

        Raises:
            InputError: A file cannot be read, or has changed since it was read first.
        """
        found = []
        self.folder.mkdir(exist_ok=True)
        for row in _lines(places):
            found.append((self.count, len(self._rows)))
            self._rows.append(row)
            self._size += len(row)
            if self._size >= _PART:
                self._flush()
        self._flush()
        return found

    def _flush(self) -> None:
        if not self._rows:
            return
        texts = b"`,String.raw`".join(map(escaped, self._rows))
        with (self.folder / f"{self.count:05d}.js").open("wb") as file:
            file.writelines((b"outcomebox(%d,[String.raw`" % self.count, texts, b"`])\n"))
        self.count += 1
        self._rows, self._size = [], 0


def escaped(row: bytes) -> bytes:
    """A line of JSON that can stand between the backticks of a raw JavaScript template.

    In there nothing but a backtick, ``${`` and a backslash at the very end means anything to
    JavaScript. An object holds backticks and dollars inside of strings only, where an escape says
    the same, and ends in a brace.

    Args:
        row: An object, without white space behind it.
    """
    # Every dollar: to look for two bytes takes three times as long as to replace one.
    return row.replace(b"`", rb"\u0060").replace(b"$", rb"\u0024")


def _lines(places: Sequence[Place]) -> Iterator[bytes]:
    with ExitStack() as stack:
        held: dict[str, tuple[mmap.mmap, Sequence[int]]] = {}
        for path, number in places:
            if path not in held:
                held[path] = _opened(path, stack)
            text, starts = held[path]
            line = b""
            if 1 <= number < len(starts):
                end = starts[number]
                while text[end - 1] in b" \t\r\n" and end > starts[number - 1]:
                    end -= 1
                line = text[starts[number - 1] : end]
            if not line.endswith(b"}"):
                raise InputError(
                    f"line {number} is no row any more: the file has changed while it was read; "
                    "make the report again",
                    file=Path(path),
                )
            yield line


def _opened(path: str, stack: ExitStack) -> tuple[mmap.mmap, Sequence[int]]:
    """A file, and where each of its lines begins, its end last."""
    try:
        file = stack.enter_context(Path(path).open("rb"))  # noqa: SIM115 -- the stack closes it
        text = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read again: {error}", file=Path(path)) from error
    starts = [0]
    while (end := text.find(b"\n", starts[-1])) >= 0:
        starts.append(end + 1)
    if starts[-1] < len(text):
        starts.append(len(text))
    return text, starts
