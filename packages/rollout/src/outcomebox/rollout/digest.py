"""What a run found, as one number: the same for two runs exactly when they found the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from outcomebox.reward.rows import placed_rows, read_row

_NOT_COMPARED = ("timing", "traffic", "checksum")


Key: TypeAlias = tuple[str, int, int]
Place = TypeVar("Place")


def digest(rows: Iterable[Mapping[str, Any]], *, results: bool = False) -> str:
    """SHA-256 of what a run found.

    Rows are sorted by key and written as compact JSON with sorted keys, each ended by LF. Left out
    are timing, traffic, checksum, and what a judge's answer cost this time, asked for or taken from
    a cache. Two runs found the same exactly when their digests are equal.

    Args:
        rows: The run's rows.
        results: Only the last clean try of each attempt, whichever try it was: equal for two runs
            that came to the same, one of which met more trouble on its way.
    """
    found = [(_key(row), _is_clean(row), row) for row in rows]
    return _total(compared(row, result=results) for row in _chosen(found, results))


def digest_file(
    path: Path, tell: Callable[[int, int], None] | None = None, *, results: bool = False
) -> str:
    """:func:`digest` of a file of rows, of which one at a time is held.

    Args:
        path: The file.
        tell: Told of the bytes that were read, and of how many there are.
        results: As for :func:`digest`.

    Raises:
        InputError: The file cannot be read, or a line is broken.
    """
    start, size = 0, path.stat().st_size if path.is_file() else 0
    found: list[tuple[Key, bool, int]] = []
    for placed in placed_rows(path):
        found.append((_key(placed.row), _is_clean(placed.row), start))
        start = placed.end
        if tell is not None:
            tell(start, size)
    with path.open("rb") as file:
        rows = (read_row(file, offset) for offset in _chosen(found, results))
        return _total(compared(row, result=results) for row in rows)


def _key(row: Mapping[str, Any]) -> Key:
    return row["uid"], row["repetition"], row["try"]


def _is_clean(row: Mapping[str, Any]) -> bool:
    return bool(row["verdict"]["outcome"] != "system_error")


def _chosen(found: Iterable[tuple[Key, bool, Place]], results: bool) -> list[Place]:
    """Where the rows that count are, in the order of their keys."""
    ordered = sorted(found, key=lambda each: each[0])
    if not results:
        return [place for _, _, place in ordered]
    # Ordered by try too: the last clean one of an attempt stays.
    return list({key[:2]: place for key, clean, place in ordered if clean}.values())


def _total(lines: Iterator[bytes]) -> str:
    total = hashlib.sha256()
    for line in lines:
        total.update(line)
    return total.hexdigest()


def compared(row: Mapping[str, Any], *, result: bool = False) -> bytes:
    """What of a row is part of the digest, as one line.

    Args:
        row: It.
        result: Whether it stands for its attempt, so that it does not matter which try it is.
    """
    kept = {name: value for name, value in row.items() if name not in _NOT_COMPARED}
    if result:
        del kept["try"]
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
