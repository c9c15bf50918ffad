"""Rows of a run as they stand in a file: one JSON object a line, its checksum the last field.

A killed run leaves at most one line that was cut off, at the end, without the LF that ends every
whole line. Anything else that is broken means that the file was damaged or edited.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from outcomebox.sandbox.errors import InputError

Row: TypeAlias = dict[str, Any]

_SEAL = re.compile(rb',"checksum":"([0-9a-f]{8})"\}\Z')


class PlacedRow(NamedTuple):
    """A row with its place in the file.

    Attributes:
        row: The row, without its checksum.
        number: Number of its line, from 1.
        end: Offset of the byte behind its line.
    """

    row: Row
    number: int
    end: int


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


def read_row(file: BinaryIO, offset: int) -> Row:
    """The row of the line that begins at an offset.

    Args:
        file: A file of rows.
        offset: Where the line begins.

    Raises:
        ValueError: As for :func:`unseal`.
    """
    file.seek(offset)
    return unseal(file.readline())


def placed_rows(path: Path, *, start: int = 0, number: int = 1) -> Iterator[PlacedRow]:
    """All whole rows of a file with their places, in the order written; one is held at a time.

    A last line that was cut off is left out.

    Args:
        path: The file.
        start: Offset of the first line to read.
        number: Number of that line.

    Raises:
        InputError: The file cannot be read, or a line is broken; the message names its number.
    """
    end = start
    try:
        with path.open("rb") as file:
            file.seek(start)
            for number, line in enumerate(file, number):  # noqa: PLR1704, B020 -- counts on
                if not line.endswith(b"\n"):
                    return  # only the last line of a file can lack it
                try:
                    row = unseal(line)
                except ValueError as error:
                    raise InputError(
                        f"line {number} is damaged ({error}); restore the file, or take the line "
                        "out to run that attempt again",
                        file=path,
                    ) from error
                end += len(line)
                yield PlacedRow(row, number, end)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error


def read_rows(path: Path) -> Iterator[Row]:
    """All whole rows of a file, in the order written; a last line that was cut off is left out.

    Raises:
        InputError: The file cannot be read, or a line is broken.
    """
    for placed in placed_rows(path):
        yield placed.row
