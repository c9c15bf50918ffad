"""Compares two runs task by task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from outcomebox.eval.compare.model import (
    Comparison,
    Difference,
    DomainDifference,
    Paired,
    Question,
    Side,
    TaskPair,
)
from outcomebox.eval.compare.paired import (
    Floats,
    by_luck,
    difference_these,
    mcnemar,
    smallest_shown,
)
from outcomebox.eval.compare.pairing import paired, versions
from outcomebox.eval.compare.verdict import verdict
from outcomebox.eval.completeness import completeness
from outcomebox.eval.metrics.intervals import bootstrap
from outcomebox.eval.metrics.rates import all_of_k, any_of_k
from outcomebox.eval.results import Results, by_task, inferred


@dataclass(frozen=True)
class _Settings:
    level: float
    seed: int
    resamples: int
    of: int


def compare(
    base: Results,
    new: Results,
    *,
    names: tuple[str, str] = ("base", "new"),
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 10_000,
    allow_incomplete: bool = False,
    allow_mixed: bool = False,
) -> Comparison:
    """Compare two runs on the same tasks, task by task.

    Args:
        base: The run that is compared with.
        new: The run that is compared.
        names: What the two are called.
        level: Confidence of the intervals.
        seed: Of the bootstrap; the same gives the same digits.
        resamples: Of the bootstrap.
        allow_incomplete: Leave out tasks without a clean run on a side, rather than refuse.
        allow_mixed: Take a run whose rows were made by different versions, rather than refuse.

    Raises:
        InputError: The runs cannot be compared, see :func:`~.pairing.paired`.
    """
    both = paired(base, new, names, allow_incomplete=allow_incomplete, allow_mixed=allow_mixed)
    pairs = both.filter(pl.col("pair")).drop("pair")
    left_out = tuple(both.filter(~pl.col("pair")).get_column("uid"))
    settings = _Settings(level, seed, resamples, of=both.height)
    sides = (_side(base, names[0]), _side(new, names[1]))
    pass_1 = _pass_1(pairs, settings)
    base_counts, new_counts = (
        tuple(pairs.get_column(f"{side}_{name}").to_numpy() for name in ("passed", "clean"))
        for side in ("base", "new")
    )
    these = difference_these(base_counts, new_counts, of=both.height, level=level)
    k, notes = _attempts(base, new, names)
    all_k, any_k = (_asked(pairs, question, k, settings) for question in ("all", "any"))
    domains = tuple(_domains(both, k, settings))
    return Comparison(
        base=sides[0],
        new=sides[1],
        level=level,
        seed=seed,
        resamples=resamples,
        pass_1=pass_1,
        pass_1_these=these,
        all_k=all_k,
        any_k=any_k,
        domains=domains,
        tasks=tuple(TaskPair(**row) for row in pairs.iter_rows(named=True)),
        left_out=left_out,
        cost=None,
        notes=(*notes, *_version_notes(base, new, names)),
        verdict=verdict(
            names,
            level=level,
            pass_1=pass_1,
            these=these,
            all_k=all_k,
            any_k=any_k,
            domains=domains,
            complete=all(side.complete for side in sides),
        ),
    )


def _side(results: Results, name: str) -> Side:
    tasks = by_task(results)
    clean = tasks.get_column("clean")
    done = completeness(results)
    return Side(
        name=name,
        source=tuple(asdict(source) for source in results.source),
        attempts=int(clean[0]) if clean.n_unique() == 1 else None,
        clean=int(clean.sum()),
        passed=int(tasks.get_column("passed").sum()),
        system_errors=int(tasks.get_column("system_errors").sum()),
        complete=done.complete,
        final=done.final,
        completeness=done.words(),
    )


def _attempts(
    base: Results, new: Results, names: tuple[str, str]
) -> tuple[int | None, tuple[str, ...]]:
    """The one number of attempts that both runs were due, if there is one."""
    due = [(results.expected or inferred(results.attempts)).attempts for results in (base, new)]
    if due[0] == due[1]:
        return due[0], ()
    return None, (
        f"{names[0]} has {due[0]} attempts a task and {names[1]} has {due[1]}: how many tasks pass "
        "all of them, or at least one, cannot be compared",
    )


def _version_notes(base: Results, new: Results, names: tuple[str, str]) -> tuple[str, ...]:
    made = [versions(results) for results in (base, new)]
    notes = [
        f"{name} mixes {len(found)} versions: a difference may be theirs"
        for name, found in zip(names, made, strict=True)
        if len(found) > 1
    ]
    if all(made) and made[0] != made[1]:
        notes.append(
            "the runs were made by different versions of packages, profile or format: a "
            "difference may be theirs"
        )
    return tuple(notes)


def _pass_1(pairs: pl.DataFrame, settings: _Settings) -> Difference:
    rates = [
        (pairs.get_column(f"{side}_passed") / pairs.get_column(f"{side}_clean")).to_numpy()
        for side in ("base", "new")
    ]
    note = "no task has another rate in the other run"
    return _difference(rates[0], rates[1], pairs, settings, same=note)


def _difference(
    base: Floats, new: Floats, pairs: pl.DataFrame, settings: _Settings, *, same: str
) -> Difference:
    """The difference of two means over tasks, with its interval for a population of tasks."""
    differences = new - base
    means = [float(np.mean(rates)) if len(rates) else None for rates in (base, new, differences)]
    plain: dict[str, Any] = {
        **dict(zip(("base", "new", "value"), means, strict=True)),
        "n": len(base),
        "of": settings.of,
        "estimand": "population of tasks",
        "method": f"bootstrap of tasks within domains, {settings.resamples} resamples",
    }
    found = bootstrap(
        differences,
        pairs.get_column("domain").to_list(),
        level=settings.level,
        seed=settings.seed,
        resamples=settings.resamples,
    )
    smallest = smallest_shown(found.se, settings.level) if found.se else None
    note = found.note if found.se != 0 or differences.any() else same
    return Difference(
        **plain, low=found.low, high=found.high, se=found.se, smallest=smallest, note=note
    )


def _asked(
    pairs: pl.DataFrame, question: Question, k: int | None, settings: _Settings
) -> Paired | None:
    """A yes/no question of every task with k clean runs on both sides."""
    if k is None:
        return None
    rate = all_of_k if question == "all" else any_of_k
    asked = [
        rate(pairs.get_column(f"{side}_passed"), pairs.get_column(f"{side}_clean"), k)
        for side in ("base", "new")
    ]
    decided = ~np.isnan(asked[0]) & ~np.isnan(asked[1])
    if not decided.any():
        return None
    whole = pairs.filter(pl.Series(decided))
    base, new = (answers[decided] == 1 for answers in asked)
    uids = whole.get_column("uid").to_numpy()
    lost, gained = base & ~new, new & ~base
    passed, clean = (
        (whole.get_column(f"base_{name}") + whole.get_column(f"new_{name}")).to_numpy()
        for name in ("passed", "clean")
    )
    return Paired(
        question=question,
        k=k,
        both=int((base & new).sum()),
        base_only=int(lost.sum()),
        new_only=int(gained.sum()),
        neither=int((~base & ~new).sum()),
        n=whole.height,
        of=settings.of,
        p=mcnemar(int(lost.sum()), int(gained.sum())),
        difference=_difference(
            base.astype(np.float64),
            new.astype(np.float64),
            whole,
            settings,
            same="no task changed its answer",
        ),
        gained=tuple(uids[gained].tolist()),
        lost=tuple(uids[lost].tolist()),
        # No pass in k attempts is as likely as k passes of a task with the opposite results.
        by_luck=by_luck(passed if question == "all" else clean - passed, clean, k),
    )


def _domains(both: pl.DataFrame, k: int | None, settings: _Settings) -> Iterator[DomainDifference]:
    for domain in both.get_column("domain").unique().sort():
        whole = both.filter(domain=domain)
        own = whole.filter(pl.col("pair"))
        within = replace(settings, of=whole.height)
        yield DomainDifference(
            domain=domain,
            tasks=own.height,
            pass_1=_pass_1(own, within),
            all_k=_asked(own, "all", k, within),
            any_k=_asked(own, "any", k, within),
        )
