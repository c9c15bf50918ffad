"""Grading mutants: which are killed, which survive, and what the survivors show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from outcomebox.reward.check import Check
from outcomebox.reward.errors import CheckError
from outcomebox.reward.grade import grade
from outcomebox.reward.ignored import ALL
from outcomebox.reward.lint.findings import Count, Finding, Survivors
from outcomebox.reward.lint.meaning import IGNORED, JUDGED, SAME, meaning
from outcomebox.reward.lint.mends import MENDS, SHOWS
from outcomebox.reward.lint.mutants import Mutant, Right
from outcomebox.reward.lint.wrongs import Columns
from outcomebox.reward.verdict import Verdict
from outcomebox.sandbox.changes import TerminalState
from outcomebox.sandbox.expect import Alternative


class Explanation(Protocol):
    """Why a task lets some survivors pass."""

    @property
    def table(self) -> str:
        """The table."""

    @property
    def column(self) -> str | None:
        """The column; None for whole rows."""

    @property
    def kinds(self) -> Sequence[str]:
        """The kinds of mutants."""

    @property
    def reason(self) -> str:
        """Why they may pass."""


class Yes:
    """A judge without a model: yes to everything, so that only exact columns kill."""

    def ask(self, question: str, text: str) -> bool:  # noqa: ARG002 -- the protocol's names
        """Yes."""
        return True


def state_check(check: Check) -> Check:
    """The part of a check that looks at the state; what is said there is for a judge."""
    return replace(check, answer=None, rubrics=())


def verdict_on(check: Check, state: TerminalState) -> Verdict | CheckError:
    """The verdict of a check without answer on a state, or why there is none."""
    try:
        return grade(check, state, judge=Yes())
    except CheckError as error:
        return error


def accepted_as(check: Check, state: TerminalState) -> str | None:
    """The accepted end state that a state is, or None.

    A state that the check cannot grade is not accepted: whoever leaves it gets no reward.
    """
    verdict = verdict_on(check, state)
    if isinstance(verdict, CheckError) or verdict.outcome != "passed":
        return None
    name: str = verdict.details["alternative"]
    return name


@dataclass
class Tally:
    """What became of the mutants so far.

    Attributes:
        kinds: kind -> (made, killed).
        equivalent: Mutants that mean what an accepted end means.
        judged: Mutants that only a judge can tell.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)
    equivalent: int = 0
    judged: int = 0
    _ignored: dict[tuple[str, str | None], Alternative] = field(default_factory=dict)
    _survived: dict[tuple[str, str | None, str, str], list[Mutant]] = field(default_factory=dict)

    def run(
        self,
        check: Check,
        right: Right,
        alternative: Alternative,
        found: Iterable[Mutant],
        columns: Columns,
    ) -> None:
        """Grade mutants of a right end.

        Args:
            check: What must kill them.
            right: The right end.
            alternative: The accepted end state that it is.
            found: Its mutants.
            columns: What the initial state holds.
        """
        for mutant in found:
            name = accepted_as(check, mutant.state)
            if name is None:
                self.kinds[mutant.kind] += 1
                self.killed[mutant.kind] += 1
            elif name != alternative.name:
                self.equivalent += 1  # another declared end, whose own mutants are graded too
            else:
                what = meaning(mutant, right, columns)
                if what == IGNORED:
                    self._ignored.setdefault((mutant.table, mutant.column), alternative)
                self._accepted(mutant, what)

    def _accepted(self, mutant: Mutant, what: str) -> None:
        if what == SAME:
            self.equivalent += 1
        elif what == JUDGED:
            self.judged += 1
        else:
            self.kinds[mutant.kind] += 1
            self._keep(mutant, what)

    def _keep(self, mutant: Mutant, code: str) -> None:
        place = (mutant.table, mutant.column, mutant.kind, code)
        self._survived.setdefault(place, []).append(mutant)

    def run_dropped(self, check: Check, dropped: Sequence[tuple[int, str, TerminalState]]) -> None:
        """Grade ends that are left when one writing call fails; every one of them must fail."""
        for index, tool, state in dropped:
            self.kinds["call_failed"] += 1
            if accepted_as(check, state) is None:
                self.killed["call_failed"] += 1
                continue
            what = f"call {index} ({tool}) fails and writes nothing"
            self._keep(Mutant("call_failed", tool, None, None, what, state), "passes_on_exception")

    @property
    def counts(self) -> dict[str, Count]:
        """Kind -> (mutants, killed)."""
        return {kind: (made, self.killed[kind]) for kind, made in sorted(self.kinds.items())}

    def survivors(self, explanations: Sequence[Explanation]) -> tuple[Survivors, ...]:
        """Those that were accepted, folded by table, column and kind."""
        folded = []
        for (table, column, kind, code), found in self._survived.items():
            if code == IGNORED:
                reason: str | None = _reason(self._ignored[table, column], table, column)
            else:
                told = (e.reason for e in explanations if explains(e, table, column, kind))
                reason = next(told, None)
            first = found[0]
            folded.append(
                Survivors(
                    table, column, kind, len(found), first.what, first.key, code, explained=reason
                )
            )
        return tuple(sorted(folded, key=lambda each: (each.table, each.column or "", each.kind)))


def _reason(alternative: Alternative, table: str, column: str | None) -> str:
    """Why an accepted end state ignores a column."""
    own = alternative.ignore.get(table, {})
    everywhere = alternative.ignore.get(ALL, {})
    return "ignored: " + own.get(column or "", everywhere.get(column or "", ""))


def explains(explanation: Explanation, table: str, column: str | None, kind: str) -> bool:
    """Whether an explanation is about mutants of a kind in a place."""
    where = (explanation.table, explanation.column)
    return where == (table, column) and kind in explanation.kinds


def survivor_findings(survivors: Iterable[Survivors]) -> list[Finding]:
    """One finding for each place and code of the survivors that nothing explains."""
    places: dict[tuple[str, str | None, str], list[Survivors]] = {}
    for each in survivors:
        if each.explained is None:
            column = None if each.code == "ignored_table" else each.column
            places.setdefault((each.table, column, each.code), []).append(each)
    return [_finding(code, table, column, found) for (table, column, code), found in places.items()]


def _finding(code: str, table: str, column: str | None, found: Sequence[Survivors]) -> Finding:
    kinds: Mapping[str, int] = Counter(
        {kind: sum(e.count for e in found if e.kind == kind) for kind in {e.kind for e in found}}
    )
    count = sum(kinds.values())
    shown = ", ".join(f"{kind} x {number}" for kind, number in sorted(kinds.items()))
    return Finding(
        code=code,
        table=table,
        column=column,
        key=found[0].key,
        message=f"{SHOWS[code]}: {count} survive ({shown}); for one, {found[0].example}",
        mend=MENDS[code],
        details={"kinds": dict(sorted(kinds.items())), "example": found[0].example},
    )
