"""What stands first: what was run, and the headline figures with their intervals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from outcomebox.eval.metrics.cost import CostFigures
from outcomebox.eval.metrics.estimate import Estimate
from outcomebox.eval.metrics.model import Group, Observed, PassRate
from outcomebox.eval.report.numbers import interval, shown
from outcomebox.eval.report.run import Run


@dataclass(frozen=True, slots=True)
class Headline:
    """A figure that stands large.

    Attributes:
        value: The figure.
        what: What it is.
        notes: Its interval, what that is about, and the counts behind it.
    """

    value: str
    what: str
    notes: Sequence[str] = ()


def sentence(runs: Sequence[Run]) -> str:
    """What was run, in a sentence."""
    parts = []
    for run in runs:
        group = run.summary.overall
        what = f"{group.tasks:,} tasks, {run.summary.k} attempts each"
        if run.summary.policy:
            what += f", policy {policy_words(run)}"
        parts.append(what if len(runs) == 1 else f"{run.name}: {what}")
    return "; ".join(parts) + "."


def policy_words(run: Run) -> str:
    """A run's policy in a few words; a simulated one is always called so."""
    policy = json.loads(run.summary.policy) if run.summary.policy else None
    if not isinstance(policy, dict):
        return "not told" if policy is None else str(policy)
    name = str(policy.get("model") or policy.get("name") or "not named")
    return f"{name} (simulated: no model was asked)" if policy.get("simulated") is True else name


def headline_figures(run: Run, *, digits: int) -> Iterator[Headline]:
    """The figures that stand first.

    Args:
        run: The run.
        digits: Decimals of shares.
    """
    summary = run.summary
    group, k, level = summary.overall, summary.k, f"{100 * summary.level:g} %"
    yield _rate(group.pass_1, level, digits, final=summary.final)
    yield _observed(group.dependable, f"passed every time, {k}/{k}", group, level, digits)
    yield _observed(group.any, f"passed at least once in {k}", group, level, digits)
    retention = group.retention
    ends = interval(retention.low, retention.high, "ratio", digits=digits)
    yield Headline(
        shown(retention.value, "ratio", digits=digits),
        "retention",
        [f"{ends} ({level})" if ends else "", f"share of {k}/{k} tasks / pass@1"],
    )
    rerun = group.repeat.rerun
    ends = interval(rerun.low, rerun.high, "count")
    yield Headline(
        shown(rerun.value, "number"),
        f"tasks at {k}/{k} in a rerun",
        [f"{ends} ({level}), expected" if ends else "expected"],
    )
    silent = group.failures.silent
    told = f"{silent.count:,} of {silent.share.n:,} failed attempts"
    yield Headline(
        shown(silent.share.value, "share", digits=digits),
        "silent failures",
        [told if silent.share.n else "not told by the source"],
    )
    if summary.cost.basis is not None:
        yield from _cost(group.cost, k, summary.cost.basis)


def _rate(rate: PassRate, level: str, digits: int, *, final: bool) -> Headline:
    notes = []
    for found in (rate.population, rate.these_tasks):
        ends = interval(found.low, found.high, "share", digits=digits)
        if ends:
            notes.append(f"{ends} ({level}, {found.estimand})")
    if rate.population.note:
        notes.append(rate.population.note)
    if not final and rate.lowest is not None and rate.lowest != rate.highest:
        ends = interval(rate.lowest, rate.highest, "share", digits=digits)
        notes.append(f"whatever is missing: {ends}")
    return Headline(shown(rate.value, "share", digits=digits), "pass@1", notes)


def _observed(found: Observed, what: str, group: Group, level: str, digits: int) -> Headline:
    share: Estimate = found.share if found.share.value is not None else found.share_defined
    undecided = f", {found.undecided} undecided" if found.undecided else ""
    ends = interval(share.low, share.high, "share", digits=digits)
    return Headline(
        shown(share.value, "share", digits=digits),
        what,
        [
            f"{shown(found.count, 'count')} of {group.tasks:,} tasks{undecided}",
            f"{ends} ({level}, {share.estimand})" if ends else "",
        ],
    )


def _cost(cost: CostFigures, k: int, basis: str) -> Iterator[Headline]:
    for found, what in (
        (cost.per_success, "cost per success"),
        (cost.per_dependable, f"cost per {k}/{k} task"),
    ):
        yield Headline(
            shown(found.value, "money"),
            what,
            [interval(found.low, found.high, "money"), found.note or basis],
        )
