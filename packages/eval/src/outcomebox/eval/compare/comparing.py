"""Compares two runs task by task."""

from __future__ import annotations

from dataclasses import asdict

import polars as pl

from outcomebox.eval.compare.costing import compare_cost
from outcomebox.eval.compare.differences import differences
from outcomebox.eval.compare.model import Comparison, DomainDifference, Side, TaskPair
from outcomebox.eval.compare.paired import difference_these
from outcomebox.eval.compare.pairing import paired, versions
from outcomebox.eval.compare.verdict import verdict
from outcomebox.eval.completeness import completeness
from outcomebox.eval.metrics.prices import Prices
from outcomebox.eval.metrics.resampled import Bootstrap
from outcomebox.eval.results import Results, by_task, inferred


def compare(
    base: Results,
    new: Results,
    *,
    names: tuple[str, str] = ("base", "new"),
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 10_000,
    prices: Prices | None = None,
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
        prices: What tokens cost: both runs are priced under this one list. Without it the costs
            stand that both sources state.
        allow_incomplete: Leave out tasks without a clean run on a side, rather than refuse.
        allow_mixed: Take a run whose rows were made by different versions, rather than refuse.

    Raises:
        InputError: The runs cannot be compared, see :func:`~.pairing.paired`.
    """
    both = paired(base, new, names, allow_incomplete=allow_incomplete, allow_mixed=allow_mixed)
    pairs = both.filter(pl.col("pair"))
    how = Bootstrap(level, seed, resamples)
    sides = (_side(base, names[0]), _side(new, names[1]))
    k, notes = _attempts(base, new, names)
    whole, parts = differences(both, k, how)
    base_counts, new_counts = (
        (
            pairs.get_column(f"{side}_passed").to_numpy(),
            pairs.get_column(f"{side}_clean").to_numpy(),
        )
        for side in ("base", "new")
    )
    these = difference_these(base_counts, new_counts, of=both.height, level=level)
    domains = [
        DomainDifference(name, part.pass_1.n, part.pass_1, part.all_k, part.any_k)
        for name, part in parts.items()
    ]
    return Comparison(
        base=sides[0],
        new=sides[1],
        level=level,
        seed=seed,
        resamples=resamples,
        pass_1=whole.pass_1,
        pass_1_these=these,
        all_k=whole.all_k,
        any_k=whole.any_k,
        domains=tuple(domains),
        tasks=tuple(TaskPair(**row) for row in pairs.drop("pair").iter_rows(named=True)),
        left_out=tuple(both.filter(~pl.col("pair")).get_column("uid")),
        cost=compare_cost((base, new), names, pairs, prices, how),
        notes=(*notes, *_version_notes(base, new, names)),
        verdict=verdict(
            names,
            level=level,
            pass_1=whole.pass_1,
            these=these,
            all_k=whole.all_k,
            any_k=whole.any_k,
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
    note = (
        f"{names[0]} has {due[0]} attempts a task and {names[1]} has {due[1]}: how many tasks pass "
        "all of them, or at least one, cannot be compared"
    )
    return None, (note,)


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
