"""Everything that is summed over tasks, as one column each: a figure is made of such sums alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from outcomebox.eval.metrics.signature import BLAMED, BROKEN, SIGNATURES, blame, broken, signature
from outcomebox.eval.metrics.silent import INSIDE, inside, silent
from outcomebox.eval.results import Expected, Results, by_task

MEANS = (
    "turns",
    "tool_calls",
    "tool_errors",
    "tokens",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "seconds",
    "score",
)
WHO = (*dict.fromkeys(BROKEN.values()), "harness")
NOT_TOLD = ""
"""Stands for a finish reason that the source does not tell."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TaskColumns:
    """All tasks of a run, and their attempts with a result, as arrays.

    Attributes:
        domains: Of each task, by uid.
        numbers: Each column of numbers of :func:`task_columns`, shape (tasks,).
        task: Position of each attempt's task, shape (attempts,).
        measured: Each of :data:`MEANS`, shape (attempts,); NaN where the source does not tell.
    """

    domains: Sequence[str]
    numbers: Mapping[str, Floats]
    task: NDArray[np.intp]
    measured: Mapping[str, Floats]

    @classmethod
    def of(cls, frame: pl.DataFrame, attempts: pl.DataFrame) -> TaskColumns:
        """The arrays of frames.

        Args:
            frame: :func:`task_columns`.
            attempts: The attempts with a result, with tokens.
        """
        place = frame.select("uid").with_row_index("place")
        joined = attempts.select("uid", *MEANS).join(
            place, on="uid", how="left", maintain_order="left"
        )
        named = frame.select(pl.selectors.numeric() | pl.selectors.boolean()).cast(pl.Float64)
        return cls(
            domains=frame.get_column("domain").to_list(),
            numbers={column.name: column.to_numpy() for column in named},
            task=joined.get_column("place").to_numpy().astype(np.intp),
            measured={
                column.name: column.to_numpy()
                for column in joined.select(pl.col(MEANS).cast(pl.Float64).fill_null(np.nan))
            },
        )


def due_tries(tries: pl.DataFrame, expected: Expected) -> pl.DataFrame:
    """The tries of keys that are due.

    Args:
        tries: One row a try.
        expected: The keys.
    """
    uids = pl.Series(list(expected.tasks), dtype=pl.String).implode()
    repetitions = pl.Series(list(expected.repetitions), dtype=pl.Int64).implode()
    return tries.filter(pl.col("uid").is_in(uids) & pl.col("repetition").is_in(repetitions))


def looked_at(tries: pl.DataFrame) -> pl.DataFrame:
    """Tries with ``signature``, ``blame``, ``silent``, ``broken`` and the parts inside silence."""
    return tries.with_columns(
        signature=signature(),
        blame=blame(),
        broken=broken(),
        silent=silent(),
        **{f"inside.{name}": inside(name) for name in INSIDE},
    )


def task_columns(results: Results, tries: pl.DataFrame) -> pl.DataFrame:
    """One row a due task, sorted by uid, with all that is summed.

    Args:
        results: The rows and the keys that are due.
        tries: The tries of those keys, priced and :func:`looked_at`.

    Returns:
        The columns of :func:`outcomebox.eval.results.by_task`, ``family``, and counts and
        sums whose names hold a dot.
    """
    reasons = tries.filter("counted").get_column("finish_reason").fill_null(NOT_TOLD).unique()
    found = tries.group_by("uid").agg(
        pl.col("family").first(),
        *_means(),
        *_ends(sorted(reasons)),
        *_failures(),
        *_broken(),
        *_cost(),
    )
    joined = by_task(results).join(found, on="uid", how="left", maintain_order="left")
    return joined.with_columns(pl.col(name).fill_null(0) for name in found.columns if "." in name)


def _count(condition: pl.Expr, name: str) -> pl.Expr:
    return condition.fill_null(value=False).sum().cast(pl.Float64).alias(name)


def _means() -> list[pl.Expr]:
    made = []
    for name in MEANS:
        value = pl.col(name).filter(pl.col("counted"))
        made += [
            value.sum().cast(pl.Float64).alias(f"{name}.sum"),
            value.count().cast(pl.Float64).alias(f"{name}.n"),
        ]
    return made


def _ends(reasons: list[str]) -> list[pl.Expr]:
    end = pl.col("finish_reason").fill_null(NOT_TOLD)
    return [
        _count(
            pl.col("counted") & (end == reason) & (pl.col("outcome") == outcome),
            f"end.{outcome}.{reason}",
        )
        for reason in reasons
        for outcome in ("passed", "failed")
    ]


def _failures() -> list[pl.Expr]:
    counted = pl.col("counted")
    parts = [
        *((pl.col("signature") == name, f"signature.{name}") for name in SIGNATURES),
        (pl.col("signature").is_not_null(), "signature.told"),
        *((pl.col("blame") == name, f"blame.{name}") for name in BLAMED),
        (pl.col("outcome") == "failed", "failed.all"),
        (pl.col("silent"), "silent.yes"),
        (pl.col("silent").is_not_null(), "silent.told"),
        *((pl.col(f"inside.{name}"), f"inside.{name}") for name in INSIDE),
        (pl.col(f"inside.{next(iter(INSIDE))}").is_not_null(), "inside.told"),
    ]
    return [_count(counted & holds, name) for holds, name in parts]


def _broken() -> list[pl.Expr]:
    return [_count(pl.col("broken") == who, f"broken.{who}") for who in WHO]


def _cost() -> list[pl.Expr]:
    amount = pl.col("amount")
    return [
        pl.len().cast(pl.Float64).alias("cost.tries"),
        amount.count().cast(pl.Float64).alias("cost.priced"),
        amount.sum().alias("cost.known"),
        amount.filter(pl.col("outcome") == "system_error").sum().alias("cost.errors"),
        amount.filter(pl.col("superseded")).sum().alias("cost.superseded"),
    ]
