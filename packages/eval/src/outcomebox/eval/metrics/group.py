"""All figures of some tasks, from the columns that are summed over them."""

from __future__ import annotations

from outcomebox.eval.metrics import attempt_figures, rate_figures
from outcomebox.eval.metrics.model import Group
from outcomebox.eval.metrics.sheet import Sheet


def group_of(sheet: Sheet) -> Group:
    """The figures of some tasks.

    Args:
        sheet: The tasks, resampled.
    """
    passed, clean = int(sheet.passed.sum()), int(sheet.clean.sum())
    observed = sheet.rate[sheet.covered]
    dependable = rate_figures.dependable(sheet)
    return Group(
        kind=sheet.kind,
        name=sheet.name,
        tasks=sheet.tasks,
        covered=len(observed),
        due=sheet.tasks * sheet.asked.k,
        clean=clean,
        passed=passed,
        errors=sheet.total("errors"),
        missing=sheet.total("missing"),
        system_errors=sheet.total("system_errors"),
        stopped=sheet.stopped,
        smallest_rate=float(observed.min()) if observed.size and not sheet.stopped else None,
        pass_1=rate_figures.pass_rate(sheet),
        at_k=tuple(rate_figures.at_k(sheet, k) for k in sheet.asked.ks),
        dependable=dependable,
        any=rate_figures.at_least_once(sheet),
        retention=rate_figures.retention(sheet),
        repeat=rate_figures.repeat(sheet),
        means=attempt_figures.means(sheet),
        ends=attempt_figures.ends(sheet),
        failures=attempt_figures.failures(sheet, clean - passed),
        cost=attempt_figures.cost(sheet, passed, dependable.count),
    )
