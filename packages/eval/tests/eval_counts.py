"""Results made from plain counts and rows, for tests of what is computed from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from outcomebox.eval.results import ATTEMPTS, NO_DOMAIN, Expected, Results, inferred, mark
from outcomebox.eval.results import with_expected as against

Counts = tuple[int, int, int]
"""Attempts of a task that passed, failed, broke."""


def results(
    rows: Iterable[Mapping[str, Any]],
    *,
    expected: Expected | None = None,
    notes: tuple[str, ...] = (),
) -> Results:
    """Results of rows of a few columns; the others are null.

    Args:
        rows: Each with uid, repetition and outcome, and whatever else of the columns.
        expected: The keys that are due; found from the rows by default.
        notes: What a reader has to know.
    """
    full = [{"try": 0, "domain": NO_DOMAIN, "tags": [], "stopped": False, **row} for row in rows]
    frame = pl.DataFrame(full, schema=dict(ATTEMPTS), orient="row") if full else ATTEMPTS.to_frame()
    frame = mark(frame.sort("uid", "repetition", "try"))
    return against(Results(frame, notes=notes), expected or inferred(frame))


def of_counts(
    tasks: Mapping[str, Counts],
    *,
    domains: Mapping[str, str] | None = None,
    expected: bool = True,
    **columns: Any,
) -> Results:
    """Results with so many attempts of each task that passed, failed and broke, in that order.

    Args:
        tasks: uid -> the counts.
        domains: uid -> domain.
        expected: Say that as many attempts as the first task has were due at each task, so that
            figures can be final; otherwise what was due is found from the rows.
        columns: Values that all rows share.
    """
    names = ("passed", "failed", "system_error")
    sizes = [sum(counts) for counts in tasks.values()]
    frame = pl.DataFrame(
        {
            "uid": np.repeat(np.array([*tasks], dtype=object), sizes),
            "repetition": np.concatenate([np.arange(size) for size in sizes]),
            "outcome": [
                word
                for counts in tasks.values()
                for word, count in zip(names, counts, strict=True)
                for _ in range(count)
            ],
        },
        schema={name: ATTEMPTS[name] for name in ("uid", "repetition", "outcome")},
    )
    known = pl.DataFrame(
        {"uid": [*tasks], "domain": [(domains or {}).get(uid, NO_DOMAIN) for uid in tasks]}
    )
    plain = {"try": 0, "tags": [], "stopped": False, **columns}
    full = frame.join(known, on="uid", how="left").with_columns(
        pl.lit(plain.get(name), dtype=kind).alias(name)
        for name, kind in ATTEMPTS.items()
        if name not in {"uid", "repetition", "outcome", "domain"}
    )
    marked = mark(full.sort("uid", "repetition")).select(*ATTEMPTS)
    most = sum(next(iter(tasks.values())))
    due = Expected.of(list(tasks), most) if expected else inferred(marked)
    return against(Results(marked), due)


def of_arrays(
    passed: Sequence[int] | np.ndarray[Any, np.dtype[np.int64]],
    attempts: int,
    domains: Sequence[str] | None = None,
) -> Results:
    """Results of tasks t0000, t0001, ... that passed so many of their attempts."""
    names = [f"t{index:04d}" for index in range(len(passed))]
    counts: dict[str, Counts] = {
        uid: (int(k), attempts - int(k), 0) for uid, k in zip(names, passed, strict=True)
    }
    return of_counts(
        counts, domains=None if domains is None else dict(zip(names, domains, strict=True))
    )


def beta_pool(
    random: np.random.Generator,
    tasks: int,
    mean: float,
    icc: float,
    *,
    spread: float = 0.0,
    of: int = 1,
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], list[str]]:
    """Chances of tasks, drawn from Beta distributions, and the domains they are in.

    Args:
        random: The source of chance.
        tasks: How many.
        mean: Their mean chance.
        icc: Correlation of two attempts at one task: ``1 / (a + b + 1)``.
        spread: How far the domains' means lie apart, from ``mean - spread`` to ``mean + spread``.
        of: Number of domains.
    """
    domains = np.sort(np.arange(tasks) % of)
    means = mean + spread * np.linspace(-1, 1, of)[domains] if of > 1 else np.full(tasks, mean)
    both = 1 / icc - 1
    return random.beta(means * both, (1 - means) * both), [f"d{index}" for index in domains]
