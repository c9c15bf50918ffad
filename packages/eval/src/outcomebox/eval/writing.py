"""The table of tries as a file, which :func:`outcomebox.eval.results.read_results` reads back."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

from outcomebox.eval.results import Results
from outcomebox.sandbox.errors import InputError

_DERIVED = ("superseded", "counted")


def write_results(results: Results, file: Path) -> None:
    """Write the table of tries, whole or not at all.

    Args:
        results: What was read.
        file: Where to; ``.parquet`` and ``.jsonl`` hold every column, ``.csv`` (tags and reasons
            joined by ``;``, the policy's tokens in columns of their own) is for spreadsheets.

    Raises:
        InputError: The name ends in something else, or the file cannot be written.
    """
    rows = results.attempts.drop(_DERIVED).with_columns(pl.col("outcome").cast(pl.String))
    writers: dict[str, Callable[[str], None]] = {
        ".parquet": rows.write_parquet,
        ".jsonl": rows.write_ndjson,
        ".csv": _flat(rows).write_csv,
    }
    writer = writers.get(file.suffix)
    if writer is None:
        raise InputError(
            f"must end in {', '.join(writers)}; name another file", field="out", value=str(file)
        )
    whole(file, writer)


def whole(file: Path, write: Callable[[str], None]) -> None:
    """Write a file so that it is there whole or not at all.

    Args:
        file: The file; its folder is made.
        write: Writes to a name.

    Raises:
        InputError: It cannot be written.
    """
    temporary: str | None = None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        os.close(handle)
        write(temporary)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(file)
        temporary = None
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror}); choose another", file=file
        ) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _flat(rows: pl.DataFrame) -> pl.DataFrame:
    policy = pl.col("usage").list.filter(pl.element().struct.field("role") == "policy").list.first()
    tokens = {
        f"{name}_tokens": policy.struct.field(name)
        for name in ("input", "cached", "output", "reasoning")
    }
    return rows.with_columns(
        pl.col("tags").list.join(";"),
        pl.col("reasons").list.join(";"),
        model=policy.struct.field("model"),
        **tokens,
    ).drop("usage")
