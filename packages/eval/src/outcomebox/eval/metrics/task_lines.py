"""What is told of each task by itself."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl

from outcomebox.eval.metrics import rates, repeat
from outcomebox.eval.metrics.intervals import jeffreys
from outcomebox.eval.metrics.model import TaskLine
from outcomebox.eval.metrics.sheet import Asked
from outcomebox.eval.metrics.signature import SIGNATURES


def task_lines(frame: pl.DataFrame, attempts: pl.DataFrame, asked: Asked) -> tuple[TaskLine, ...]:
    """One line a task, sorted by uid.

    Args:
        frame: :func:`~.columns.task_columns`, with ``band``.
        attempts: The attempts with a result, with their signatures.
        asked: What is asked for.
    """
    passed, clean = frame.get_column("passed").to_numpy(), frame.get_column("clean").to_numpy()
    stopped = frame.get_column("stopped").to_numpy()
    k = asked.k
    rate = rates.pass_at_1(passed, clean)
    ends = jeffreys(passed, clean, asked.bootstrap.level)
    so_all, so_any = rates.all_of_k(passed, clean, k), rates.any_of_k(passed, clean, k)
    at_least, again = repeat.at_least(passed, clean), repeat.again(passed, clean, k)
    # What is biased is not told.
    for column in (rate, ends, so_all, at_least, again):
        column[stopped] = np.nan
    signatures = _signatures(attempts)
    return tuple(
        TaskLine(
            uid=row["uid"],
            domain=row["domain"],
            family=row["family"],
            tags=tuple(row["tags"]),
            band=row["band"],
            due=k,
            clean=row["clean"],
            passed=row["passed"],
            errors=row["errors"],
            missing=row["missing"],
            stopped=row["stopped"],
            rate=_known(rate[at]),
            low=_known(ends[at, 0]),
            high=_known(ends[at, 1]),
            dependable=_yes(so_all[at]),
            any=_yes(so_any[at]),
            at_least=_known(at_least[at]),
            again=_known(again[at]),
            cost=row["cost.known"] if row["cost.priced"] == row["cost.tries"] > 0 else None,
            signature=signatures.get(row["uid"]),
        )
        for at, row in enumerate(frame.iter_rows(named=True))
    )


def _signatures(attempts: pl.DataFrame) -> dict[str, str]:
    found: dict[str, Counter[str]] = {}
    for uid, name in attempts.select("uid", "signature").drop_nulls().iter_rows():
        found.setdefault(uid, Counter())[name] += 1
    return {uid: max(SIGNATURES, key=lambda name: counts[name]) for uid, counts in found.items()}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _yes(value: float) -> bool | None:
    return None if math.isnan(value) else bool(value)
