"""What a summary holds: plain frozen values, every one with the counts behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from outcomebox.eval.metrics.cost import CostFigures
from outcomebox.eval.metrics.estimate import Estimate

GroupKind: TypeAlias = Literal["overall", "domain", "family", "tag", "band"]


@dataclass(frozen=True, slots=True)
class PassRate:
    """pass@1, the mean over tasks of the share of their attempts that passed.

    Attributes:
        these_tasks: With the interval of these very tasks.
        population: With the interval of a population of tasks, by bootstrap.
        population_t: The same by Student's t over tasks.
        lowest: What it were if every due attempt without a result had failed.
        highest: What it were if every one of them had passed.
    """

    these_tasks: Estimate
    population: Estimate
    population_t: Estimate
    lowest: float | None
    highest: float | None

    @property
    def value(self) -> float | None:
        """The figure itself."""
        return self.population.value


@dataclass(frozen=True, slots=True)
class AtK:
    """Unbiased pass@k and pass^k.

    Attributes:
        k: Attempts.
        pass_at: At least one of k passes; None while a task has fewer than k clean attempts.
        pass_at_defined: The same over the tasks that have k.
        pass_hat: All of k pass; None likewise.
        pass_hat_defined: The same over the tasks that have k.
    """

    k: int
    pass_at: Estimate
    pass_at_defined: Estimate
    pass_hat: Estimate
    pass_hat_defined: Estimate


@dataclass(frozen=True, slots=True)
class Observed:
    """How many tasks were observed to be so in their k attempts, as plain fact.

    Attributes:
        k: Attempts that were due at each task.
        count: Tasks that are so for certain; None where an adaptive probe stopped tasks.
        undecided: Tasks that may be so, since they lack clean attempts.
        share: Of all tasks; None while one is undecided.
        share_defined: Of the tasks that have all k clean attempts.
    """

    k: int
    count: int | None
    undecided: int
    share: Estimate
    share_defined: Estimate


@dataclass(frozen=True, slots=True)
class Repeat:
    """What the attempts say of the next ones, from each task's Jeffreys posterior.

    Attributes:
        rate: The rate from which on a task is called dependable.
        k: Attempts of the rerun.
        dependable: Tasks whose true rate is expected to be at least ``rate``: the sum of
            P(p >= rate). None where no task has a clean attempt.
        rerun: Tasks expected to pass k/k in a rerun, with the interval of that count.
    """

    rate: float
    k: int
    dependable: float | None
    rerun: Estimate


@dataclass(frozen=True, slots=True)
class Mean:
    """A quantity of attempts.

    Attributes:
        name: ``turns``, ``tool_calls``, ``tool_errors``, ``tokens``, ``input_tokens``,
            ``cached_tokens``, ``output_tokens``, ``reasoning_tokens``, ``seconds`` or ``score``.
        mean: The mean over attempts, resampled by task; its ``n`` of ``of`` attempts have a value.
        median: Of the same attempts.
        p95: 95 % of them have at most this.
        total: Their sum.
    """

    name: str
    mean: Estimate
    median: float | None
    p95: float | None
    total: float | None


@dataclass(frozen=True, slots=True)
class End:
    """How many attempts ended for one reason.

    Attributes:
        reason: The finish reason; None where the source does not tell.
        passed: Passed attempts that did.
        failed: Failed attempts that did.
    """

    reason: str | None
    passed: int
    failed: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the failed attempts.

    Attributes:
        name: What they have in common.
        count: How many they are.
        share: Of the attempts of which it can be told; the figure's ``n`` is their number.
    """

    name: str
    count: int
    share: Estimate


@dataclass(frozen=True, slots=True)
class Failures:
    """Failed attempts, looked at.

    Attributes:
        failed: How many there are.
        signatures: One signature each, in the order of precedence.
        without_signature: Attempts whose source does not tell enough for one.
        silent: Silent failures among those of which it can be told.
        inside: Overlapping parts of the silent failures.
        blame: Who may be to blame, all failed attempts parted.
        broken: Tries without verdict by who is to blame for that; they are no failures.
    """

    failed: int
    signatures: tuple[Part, ...]
    without_signature: int
    silent: Part
    inside: tuple[Part, ...]
    blame: tuple[Part, ...]
    broken: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """All figures of some tasks.

    Attributes:
        kind: What the tasks have in common; ``overall``: these are all.
        name: Of the domain, family, tag or band; empty for ``overall``.
        tasks: Tasks that were due.
        covered: Those with a clean attempt.
        due: Attempts that were due.
        clean: Those with a result.
        passed: Results that passed.
        errors: Due attempts of which every try was a system error.
        missing: Due attempts without a row.
        system_errors: Tries that were system errors, also such as were made good later.
        stopped: Tasks that an adaptive probe stopped: their rates are biased.
        smallest_rate: The lowest pass rate of a task.
        pass_1: pass@1.
        at_k: pass@k and pass^k for each k asked for.
        dependable: Tasks that passed every due attempt, k/k.
        any: Tasks that passed at least one of k.
        retention: Share of k/k tasks / pass@1: what of the success can be repeated.
        repeat: What a rerun is expected to show.
        means: Turns, tool calls, tokens, time.
        ends: Finish reasons, the most frequent first.
        failures: What failed and how.
        cost: What these tasks cost.
    """

    kind: GroupKind
    name: str
    tasks: int
    covered: int
    due: int
    clean: int
    passed: int
    errors: int
    missing: int
    system_errors: int
    stopped: int
    smallest_rate: float | None
    pass_1: PassRate
    at_k: tuple[AtK, ...]
    dependable: Observed
    any: Observed
    retention: Estimate
    repeat: Repeat
    means: tuple[Mean, ...]
    ends: tuple[End, ...]
    failures: Failures
    cost: CostFigures


@dataclass(frozen=True, slots=True)
class TaskLine:
    """One task.

    Attributes:
        uid: The task.
        domain: Its domain.
        family: Its family; None where the source does not tell.
        tags: Its tags.
        band: The band given for it, or that of its own attempts; None: undecided.
        due: Attempts that were due.
        clean: Those with a result.
        passed: Results that passed.
        errors: Due attempts of which every try was a system error.
        missing: Due attempts without a row.
        stopped: Whether an adaptive probe stopped it.
        rate: Share of clean attempts that passed; None without one.
        low: Lower end of its true rate's interval (one task, Jeffreys).
        high: Upper end of it.
        dependable: Whether it passed k/k; None while undecided.
        any: Whether it passed at least once; None while undecided.
        at_least: P(p >= .95).
        again: Chance of k/k in a rerun.
        cost: What its tries cost; None while one is not priced.
        signature: The most frequent signature of its failures; of tied ones the first in order.
    """

    uid: str
    domain: str
    family: str | None
    tags: tuple[str, ...]
    band: str | None
    due: int
    clean: int
    passed: int
    errors: int
    missing: int
    stopped: bool
    rate: float | None
    low: float | None
    high: float | None
    dependable: bool | None
    any: bool | None
    at_least: float | None
    again: float | None
    cost: float | None
    signature: str | None
