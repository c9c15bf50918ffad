"""What comparing two runs came to: plain values, written as JSON as they stand."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Estimand = Literal["these tasks", "population of tasks"]
Question = Literal["all", "any"]
Finding = Literal["better", "worse", "not shown", "no interval"]


@dataclass(frozen=True)
class Difference:
    """A difference of two rates over the same tasks, new minus base.

    Attributes:
        base: The rate of the base run.
        new: The rate of the new run.
        value: ``new - base``.
        low: Lower end of the interval; None where there is none.
        high: Upper end.
        se: Standard error of ``value``, for the estimand.
        smallest: The smallest difference that these data would have shown four times in five, see
            :func:`~outcomebox.eval.compare.paired.smallest_shown`.
        n: Pairs of tasks behind it.
        of: Tasks of the runs.
        estimand: What the interval is about.
        method: How the interval was made.
        note: Why there is no interval, or what is odd about it.
    """

    base: float | None
    new: float | None
    value: float | None
    low: float | None
    high: float | None
    se: float | None
    smallest: float | None
    n: int
    of: int
    estimand: Estimand
    method: str
    note: str | None = None

    @property
    def finding(self) -> Finding:
        """What the interval says."""
        if self.value is None or self.low is None or self.high is None:
            return "no interval"
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "not shown"


@dataclass(frozen=True)
class Paired:
    """A yes/no question asked of every task, in both runs.

    Attributes:
        question: ``all``: passed in all k attempts; ``any``: passed at least once in k.
        k: Attempts a task.
        both: Tasks that answer yes in both runs.
        base_only: Tasks that answer yes in the base run alone: lost.
        new_only: Tasks that answer yes in the new run alone: gained.
        neither: Tasks that answer no in both.
        n: Tasks whose answer is decided in both runs: by a run that says no, or by k that say yes.
        of: Tasks of the runs.
        p: Exact McNemar test, two-sided.
        difference: The difference of the shares.
        gained: Uids of ``new_only``.
        lost: Uids of ``base_only``.
        by_luck: Tasks that would be gained, and as many lost, were both runs of one policy.
    """

    question: Question
    k: int
    both: int
    base_only: int
    new_only: int
    neither: int
    n: int
    of: int
    p: float
    difference: Difference
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    by_luck: float


@dataclass(frozen=True)
class DomainDifference:
    """One domain's row of the table of differences.

    Attributes:
        domain: Its name.
        tasks: Pairs of tasks in it.
        pass_1: The difference of pass@1, for a population of tasks.
        all_k: Tasks passed k/k, base and new, of those asked; None without one k.
        any_k: The same for tasks passed at least once.
    """

    domain: str
    tasks: int
    pass_1: Difference
    all_k: Paired | None
    any_k: Paired | None


@dataclass(frozen=True)
class TaskPair:
    """One task in both runs: a point of the scatter.

    Attributes:
        uid: The task.
        domain: Its domain.
        base_passed: Clean runs passed in the base run.
        base_clean: Its clean runs there.
        new_passed: Clean runs passed in the new run.
        new_clean: Its clean runs there.
    """

    uid: str
    domain: str
    base_passed: int
    base_clean: int
    new_passed: int
    new_clean: int


@dataclass(frozen=True)
class Side:
    """One of the two runs.

    Attributes:
        name: What it is called in tables.
        source: The files it was read from, with their hashes.
        attempts: Attempts a task, where all tasks have as many clean runs; otherwise None.
        clean: Clean runs.
        passed: Of these, passed.
        system_errors: Tries that ended in a system error.
        complete: Every attempt that was due has a result.
        final: Complete, by a list of attempts that the rows did not decide.
        completeness: What is there and what is missing, a sentence each.
    """

    name: str
    source: tuple[dict[str, Any], ...]
    attempts: int | None
    clean: int
    passed: int
    system_errors: int
    complete: bool
    final: bool
    completeness: tuple[str, ...]


@dataclass(frozen=True)
class CostDifference:
    """What both runs cost, under one list of prices.

    Attributes:
        basis: The list, or that the sources state it.
        currency: Three letters; None where no list is given.
        base: Cost of the base run; None while that of one try is not known.
        new: Cost of the new run; None likewise.
        per_success: The difference of cost / passed attempts, for a population of tasks.
    """

    basis: str | None
    currency: str | None
    base: float | None
    new: float | None
    per_success: Difference


@dataclass(frozen=True)
class Comparison:
    """Two runs on the same tasks.

    Attributes:
        base: The run that is compared with.
        new: The run that is compared.
        level: Confidence of every interval.
        seed: Of the bootstrap.
        resamples: Of the bootstrap.
        pass_1: The difference of pass@1 for a population of tasks like these.
        pass_1_these: The same for these very tasks.
        all_k: Tasks passed in all attempts; None where the runs have no one number of attempts.
        any_k: Tasks passed at least once; None likewise.
        domains: A row a domain, in the order of their names.
        tasks: A pair a task, in the order of their uids.
        left_out: Tasks without a clean run on one side or both, which are in no figure.
        cost: What both cost; None where nothing is known of it.
        notes: What a reader has to know beside the figures.
        verdict: What the data carry, and what they do not.
    """

    base: Side
    new: Side
    level: float
    seed: int
    resamples: int
    pass_1: Difference
    pass_1_these: Difference
    all_k: Paired | None
    any_k: Paired | None
    domains: tuple[DomainDifference, ...]
    tasks: tuple[TaskPair, ...]
    left_out: tuple[str, ...]
    cost: CostDifference | None
    notes: tuple[str, ...]
    verdict: str

    @property
    def complete(self) -> bool:
        """Every attempt that was due has a result, on both sides."""
        return self.base.complete and self.new.complete

    @property
    def final(self) -> bool:
        """Both runs are final."""
        return self.base.final and self.new.final

    def to_json(self) -> dict[str, Any]:
        """Everything as plain JSON values; what is not defined is null."""
        return {
            **asdict(self),
            "complete": self.complete,
            "final": self.final,
            "finding": self.pass_1.finding,
        }
