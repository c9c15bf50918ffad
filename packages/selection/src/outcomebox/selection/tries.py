"""What tries cost and how they broke: facts that decide no selection, read only for what is told.

Only our own rows hold them. Slim rows (a list of outcomes, an index, Parquet of such) say nothing
of costs and errors, and are not read a second time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import polars as pl

SCHEMA = pl.Schema(
    {
        "uid": pl.String(),
        "repetition": pl.Int64(),
        "try": pl.Int64(),
        "outcome": pl.String(),
        "domain": pl.String(),
        "started": pl.Float64(),  # seconds since 1970
        "phase": pl.String(),  # of the error
        "tokens": pl.Int64(),  # of all roles, read and written
        "cost": pl.Float64(),  # where the row states one
    }
)


@dataclass(frozen=True)
class Tries:
    """All tries of the episodes of one policy.

    Attributes:
        rows: one a try (`SCHEMA`), sorted by key; what a row does not tell is null.
        calls: tool to calls of it, over all tries.
        broken: tool to calls of it in whose course a try broke.
    """

    rows: pl.DataFrame
    calls: Mapping[str, int]
    broken: Mapping[str, int]


def read_tries(files: Iterable[Path], policy: Any = None) -> Tries | None:
    """Reads what rows tell beside the outcome.

    The rows have been read and found right before; a last line that a killed run left unfinished
    is passed over as it was then.

    Args:
        files: files of rows.
        policy: only the tries of this policy, as the rows describe it; None for all.

    Returns:
        None if a file's rows are none of ours, or tell nothing of this.
    """
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA}
    calls: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    for file in sorted({file.resolve() for file in files}):
        if not _tells(file):
            return None
        for row in _rows(file):
            if policy is not None and row.get("policy") != policy:
                continue
            for name, value in _facts(row).items():
                columns[name].append(value)
            made, hanging = _calls(row)
            calls.update(made)
            if (row.get("error") or {}).get("phase") == "tool" and hanging is not None:
                broken[hanging] += 1
    if not columns["uid"]:
        return None
    rows = pl.DataFrame(columns, schema=SCHEMA).sort("uid", "repetition", "try")
    return Tries(rows, dict(sorted(calls.items())), dict(sorted(broken.items())))


def _tells(file: Path) -> bool:
    """Whether the first row is one of ours, with more than an outcome."""
    if file.suffix != ".jsonl":
        return False
    first = next(_rows(file), None)
    return first is not None and "verdict" in first and ("timing" in first or "usage" in first)


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n") and not line.isspace():
                yield orjson.loads(line)


def _facts(row: Mapping[str, Any]) -> dict[str, Any]:
    cost = row.get("cost")
    return {
        "uid": row["uid"],
        "repetition": row["repetition"],
        "try": row.get("try", 0),
        "outcome": row["verdict"]["outcome"],
        "domain": row.get("domain") or row["uid"].split("/")[0],
        "started": _seconds((row.get("timing") or {}).get("started")),
        "phase": (row.get("error") or {}).get("phase"),
        "tokens": _tokens(row.get("usage")),
        "cost": float(cost) if isinstance(cost, int | float) else None,
    }


def _seconds(started: Any) -> float | None:
    try:
        return datetime.fromisoformat(started).timestamp()
    except (TypeError, ValueError):
        return None


def _tokens(usage: Any) -> int | None:
    """Tokens read and written by every role; None where no role tells, as a simulated one."""
    if not isinstance(usage, dict):
        return None
    told = [
        count
        for spent in usage.values()
        for name in ("prompt", "completion")
        if isinstance(count := (spent or {}).get(name), int)
    ]
    return sum(told) if told else None


def _calls(row: Mapping[str, Any]) -> tuple[list[str], str | None]:
    """The tools that were called, and the first call that got no answer."""
    made: list[str] = []
    waiting: dict[Any, str] = {}
    for message in row.get("messages") or ():
        for call in message.get("tool_calls") or ():
            name = (call.get("function") or call).get("name") or "?"
            made.append(name)
            waiting[call.get("id")] = name
        if message.get("role") == "tool":
            waiting.pop(message.get("tool_call_id"), None)
    return made, next(iter(waiting.values()), None)
