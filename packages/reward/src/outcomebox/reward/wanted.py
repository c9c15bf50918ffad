"""Expected inserts, made ready for comparison with the rows that were inserted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from outcomebox.reward.ignored import Ignored
from outcomebox.reward.labels import Labels, NewIds
from outcomebox.reward.matchers import Spec, accepts
from outcomebox.reward.showing import row_to_json
from outcomebox.sandbox.changes import Row, TableInfo
from outcomebox.sandbox.expect import TableExpect
from outcomebox.sandbox.valuespec import AnyMatcher, IdMatcher, RubricMatcher, SpecModel


@dataclass(frozen=True, slots=True)
class Wanted:
    """An expected insert.

    Attributes:
        table: Its table.
        kind: What it says, labels left out: rows of one kind fit the same rows.
        listed: What the check lists.
        specs: What each column that counts must hold, defaults filled in.
        key: The primary key by column if every part of it is a plain value and none is NULL.
        shared: column -> label, of those labels that other rows have a say in.
        rubrics: column -> question to the judge.
    """

    table: str
    kind: str
    listed: Mapping[str, Spec]
    specs: Mapping[str, Spec]
    key: Row | None
    shared: Mapping[str, str]
    rubrics: Mapping[str, str]

    def wrong_columns(self, row: Row, new_ids: NewIds) -> tuple[str, ...]:
        """The columns in which a row differs, shared labels and rubrics aside."""
        return tuple(
            column
            for column, spec in self.specs.items()
            if not fits(self.table, column, spec, row, new_ids)
        )

    def near(self, row: Row, wrong: tuple[str, ...]) -> bool:
        """Whether a row that is not right is to be explained as this one gone wrong.

        With a fixed key its equality decides; else at least half of the fixed columns must agree:
        the listed ones that do not take just anything and ask no judge.
        """
        if self.key is not None:
            return all(row.get(column) == value for column, value in self.key.items())
        loose = (IdMatcher, AnyMatcher, RubricMatcher)
        fixed = [column for column, spec in self.listed.items() if not isinstance(spec, loose)]
        return 2 * sum(column in wrong for column in fixed) <= len(fixed)


def fits(table: str, column: str, spec: Spec, row: Row, new_ids: NewIds) -> bool:
    """Whether a column holds what is accepted there, as far as the row alone decides."""
    value = row.get(column)
    if not accepts(spec, value):
        return False
    return not isinstance(spec, IdMatcher) or new_ids.accepts(table, column, value)


def wanted_rows(
    info: TableInfo, expected: TableExpect | None, ignored: Ignored, labels: Labels
) -> list[Wanted]:
    """The expected inserts of a table, in an order that does not depend on the check's."""
    listed = expected.insert if expected else ()
    rows = [_wanted(info, row, ignored, labels) for row in listed]
    return [row for _, row in sorted(rows, key=lambda each: (each[1].kind, each[0]))]


def _wanted(
    info: TableInfo, listed: Mapping[str, Spec], ignored: Ignored, labels: Labels
) -> tuple[str, Wanted]:
    """An expected insert, and the labels that tell it from others of its kind."""
    written = row_to_json(listed)
    named = {}
    for column, spec in listed.items():
        if isinstance(spec, IdMatcher):
            named[column], written[column] = spec.label, {"$id": ""}
    specs = {
        column: listed[column] if column in listed else info.defaults.get(column)
        for column in info.columns
        if not ignored.column(info.name, column)
    }
    key = {
        column: spec
        for column in info.key
        if (spec := specs.get(column)) is not None and not isinstance(spec, SpecModel)
    }
    wanted = Wanted(
        table=info.name,
        kind=json.dumps(written, sort_keys=True),
        listed=listed,
        specs=specs,
        key=key if key and len(key) == len(info.key) else None,
        shared={
            column: spec.label
            for column, spec in listed.items()
            if isinstance(spec, IdMatcher) and spec.label in labels.shared
        },
        rubrics={
            column: spec.question
            for column, spec in listed.items()
            if isinstance(spec, RubricMatcher)
        },
    )
    return json.dumps(named, sort_keys=True), wanted
