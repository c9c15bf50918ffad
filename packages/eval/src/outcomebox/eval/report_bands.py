"""Difficulty bands of an earlier probe, read from its `bands.csv`."""

from __future__ import annotations

from pathlib import Path

from outcomebox.sandbox.errors import InputError


def read_bands(path: Path) -> dict[str, str]:
    """The band of each task.

    Args:
        path: A CSV with the columns ``uid`` and ``band``; a task with an empty band has none.

    Raises:
        InputError: It cannot be read, lacks a column, or names a task twice.
    """
    import polars as pl  # noqa: PLC0415 -- a command starts without it

    try:
        table = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot be read as CSV: {error}", file=path) from error
    for column in ("uid", "band"):
        if column not in table.columns:
            raise InputError(
                "the column is missing; a probe's bands.csv has it", file=path, field=column
            )
    doubled = table.filter(pl.col("uid").is_duplicated())
    if not doubled.is_empty():
        raise InputError(
            "stands twice; keep one row a task",
            file=path,
            field="uid",
            value=doubled.get_column("uid")[0],
        )
    rows = table.select("uid", "band").drop_nulls()
    return {uid: band for uid, band in rows.iter_rows() if band}
