"""The lines of a JSONL file as objects, one at a time, with their places.

Lines end at LF alone: U+2028 and U+0085 are text. A last line without an LF that is no object is
what a killed run leaves; it is counted as torn. Any other broken line is refused by its number, as
is one whose checksum (CRC-32 of the rest, its last field) does not fit.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import orjson

from outcomebox.eval.reading.values import Place
from outcomebox.sandbox.errors import InputError

T = TypeVar("T")

_SEAL = re.compile(rb',"checksum":"([0-9a-f]{8})"\}\n?\Z')
_BUFFER = 1 << 20
_HASHED = 1 << 23
"""Bytes hashed at a time, beside the reading: many, for each piece waits for the interpreter."""
_SEAL_LENGTH = len(',"checksum":"00000000"}\n')


class Lines:
    """The objects of a JSONL file.

    Args:
        path: The file.

    Attributes:
        rows: How many whole ones have been read.
        torn: Last lines that were cut off.
        sha256: Of the file as it was when the reading began; there when it has ended.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self.torn = 0
        self.sha256 = ""

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Place]]:
        """The objects, in the order written; see :meth:`read`."""
        return self.read(parse)

    def read(self, of: Callable[[bytes, Place], T | None]) -> Iterator[tuple[T, Place]]:
        """What is made of each line, in the order written.

        Args:
            of: Makes it of a line, as :func:`parse` does.

        Raises:
            InputError: The file cannot be read, or a line is broken.
        """
        try:
            with self.path.open("rb", buffering=_BUFFER) as file, ThreadPoolExecutor(1) as beside:
                left = os.fstat(file.fileno()).st_size
                digest = beside.submit(_sha256, self.path, left)
                for number, line in enumerate(file, 1):
                    left -= len(line)
                    if left < 0:
                        break  # written since
                    if line.isspace():
                        continue
                    place = Place(self.path, number)
                    found = of(line, place)
                    if found is None:
                        self.torn += 1
                        continue
                    self.rows += 1
                    yield found, place
                self.sha256 = digest.result()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=self.path) from error


def _sha256(path: Path, size: int) -> str:
    """Of the first bytes of a file."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while size > 0 and (data := file.read(min(size, _HASHED))):
            digest.update(data)
            size -= len(data)
    return digest.hexdigest()


def parse(line: bytes, place: Place) -> dict[str, Any] | None:
    """The object of a line.

    Args:
        line: Its bytes, with the LF that ends them.
        place: Where it stands.

    Returns:
        The object; None for a line without an LF that is none.

    Raises:
        InputError: An ended line is no JSON object, or its checksum does not fit.
    """
    check_seal(line, place)
    torn = not line.endswith(b"\n")
    try:
        row = decode(line)
    except (ValueError, RecursionError) as error:
        if torn:
            return None
        raise place.refuse(f"is not JSON ({error}); restore the line or take it out") from None
    if isinstance(row, dict):
        return row
    if torn:
        return None
    raise place.refuse("is no object; write one object a line", value=row)


def check_seal(line: bytes, place: Place) -> None:
    """See that the checksum of a line fits, where it has one.

    Raises:
        InputError: It does not.
    """
    seal = _SEAL.search(line, max(0, len(line) - _SEAL_LENGTH))
    if seal is not None and _checksum(line, seal.start()) != int(seal[1], 16):
        raise place.refuse(
            "does not fit the line, which was damaged or edited; restore it, or take it out and "
            "run that attempt again",
            field="checksum",
        )


def decode(data: bytes) -> Any:
    """A JSON value; NaN and the infinities are none.

    Raises:
        ValueError: It is not JSON.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        # What is JSON all the same: whole numbers of any size, and half characters.
        return json.loads(data.decode(), parse_constant=_no_constant)


def json_file(path: Path, *, constants: bool = False) -> tuple[bytes, Any]:
    """A JSON file whole: its bytes, and its value.

    Args:
        path: The file.
        constants: Whether NaN and the infinities are taken, which Inspect writes.

    Raises:
        InputError: It cannot be read, is empty, or is no JSON.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    if not data.strip():
        raise InputError("is empty; write it again, or name another file", file=path)
    try:
        return data, json.loads(data) if constants else decode(data)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"is not JSON ({error}); it may have been cut off: write it again", file=path
        ) from None


def _checksum(line: bytes, end: int) -> int:
    return zlib.crc32(b"}", zlib.crc32(memoryview(line)[:end]))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
