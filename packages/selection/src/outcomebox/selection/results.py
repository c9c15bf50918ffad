"""From rows to one record per task.

The last clean try of a (uid, repetition), by its try number, is that repetition's result. An
errored try never erases a clean one, whenever it ran, and a better earlier try does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from outcomebox.selection.episodes import OUTCOMES, Episodes
from outcomebox.selection.tasks import TaskInfo
from outcomebox.selection.uncollected import uncollected


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


@uncollected()
def task_results(episodes: Episodes) -> tuple[TaskResult, ...]:
    """Counts passes, clean runs and system errors of every task.

    Args:
        episodes: what `read_episodes` gave.

    Returns:
        One record a task, sorted by uid.
    """
    # Rows are sorted by key, so what belongs together stands together: nothing has to be grouped.
    rows = episodes.rows
    new = (rows["uid"] != rows["uid"].shift()).fill_null(True).to_numpy()
    repetition = rows["repetition"].to_numpy()
    words = rows["outcome"].to_physical().to_numpy()
    starts, place = np.flatnonzero(new), np.cumsum(new) - 1

    def count(chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.bincount(place[chosen], minlength=len(starts))

    clean = np.flatnonzero(words != OUTCOMES.index("system_error"))
    results = clean[_last(place[clean], repetition[clean])]
    passes = count(results[words[results] == OUTCOMES.index("passed")])
    clean_runs, clean_tries = count(results), count(clean)
    runs = count(np.flatnonzero(_last(place, repetition)))
    tries = np.diff(starts, append=len(place))
    columns = (
        passes,
        clean_runs,
        runs - clean_runs,
        tries - clean_tries,
        tries,
        clean_tries - clean_runs,
    )
    rows_of_counts = np.stack(columns, axis=1).tolist()
    return tuple(
        TaskResult(task, *row) for task, row in zip(episodes.tasks, rows_of_counts, strict=True)
    )


def _last(place: NDArray[np.intp], repetition: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each of some sorted tries is the last one of its repetition."""
    last = np.ones(len(place), np.bool_)
    last[:-1] = (place[1:] != place[:-1]) | (repetition[1:] != repetition[:-1])
    return last
