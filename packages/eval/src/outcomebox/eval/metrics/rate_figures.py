"""The figures about success of a group of tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from outcomebox.eval.metrics import rates
from outcomebox.eval.metrics import repeat as repeating
from outcomebox.eval.metrics.estimate import Estimate, refused, with_interval
from outcomebox.eval.metrics.intervals import cluster_t, wilson, within_tasks
from outcomebox.eval.metrics.model import AtK, Observed, PassRate, Repeat
from outcomebox.eval.metrics.sheet import Sheet

Floats = NDArray[np.float64]

T_METHOD = "Student's t over tasks"
WITHIN_METHOD = "normal, luck of the attempts alone"
WILSON_METHOD = "Wilson"
COUNT_METHOD = "Poisson binomial of Jeffreys predictives"


def pass_rate(sheet: Sheet) -> PassRate:
    """pass@1 with its three intervals, and what attempts without a result could make of it."""
    n, of, k = int(sheet.covered.sum()), sheet.tasks, sheet.asked.k
    population = sheet.ratios.estimate("pass_1", n, of)
    plain = Estimate(population.value, None, None, n, of, "these tasks", WITHIN_METHOD)
    passed, clean = sheet.passed[sheet.covered], sheet.clean[sheet.covered]
    these = with_interval(plain, within_tasks(passed, clean, sheet.level))
    plain = replace(plain, estimand="population of tasks", method=T_METHOD)
    labels = sheet.domains(sheet.covered)
    by_t = with_interval(plain, cluster_t(sheet.rate[sheet.covered], labels, level=sheet.level))
    if sheet.biased:
        these, population, by_t = (
            refused(each, sheet.biased) for each in (these, population, by_t)
        )
        return PassRate(these, population, by_t, None, None)
    if not of:
        return PassRate(these, population, by_t, None, None)
    lowest = float((sheet.passed / k).mean())
    highest = float(((sheet.passed + k - sheet.clean) / k).mean())
    return PassRate(these, population, by_t, lowest, highest)


def at_k(sheet: Sheet, k: int) -> AtK:
    """pass@k and pass^k, over all tasks and over those that have k clean attempts.

    pass@1 and pass^1 are the rate itself, over the tasks that have one.
    """
    defined = int((sheet.clean >= k).sum())
    found = []
    for name in ("pass_at", "pass_hat"):
        estimate = sheet.ratios.estimate(f"{name}.{k}", defined, sheet.tasks)
        if sheet.biased:
            found += [refused(estimate, sheet.biased)] * 2
        elif defined < sheet.tasks and k > 1:
            lacking = sheet.tasks - defined
            note = f"{lacking} of {sheet.tasks} tasks have fewer than {k} clean attempts"
            found += [refused(estimate, note), estimate]
        else:
            found += [estimate, estimate]
    return AtK(k, *found)


def dependable(sheet: Sheet) -> Observed:
    """Tasks that passed every attempt; not told of tasks that an adaptive probe stopped."""
    if sheet.biased is None:
        return _observed(sheet, rates.all_of_k)
    found = _observed(sheet, rates.all_of_k)
    share = refused(found.share, sheet.biased)
    return replace(found, count=None, share=share, share_defined=share)


def at_least_once(sheet: Sheet) -> Observed:
    """Tasks that passed at least once; a pass stays one, whoever stopped afterwards."""
    return _observed(sheet, rates.any_of_k)


def _observed(sheet: Sheet, of: Callable[[Floats, Floats, int], Floats]) -> Observed:
    k, tasks = sheet.asked.k, sheet.tasks
    so = of(sheet.passed, sheet.clean, k)
    count, undecided = int(np.nansum(so)), int(np.isnan(so).sum())
    defined = _share(int(np.nansum(so[sheet.whole])), int(sheet.whole.sum()), tasks, sheet.level)
    share = _share(count, tasks, tasks, sheet.level)
    if undecided:
        note = f"{undecided} of {tasks} tasks lack clean attempts that would decide it"
        share = refused(replace(share, n=tasks - undecided), note)
    return Observed(k, count, undecided, share, defined)


def _share(count: int, n: int, of: int, level: float) -> Estimate:
    value = count / n if n else None
    plain = Estimate(value, None, None, n, of, "share of tasks", WILSON_METHOD)
    return with_interval(plain, wilson(count, n, level))


def retention(sheet: Sheet) -> Estimate:
    """Share of k/k tasks / pass@1; None unless every task has all its clean attempts."""
    estimate = sheet.ratios.estimate("retention", sheet.tasks, sheet.tasks)
    if sheet.biased:
        return refused(estimate, sheet.biased)
    lacking = int((~sheet.whole).sum())
    if lacking:
        note = f"{lacking} of {sheet.tasks} tasks have fewer than {sheet.asked.k} clean attempts"
        return refused(estimate, note)
    return estimate


def repeat(sheet: Sheet) -> Repeat:
    """What a rerun is expected to show."""
    passed, clean = sheet.passed[sheet.covered], sheet.clean[sheet.covered]
    k, n, rate = sheet.asked.k, len(clean), repeating.DEPENDABLE
    plain = Estimate(None, None, None, n, sheet.tasks, "a rerun", COUNT_METHOD, note=sheet.biased)
    if sheet.biased or not n:
        return Repeat(rate, k, None, plain)
    chances = repeating.again(passed, clean, k)
    low, high = repeating.count_interval(chances, sheet.level)
    rerun = replace(plain, value=float(chances.sum()), low=float(low), high=float(high))
    return Repeat(rate, k, float(repeating.at_least(passed, clean, rate).sum()), rerun)
