"""All figures of a run: what a report prints, and nothing that it has to work out itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from outcomebox.eval.completeness import Completeness, completeness
from outcomebox.eval.metrics import repeat
from outcomebox.eval.metrics.columns import TaskColumns, due_tries, looked_at, task_columns
from outcomebox.eval.metrics.cost import (
    Cost,
    CostLine,
    basis_of,
    listed_lines,
    model_costs,
    notes_of,
)
from outcomebox.eval.metrics.estimate import Estimate
from outcomebox.eval.metrics.group import group_of
from outcomebox.eval.metrics.intervals import LEVEL, RESAMPLES
from outcomebox.eval.metrics.model import Group, GroupKind, TaskLine
from outcomebox.eval.metrics.prices import Prices
from outcomebox.eval.metrics.resampled import Bootstrap, resample
from outcomebox.eval.metrics.sheet import Asked, Sheet
from outcomebox.eval.metrics.spending import exchanges, spent
from outcomebox.eval.metrics.task_lines import task_lines
from outcomebox.eval.results import Results, Source, inferred
from outcomebox.sandbox.errors import InputError

__all__ = ["Estimate", "Summary", "summarize"]

OWN_BANDS = (
    "Bands are those of these same attempts: they sort tasks, and say nothing new of their rates."
)
_DIGITS = 12


@dataclass(frozen=True)
class Summary:
    """All figures of one run.

    Attributes:
        policy: Its description, canonical JSON; None where the source does not tell.
        k: Attempts that were due at each task.
        ks: The k of pass@k and pass^k.
        level: Confidence of every interval.
        seed: Of the bootstrap.
        resamples: Of the bootstrap.
        source: The files that the rows came from.
        completeness: Whether everything that was due is there.
        overall: All tasks.
        groups: Kind of group -> its groups by name; ``domain`` among them if asked for.
        tasks: One line a task, sorted by uid.
        cost: What the run cost.
        notes: What has to stand beside the figures, a sentence each.
    """

    policy: str | None
    k: int
    ks: tuple[int, ...]
    level: float
    seed: int
    resamples: int
    source: tuple[Source, ...]
    completeness: Completeness
    overall: Group
    groups: Mapping[str, tuple[Group, ...]]
    tasks: tuple[TaskLine, ...]
    cost: Cost
    notes: tuple[str, ...]

    @property
    def final(self) -> bool:
        """Whether the figures may be called final."""
        return self.completeness.final

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values, floats to twelve digits; what is not defined is null."""
        shallow = {name: getattr(self, name) for name in self.__dataclass_fields__}
        shallow["completeness"] = self.completeness.to_json()
        plain = {name: _plain(value) for name, value in shallow.items()}
        return {"final": self.final, **plain}


