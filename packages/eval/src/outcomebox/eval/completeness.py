"""Whether all that was due is there: proved from the keys before a figure is called final."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from outcomebox.eval.results import Key, Results, inferred

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Completeness:
    """The keys that are due against those that are there.

    A key that stands twice is refused while reading, so there is none here.

    Attributes:
        expected: Keys that are due.
        clean: Those of them with a result.
        tasks: Tasks that are due.
        covered: Those of them with a result.
        missing: Due keys without a row.
        broken: Due keys of which every try was a system error.
        unexpected: Keys with rows that are not due; they enter no figure.
        stopped: Tasks that an adaptive probe stopped; their rates are biased.
        torn: Half-written last lines; their attempts are missing.
        source: Where it is known from what was due.
        inferred: Whether that was made from the rows, so that nothing is proved.
    """

    expected: int
    clean: int
    tasks: int
    covered: int
    missing: tuple[Key, ...]
    broken: tuple[Key, ...]
    unexpected: tuple[Key, ...]
    stopped: tuple[str, ...]
    torn: int
    source: str
    inferred: bool

    @property
    def complete(self) -> bool:
        """Whether every key that is due has a result, no other is there, and none is biased."""
        return not (self.missing or self.broken or self.unexpected or self.stopped)

    @property
    def final(self) -> bool:
        """Whether figures may be called final: complete, by keys that the rows did not decide."""
        return self.complete and not self.inferred and self.expected > 0

    @property
    def todo(self) -> tuple[Key, ...]:
        """The keys that a run has to make (again), sorted; clean failures are none of them."""
        return tuple(sorted({*self.missing, *self.broken}))

    @property
    def without(self) -> tuple[str, ...]:
        """The tasks that are due of which no attempt has a result, sorted."""
        lacking = Counter(uid for uid, _ in (*self.missing, *self.broken))
        each = self.expected // max(self.tasks, 1)
        return tuple(sorted(uid for uid, number in lacking.items() if number == each))

    def words(self) -> tuple[str, ...]:
        """What is to be said, a sentence each; the first says whether figures are final."""
        head = f"{self.clean} of {self.expected} expected attempts have a result"
        head += f" ({self.covered} of {self.tasks} tasks)"
        if self.final:
            return (f"Final: {head}.",)
        lines = [f"NOT FINAL: {head}."]
        if self.without:
            lines.append(f"{len(self.without)} tasks without any result: {_some(self.without)}.")
        if self.missing:
            lines.append(f"{len(self.missing)} missing: {_keys(self.missing)}.")
        if self.broken:
            lines.append(
                f"{len(self.broken)} broken (system errors only, counted nowhere): "
                f"{_keys(self.broken)}."
            )
        if self.unexpected:
            lines.append(
                f"{len(self.unexpected)} unexpected (left out of every figure): "
                f"{_keys(self.unexpected)}."
            )
        if self.stopped:
            lines.append(
                f"{len(self.stopped)} tasks were stopped early by an adaptive probe; their rates "
                f"are biased and no evidence for pass@1: {_some(self.stopped)}."
            )
        if self.torn:
            lines.append(
                f"{self.torn} last {'line was' if self.torn == 1 else 'lines were'} cut off by a "
                "killed run."
            )
        if self.inferred:
            lines.append(
                "What was due is inferred from the rows, so a task without any row cannot be "
                "missed: name the tasks with --expected, and --attempts."
            )
        return tuple(lines)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "final": self.final,
            "complete": self.complete,
            "expected": self.expected,
            "clean": self.clean,
            "tasks": self.tasks,
            "covered": self.covered,
            "missing": [list(key) for key in self.missing],
            "broken": [list(key) for key in self.broken],
            "unexpected": [list(key) for key in self.unexpected],
            "stopped": list(self.stopped),
            "torn": self.torn,
            "source": self.source,
            "inferred": self.inferred,
        }


def completeness(results: Results) -> Completeness:
    """Compare what is there with what was due.

    Args:
        results: What was read.
    """
    expected = results.expected or inferred(results.attempts)
    rows = results.attempts
    keys = rows.group_by("uid", "repetition").agg(clean=(pl.col("outcome") != "system_error").any())
    clean = dict(zip(keys.select("uid", "repetition").iter_rows(), keys["clean"], strict=True))
    due = list(expected.keys())
    wanted = set(due)
    there = [key for key in due if clean.get(key)]
    stopped = rows.filter(pl.col("stopped")).get_column("uid").unique().sort()
    return Completeness(
        expected=len(due),
        clean=len(there),
        tasks=len(expected.tasks),
        covered=len({uid for uid, _ in there}),
        missing=tuple(key for key in due if key not in clean),
        broken=tuple(key for key in due if clean.get(key) is False),
        unexpected=tuple(sorted(key for key in clean if key not in wanted)),
        stopped=tuple(stopped),
        torn=sum(source.torn for source in results.source),
        source=expected.source,
        inferred=expected.inferred,
    )


def _keys(keys: Sequence[Key]) -> str:
    return _some([f"{uid} #{repetition}" for uid, repetition in keys])


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
