"""What a linter says about the check of a task: findings, survivors and a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from outcomebox.reward.showing import show_key
from outcomebox.sandbox.changes import Row, value_to_json

CODES: Mapping[str, str] = {
    "ambiguous_operand": "two rows fit the request equally well, and the check takes one only",
    "check_error": "the check cannot be used on this database at all",
    "golden_breaks_invariant": "a query that must find nothing finds rows after golden",
    "golden_changes_nothing": "golden, or one of its writes, leaves the database as it was",
    "golden_error": "a golden call is refused",
    "golden_fails": "the end that golden leaves is not accepted",
    "golden_nondeterministic": "two replays of golden leave different states",
    "ignored_column_written": "golden writes a column that the check ignores",
    "ignored_key_column": "the check ignores a column of a primary key",
    "ignored_table": "the check ignores a whole table",
    "mutant_survives": "a wrong end is accepted",
    "needless_explanation": "a survivor is explained that does not exist",
    "no_primary_key": "a table has no primary key, so that its rows cannot be told apart",
    "noop_passes": "an agent that does nothing passes",
    "order_dependence": "a harmless reordering of golden calls is not accepted",
    "over_wide_check": "a column that golden writes may hold almost anything",
    "passes_on_exception": "the end is accepted although a writing call has failed",
    "pattern_matches_all": "a pattern accepts any text",
    "rubric_for_fact": "a judge is asked about what the database says exactly",
    "subsumed_alternative": "an accepted end state adds nothing to another one",
    "swapped_columns": "the expected values of two columns are exchanged",
    "tolerance_too_wide": "a number far from golden's is near enough",
    "unchecked_text": "nobody looks at a text that golden writes",
    "unreachable_alternative": "an accepted end state cannot come about, or is not accepted",
    "verdict_differs": "grading the same state twice gives two verdicts",
}
"""The codes of findings about native tasks, each in a few words."""

Count: TypeAlias = tuple[int, int]
"""(mutants, killed)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to mend in a task.

    Attributes:
        code: What kind of defect; one of :data:`CODES` for native tasks.
        message: One line: what is wrong.
        mend: One line: what to do.
        table: The table concerned, if any.
        column: The column concerned, if any.
        key: The primary key of the row concerned, if any.
        details: More, as JSON, by code: ``reasons``, ``statement``, ``call``, ``twins``,
            ``invariant``, ``alternative``, ``kinds``, ``example``.
    """

    code: str
    message: str
    mend: str
    table: str | None = None
    column: str | None = None
    key: Row | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """Table, key and column, as far as they are known."""
        if self.table is None:
            return ""
        return f"{self.table}{show_key(self.key)}" + (f": {self.column}" if self.column else "")

    def to_json(self) -> dict[str, Any]:
        """The finding as plain JSON."""
        return {
            "code": self.code,
            "table": self.table,
            "column": self.column,
            "key": _key(self.key),
            "message": self.message,
            "mend": self.mend,
            "details": dict(self.details),
        }


@dataclass(frozen=True, slots=True)
class Survivors:
    """Wrong ends of one kind, in one column, that a check accepts.

    Attributes:
        table: The table.
        column: The column, or None for whole rows.
        kind: What was done to the golden end.
        count: How many mutants.
        example: The first of them in words.
        key: The row of the first of them.
        code: What the survival shows: the code of the finding, where it is not explained.
        explained: The task's reason why they may pass, or None.
    """

    table: str
    column: str | None
    kind: str
    count: int
    example: str
    key: Row | None = None
    code: str = "mutant_survives"
    explained: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The survivors as plain JSON."""
        return {
            "table": self.table,
            "column": self.column,
            "key": _key(self.key),
            "kind": self.kind,
            "count": self.count,
            "example": self.example,
            "code": self.code,
            "explained": self.explained,
        }


@dataclass(frozen=True, slots=True)
class LintedTask:
    """What linting one task found.

    Attributes:
        uid: The task.
        findings: What is to be mended; empty if all is well.
        kinds: kind of mutant -> how many there were, and how many of them were killed.
        survivors: The others, folded by table, column and kind.
        equivalent: Mutants that mean what an accepted end means, and are not counted.
        judged: Mutants that differ only in a text a judge looks at, and are not counted.
    """

    uid: str
    findings: tuple[Finding, ...]
    kinds: Mapping[str, Count] = field(default_factory=dict)
    survivors: tuple[Survivors, ...] = ()
    equivalent: int = 0
    judged: int = 0

    @property
    def mutants(self) -> int:
        """Wrong ends that were graded."""
        return sum(made for made, _ in self.kinds.values())

    @property
    def killed(self) -> int:
        """Those that were not accepted, as is right."""
        return sum(killed for _, killed in self.kinds.values())

    @property
    def survived(self) -> int:
        """Those that were accepted, explained ones included."""
        return self.mutants - self.killed

    @property
    def explained(self) -> int:
        """Those that were accepted for a reason that the task gives."""
        return sum(each.count for each in self.survivors if each.explained is not None)

    @property
    def score(self) -> float | None:
        """Killed mutants by all mutants, from 0 to 1; None if there were none."""
        return self.killed / self.mutants if self.mutants else None

    def to_json(self) -> dict[str, Any]:
        """The task's part of a report, as :mod:`outcomebox.reward.lint.report` describes it."""
        return {
            "uid": self.uid,
            "score": self.score,
            "mutants": self.mutants,
            "killed": self.killed,
            "survived": self.survived,
            "explained": self.explained,
            "equivalent": self.equivalent,
            "judged": self.judged,
            "kinds": {
                kind: {"mutants": made, "killed": killed}
                for kind, (made, killed) in sorted(self.kinds.items())
            },
            "survivors": [each.to_json() for each in self.survivors],
            "findings": [each.to_json() for each in self.findings],
        }


def _key(key: Row | None) -> dict[str, Any] | None:
    return None if key is None else {name: value_to_json(value) for name, value in key.items()}
