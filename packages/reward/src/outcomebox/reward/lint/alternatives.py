"""Accepted end states that no golden list reaches: made by writing what they list.

The rows are really written into a copy of the initial database, so that its constraints, triggers
and references are seen. A matcher is met by a value that it accepts: golden's where it fits, else
one that the column holds already, else one that is made.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from random import Random

from outcomebox.reward.check import Check
from outcomebox.reward.errors import CheckError
from outcomebox.reward.lint.findings import Finding
from outcomebox.reward.lint.killing import verdict_on
from outcomebox.reward.lint.mutants import with_new_key
from outcomebox.reward.lint.samples import NoSample, sample
from outcomebox.reward.lint.wrongs import Columns
from outcomebox.reward.matchers import Spec, accepts
from outcomebox.sandbox.changes import TerminalState, Value, read_state, terminal_state
from outcomebox.sandbox.database import DatabaseState, quoted
from outcomebox.sandbox.expect import Alternative
from outcomebox.sandbox.valuespec import IdMatcher


def database_of(state: DatabaseState) -> sqlite3.Connection:
    """A SQLite database in memory that holds a state: rows first, then what watches over them.

    Raises:
        sqlite3.Error: The state is not one of SQLite's own.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None)
    later = []
    for (kind, _), (_, sql) in state.schema.items():
        if kind == "table":
            connection.execute(sql)
        elif sql:
            later.append(sql)
    connection.execute("BEGIN")
    for name, info in state.tables.items():
        columns = ", ".join(map(quoted, info.columns))
        marks = ", ".join("?" for _ in info.columns)
        rows = [*state.keyed[name].values(), *state.bags[name]]
        connection.executemany(
            f"INSERT INTO {quoted(name)} ({columns}) VALUES ({marks})",  # noqa: S608 -- quoted
            rows,
        )
    connection.execute("COMMIT")
    for sql in later:
        connection.execute(sql)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def reached(
    alternative: Alternative, golden: TerminalState, columns: Columns, *, seed: str
) -> TerminalState:
    """The end that an accepted end state describes, written into a copy of the database.

    Raises:
        sqlite3.Error: The database refuses it.
        NoSample: No value was found that a matcher accepts.
    """
    initial = columns.state
    writer = _Writer(alternative, golden, columns, Random(seed))
    with closing(database_of(initial)) as connection:
        before = read_state(connection, like=initial)
        connection.execute("BEGIN")
        connection.execute("PRAGMA defer_foreign_keys = ON")
        for sql, values in writer.statements():
            connection.execute(sql, values)
        connection.execute("COMMIT")
        return terminal_state(before, read_state(connection, like=before))


class _Writer:
    """Turns what an end state lists into statements, one value a label."""

    def __init__(
        self, alternative: Alternative, golden: TerminalState, columns: Columns, rng: Random
    ) -> None:
        self._alternative = alternative
        self._golden = golden
        self._columns = columns
        self._rng = rng
        self._labels: dict[str, Value] = {}
        self._made: list[tuple[str, Value]] = []

    def statements(self) -> Iterator[tuple[str, list[Value]]]:
        expect = self._alternative.expect
        for table, expected in expect.items():  # first, so that references find their labels
            info = self._columns.state.tables[table]
            for row in expected.insert:
                for column in info.key:
                    spec = row.get(column)
                    if isinstance(spec, IdMatcher) and column not in info.references:
                        self._id(table, column, spec.label)
        for table, expected in expect.items():
            name = quoted(table)
            for delete in expected.delete:
                named = delete.key if delete.key is not None else delete.row or {}
                where, values = _where(named)
                yield f"DELETE FROM {name} WHERE {where}", values  # noqa: S608 -- quoted
            for update in expected.update:
                made = self._row(table, update.set)
                sets = ", ".join(f"{quoted(column)} = ?" for column in made)
                where, values = _where(update.key)
                sql = f"UPDATE {name} SET {sets} WHERE {where}"  # noqa: S608 -- quoted
                yield sql, [*made.values(), *values]
            for listed in expected.insert:
                made = self._row(table, listed)
                names = ", ".join(map(quoted, made))
                marks = ", ".join("?" for _ in made)
                sql = f"INSERT INTO {name} ({names}) VALUES ({marks})"  # noqa: S608 -- quoted
                yield sql, list(made.values())

    def _row(self, table: str, listed: Mapping[str, Spec]) -> dict[str, Value]:
        return {column: self._value(table, column, spec) for column, spec in listed.items()}

    def _value(self, table: str, column: str, spec: Spec) -> Value:
        if isinstance(spec, IdMatcher):
            return self._id(table, column, spec.label)
        known = [
            *self._golden_values(table, column),
            *self._columns.values(table, column),
            *self._columns.keys_of(table, column),
        ]
        fitting = next((value for value in known if accepts(spec, value)), None)
        return sample(spec, self._rng) if fitting is None else fitting

    def _golden_values(self, table: str, column: str) -> Iterable[Value]:
        for change in self._golden.changes:
            if change.table == table and change.new is not None:
                yield change.new.get(column)

    def _id(self, table: str, column: str, label: str) -> Value:
        if label not in self._labels:
            self._labels[label] = self._new_id(table, column)
        return self._labels[label]

    def _new_id(self, table: str, column: str) -> Value:
        info = self._columns.state.tables[table]
        like = next(
            (value for value in self._golden_values(table, column) if value is not None),
            next(iter(self._columns.values(table, column)), None),
        )
        if info.key != (column,):
            return f"lint-{len(self._labels)}" if like is None else like
        blank: dict[str, Value] = dict.fromkeys(info.columns)
        made = {**blank, column: 0 if like is None else like}
        while (table, made[column]) in self._made or made[column] in (like, 0):
            made = with_new_key(self._golden, info, made)
        self._made.append((table, made[column]))
        return made[column]


def _where(row: Mapping[str, Value]) -> tuple[str, list[Value]]:
    return " AND ".join(f"{quoted(column)} IS ?" for column in row), list(row.values())


def unreachable(
    check: Check, alternative: Alternative, golden: TerminalState, columns: Columns, *, seed: str
) -> tuple[TerminalState | None, Finding | None]:
    """The end of an accepted end state, or why it cannot come about.

    Returns:
        The end and no finding, or no end and a finding.
    """
    try:
        state = reached(alternative, golden, columns, seed=seed)
    except (sqlite3.Error, NoSample) as error:
        return None, _finding(alternative, None, f"{error}", {})
    alone = replace(
        check,
        tables=alternative.expect,
        ignore=alternative.ignore,
        accept_also=(),
        read_only=not alternative.expect,
    )
    verdict = verdict_on(alone, state)
    if isinstance(verdict, CheckError):
        return None, _finding(alternative, None, str(verdict), {})
    if verdict.outcome == "passed":
        return state, None
    reasons = [reason.to_json() for reason in verdict.reasons]
    first = verdict.reasons[0]
    message = f"what it lists was written, and is not accepted: {first.message}"
    return None, _finding(alternative, first.table, message, {"reasons": reasons}, first.column)


def _finding(
    alternative: Alternative,
    table: str | None,
    why: str,
    details: Mapping[str, object],
    column: str | None = None,
) -> Finding:
    return Finding(
        "unreachable_alternative",
        f"the accepted end state {alternative.name!r} cannot come about: {why}",
        "mend what it lists, or take the end state out",
        table=table if table is not None else next(iter(alternative.expect), None),
        column=column,
        details={"alternative": alternative.name, **details},
    )
