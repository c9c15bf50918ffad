"""The greatest rowid of a table, read from the file itself: no lock, no connection, no parsing.

A connection parses the whole schema before its first query, which costs a session more than all its
marks, and a lock, however short, can make a server fail that goes on writing after its answer. The
last row of a table is at the right edge of its b-tree: a few pages of a format that does not change
(https://www.sqlite.org/fileformat2.html, 1.3 and 1.6).
"""

from __future__ import annotations

import os

_INTERIOR, _LEAF = 5, 13
_DEEPEST = 20  # of all b-trees that SQLite makes


def last_rowid(path: str, root: int) -> int | None:
    """The greatest rowid that is committed, 0 if the table is empty; None if it cannot be told.

    It cannot from a file in WAL mode, beside a journal (a transaction may be open), or while a
    write is under way.

    Args:
        path: A database file.
        root: Number of the table's root page.
    """
    if os.path.exists(f"{path}-journal"):  # noqa: PTH110 -- several times as fast, at each call
        return None
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _rightmost(file, root)
    except (OSError, IndexError):
        return None
    finally:
        os.close(file)


def _rightmost(file: int, root: int) -> int | None:
    header = os.pread(file, 20, 0)
    if header[18:20] != b"\x01\x01":
        return None
    size = int.from_bytes(header[16:18])
    size = 0x10000 if size == 1 else size
    number = root
    for _ in range(_DEEPEST):
        page = os.pread(file, size, (number - 1) * size)
        if page[0] == _LEAF:
            return _last_cell(page)
        if page[0] != _INTERIOR:
            return None
        number = int.from_bytes(page[8:12])
    return None


def _last_cell(page: bytes) -> int:
    count = int.from_bytes(page[3:5])
    if count == 0:
        return 0
    place = 8 + 2 * (count - 1)
    _, after = _varint(page, int.from_bytes(page[place : place + 2]))
    return _varint(page, after)[0]


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """A number of up to nine bytes, and the place after it (a negative one is no rowid of ours)."""
    value = 0
    for length in range(1, 9):
        byte = data[place + length - 1]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + length
    return value << 8 | data[place + 8], place + 9
