"""The slim index of a file of rows: what resuming and counting need, one short line a row.

::

    <offset> <length> <repetition> <try> <p|f|s> <versions> <seal> <uid as JSON>

``versions`` is :func:`versions_mark`. ``seal`` is the CRC-32 of the rest of the line, begun from
the checksum of the row it is of: it shows at once that the line is whole and that it belongs to
the row that stands there. A line has at most 150 bytes for a uid of up to 100 bytes without
characters that JSON escapes, rows of under 1 MB and files of under 100 GB; it grows by what a uid
has more.

The index is derived. It is never believed over the rows: the lines that fit the rows, from the
first on, count, and what comes behind them is read from the rows themselves.
"""

from __future__ import annotations

import base64
import hashlib
import json
import mmap
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from outcomebox.reward.rows import Row, placed_rows
from outcomebox.sandbox import InputError

_LETTERS = {"passed": "p", "failed": "f", "system_error": "s"}
_OUTCOMES = {letter: outcome for outcome, letter in _LETTERS.items()}
_NOT_OF_THE_TASK = frozenset({"packages", "profile", "format", "content", "initial"})
"""Shared by all rows, or decided by the task's and the domain's own hashes."""
_CHECKSUM = re.compile(rb',"checksum":"([0-9a-f]{8})"\}\n\Z')
_TAIL = len(',"checksum":"00000000"}\n')