def summarize(
    results: Results,
    *,
    prices: Prices | None = None,
    ks: Sequence[int] | None = None,
    by: Sequence[str] = ("domain",),
    bands: Mapping[str, str] | None = None,
    lines: Sequence[CostLine] = (),
    level: float = LEVEL,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Summary:
    """All figures of a run.

    Args:
        results: Its tries, and the keys that were due.
        prices: What tokens cost; without, the cost that the source states stands.
        ks: The k of pass@k and pass^k; by default 1, 2, 4 ... up to the attempts due, and those.
        by: What tasks are grouped by: ``domain``, ``family``, ``tag``, ``band``.
        bands: uid -> band, from a probe; by default the bands of these attempts themselves.
        lines: What else was spent, beside what the price file lists.
        level: Confidence of every interval.
        seed: Of the bootstrap; the same gives the same digits, whatever the order of the rows.
        resamples: Of the bootstrap.

    Raises:
        InputError: There is no row; a setting is none; tokens contradict each other.
    """
    _check(results, ks, level, resamples)
    expected = results.expected or inferred(results.attempts)
    k = expected.attempts
    asked = Asked(
        k, _ladder(k) if ks is None else tuple(sorted({*ks})), Bootstrap(level, seed, resamples)
    )
    due = due_tries(results.attempts, expected)
    rows = exchanges(due, prices)
    tries = looked_at(spent(due, rows, prices))
    frame = task_columns(results, tries).with_columns(due=pl.lit(k, dtype=pl.Int64))
    frame = frame.with_columns(band=pl.Series(_bands(frame, bands), dtype=pl.String))
    attempts = tries.filter("counted")
    columns = TaskColumns.of(frame, attempts)
    kinds: list[GroupKind] = ["overall", *_kinds(by)]
    sheets = [
        Sheet(kind, name, columns, places, asked)
        for kind in kinds
        for name, places in _members(kind, frame)
    ]
    resample([sheet.ratios for sheet in sheets], columns.domains, asked.bootstrap)
    overall, *rest = map(group_of, sheets)
    policies = results.attempts.get_column("policy").drop_nulls().unique()
    return Summary(
        policy=policies[0] if policies.len() == 1 else None,
        k=k,
        ks=asked.ks,
        level=level,
        seed=seed,
        resamples=resamples,
        source=results.source,
        completeness=completeness(results),
        overall=overall,
        groups={kind: tuple(each for each in rest if each.kind == kind) for kind in kinds[1:]},
        tasks=task_lines(frame, attempts, asked),
        cost=Cost(
            basis=basis_of(tries, prices),
            currency=None if prices is None else prices.currency,
            prices_sha256=None if prices is None else prices.sha256,
            figures=overall.cost,
            models=model_costs(rows),
            lines=(*listed_lines(prices), *lines),
            notes=notes_of(rows, prices),
        ),
        notes=(*results.notes, *(_band_notes(frame, bands) if "band" in by else ())),
    )


def _check(results: Results, ks: Sequence[int] | None, level: float, resamples: int) -> None:
    if results.attempts.is_empty():
        where = ", ".join(source.path for source in results.source) or None
        raise InputError("there are no rows, so there are no figures", file=where)
    if results.expected is not None and not results.expected.total:
        raise InputError(
            "no attempt is due; name at least one task and one attempt at it", field="expected"
        )
    wrong = [k for k in ks or () if k < 1]
    if wrong:
        raise InputError("counts attempts, from 1", field="k", value=wrong[0])
    if not 0 < level < 1:
        raise InputError("lies between 0 and 1, for example 0.95", field="level", value=level)
    if resamples < 1:
        raise InputError("is at least 1, better 10000", field="resamples", value=resamples)


def _kinds(by: Sequence[str]) -> list[GroupKind]:
    kinds: list[GroupKind] = [kind for kind in get_args(GroupKind) if kind != "overall"]
    for name in by:
        if name not in kinds:
            raise InputError(f"is none of {', '.join(kinds)}", field="by", value=name)
    return [kind for kind in kinds if kind in by]


def _ladder(k: int) -> tuple[int, ...]:
    """1, 2, 4 ... up to k, and k itself."""
    powers = (2**power for power in range(max(k, 1).bit_length()))
    return tuple(sorted({*powers, max(k, 1)}))


def _bands(frame: pl.DataFrame, bands: Mapping[str, str] | None) -> list[str | None]:
    if bands is not None:
        return [bands.get(uid) for uid in frame.get_column("uid")]
    found = repeat.bands(frame.get_column("passed"), frame.get_column("clean"))
    stopped = frame.get_column("stopped")
    return [None if early else band for band, early in zip(found, stopped, strict=True)]


def _band_notes(frame: pl.DataFrame, bands: Mapping[str, str] | None) -> Iterator[str]:
    if bands is None:
        yield OWN_BANDS
    without = frame.get_column("band").null_count()
    if without:
        yield f"{without} of {frame.height} tasks have no band and are in no row of that table."


def _members(kind: GroupKind, frame: pl.DataFrame) -> list[tuple[str, NDArray[np.intp]]]:
    """Groups of a kind with the positions of their tasks: by name, bands from the hardest."""
    if kind == "overall":
        return [("", np.arange(frame.height))]
    found: dict[str, list[int]] = {}
    for place, value in enumerate(frame.get_column("tags" if kind == "tag" else kind)):
        for name in dict.fromkeys(value) if kind == "tag" else [value]:
            if name is not None:
                found.setdefault(name, []).append(place)
    hardest = {band: at for at, band in enumerate(repeat.BANDS)} if kind == "band" else {}
    names = sorted(found, key=lambda name: (hardest.get(name, len(hardest)), name))
    return [(name, np.asarray(found[name], dtype=np.intp)) for name in names]


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"a figure is {value}: what is not defined must be None")
        return float(f"{value:.{_DIGITS}g}")
    return value
