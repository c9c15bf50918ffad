"""Findings about the ends that must pass, and about the one that must not: doing nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from outcomebox.reward.check import Check, Invariant
from outcomebox.reward.errors import CheckError
from outcomebox.reward.lint.alternatives import database_of
from outcomebox.reward.lint.edited import untouched
from outcomebox.reward.lint.evidence import Evidence
from outcomebox.reward.lint.findings import Finding
from outcomebox.reward.lint.killing import verdict_on
from outcomebox.reward.lint.swaps import swapped_columns
from outcomebox.reward.matchers import accepts
from outcomebox.reward.verdict import Verdict
from outcomebox.sandbox.changes import Row, TerminalState


def noop_findings(check: Check, evidence: Evidence) -> Iterator[Finding]:
    """An agent that does nothing must fail, unless that is the right end."""
    state = evidence.noop or untouched(evidence.golden)
    empty = next((each for each in check.alternatives if not each.expect), None)
    if check.read_only:
        return
    verdict = verdict_on(check, state)
    vacuous = isinstance(verdict, CheckError) and not state.changes
    if empty is None and not vacuous and not _passed(verdict):
        return
    table, column, key = _held_already(check, state)
    yield Finding(
        "noop_passes",
        "an agent that does nothing passes"
        + ("" if table is None else f": {table}.{column} holds what is expected from the start"),
        "record something that the right end leaves, or mark the task as one without a change "
        "(tag no-change; a check: read_only) and put a rubric on what is said"
        if empty is not None
        else "list values that differ from the initial ones, or change the initial ones",
        table=table,
        column=column,
        key=key,
    )


def _held_already(check: Check, state: TerminalState) -> tuple[str | None, str | None, Row | None]:
    for alternative in check.alternatives:
        for table, expected in alternative.expect.items():
            for update in expected.update:
                row = state.initial.row(table, update.key)
                for column, spec in update.set.items():
                    if row is not None and accepts(spec, row[column]):
                        return table, column, update.key
    return None, None, None


def _passed(verdict: Verdict | CheckError) -> bool:
    return isinstance(verdict, Verdict) and verdict.outcome == "passed"


def golden_findings(check: Check, evidence: Evidence) -> Iterator[Finding]:
    """Golden must run, change something, and pass; always in the same way."""
    golden = evidence.golden
    for step in evidence.steps:
        if step.error is not None:
            yield Finding(
                "golden_error",
                f"golden step {step.index} is refused: {step.what}: {step.error}",
                "mend the step, or what the seed holds",
                table=step.table,
                column=step.column,
                details={"statement": step.index},
            )
        elif step.idle:
            yield Finding(
                "golden_changes_nothing",
                f"golden step {step.index} may write and leaves no trace: {step.what}",
                "mend the row it names, pin the clock it goes by, or take it out",
                table=step.table,
                column=step.column,
                details={"statement": step.index},
            )
    due = any(alternative.expect for alternative in check.alternatives)
    if due and not golden.changes and not golden.schema_changes and not check.read_only:
        table, column = _first_due(check)
        if not any(step.idle or step.error for step in evidence.steps):
            yield Finding(
                "golden_changes_nothing",
                "golden leaves the database as it was",
                "mend the golden list",
                table=table,
                column=column,
            )
    yield from _accepted(check, golden)
    yield from _invariants(check, golden)
    yield from _repeatable(check, evidence)
    yield from _orders(check, evidence)


def _first_due(check: Check) -> tuple[str | None, str | None]:
    for table, expected in check.tables.items():
        for update in expected.update:
            return table, next(iter(update.set))
        return table, None
    return None, None


def _accepted(check: Check, golden: TerminalState) -> Iterator[Finding]:
    verdict = verdict_on(check, golden)
    if isinstance(verdict, CheckError):
        if golden.changes:
            yield Finding("check_error", str(verdict), "mend the check")
        return
    again = verdict_on(check, golden)
    if not isinstance(again, Verdict) or again.to_json() != verdict.to_json():
        yield Finding(
            "verdict_differs", "grading golden's end twice gives two verdicts", "report this"
        )
    if verdict.outcome != "passed":
        first = verdict.reasons[0]
        yield Finding(
            "golden_fails",
            f"golden's end is not accepted: {first.message}"
            + (f" (and {len(verdict.reasons) - 1} more)" if len(verdict.reasons) > 1 else ""),
            "mend what the check lists, or the golden list",
            table=first.table,
            column=first.column,
            key=first.key,
            details={"reasons": [reason.to_json() for reason in verdict.reasons]},
        )
        yield from swapped_columns(check, golden)


def _invariants(check: Check, golden: TerminalState) -> Iterator[Finding]:
    for name, state in (("the seed", golden.initial), ("golden's end", golden.terminal)):
        for invariant in check.invariants:
            try:
                with closing(database_of(state)) as connection:
                    broken = _broken(invariant, connection, golden)
            except sqlite3.Error as error:
                yield Finding(
                    "check_error",
                    f"the invariant {invariant.name!r} cannot be asked: {error}",
                    "mend its SQL",
                    details={"invariant": invariant.name},
                )
                return
            if broken is None:
                continue
            table, column, key = broken
            yield Finding(
                "golden_breaks_invariant",
                f"{invariant.name!r} does not hold for {name}",
                "mend the tool that writes it: golden is made by the same tool, and so agrees",
                table=table,
                column=column,
                key=key,
                details={"invariant": invariant.name, "state": name},
            )


def _broken(
    invariant: Invariant, connection: sqlite3.Connection, golden: TerminalState
) -> tuple[str | None, str | None, Row | None] | None:
    """Table, column and key of the first row that an invariant finds, as far as they show."""
    read: list[tuple[str, str]] = []

    def watch(action: int, table: str | None, column: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_READ and table and column:
            read.append((table, column))
        return sqlite3.SQLITE_OK

    connection.set_authorizer(watch)
    cursor = connection.execute(invariant.sql)
    first = cursor.fetchone()
    if first is None:
        return None
    row = dict(zip((name for name, *_ in cursor.description), first, strict=True))
    # The row is named by what the query gives out, the column by what it compares: a column that
    # golden wrote, and that is no key by which it finds other rows.
    keys = {name for table, _ in read for name in golden.tables[table].key}
    for change in golden.changes:
        if change.key is None or any(row.get(name) != each for name, each in change.key.items()):
            continue
        compared = [name for table, name in read if table == change.table and name not in keys]
        written = change.columns if change.op == "update" else tuple(change.new or ())
        column = next((name for name in compared if name in written), None)
        if column is not None:
            return change.table, column, change.key
    return (read[0][0] if read else None), None, None


def _repeatable(check: Check, evidence: Evidence) -> Iterator[Finding]:
    for what, state in evidence.again:
        wrong = _passed(verdict_on(check, evidence.golden)) and not _passed(
            verdict_on(check, state)
        )
        if what != "seed" and state.changes != evidence.golden.changes:
            wrong = True
        if wrong:
            table, column = _first_difference(evidence.golden, state)
            yield Finding(
                "golden_nondeterministic",
                f"a second replay ({what}) leaves another end",
                "take clock and chance from the session's own variables",
                table=table,
                column=column,
                details={"replay": what},
            )


def _first_difference(one: TerminalState, other: TerminalState) -> tuple[str | None, str | None]:
    for left, right in zip(one.changes, other.changes, strict=False):
        if left != right:
            rows = (left.new or {}, right.new or {})
            column = next((name for name in rows[0] if rows[0][name] != rows[1].get(name)), None)
            return left.table, column if left.table == right.table else None
    return None, None


def _orders(check: Check, evidence: Evidence) -> Iterator[Finding]:
    for order, state in evidence.reordered:
        verdict = verdict_on(check, state)
        if _passed(verdict):
            continue
        first = verdict.reasons[0] if isinstance(verdict, Verdict) else None
        yield Finding(
            "order_dependence",
            f"golden's calls in another order are not accepted ({order}): "
            + (first.message if first is not None else str(verdict)),
            "write {$id: label} for generated ids, and list nothing that the order decides",
            table=None if first is None else first.table,
            column=None if first is None else first.column,
            key=None if first is None else first.key,
            details={"order": order},
        )
        return
