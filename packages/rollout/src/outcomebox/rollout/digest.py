"""What a run found, as one number: the same for two runs exactly when they found the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from outcomebox.reward.rows import placed_rows, read_row

_NOT_COMPARED = ("timing", "traffic", "checksum")


def digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 of what a run found.

    Rows are sorted by key and written as compact JSON with sorted keys, each ended by LF. Left out
    are timing, traffic, checksum, and what a judge's answer cost this time, asked for or taken from
    a cache. Two runs found the same exactly when their digests are equal.
    """
    lines = sorted(((row["uid"], row["repetition"], row["try"]), compared(row)) for row in rows)
    return _total(line for _, line in lines)


def digest_file(path: Path, tell: Callable[[int, int], None] | None = None) -> str:
    """:func:`digest` of a file of rows, of which one at a time is held.

    Args:
        path: The file.
        tell: Told of the bytes that were read, and of how many there are.

    Raises:
        InputError: The file cannot be read, or a line is broken.
    """
    start, size = 0, path.stat().st_size if path.is_file() else 0
    places: list[tuple[tuple[str, int, int], int]] = []
    for placed in placed_rows(path):
        row = placed.row
        places.append(((row["uid"], row["repetition"], row["try"]), start))
        start = placed.end
        if tell is not None:
            tell(start, size)
    with path.open("rb") as file:
        return _total(compared(read_row(file, offset)) for _, offset in sorted(places))


def _total(lines: Iterator[bytes]) -> str:
    total = hashlib.sha256()
    for line in lines:
        total.update(line)
    return total.hexdigest()


def compared(row: Mapping[str, Any]) -> bytes:
    """What of a row is part of the digest, as one line."""
    kept = {name: value for name, value in row.items() if name not in _NOT_COMPARED}
    said = row.get("verdict", {}).get("details", {}).get("judge")
    if said is not None:
        verdict = kept["verdict"]
        told = [{name: each[name] for name in each if name != "votes"} for each in said]
        for entry, each in zip(told, said, strict=True):
            if "votes" in each:
                entry["votes"] = [
                    {name: vote[name] for name in vote if name != "cached"}
                    for vote in each["votes"]
                ]
        kept["verdict"] = {**verdict, "details": {**verdict["details"], "judge": told}}
        kept["usage"] = {role: row["usage"][role] for role in row["usage"] if role != "judge"}
    return json.dumps(kept, sort_keys=True, separators=(",", ":")).encode() + b"\n"
