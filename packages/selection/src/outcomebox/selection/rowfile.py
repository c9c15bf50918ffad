"""The lines of an `episodes.jsonl` file, with their places.

A line may end in a field that its writer added, `,"checksum":"<8 hex digits>"}`: the CRC-32 of the
line without that field. It is checked where it stands, so that a damaged or edited row is not
counted. Rows of other writers carry none.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from outcomebox.selection.errors import InputError, shown

CHECKSUM = "checksum"

_SEAL = re.compile(rb',"checksum":"([0-9a-f]{8})"\}\s*\Z')


class Place(NamedTuple):
    """Where a line stands: file, line number from 1, and its bytes."""

    path: Path
    line: int
    offset: int
    length: int

    @property
    def where(self) -> str:
        """File and line, for an error message."""
        return f"{self.path}:{self.line}"


def read_lines(path: Path) -> Iterator[tuple[Place, bytes]]:
    """Yields the lines of a file, split at LF only: U+2028 and U+0085 are text.

    Raises:
        InputError: if the file cannot be read.
    """
    offset = 0
    try:
        with path.open("rb") as handle:
            for number, line in enumerate(handle, start=1):
                yield Place(path, number, offset, len(line)), line
                offset += len(line)
    except OSError as error:
        raise InputError(
            str(path), "", f"cannot be read ({error.strerror})", "Check the path"
        ) from error


def parse_row(line: bytes, where: str) -> dict[str, Any] | None:
    """Reads one line as a row.

    Args:
        line: the bytes, with the LF that ends them.
        where: file and line, for an error message.

    Returns:
        The object; None for a line without an LF that is no object, which a killed run leaves last.

    Raises:
        InputError: if the line is ended by an LF and is no JSON object, or its checksum is wrong.
    """
    torn = not line.endswith(b"\n")
    seal = _SEAL.search(line)
    if seal is not None and zlib.crc32(line[: seal.start()] + b"}") != int(seal.group(1), 16):
        raise InputError(
            where,
            CHECKSUM,
            "does not fit the line, which was damaged or edited",
            "Restore the line, or remove it and run that attempt again",
        )
    try:
        row = json.loads(line.decode(), parse_constant=_no_constant)
    except ValueError as error:
        if torn:
            return None
        raise InputError(
            where, "", f"is not JSON ({error})", "Restore the line or remove it"
        ) from None
    if isinstance(row, dict):
        return row
    if torn:
        return None
    raise InputError(where, "", f"is not an object: {shown(row)}", "Write one object a line")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def read_again(places: list[Place]) -> Iterator[dict[str, Any]]:
    """Yields the rows at some places, in the order given; only one is held at a time."""
    handles = {path: path.open("rb") for path in {place.path for place in places}}
    try:
        for place in places:
            handle = handles[place.path]
            handle.seek(place.offset)
            row = parse_row(handle.read(place.length), place.where)
            if row is not None:
                yield row
    finally:
        for handle in handles.values():
            handle.close()
