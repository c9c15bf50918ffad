"""The exchanges of a recorded run: those of a try stand together, and end in one of role ``try``.

A killed run leaves at most a group that was cut off, or one whose row was not written any more;
both are at the end, and both are cut off before more is written.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from outcomebox.reward.rows import placed_rows, unseal
from outcomebox.sandbox import InputError

TRY = "try"
"""Role of the last exchange of each try: who took part, how many exchanges there were."""

Key = tuple[str, int, int]


class Group(NamedTuple):
    """Where the exchanges of a try stand.

    Attributes:
        key: uid, repetition and try.
        start: Offset of the first.
        end: Offset of the byte behind the last.
        lines: How many there are.
        line: Number of the last one's line.
        closing: The last one.
    """

    key: Key
    start: int
    end: int
    lines: int
    line: int
    closing: dict[str, Any]


def groups(path: Path, tell: Callable[[int], None] | None = None) -> Iterator[Group]:
    """The whole groups of a file, in the order written; what is behind the last is left out.

    Args:
        path: The file of exchanges.
        tell: Told of the offset that was read up to.

    Raises:
        InputError: The file cannot be read, a line is damaged, or a group is none.
    """
    start = lines = 0
    for placed in placed_rows(path):
        one = placed.row
        lines += 1
        if one.get("role") != TRY:
            continue
        key = key_of(one)
        if one.get("exchanges") != lines - 1:
            raise InputError(
                f"line {placed.number} ends {lines - 1} exchanges where there were "
                f"{one.get('exchanges')}; restore the file",
                file=path,
                value=f"{key[0]} repetition {key[1]} try {key[2]}",
            )
        yield Group(key, start, placed.end, lines, placed.number, one)
        start, lines = placed.end, 0
        if tell is not None:
            tell(start)


def last_groups(path: Path, rows: set[Key]) -> int:
    """Up to where the exchanges are those of rows; read from the end, where alone others can be.

    Args:
        path: The file of exchanges.
        rows: The keys of all rows.

    Raises:
        InputError: The file cannot be read, or a line at its end is damaged.
    """
    try:
        with path.open("rb") as file:
            if not file.seek(0, 2):
                return 0  # an empty file cannot be mapped
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                end = mapped.rfind(b"\n") + 1
                while end:
                    start = mapped.rfind(b"\n", 0, end - 1) + 1
                    one = unseal(mapped[start:end])
                    if one.get("role") == TRY and key_of(one) in rows:
                        return end
                    end = start
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    except ValueError as error:
        raise InputError(
            f"the line at byte {start} is damaged ({error}); restore the file", file=path
        ) from error
    return 0


def key_of(exchange: Mapping[str, Any]) -> Key:
    """The row that an exchange belongs to."""
    return exchange["uid"], exchange["repetition"], exchange["try"]
