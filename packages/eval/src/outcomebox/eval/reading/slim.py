"""Our own rows by their index alone: what is there and how it ended, not what happened in it.

The index (`episodes.index`, a short line a row) is derived from the rows and never believed over
them: each line carries a seal that is begun from the checksum of its row. One row a task is read in
full, for its domain, its tags and its policy, which are taken for those of all rows of the task.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from outcomebox.eval.reading.frame import Rows
from outcomebox.eval.reading.lines import parse
from outcomebox.eval.reading.ours import columns_of
from outcomebox.eval.reading.values import Place
from outcomebox.eval.results import Source
from outcomebox.sandbox.errors import InputError

_LINE = re.compile(rb"(\d+ \d+ \d+ \d+ [pfs] [\w=-]{8}) ([0-9a-f]{8}) (\".*\")\n")
_OUTCOMES = {"p": "passed", "f": "failed", "s": "system_error"}
_TAIL = len(',"checksum":"00000000"}\n')
_CHECKSUM = re.compile(rb',"checksum":"([0-9a-f]{8})"\}\n\Z')
_OF_A_TASK = ("domain", "family", "tags", "policy", "task_hash", "versions_hash", "stopped")
_MEND = "read the rows without --counts"


def read_slim(path: Path, into: Rows, *, stopped: Iterable[str] = ()) -> Source:
    """Read the index of a file of rows.

    Args:
        path: The rows; their index stands beside them.
        into: Where rows go; what only a transcript tells is null in them.
        stopped: Tasks that an adaptive probe stopped.

    Raises:
        InputError: The index is not there, or does not fit the rows, all of them.
    """
    early = frozenset(stopped)
    index = path.with_suffix(".index")
    number = 0
    tasks: dict[str, tuple[str, dict[str, Any]]] = {}
    try:
        data = index.read_bytes()
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as rows,
        ):
            for number, entry in enumerate(_entries(index, data, rows), 1):
                uid, repetition, attempt, outcome, mark, start, end = entry
                place = Place(path, number)
                if uid not in tasks:
                    row = parse(rows[start:end], place) or {}
                    found = columns_of(row, place, stopped=early)
                    tasks[uid] = mark, {name: found[name] for name in _OF_A_TASK}
                known, shared = tasks[uid]
                if mark != known:
                    raise place.refuse(
                        f"{uid!r} is of another version here than in its first row; use the rows "
                        "of one version of the task",
                        field="versions",
                    )
                told = {"uid": uid, "repetition": repetition, "try": attempt, "outcome": outcome}
                into.add(told | shared, place)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot be read ({error}); {_MEND}", file=index) from error
    return Source(str(path), "ours", hashlib.sha256(data).hexdigest(), number)


def _entries(
    index: Path, data: bytes, rows: mmap.mmap
) -> Iterator[tuple[str, int, int, str, str, int, int]]:
    """uid, repetition, try, outcome, versions, begin and end of each row."""
    end = at = number = 0
    while at < len(data):
        number += 1
        place = Place(index, number)
        found = _LINE.match(data, at)
        if found is None:
            raise place.refuse(f"is no line of an index; {_MEND}")
        at = found.end()
        offset, length, repetition, attempt, letter, mark = found[1].decode().split(" ")
        start, end = end, int(offset) + int(length)
        seal = _CHECKSUM.search(rows[max(start, end - _TAIL) : end])
        if (
            int(offset) != start
            or seal is None
            or zlib.crc32(found[3], zlib.crc32(found[1], int(seal[1], 16))) != int(found[2], 16)
        ):
            raise place.refuse(f"does not fit its row; {_MEND}")
        uid = json.loads(found[3])
        yield uid, int(repetition), int(attempt), _OUTCOMES[letter], mark, start, end
    if rows[end:].count(b"\n"):
        raise InputError(f"lacks rows that are there; {_MEND}", file=index)
