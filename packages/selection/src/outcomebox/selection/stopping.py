"""Probing a task only until the decision about it is certain, or likely enough.

The *exact* rule: stop when every way the remaining attempts can end leads to the same keep or drop.
The kept set is then the one that all attempts would have given, by construction. With the default
bands and eight attempts it means "stop at the first mixed prefix", because exactly 1..7 passes of
8 are kept; with other bands it means something else, so the rule is derived from the bands in
force.

The *bayes* rule: stop when the posterior probability that the true pass rate lies in a retained
band, or in none, passes a threshold. It errs as often as the thresholds say, and it may make more
attempts than a fixed number at a task that lies near an edge.

A stopped task has no band and no pass rate: its k/n depends on when it was stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outcomebox.selection.bands import BAND_NAMES, DEFAULT_EDGES, DEFAULT_RETAIN
from outcomebox.selection.curation import Curation
from outcomebox.selection.posterior import Floats, band_index, band_masses

Decision = Literal["keep", "drop"]
OPEN, KEEP, DROP = 0, 1, 2
_DECISIONS: tuple[Decision | None, ...] = (None, "keep", "drop")


@lru_cache(maxsize=256)
def _kept_counts(
    attempts: int, edges: tuple[float, ...], retain: tuple[str, ...]
) -> tuple[bool, ...]:
    counts = np.arange(attempts + 1)
    winners = band_index(band_masses(counts, np.full(attempts + 1, attempts), edges))
    return tuple(BAND_NAMES[index] in retain for index in winners)


def settled(
    passes: int,
    failures: int,
    attempts: int,
    edges: Sequence[float] = DEFAULT_EDGES,
    retain: Sequence[str] = DEFAULT_RETAIN,
) -> Decision | None:
    """Says whether the remaining attempts can still change the decision about a task.

    Args:
        passes: clean runs that passed so far.
        failures: clean runs that failed so far.
        attempts: clean runs a full probe has.
        edges: band edges in force.
        retain: names of the bands in force that are kept.

    Returns:
        `keep` or `drop` when the decision is certain, None while it is open.

    Raises:
        ValueError: if a count is negative or there are more runs than attempts.
    """
    if passes < 0 or failures < 0 or passes + failures > attempts:
        raise ValueError(f"{passes} passes and {failures} failures do not fit {attempts} attempts")
    kept = _kept_counts(attempts, tuple(edges), tuple(retain))
    reachable = set(kept[passes : attempts - failures + 1])
    if len(reachable) > 1:
        return None
    return "keep" if True in reachable else "drop"


def retained_mass(
    passes: ArrayLike,
    clean_runs: ArrayLike,
    edges: Sequence[float] = DEFAULT_EDGES,
    retain: Sequence[str] = DEFAULT_RETAIN,
) -> Floats:
    """Posterior probability that the true pass rate lies in a retained band.

    Args:
        passes: shape (tasks,).
        clean_runs: shape (tasks,).
        edges: band edges in force.
        retain: names of the bands in force that are kept.

    Returns:
        Shape (tasks,).
    """
    inside = np.asarray([name in retain for name in BAND_NAMES])
    kept: Floats = band_masses(passes, clean_runs, edges)[..., inside].sum(axis=-1)
    return kept


@dataclass(frozen=True)
class StopRule:
    """When a probe leaves a task.

    Attributes:
        kind: which rule.
        most: attempts at a task that is never left early.
        edges: band edges in force.
        retain: names of the bands in force that are kept.
        keep: `bayes`: the probability of the retained bands above which a task is kept.
        drop: `bayes`: the probability of the other bands above which it is dropped.
        least: `bayes`: clean runs before a task may be left.
    """

    kind: Literal["exact", "bayes"]
    most: int
    edges: tuple[float, ...] = DEFAULT_EDGES
    retain: tuple[str, ...] = DEFAULT_RETAIN
    keep: float = 0.8
    drop: float = 0.75
    least: int = 3

    @cached_property
    def table(self) -> NDArray[np.int8]:
        """The decision after k passes in n clean runs.

        Shape (most + 1, most + 1), entry [n, k] one of `OPEN`, `KEEP`, `DROP`; meaningless where
        k > n. At n = `most` the band with the greatest mass decides, as for every other task.
        """
        found = np.zeros((self.most + 1, self.most + 1), np.int8)
        for runs in range(self.most + 1):
            passes = np.arange(runs + 1)
            if self.kind == "exact":
                words = [
                    settled(int(k), runs - int(k), self.most, self.edges, self.retain)
                    for k in passes
                ]
                found[runs, : runs + 1] = [_DECISIONS.index(word) for word in words]
            elif runs == self.most:
                kept = _kept_counts(runs, self.edges, self.retain)
                found[runs, : runs + 1] = np.where(kept, KEEP, DROP)
            elif runs >= self.least:
                mass = retained_mass(passes, np.full(runs + 1, runs), self.edges, self.retain)
                found[runs, : runs + 1] = np.select(
                    [mass > self.keep, 1 - mass > self.drop], [KEEP, DROP], OPEN
                )
        return found

    def decision(self, passes: int, failures: int) -> Decision | None:
        """What is decided about a task, or None while it has to be probed further.

        Raises:
            ValueError: if a count is negative or there are more runs than `most`.
        """
        if passes < 0 or failures < 0 or passes + failures > self.most:
            raise ValueError(f"{passes} passes and {failures} failures do not fit {self.most} runs")
        return _DECISIONS[int(self.table[passes + failures, passes])]

    def least_more(self, passes: int, failures: int) -> int:
        """The fewest further clean runs after which the task can be decided; 0 if it is.

        So many attempts can be made at once and none of them is in vain.
        """
        runs = passes + failures
        for more in range(self.most - runs + 1):
            if self.table[runs + more, passes : passes + more + 1].any():
                return more
        raise AssertionError("every task is decided at `most` runs")


def stop_rule(curation: Curation) -> StopRule | None:
    """The rule that settings ask for; None where every task gets all attempts."""
    probe, bands = curation.probe, curation.bands
    if probe.stop == "never":
        return None
    if probe.stop == "exact":
        return StopRule("exact", probe.attempts, bands.edges, bands.retain)
    bayes = probe.bayes
    return StopRule(
        "bayes", bayes.most, bands.edges, bands.retain, bayes.keep, bayes.drop, bayes.least
    )


def walk(rule: StopRule, rates: ArrayLike) -> tuple[Floats, Floats]:
    """What a rule does to tasks of known pass rates, exactly.

    It follows the probability of every (runs, passes) that the rule has not left.

    Args:
        rule: the rule.
        rates: shape (tasks,), true pass rates.

    Returns:
        Clean runs to expect, and the chance of being kept; each of shape (tasks,).
    """
    p = np.asarray(rates, np.float64)
    here = np.ones((1, *p.shape))
    runs, kept = np.zeros(p.shape), np.zeros(p.shape)
    for made in range(rule.most + 1):
        decided = rule.table[made, : made + 1]
        kept += here[decided == KEEP].sum(axis=0)
        going = here * (decided == OPEN).reshape(-1, *([1] * p.ndim))
        runs += going.sum(axis=0)
        here = np.zeros((made + 2, *p.shape))
        here[:-1] += going * (1 - p)
        here[1:] += going * p
    return runs, kept
