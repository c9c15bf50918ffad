"""Two columns whose expected values are exchanged: golden fails, and would pass the other way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from outcomebox.reward.check import Check
from outcomebox.reward.lint.findings import Finding
from outcomebox.reward.matchers import Spec, accepts
from outcomebox.reward.showing import show
from outcomebox.sandbox.changes import Row, TerminalState


def swapped_columns(check: Check, golden: TerminalState) -> Iterator[Finding]:
    """A finding for each expected row that golden's row fits once two columns are exchanged."""
    for table, expected in check.tables.items():
        rows = [each for each in golden.changes if each.table == table and each.new is not None]
        for update in expected.update:
            for change in rows:
                if change.key == update.key:
                    yield from _swapped(table, update.set, change.new or {}, change.key)
        for listed in expected.insert:
            for change in rows:
                if change.op == "insert":
                    found = list(_swapped(table, listed, change.new or {}, change.key))
                    yield from found
                    if found:
                        break


def _swapped(
    table: str, listed: Mapping[str, Spec], row: Row, key: Row | None
) -> Iterator[Finding]:
    wrong = [column for column, spec in listed.items() if not accepts(spec, row.get(column))]
    if len(wrong) != 2:
        return
    one, other = wrong
    if accepts(listed[one], row.get(other)) and accepts(listed[other], row.get(one)):
        yield Finding(
            "swapped_columns",
            f"{one} is expected to be {show(listed[one])} and {other} {show(listed[other])}; "
            "golden has it the other way round",
            f"exchange the values of {one} and {other}",
            table=table,
            column=one,
            key=key,
            details={"columns": [one, other]},
        )
