"""What is wrong with a check before any mutant is graded."""

from __future__ import annotations

from collections.abc import Iterator

from outcomebox.reward.check import Check
from outcomebox.reward.ignored import ALL
from outcomebox.reward.lint.findings import Finding
from outcomebox.reward.lint.mutants import Right
from outcomebox.reward.lint.wrongs import FEW, Columns
from outcomebox.reward.showing import show
from outcomebox.sandbox.changes import DatabaseState, TerminalState, Value
from outcomebox.sandbox.instants import parse_instant
from outcomebox.sandbox.valuespec import RubricMatcher


def keyless(initial: DatabaseState) -> Iterator[Finding]:
    """Tables whose rows cannot be told apart."""
    for name, info in sorted(initial.tables.items()):
        if not info.key:
            yield Finding(
                "no_primary_key",
                f"{name} has no primary key: its rows are compared as a bag, and of equal ones "
                "nobody can say which was meant",
                f"declare one, such as `{name}_id INTEGER PRIMARY KEY`",
                table=name,
            )


def ignored_keys(check: Check, golden: TerminalState) -> Iterator[Finding]:
    """Columns of a primary key that are left out of the comparison."""
    written = {change.table for change in golden.changes}
    seen = set()
    for alternative in check.alternatives:
        for table, columns in alternative.ignore.items():
            hit = [
                (name, column)
                for name, info in sorted(golden.initial.tables.items())
                for column in info.key
                if column in columns and table in (name, ALL)
            ]
            # Ignored everywhere by its name: told of the tables that the task is about.
            for name, column in [each for each in hit if each[0] in written] or hit[:1]:
                if (name, column) not in seen:
                    seen.add((name, column))
                    yield Finding(
                        "ignored_key_column",
                        f"{column} tells the rows of {name} apart and is ignored, so that a write "
                        "to the wrong row can pass",
                        "take it out of ignore; for a generated id write {$id: label}",
                        table=name,
                        column=column,
                        details={"alternative": alternative.name},
                    )


def rubrics_for_facts(right: Right, columns: Columns) -> Iterator[Finding]:
    """Columns about which a judge is asked although golden leaves an exact value there."""
    for index, specs in right.specs.items():
        change = right.state.changes[index]
        for column, spec in specs.items():
            value = (change.new or {}).get(column)
            if isinstance(spec, RubricMatcher) and _is_fact(columns, change.table, column, value):
                yield Finding(
                    "rubric_for_fact",
                    f"a judge is asked about {show(value)}, which the database says exactly",
                    f"list the value itself: {show(value)}",
                    table=change.table,
                    column=column,
                    key=change.key,
                    details={"question": spec.question},
                )


def _is_fact(columns: Columns, table: str, column: str, value: Value) -> bool:
    """Whether a value is a number, a moment, an id or one of a few words."""
    if not isinstance(value, str):
        return value is not None
    text = value.strip()
    if parse_instant(text) is not None or columns.is_key(value):
        return True
    known = columns.values(table, column)
    few = value in known and len(known) <= FEW and " " not in text
    code = " " not in text and any(mark.isdigit() for mark in text)
    return few or code or column in columns.state.tables[table].references
