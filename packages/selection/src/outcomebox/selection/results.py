"""From rows to one record per task.

The last clean try of a (uid, repetition), by its try number, is that repetition's result. An
errored try never erases a clean one, whenever it ran, and a better earlier try does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from outcomebox.selection.episodes import Episodes
from outcomebox.selection.tasks import TaskInfo


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
        rows: columns uid, repetition, try, outcome.

    Returns:
        One row a (uid, repetition): `outcome` (null when no try was clean), `tries`,
        `system_errors`, `superseded`.
    """
    clean = pl.col("outcome") != "system_error"
    in_order = pl.col("outcome").filter(clean).sort_by(pl.col("try").filter(clean))
    return rows.group_by("uid", "repetition").agg(
        outcome=in_order.last(),
        tries=pl.len().cast(pl.Int64),
        system_errors=(~clean).sum().cast(pl.Int64),
        superseded=(clean.sum().cast(pl.Int64) - 1).clip(0),
    )


def task_results(episodes: Episodes) -> tuple[TaskResult, ...]:
    """Counts passes, clean runs and system errors of every task.

    Args:
        episodes: what `read_episodes` gave.

    Returns:
        One record a task, sorted by uid.
    """
    outcome = pl.col("outcome")
    counts = (
        repetition_outcomes(episodes.rows.lazy())
        .group_by("uid")
        .agg(
            passes=(outcome == "passed").sum().cast(pl.Int64),
            clean_runs=outcome.is_not_null().sum().cast(pl.Int64),
            errored_runs=outcome.is_null().sum().cast(pl.Int64),
            system_errors=pl.col("system_errors").sum(),
            tries=pl.col("tries").sum(),
            superseded=pl.col("superseded").sum(),
        )
        .collect()
    )
    by_uid = {row.pop("uid"): row for row in counts.iter_rows(named=True)}
    return tuple(TaskResult(task, **by_uid[task.uid]) for task in episodes.tasks)
