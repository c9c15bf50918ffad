"""The pictures of a report, from its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from outcomebox.eval.compare.model import Comparison
from outcomebox.eval.metrics.model import Group
from outcomebox.eval.report.money import frontier
from outcomebox.eval.report.plots import (
    Both,
    Curve,
    Delta,
    Pair,
    Picture,
    Priced,
    cost_plot,
    coverage_plot,
    curves_plot,
    deltas_plot,
    paired_plot,
    passes_plot,
)
from outcomebox.eval.report.run import Run


def runs_pictures(runs: Sequence[Run]) -> Iterator[Picture]:
    """Pictures of all runs together: coverage, curves, cost."""
    points = [
        both
        for place, run in enumerate(runs)
        if (both := _both(run.name, run.summary.overall, place)) is not None
    ]
    if len(runs) == 1:
        single = runs[0]
        domains = single.groups("domain")
        groups = [("all tasks", single.summary.overall), *((each.name, each) for each in domains)]
        points = [
            both
            for place, (name, group) in enumerate(groups if len(domains) > 1 else groups[:1])
            if (both := _both(name, group, place)) is not None
        ]
    k = max(run.summary.overall.dependable.k for run in runs)
    if points and k > 1:
        yield coverage_plot("coverage", points, k=k)
    curves = [
        Curve(
            run.name,
            {
                each.k: each.pass_at.value
                for each in run.summary.overall.at_k
                if each.pass_at.value is not None
            },
            {
                each.k: each.pass_hat.value
                for each in run.summary.overall.at_k
                if each.pass_hat.value is not None
            },
            place,
        )
        for place, run in enumerate(runs)
    ]
    curves = [each for each in curves if len(each.at) > 1]
    if curves:
        yield curves_plot("curves", curves)
    priced = list(_priced(runs))
    if priced and len(runs) > 1:
        currency = next((run.summary.cost.currency for run in runs), None) or "money"
        yield cost_plot("cost", priced, currency=currency)


def run_pictures(run: Run, name: str = "passes") -> Iterator[Picture]:
    """Pictures of one run: tasks by attempts passed, under this name."""
    k = run.summary.overall.dependable.k
    counts = Counter(
        task.passed for task in run.summary.tasks if task.clean == k and not task.stopped
    )
    if counts and k > 1:
        yield passes_plot(name, counts, k=k)


def comparison_pictures(found: Comparison, place: int) -> Iterator[Picture]:
    """Pictures of one comparison: each task before and after, each domain's difference.

    Args:
        found: The comparison.
        place: Its place among the comparisons, for the pictures' names.
    """
    pairs = [
        Pair(task.uid, task.base_passed / task.base_clean, task.new_passed / task.new_clean)
        for task in found.tasks
        if task.base_clean and task.new_clean
    ]
    if pairs:
        yield paired_plot(f"paired-{place}", pairs, base=found.base.name, new=found.new.name)
    deltas = [
        Delta(name, each.value, each.low, each.high)
        for name, each in (
            ("all tasks", found.pass_1),
            *((row.domain, row.pass_1) for row in found.domains if len(found.domains) > 1),
        )
        if each.value is not None
    ]
    if deltas:
        title = f"pass@1 of {found.new.name} minus {found.base.name}"
        yield deltas_plot(f"deltas-{place}", deltas, title=title)


def _priced(runs: Sequence[Run]) -> Iterator[Priced]:
    best = frontier(runs)
    for place, run in enumerate(runs):
        cost, rate = run.summary.overall.cost.per_success, run.summary.overall.pass_1.population
        if cost.value and rate.value is not None:
            yield Priced(
                run.name,
                (cost.value, cost.low, cost.high),
                (rate.value, rate.low, rate.high),
                run.name in best,
                place,
            )


def _both(name: str, group: Group, place: int) -> Both | None:
    every, once = group.dependable.share, group.any.share
    if every.value is None or once.value is None:
        return None
    return Both(
        name, (every.value, every.low, every.high), (once.value, once.low, once.high), place
    )
