"""From rows to one record per task.

The last clean try of a (uid, repetition), by its try number, is that repetition's result. An
errored try never erases a clean one, whenever it ran, and a better earlier try does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from outcomebox.selection.episodes import Episodes
from outcomebox.selection.tasks import TaskInfo

_ERROR = "system_error"
_COUNT = pl.len().cast(pl.Int64)


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What the probes of one task came to.

    Attributes:
        task: the task.
        passes: repetitions whose result is passed.
        clean_runs: repetitions that have a result.
        errored_runs: repetitions of which every try ended in a system error.
        system_errors: tries that ended in a system error.
        tries: all tries.
        superseded: clean tries that a later clean try replaced.
    """

    task: TaskInfo
    passes: int = 0
    clean_runs: int = 0
    errored_runs: int = 0
    system_errors: int = 0
    tries: int = 0
    superseded: int = 0


def repetition_outcomes(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Reduces tries to repetitions.

    Args:
        rows: columns uid, repetition, try, outcome, in any order.

    Returns:
        One row a (uid, repetition): `outcome` (null when no try was clean), `tries`,
        `system_errors`, `superseded`.
    """
    key = ["uid", "repetition"]
    clean = pl.col("outcome") != "system_error"
    # Sorting all rows once is many times faster than sorting within each of a million groups.
    last = rows.filter(clean).sort("try").group_by(key).agg(outcome=pl.col("outcome").last())
    return (
        rows.group_by(key)
        .agg(
            tries=pl.len().cast(pl.Int64),
            system_errors=(~clean).sum().cast(pl.Int64),
            superseded=(clean.sum().cast(pl.Int64) - 1).clip(0),
        )
        .join(last, on=key, how="left")
        .select(*key, "outcome", "tries", "system_errors", "superseded")
    )


def task_results(episodes: Episodes) -> tuple[TaskResult, ...]:
    """Counts passes, clean runs and system errors of every task.

    Args:
        episodes: what `read_episodes` gave.

    Returns:
        One record a task, sorted by uid.
    """
    # Rows are sorted by key, so what belongs together is found without grouping a million texts.
    rows = episodes.rows.with_columns(
        task=pl.col("uid").rle_id(), clean=pl.col("outcome") != _ERROR
    )
    behind = pl.col("task", "repetition")
    last = pl.any_horizontal(behind != behind.shift(-1)).fill_null(True)
    runs = rows.lazy().filter(last).group_by("task").agg(runs=_COUNT)
    tries = (
        rows.lazy()
        .group_by("task")
        .agg(system_errors=(~pl.col("clean")).sum().cast(pl.Int64), tries=_COUNT)
    )
    results = (
        rows.lazy()
        .filter("clean")
        .filter(last)
        .group_by("task")
        .agg(passes=(pl.col("outcome") == "passed").sum().cast(pl.Int64), clean=_COUNT)
    )
    counts = (
        runs.join(tries, on="task")
        .join(results, on="task", how="left")
        .with_columns(pl.col("passes", "clean").fill_null(0))
        .sort("task")
        .select(
            "passes",
            "clean",
            pl.col("runs") - pl.col("clean"),
            "system_errors",
            "tries",
            superseded=pl.col("tries") - pl.col("system_errors") - pl.col("clean"),
        )
        .collect()
    )
    return tuple(
        TaskResult(task, *row) for task, row in zip(episodes.tasks, counts.iter_rows(), strict=True)
    )
