"""What a task's ``init`` does to the seed, as statements that any of the databases takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from outcomebox.sandbox.database import DatabaseState, Value, quoted
from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.task import Task


@dataclass(frozen=True, slots=True)
class Edit:
    """One statement.

    Attributes:
        field: Where it stands in the task, for messages.
        sql: The statement, with ``?`` for each parameter.
        parameters: Their values.
        shown: The values that a message shows.
        one: Whether it must hit exactly one row.
    """

    field: str
    sql: str
    parameters: tuple[Value, ...]
    shown: Mapping[str, Any]
    one: bool


def edits_of(
    task: Task, state: DatabaseState, *, names: Mapping[str, str] | None = None
) -> Iterator[Edit]:
    """A task's edits, in the order of the file.

    Args:
        task: Its ``init``.
        state: The seed.
        names: table -> its name in SQL, where that is not just the name.

    Raises:
        InputError: An edit names a table or column that is not there, or not exactly a key.
    """
    for table, edits in task.init.items():
        info = state.tables.get(table)
        if info is None:
            raise InputError(
                f"no such table; the domain has {', '.join(sorted(state.tables))}",
                task=task.uid,
                field=f"init.{table}",
            )
        target = (names or {}).get(table) or quoted(table)
        known = _Known(task.uid, table, info.columns, info.key)
        for index, row in enumerate(edits.insert):
            field = f"init.{table}.insert.{index}"
            known.columns(field, row)
            places = ", ".join("?" for _ in row)
            statement = f"INSERT INTO {target} ({', '.join(map(quoted, row))}) VALUES ({places})"
            yield Edit(field, statement, tuple(row.values()), dict(row), one=False)
        for index, update in enumerate(edits.update):
            field = f"init.{table}.update.{index}"
            where = known.key(field, update.key)
            known.columns(field, update.set)
            sets = ", ".join(f"{quoted(name)} = ?" for name in update.set)
            statement = f"UPDATE {target} SET {sets} WHERE {where}"
            values = (*update.set.values(), *update.key.values())
            yield Edit(field, statement, values, dict(update.key), one=True)
        for index, removal in enumerate(edits.delete):
            field = f"init.{table}.delete.{index}"
            where = known.key(field, removal.key)
            statement = f"DELETE FROM {target} WHERE {where}"
            yield Edit(field, statement, tuple(removal.key.values()), dict(removal.key), one=True)


@dataclass(frozen=True)
class _Known:
    uid: str
    table: str
    names: tuple[str, ...]
    own_key: tuple[str, ...]

    def columns(self, field: str, given: Mapping[str, Any]) -> None:
        for column in given:
            if column not in self.names:
                raise InputError(
                    f"table {self.table} has no such column; it has {', '.join(self.names)}",
                    task=self.uid,
                    field=f"{field}.{column}",
                )

    def key(self, field: str, given: Mapping[str, Any]) -> str:
        if set(given) != set(self.own_key):
            raise InputError(
                f"the key of {self.table} is ({', '.join(self.own_key)}); give exactly these "
                "columns",
                task=self.uid,
                field=f"{field}.key",
                value=dict(given),
            )
        return " AND ".join(f"{quoted(name)} = ?" for name in given)
