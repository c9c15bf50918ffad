"""The tasks of one group: their counts as arrays, and the ratios that are made of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outcomebox.eval.metrics import rates
from outcomebox.eval.metrics.columns import MEANS, TaskColumns
from outcomebox.eval.metrics.model import GroupKind
from outcomebox.eval.metrics.resampled import Bootstrap, Ratios
from outcomebox.eval.metrics.signature import BLAMED, SIGNATURES
from outcomebox.eval.metrics.silent import INSIDE

Floats = NDArray[np.float64]

DETAILED = ("overall", "domain")
"""Kinds of groups whose means and parts of failures get intervals."""

STOPPED = "an adaptive probe stopped {} of these tasks early: the rate of such tasks is biased"


@dataclass(frozen=True)
class Asked:
    """What is asked of every group of tasks.

    Attributes:
        k: Attempts that are due at each task, at least 1.
        ks: The k of pass@k and pass^k.
        bootstrap: How intervals for a population of tasks are made.
    """

    k: int
    ks: tuple[int, ...]
    bootstrap: Bootstrap


class Sheet:
    """The tasks of one group.

    Args:
        kind: What they have in common.
        name: Of that.
        columns: All tasks.
        places: Positions of these tasks, rising.
        asked: What is asked for.
    """

    def __init__(
        self,
        kind: GroupKind,
        name: str,
        columns: TaskColumns,
        places: NDArray[np.intp],
        asked: Asked,
    ) -> None:
        self.kind = kind
        self.name = name
        self.asked = asked
        self.places = places
        self._columns = columns
        self.passed, self.clean = self.column("passed"), self.column("clean")
        self.rate = rates.pass_at_1(self.passed, self.clean)
        self.stopped = self.total("stopped")
        self.ratios = Ratios(places)
        self._collect()

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return self.places.size

    @property
    def level(self) -> float:
        """Confidence of intervals."""
        return self.asked.bootstrap.level

    @cached_property
    def covered(self) -> NDArray[np.bool_]:
        """Tasks with a clean attempt."""
        return self.clean > 0

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Tasks with all their clean attempts."""
        return self.clean >= self.asked.k

    @property
    def biased(self) -> str | None:
        """Why no rate is told; None where rates are sound."""
        return STOPPED.format(self.stopped) if self.stopped else None

    def column(self, name: str) -> Floats:
        """A column of numbers."""
        return self._columns.numbers[name][self.places]

    def total(self, name: str) -> int:
        """The sum of a column of counts."""
        return int(self.column(name).sum())

    def names(self, prefix: str) -> list[str]:
        """What follows a prefix in the names of columns."""
        return [
            name.removeprefix(prefix) for name in self._columns.numbers if name.startswith(prefix)
        ]

    def domains(self, tasks: NDArray[np.bool_]) -> list[str]:
        """The domains of some of these tasks."""
        return [self._columns.domains[place] for place in self.places[tasks]]

    def measured(self, name: str) -> Floats:
        """A quantity of these tasks' attempts; NaN where the source does not tell."""
        values = self._columns.measured[name]
        return values if self._all_attempts else values[self._attempts]

    @cached_property
    def _all_attempts(self) -> bool:
        return self.places.size == len(self._columns.domains)

    @cached_property
    def _attempts(self) -> NDArray[np.bool_]:
        member = np.zeros(len(self._columns.domains), dtype=np.bool_)
        member[self.places] = True
        inside: NDArray[np.bool_] = member[self._columns.task]
        return inside

    def _collect(self) -> None:
        """All ratios whose intervals come from resampling."""
        add, k = self.ratios.add, self.asked.k
        rate, covered = np.nan_to_num(self.rate), self.covered.astype(np.float64)
        add("pass_1", rate, covered)
        for many in self.asked.ks:
            defined = (self.clean >= many).astype(np.float64)
            for name, of in (("pass_at", rates.pass_at_k), ("pass_hat", rates.pass_hat_k)):
                add(f"{name}.{many}", np.nan_to_num(of(self.passed, self.clean, many)), defined)
        dependable = (rates.all_of_k(self.passed, self.clean, k) == 1).astype(np.float64)
        add("retention", dependable, rate)
        known = self.column("cost.known")
        add("campaign", known)
        add("per_attempt", known, self.clean)
        add("per_success", known, self.passed)
        add("per_dependable", known, dependable)
        detail = self.kind in DETAILED
        for name in MEANS:
            add(name, self.column(f"{name}.sum"), self.column(f"{name}.n"), drawn=detail)
        for kind, names, told in (
            ("signature", SIGNATURES, "signature.told"),
            ("blame", BLAMED, "failed.all"),
            ("silent", ("yes",), "silent.told"),
            ("inside", tuple(INSIDE), "inside.told"),
        ):
            below, drawn = self.column(told), detail or kind == "silent"
            for name in names:
                add(f"{kind}.{name}", self.column(f"{kind}.{name}"), below, drawn=drawn)