class Entry(NamedTuple):
    """What the index says of a row.

    Attributes:
        uid: The task.
        repetition: Index of the attempt, from 0.
        attempt: Index of the try at this attempt, from 0; the row's ``try``.
        outcome: ``passed``, ``failed`` or ``system_error``.
        offset: Where the row's line begins.
        length: Its bytes, with the LF.
        versions: :func:`versions_mark` of the task that it was made with.
    """

    uid: str
    repetition: int
    attempt: int
    outcome: str
    offset: int
    length: int
    versions: str

    @property
    def end(self) -> int:
        """Offset of the byte behind the line."""
        return self.offset + self.length

    @property
    def key(self) -> tuple[str, int, int]:
        """What names a row."""
        return self.uid, self.repetition, self.attempt


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of a file in short.

    Attributes:
        entries: One a row, in the order written.
        end: Offset of the byte behind the last whole row.
        indexed: How many of them the index had.
        index_end: Offset of the byte behind the last line of the index that counts.
    """

    entries: list[Entry]
    end: int
    indexed: int
    index_end: int


def versions_mark(versions: Mapping[str, Any]) -> str:
    """Eight characters by which versions of a task and its backend are told apart.

    Args:
        versions: What a row's ``versions`` says, or ``Tasks.versions``; what all rows share, or
            what follows from the rest, is passed over.
    """
    kept = {name: value for name, value in versions.items() if name not in _NOT_OF_THE_TASK}
    found = hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).digest()
    return base64.urlsafe_b64encode(found[:6]).decode()


def entry_of(row: Row, offset: int, length: int) -> Entry:
    """The entry of a row.

    Raises:
        ValueError: The row is none of an episode; the message names what it lacks.
    """
    uid, verdict, versions = row.get("uid"), row.get("verdict"), row.get("versions")
    if not isinstance(uid, str):
        raise ValueError(f"uid is {uid!r}, not a text")  # noqa: TRY004 -- as for any bad row
    numbers = row.get("repetition"), row.get("try")
    if any(not isinstance(each, int) or isinstance(each, bool) or each < 0 for each in numbers):
        raise ValueError(f"repetition and try are {numbers[0]!r} and {numbers[1]!r}")
    if not isinstance(verdict, dict) or verdict.get("outcome") not in _LETTERS:
        raise ValueError("it has no verdict with an outcome")
    if not isinstance(versions, dict):
        raise ValueError("it has no versions")  # noqa: TRY004 -- as for any bad row
    mark = versions_mark(versions)
    return Entry(uid, row["repetition"], row["try"], verdict["outcome"], offset, length, mark)


def index_line(entry: Entry, checksum: int) -> bytes:
    """The line of an entry.

    Args:
        entry: It.
        checksum: The checksum of its row.
    """
    uid = json.dumps(entry.uid, ensure_ascii=False).encode("utf-8", "backslashreplace")
    head = (
        f"{entry.offset} {entry.length} {entry.repetition} {entry.attempt} "
        f"{_LETTERS[entry.outcome]} {entry.versions}"
    ).encode()
    seal = zlib.crc32(uid, zlib.crc32(head, checksum))
    return b"%b %08x %b\n" % (head, seal, uid)


def row_checksum(line: bytes) -> int:
    """The checksum that a sealed line ends in.

    Raises:
        ValueError: It has none.
    """
    found = _CHECKSUM.search(line[-_TAIL:])
    if found is None:
        raise ValueError("no checksum")
    return int(found[1], 16)


def scan(rows: Path, index: Path) -> Scan:
    """What a file of rows holds, from its index as far as that fits, else from the rows.

    Nothing is written.

    Args:
        rows: The file of rows.
        index: Its index; it may be missing, short, stale or damaged.

    Raises:
        InputError: The rows cannot be read, or one that had to be read is damaged.
    """
    entries, index_end = _indexed(rows, index)
    indexed = len(entries)
    end = entries[-1].end if entries else 0
    for placed in placed_rows(rows, start=end, number=indexed + 1):
        try:
            entries.append(entry_of(placed.row, end, placed.end - end))
        except ValueError as error:
            raise InputError(
                f"line {placed.number} is no row of an episode: {error}", file=rows
            ) from None
        end = placed.end
    return Scan(entries, end, indexed, index_end)


def read_index(rows: Path) -> list[Entry]:
    """What a file of rows holds, in the order written; for those who only read.

    Raises:
        InputError: As for :func:`scan`.
    """
    return scan(rows, rows.with_suffix(".index")).entries


def _indexed(rows: Path, index: Path) -> tuple[list[Entry], int]:
    """The entries that fit the rows, and the offset behind the last of them in the index."""
    try:
        kept = index.read_bytes()
        with rows.open("rb") as file:
            # An empty file cannot be mapped, and has no entries.
            if not (kept and file.seek(0, 2)):
                return [], 0
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                found = list(_fitting(kept, mapped))
    except OSError:  # the rows themselves say it, where it is they that cannot be read
        return [], 0
    return found, sum(length for _, length in _lines(kept, len(found)))


def _lines(kept: bytes, most: int) -> Iterator[tuple[bytes, int]]:
    start = 0
    for _ in range(most):
        end = kept.find(b"\n", start) + 1
        if not end:
            return
        yield kept[start : end - 1], end - start
        start = end


def _fitting(kept: bytes, rows: mmap.mmap) -> Iterator[Entry]:
    end = 0
    for line, _ in _lines(kept, len(kept)):
        try:
            entry = _fits(line, end, rows)
        except (ValueError, KeyError):
            return
        yield entry
        end = entry.end


def _fits(line: bytes, start: int, rows: mmap.mmap) -> Entry:
    """The entry of a line.

    Raises:
        ValueError, KeyError: It is damaged, or none of the row that begins at ``start``.
    """
    head, seal, uid = _split(line)
    offset, length, repetition, attempt, letter, versions = head.decode().split(" ")
    end = int(offset) + int(length)
    if int(offset) != start or end > len(rows):
        raise ValueError("of another row")
    checksum = row_checksum(rows[max(start, end - _TAIL) : end])
    if zlib.crc32(uid, zlib.crc32(head, checksum)) != int(seal, 16):
        raise ValueError("of another row")
    outcome = _OUTCOMES[letter]
    return Entry(
        json.loads(uid), int(repetition), int(attempt), outcome, start, int(length), versions
    )


_LINE = re.compile(rb"(\d+ \d+ \d+ \d+ [pfs] [\w=-]{8}) ([0-9a-f]{8}) (\".*\")")


def _split(line: bytes) -> tuple[bytes, bytes, bytes]:
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError("no line of an index")
    return found[1], found[2], found[3]
