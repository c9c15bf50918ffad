"""Whether an accepted end state can be met at all in a database with given tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from outcomebox.reward.ignored import ALL, Ignored
from outcomebox.reward.matchers import Spec
from outcomebox.reward.showing import show_row
from outcomebox.sandbox.changes import Row, TableInfo
from outcomebox.sandbox.expect import Alternative, TableExpect
from outcomebox.sandbox.valuespec import SpecModel


def schema_problems(alternative: Alternative, tables: Mapping[str, TableInfo]) -> Iterator[str]:
    """What does not fit, one line each: what is wrong, where, and what to write."""
    ignored = Ignored(alternative.ignore)
    for table, expected in alternative.expect.items():
        where = f"{alternative.name}: {table}"
        if table not in tables:
            yield f"{where}: there is no such table; there are {', '.join(sorted(tables))}"
        else:
            for problem in _table_problems(tables[table], expected, ignored):
                yield f"{where}: {problem}"
    for table, columns in alternative.ignore.items():
        if table == ALL:
            known = {column for info in tables.values() for column in info.columns}
        elif table in tables:
            known = set(tables[table].columns)
        else:
            continue  # a table that the tools may create for themselves
        for column in columns:
            if column != ALL and column not in known:
                yield f"{alternative.name}: ignore: {table} has no column {column}; take it out"


def _table_problems(info: TableInfo, expected: TableExpect, ignored: Ignored) -> Iterator[str]:
    for row in (*expected.insert, *(update.set for update in expected.update)):
        yield from _unknown(info, row)
    for update in expected.update:
        yield from _key_problems(info, update.key)
        for column in update.set:
            if column in info.key:
                yield (
                    f"update {show_row(update.key)} sets the key column {column}; a new key is "
                    "another row, so list a delete and an insert"
                )
    for delete in expected.delete:
        if delete.key is not None:
            yield from _key_problems(info, delete.key)
        elif delete.row is not None:
            yield from _bag_problems(info, delete.row, ignored)
    yield from _insert_problems(info, expected, ignored)


def _unknown(info: TableInfo, row: Mapping[str, Spec]) -> Iterator[str]:
    for column in row:
        if column not in info.columns:
            yield f"there is no column {column} to compare; there are {', '.join(info.columns)}"


def _key_problems(info: TableInfo, key: Row) -> Iterator[str]:
    if not info.key:
        yield (
            f"the table has no primary key, so {show_row(key)} names no row; list the row as a "
            "delete {row: ..} and as an insert"
        )
    elif set(key) != set(info.key):
        yield f"{show_row(key)} is not the primary key; write all of {', '.join(info.key)}"
    elif None in key.values():
        yield (
            f"{show_row(key)}: a row with NULL in the key has no identity; list it as a delete "
            "{row: ..} and as an insert"
        )


def _bag_problems(info: TableInfo, row: Row, ignored: Ignored) -> Iterator[str]:
    yield from _unknown(info, row)
    if info.key and all(row.get(column) is not None for column in info.key):
        yield f"delete {show_row(row)}: the row has a primary key; write {{key: ..}}"
    for column in info.columns:
        if column not in row and not ignored.column(info.name, column):
            yield f"delete {show_row(row)}: {column} is missing; list every column of the row"


def _insert_problems(info: TableInfo, expected: TableExpect, ignored: Ignored) -> Iterator[str]:
    keys = [edit.key for edit in expected.update] + [edit.key for edit in expected.delete]
    known: list[Mapping[str, Spec]] = [key for key in keys if key is not None]
    for row in expected.insert:
        for column in info.columns:
            if column in row or ignored.column(info.name, column):
                continue
            if column in info.computed:
                yield (
                    f"insert {show_row(row)}: {column} is not listed and its default differs on "
                    "every run; list it, such as {$not_null: true}, or ignore it with a reason"
                )
            elif column in info.key and column not in info.defaults:
                yield (
                    f"insert {show_row(row)}: the key column {column} is not listed; write "
                    "{$id: label} for a generated id"
                )
        key = {column: row.get(column, info.defaults.get(column)) for column in info.key}
        if key and not any(value is None or isinstance(value, SpecModel) for value in key.values()):
            if key in known:
                yield f"{show_row(key)} is named twice; say everything about a row in one entry"
            known.append(key)
