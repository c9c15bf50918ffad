"""The rows of a run as a Parquet table, one row a try.

Columns whose kind never changes are typed. What nests, and differs between policies and tasks, is
JSON text: a schema for it would be a guess that the next model breaks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from outcomebox.reward.rows import Row, placed_rows
from outcomebox.rollout.runfolder import RunFolder
from outcomebox.rollout.storing.files import new_file
from outcomebox.rollout.storing.stopped import marks_of
from outcomebox.sandbox import InputError

_BATCH = 1_000
OUTCOMES = ("passed", "failed", "system_error")
ROLES = ("policy", "user", "judge")
_TRAFFIC = ("requests", "retries", "rate_limited", "server_errors")
NESTED = (
    "reasons", "details", "messages", "changes", "calls", "schema_changes", "effects", "warnings",
    "usage", "timing", "traffic", "policy", "user", "judge", "versions",
)  # fmt: skip
"""Columns of JSON text; ``reasons`` and ``details`` are the verdict's."""

SCHEMA = pl.Schema(
    {
        "uid": pl.String(),
        "repetition": pl.Int64(),
        "try": pl.Int64(),
        "domain": pl.String(),
        "family": pl.String(),
        "tags": pl.List(pl.String()),
        "outcome": pl.Enum(OUTCOMES),
        "score": pl.Float64(),
        "finish_reason": pl.String(),
        "turns": pl.Int64(),
        "tool_calls": pl.Int64(),
        **{
            f"{role}_{kind}_tokens": pl.Int64()
            for role in ROLES
            for kind in ("prompt", "completion")
        },
        "seconds": pl.Float64(),
        **{f"{role}_seconds": pl.Float64() for role in ROLES},
        "started": pl.Datetime("ms", "UTC"),
        **{name: pl.Int64() for name in _TRAFFIC},
        "waited_s": pl.Float64(),
        "error_type": pl.String(),
        "error_message": pl.String(),
        "error_phase": pl.String(),
        "policy_name": pl.String(),
        "seed": pl.Int64(),
        "task_version": pl.String(),
        "stopped": pl.Boolean(),
        **{name: pl.String() for name in NESTED},
    }
)


def export_parquet(rows: Path, to: Path, tell: Callable[[int, int], None] | None = None) -> int:
    """Write the rows of a run as a table.

    Args:
        rows: The file of rows.
        to: The Parquet file; a new one.
        tell: Told of the bytes that were read, and of how many there are.

    Returns:
        How many rows there are.

    Raises:
        InputError: The rows cannot be read, one is damaged or none of an episode, or the file is
            there already or cannot be written. Then nothing was written.
    """
    with new_file(to) as file:
        batches = _batches(rows, tell)
        table = pl.concat([pl.DataFrame(schema=SCHEMA), *batches])
        try:
            table.write_parquet(file)
        except pl.exceptions.PolarsError as error:
            raise InputError(f"cannot be written: {error}", file=to) from error
    return table.height


def _batches(rows: Path, tell: Callable[[int, int], None] | None) -> Iterator[pl.DataFrame]:
    size = rows.stat().st_size
    stopped = marks_of(RunFolder(rows)) or {}
    placed = placed_rows(rows)
    while batch := list(islice(placed, _BATCH)):
        flat = []
        for each in batch:
            try:
                flat.append(flat_row(each.row, stopped))
            except (KeyError, TypeError, AttributeError) as error:
                raise InputError(
                    f"line {each.number} is no row of an episode: {error!r}", file=rows
                ) from error
        if tell is not None:
            tell(batch[-1].end, size)
        yield pl.DataFrame(flat, schema=SCHEMA, strict=False)


def flat_row(row: Row, stopped: Container[str]) -> dict[str, Any]:
    """A row as the columns of :data:`SCHEMA`.

    Args:
        row: The row.
        stopped: Tasks that an adaptive probe left early.
    """
    verdict, error = row["verdict"], row["error"] or {}
    said = [each for each in row["messages"] if each["role"] == "assistant"]
    usage, timing, traffic = (
        row.get("usage") or {},
        row.get("timing") or {},
        row.get("traffic") or {},
    )
    seconds = {name: value for name, value in timing.items() if isinstance(value, int | float)}
    nested = {**row, "reasons": verdict["reasons"], "details": verdict["details"]}
    return {
        **{
            name: row.get(name) for name in ("uid", "repetition", "try", "domain", "family", "tags")
        },
        "outcome": verdict["outcome"],
        "score": verdict["score"],
        "finish_reason": row["finish_reason"],
        "turns": len(said),
        "tool_calls": sum(len(each.get("tool_calls") or ()) for each in said),
        **{
            f"{role}_{kind}_tokens": usage.get(role, {}).get(kind)
            for role in ROLES
            for kind in ("prompt", "completion")
        },
        "seconds": sum(seconds.values()),
        **{f"{role}_seconds": seconds.get(role) for role in ROLES},
        "started": _moment(timing.get("started")),
        **{name: sum(each.get(name, 0) for each in traffic.values()) for name in _TRAFFIC},
        "waited_s": sum(each.get("waited_s", 0.0) for each in traffic.values()),
        **{f"error_{name}": error.get(name) for name in ("type", "message", "phase")},
        "policy_name": row["policy"].get("model") or row["policy"].get("name"),
        "seed": row["seeds"]["episode"],
        "task_version": row["versions"].get("task"),
        "stopped": row["uid"] in stopped,
        **{name: _json(nested.get(name)) for name in NESTED},
    }


def _json(value: Any) -> str | None:
    # Plain ASCII: half a character of a model's output is text here too.
    return None if value is None else json.dumps(value, separators=(",", ":"))


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
