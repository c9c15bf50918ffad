"""The lines of an `episodes.jsonl` file as rows.

A line may end in a field that its writer added, `,"checksum":"<8 hex digits>"}`: the CRC-32 of the
line without that field. It is checked where it stands, so that a damaged or edited row is not
counted. Rows of other writers carry none.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any, NoReturn

import orjson

from outcomebox.selection.errors import InputError, shown

CHECKSUM = "checksum"

_SEAL = re.compile(rb',"checksum":"([0-9a-f]{8})"\}\s*\Z')
_TAIL = 64
_POLICY = b',"policy":'
_VERDICT = b',"verdict":{"outcome":"'
_BEHIND_POLICY = ("policy", "error", "versions")


def is_sealed(line: bytes) -> bool:
    """Whether a line ends in a checksum."""
    return _SEAL.search(line[-_TAIL:]) is not None


def check_seal(line: bytes, where: str) -> bool:
    """Checks the checksum of a line.

    Args:
        line: the bytes, with the LF that ends them.
        where: file and line, for an error message.

    Returns:
        Whether it has one.

    Raises:
        InputError: it does not fit.
    """
    seal = _SEAL.search(line[-_TAIL:])
    if seal is None:
        return False
    start = len(line) - min(_TAIL, len(line)) + seal.start()
    if zlib.crc32(b"}", zlib.crc32(memoryview(line)[:start])) != int(seal.group(1), 16):
        raise InputError(
            where,
            CHECKSUM,
            "does not fit the line, which was damaged or edited",
            "Restore the line, or remove it and run that attempt again",
        )
    return True


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
    check_seal(line, where)
    try:
        row = _parsed(line)
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


def _parsed(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        # A model may write half a character or a whole number of any size, which only json reads.
        return json.loads(line.decode(), parse_constant=_no_constant)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def short_row(line: bytes, where: str) -> Mapping[str, Any] | None:
    """Reads a row with as little of its transcript as can be, which is most of the line.

    What stands before the verdict's outcome and what stands behind the policy is read; what lies
    between is not looked at. Both are read as objects of their own: the head with its two braces
    closed, the tail with its brace opened. That fails, and the whole line is read, unless the two
    names were found where they mean the row's own fields, since braces then do not match. It is
    right only for JSON, which the checksum vouches for: lines without one are read whole.

    Args:
        line: the bytes, with the LF that ends them.
        where: file and line, for an error message.

    Returns:
        The row, or the part of it that has the fields of a selection; None as for `parse_row`.

    Raises:
        InputError: as for `parse_row`.
    """
    if check_seal(line, where):
        start = line.find(_VERDICT)
        end = line.find(b'"', start + len(_VERDICT)) if start >= 0 else -1
        behind = line.rfind(_POLICY)
        if 0 <= end < behind:
            try:
                head = orjson.loads(line[:end] + b'"}}')
                tail = orjson.loads(b"{" + line[behind + 1 :])
            except orjson.JSONDecodeError:
                return parse_row(line, where)
            if all(name in tail for name in _BEHIND_POLICY):
                tail.update(head)
                whole: Mapping[str, Any] = tail
                return whole
    return parse_row(line, where)
