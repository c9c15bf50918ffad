"""The differences over some tasks for a population of tasks, all from one set of draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from outcomebox.eval.compare.model import Difference, Paired, Question
from outcomebox.eval.compare.paired import by_luck, mcnemar, smallest_shown
from outcomebox.eval.metrics.intervals import cluster_t
from outcomebox.eval.metrics.rates import all_of_k, any_of_k, pass_at_1
from outcomebox.eval.metrics.resampled import Bootstrap, Ratios, resample

_NO_PAIR = "no task has a clean run on both sides"
_SAME = {
    "pass_1": "no task has another rate in the other run",
    "all": "no task changed its answer",
    "any": "no task changed its answer",
}


@dataclass(frozen=True)
class Differences:
    """Differences over some tasks.

    Attributes:
        pass_1: Of pass@1.
        all_k: Of the tasks passed k/k; None where that cannot be asked.
        any_k: Of the tasks passed at least once; None likewise.
    """

    pass_1: Difference
    all_k: Paired | None
    any_k: Paired | None


def differences(
    tasks: pl.DataFrame, k: int | None, how: Bootstrap
) -> tuple[Differences, dict[str, Differences]]:
    """Compare the two runs over all tasks, and over those of each domain.

    Args:
        tasks: As :func:`~.pairing.paired` gives them; those that are no pair are counted only.
        k: Attempts that both runs were due; None where they are not as many.
        how: How the intervals are made.

    Returns:
        Over all tasks, and domain -> over its own, in the order of the names.
    """
    pairs = tasks.filter(pl.col("pair"))
    domains = pairs.get_column("domain")
    names = tasks.get_column("domain").unique().sort().to_list()
    whole = _Group(pairs, tasks.height, k, np.arange(pairs.height))
    parts = {
        name: _Group(
            pairs.filter(domain=name),
            tasks.filter(domain=name).height,
            k,
            np.flatnonzero((domains == name).to_numpy()),
        )
        for name in names
    }
    resample([group.ratios for group in (whole, *parts.values())], domains.to_list(), how)
    return whole.found(how), {name: part.found(how) for name, part in parts.items()}


class _Group:
    """Some pairs of tasks: what is asked of them, and the sums that are drawn.

    Args:
        pairs: The tasks.
        of: How many tasks there are, with those that are no pair.
        k: Attempts that both runs were due.
        places: Where the tasks stand among all that are resampled.
    """

    def __init__(
        self,
        pairs: pl.DataFrame,
        of: int,
        k: int | None,
        places: np.ndarray[Any, np.dtype[np.intp]],
    ) -> None:
        self.pairs, self.of, self.k = pairs, of, k
        counts = [
            (
                pairs.get_column(f"{side}_passed").to_numpy(),
                pairs.get_column(f"{side}_clean").to_numpy(),
            )
            for side in ("base", "new")
        ]
        self.values = {"pass_1": [pass_at_1(c, n) for c, n in counts]}
        if k is not None:
            self.values["all"] = [all_of_k(c, n, k) for c, n in counts]
            self.values["any"] = [any_of_k(c, n, k) for c, n in counts]
        self.ratios = Ratios(places)
        self.asked = {}
        for name, (base, new) in self.values.items():
            self.asked[name] = decided = ~np.isnan(base) & ~np.isnan(new)
            below = decided.astype(np.float64)
            for what, column in (("base", base), ("new", new), ("value", new - base)):
                self.ratios.add(f"{name} {what}", np.where(decided, column, 0.0), below)

    def found(self, how: Bootstrap) -> Differences:
        """What the draws came to."""
        return Differences(
            self._difference("pass_1", how), self._paired("all", how), self._paired("any", how)
        )

    def _difference(self, name: str, how: Bootstrap) -> Difference:
        n = int(self.asked[name].sum())
        estimate = self.ratios.estimate(f"{name} value", n, self.of)
        base, new = (each[self.asked[name]] for each in self.values[name])
        domains = self.pairs.filter(pl.Series(self.asked[name])).get_column("domain").to_list()
        # The standard error in closed form: it divides by n - 1 and has no luck of draws in it.
        se = cluster_t(new - base, domains, bounds=(-1.0, 1.0)).se
        note = estimate.note
        if n == 0:
            note = _NO_PAIR
        elif se == 0 and estimate.value == 0:
            note = _SAME[name]
        return Difference(
            base=self.ratios.value(f"{name} base"),
            new=self.ratios.value(f"{name} new"),
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            se=se,
            smallest=smallest_shown(se, how.level) if se else None,
            n=n,
            of=self.of,
            estimand="population of tasks",
            method=estimate.method,
            note=note,
        )

    def _paired(self, question: Question, how: Bootstrap) -> Paired | None:
        if self.k is None or not self.asked[question].any():
            return None
        asked = self.asked[question]
        base, new = (each[asked] == 1 for each in self.values[question])
        lost, gained = base & ~new, new & ~base
        own = self.pairs.filter(pl.Series(asked))
        uids = own.get_column("uid")
        passed, clean = (
            (own.get_column(f"base_{name}") + own.get_column(f"new_{name}")).to_numpy()
            for name in ("passed", "clean")
        )
        return Paired(
            question=question,
            k=self.k,
            both=int((base & new).sum()),
            base_only=int(lost.sum()),
            new_only=int(gained.sum()),
            neither=int((~base & ~new).sum()),
            n=own.height,
            of=self.of,
            p=mcnemar(int(lost.sum()), int(gained.sum())),
            difference=self._difference(question, how),
            gained=tuple(uids.filter(pl.Series(gained))),
            lost=tuple(uids.filter(pl.Series(lost))),
            # No pass in k attempts is as likely as k passes of a task with opposite results.
            by_luck=by_luck(passed if question == "all" else clean - passed, clean, self.k),
        )
