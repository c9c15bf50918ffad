"""All figures of some tasks, from the columns that are summed over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from outcomebox.eval.metrics import rates, repeat
from outcomebox.eval.metrics.columns import MEANS, NOT_TOLD, WHO
from outcomebox.eval.metrics.cost import CostFigures
from outcomebox.eval.metrics.estimate import Estimate, Interval
from outcomebox.eval.metrics.intervals import cluster_t, wilson, within_tasks
from outcomebox.eval.metrics.model import (
    AtK,
    End,
    Failures,
    Group,
    GroupKind,
    Mean,
    Observed,
    Part,
    PassRate,
    Repeat,
)
from outcomebox.eval.metrics.resampled import Bootstrap, Ratios
from outcomebox.eval.metrics.signature import BLAMED, SIGNATURES
from outcomebox.eval.metrics.silent import INSIDE

Floats = NDArray[np.float64]

STOPPED = "an adaptive probe stopped {} of these tasks early: the rate of such tasks is biased"
T_METHOD = "Student's t over tasks"
WITHIN_METHOD = "normal, luck of the attempts alone"
WILSON_METHOD = "Wilson"
COUNT_METHOD = "Poisson binomial of Jeffreys predictives"


@dataclass(frozen=True)
class Asked:
    """What is asked of every group of tasks.

    Attributes:
        k: Attempts that are due at each task.
        ks: The k of pass@k and pass^k.
        bootstrap: How intervals for a population of tasks are made.
    """

    k: int
    ks: tuple[int, ...]
    bootstrap: Bootstrap


class _Tasks:
    """The tasks of one group as arrays, and the ratios that are made of them."""

    def __init__(self, frame: pl.DataFrame, asked: Asked, salt: str) -> None:
        self.frame = frame
        self.asked = asked
        self.of = frame.height
        self.passed, self.clean = self.column("passed"), self.column("clean")
        self.stopped = int(frame.get_column("stopped").sum())
        self.covered = self.clean > 0
        labels = frame.get_column("domain").to_list()
        self.ratios = Ratios(labels, asked.bootstrap, salt)
        self._known: dict[str, Floats] = {}

    @property
    def level(self) -> float:
        return self.asked.bootstrap.level

    @property
    def biased(self) -> str | None:
        """Why no rate is told; None where rates are sound."""
        return STOPPED.format(self.stopped) if self.stopped else None

    def column(self, name: str) -> Floats:
        return self.frame.get_column(name).cast(pl.Float64).to_numpy()

    def summed(self, name: str) -> Floats:
        """A column, the same array each time, so that it is drawn once."""
        if name not in self._known:
            self._known[name] = self.column(name)
        return self._known[name]

    def total(self, name: str) -> int:
        return int(self.frame.get_column(name).sum())


def group_of(
    kind: GroupKind, name: str, frame: pl.DataFrame, attempts: pl.DataFrame, asked: Asked
) -> Group:
    """The figures of some tasks.

    Args:
        kind: What they have in common.
        name: Of that.
        frame: Their rows of :func:`~.columns.task_columns`, sorted by uid.
        attempts: Their attempts with a result, with tokens.
        asked: What is asked for.
    """
    tasks = _Tasks(frame, asked, f"{kind}:{name}")
    rate = rates.pass_at_1(tasks.passed, tasks.clean)
    _collect(tasks, rate)
    tasks.ratios.resample()
    passed, clean = int(tasks.passed.sum()), int(tasks.clean.sum())
    dependable = _observed(tasks, rates.all_of_k, refuse_stopped=True)
    observed = rate[tasks.covered]
    return Group(
        kind=kind,
        name=name,
        tasks=tasks.of,
        covered=int(tasks.covered.sum()),
        due=tasks.of * asked.k,
        clean=clean,
        passed=passed,
        errors=tasks.total("errors"),
        missing=tasks.total("missing"),
        system_errors=tasks.total("system_errors"),
        stopped=tasks.stopped,
        smallest_rate=None if tasks.stopped or not observed.size else float(observed.min()),
        pass_1=_pass_rate(tasks, observed),
        at_k=tuple(_at_k(tasks, k) for k in asked.ks),
        dependable=dependable,
        any=_observed(tasks, rates.any_of_k, refuse_stopped=False),
        retention=_retention(tasks, dependable),
        repeat=_repeat(tasks),
        means=tuple(_mean(tasks, attempts, name) for name in MEANS),
        ends=_ends(tasks),
        failures=_failures(tasks, clean - passed),
        cost=_cost(tasks, passed, dependable.count),
    )


def _collect(tasks: _Tasks, rate: Floats) -> None:
    """All ratios whose intervals come from resampling."""
    add, summed = tasks.ratios.add, tasks.summed
    rate_sum, covered = np.nan_to_num(rate), tasks.covered.astype(np.float64)
    add("pass_1", rate_sum, covered)
    for k in tasks.asked.ks:
        defined = (tasks.clean >= k).astype(np.float64)
        for name, of in (("pass_at", rates.pass_at_k), ("pass_hat", rates.pass_hat_k)):
            add(f"{name}.{k}", np.nan_to_num(of(tasks.passed, tasks.clean, k)), defined)
    k = tasks.asked.k
    whole = ((tasks.passed == tasks.clean) & (tasks.clean >= k) & (k > 0)).astype(np.float64)
    add("retention", whole, rate_sum)
    for name in MEANS:
        add(name, summed(f"{name}.sum"), summed(f"{name}.n"))
    for kind, names, below in (
        ("signature", SIGNATURES, "signature.told"),
        ("blame", BLAMED, "failed.all"),
        ("silent", ("yes",), "silent.told"),
        ("inside", tuple(INSIDE), "inside.told"),
    ):
        for name in names:
            add(f"{kind}.{name}", summed(f"{kind}.{name}"), summed(below))
    known = summed("cost.known")
    add("campaign", known)
    for name, below in (
        ("per_attempt", tasks.clean),
        ("per_success", tasks.passed),
        ("per_dependable", whole),
    ):
        add(name, known, below)


def _pass_rate(tasks: _Tasks, observed: Floats) -> PassRate:
    n, of = int(tasks.covered.sum()), tasks.of
    population = tasks.ratios.estimate("pass_1", n, of, tasks.biased)
    labels = tasks.frame.filter(pl.Series(tasks.covered)).get_column("domain").to_list()
    passed, clean = tasks.passed[tasks.covered], tasks.clean[tasks.covered]
    within = within_tasks(passed, clean, tasks.level)
    by_t = cluster_t(observed, labels, level=tasks.level)
    lowest = highest = None
    if tasks.asked.k and of and not tasks.stopped:
        lowest = float((tasks.passed / tasks.asked.k).mean())
        highest = float(((tasks.passed + tasks.asked.k - tasks.clean) / tasks.asked.k).mean())
    value = population.value
    found: tuple[Estimate, ...] = (
        _with(Estimate(value, None, None, n, of, "these tasks", WITHIN_METHOD), within),
        population,
        _with(Estimate(value, None, None, n, of, "population of tasks", T_METHOD), by_t),
    )
    if tasks.biased:
        found = tuple(_refused(each, tasks.biased) for each in found)
    return PassRate(*found, lowest=lowest, highest=highest)


def _at_k(tasks: _Tasks, k: int) -> AtK:
    defined = int((tasks.clean >= k).sum())
    found = []
    for name in ("pass_at", "pass_hat"):
        estimate = tasks.ratios.estimate(f"{name}.{k}", defined, tasks.of)
        if tasks.biased:
            found += [_refused(estimate, tasks.biased)] * 2
            continue
        # pass@1 and pass^1 are the rate itself, over the tasks that have one.
        if defined < tasks.of and k > 1:
            note = f"{tasks.of - defined} of {tasks.of} tasks have fewer than {k} clean attempts"
            found += [_refused(estimate, note), estimate]
        else:
            found += [estimate, estimate]
    return AtK(k, *found)


def _observed(
    tasks: _Tasks, of: Callable[[Floats, Floats, int], Floats], *, refuse_stopped: bool
) -> Observed:
    k = tasks.asked.k
    so = of(tasks.passed, tasks.clean, k) if k else np.full(tasks.of, np.nan)
    count, undecided = int(np.nansum(so)), int(np.isnan(so).sum())
    whole = (tasks.clean >= k) & (k > 0)
    n = int(whole.sum())
    interval = wilson(int(np.nansum(so[whole])), n, tasks.level)
    share = float(np.nansum(so[whole])) / n if n else None
    plain = Estimate(share, None, None, n, tasks.of, "share of tasks", WILSON_METHOD)
    defined = _with(plain, interval)
    if tasks.biased and refuse_stopped:
        refused = _refused(defined, tasks.biased)
        return Observed(k, None, undecided, refused, refused)
    if undecided:
        note = f"{undecided} of {tasks.of} tasks lack clean attempts that would decide it"
        return Observed(k, count, undecided, _refused(defined, note), defined)
    if not tasks.of:
        return Observed(k, count, undecided, defined, defined)
    all_tasks = replace(plain, value=count / tasks.of, n=tasks.of)
    return Observed(
        k, count, undecided, _with(all_tasks, wilson(count, tasks.of, tasks.level)), defined
    )


def _retention(tasks: _Tasks, dependable: Observed) -> Estimate:
    whole = dependable.share.value is not None and bool((tasks.clean >= tasks.asked.k).all())
    estimate = tasks.ratios.estimate("retention", tasks.of, tasks.of)
    if whole:
        return estimate
    return _refused(estimate, dependable.share.note or "not every task has all its clean attempts")


def _repeat(tasks: _Tasks) -> Repeat:
    passed, clean = tasks.passed[tasks.covered], tasks.clean[tasks.covered]
    k, n = tasks.asked.k, len(clean)
    plain = Estimate(None, None, None, n, tasks.of, "a rerun", COUNT_METHOD, note=tasks.biased)
    if tasks.biased or not n or not k:
        return Repeat(repeat.DEPENDABLE, k, None, plain)
    chances = repeat.again(passed, clean, k)
    low, high = repeat.count_interval(chances, tasks.level)
    rerun = replace(plain, value=float(chances.sum()), low=float(low), high=float(high))
    return Repeat(repeat.DEPENDABLE, k, float(repeat.at_least(passed, clean).sum()), rerun)


def _mean(tasks: _Tasks, attempts: pl.DataFrame, name: str) -> Mean:
    values = attempts.get_column(name).drop_nulls()
    estimate = tasks.ratios.estimate(name, values.len(), attempts.height)
    if values.is_empty():
        return Mean(name, replace(estimate, note=None), None, None, None)
    return Mean(
        name,
        estimate,
        float(values.median()),  # type: ignore[arg-type]
        float(values.quantile(0.95, "higher")),  # type: ignore[arg-type]
        float(values.sum()),
    )


def _ends(tasks: _Tasks) -> tuple[End, ...]:
    prefix = "end.passed."
    names = [name.removeprefix(prefix) for name in tasks.frame.columns if name.startswith(prefix)]
    ends = [
        End(name or None, tasks.total(f"end.passed.{name}"), tasks.total(f"end.failed.{name}"))
        for name in names
    ]
    found = [end for end in ends if end.passed + end.failed]
    return tuple(sorted(found, key=lambda end: (-end.passed - end.failed, end.reason or NOT_TOLD)))


def _failures(tasks: _Tasks, failed: int) -> Failures:
    def parts(kind: str, names: Sequence[str], told: int, of: int) -> tuple[Part, ...]:
        return tuple(
            Part(
                name,
                tasks.total(f"{kind}.{name}"),
                replace(tasks.ratios.estimate(f"{kind}.{name}", told, of), note=None),
            )
            for name in names
        )

    signed, silent_told = tasks.total("signature.told"), tasks.total("silent.told")
    (silent,) = parts("silent", ("yes",), silent_told, failed)
    return Failures(
        failed=failed,
        signatures=parts("signature", SIGNATURES, signed, failed),
        without_signature=failed - signed,
        silent=replace(silent, name="silent"),
        inside=parts("inside", tuple(INSIDE), tasks.total("inside.told"), silent.count),
        blame=parts("blame", BLAMED, failed, failed),
        broken=tuple((who, tasks.total(f"broken.{who}")) for who in WHO),
    )


def _cost(tasks: _Tasks, passed: int, dependable: int | None) -> CostFigures:
    tries, priced = tasks.total("cost.tries"), tasks.total("cost.priced")
    whole = priced == tries and tries > 0
    known = float(tasks.summed("cost.known").sum()) if priced else None

    def estimate(name: str) -> Estimate:
        found = tasks.ratios.estimate(name, priced, tries)
        if not priced:
            return _refused(found, "no cost is known")
        if not whole:
            return _refused(found, f"the cost of {tries - priced} of {tries} tries is not known")
        return found

    per_dependable = estimate("per_dependable")
    if tasks.biased:
        per_dependable = _refused(per_dependable, tasks.biased)

    def part(name: str) -> float | None:
        return float(tasks.summed(f"cost.{name}").sum()) if priced else None

    return CostFigures(
        campaign=estimate("campaign"),
        per_attempt=estimate("per_attempt"),
        per_success=estimate("per_success"),
        per_dependable=per_dependable,
        tries=tries,
        priced=priced,
        known=known,
        errors=part("errors"),
        superseded=part("superseded"),
        known_per_success=known / passed if known is not None and passed else None,
        known_per_dependable=known / dependable if known is not None and dependable else None,
    )


def _with(estimate: Estimate, interval: Interval) -> Estimate:
    note = "; ".join(each for each in (estimate.note, interval.note) if each)
    return replace(
        estimate, low=interval.low, high=interval.high, se=interval.se, note=note or None
    )


def _refused(estimate: Estimate, note: str) -> Estimate:
    """The estimate without its figure, and why."""
    return replace(estimate, value=None, low=None, high=None, se=None, note=note)
