"""Database images: a domain's seed with a task's own rows, as the bytes of a SQLite file.

An image is built once and a session's database is a plain copy of it, so opening one costs the
copying of a few hundred kilobytes and no session can touch another's rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from functools import cached_property

from outcomebox.sandbox.backends.edits import Edit, edits_of
from outcomebox.sandbox.backends.sqlite_file import SqliteFile
from outcomebox.sandbox.backends.sqlite_log import install
from outcomebox.sandbox.backends.sqlite_read import OWN, read_state
from outcomebox.sandbox.backends.sqlite_reader import InitialLog, SqliteReader, initial_log
from outcomebox.sandbox.changelog import state_from_log
from outcomebox.sandbox.database import DatabaseState, SchemaError
from outcomebox.sandbox.domain import Domain
from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.task import Task


@dataclass(frozen=True)
class SqliteImage:
    """A SQLite database as bytes.

    Attributes:
        data: The whole file.
        like: The image it was made from, if any; its table infos are shared.
    """

    data: bytes
    like: SqliteImage | None = None

    @property
    def state(self) -> DatabaseState:
        """Its tables and rows, read once: the *before* of every comparison."""
        return self._held[0]

    @property
    def log(self) -> InitialLog | None:
        """Its change log; None where changes are found by comparing all rows."""
        return self._held[1]

    @cached_property
    def _held(self) -> tuple[DatabaseState, InitialLog | None]:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.deserialize(self.data)
            like = self.like
            if like is not None and like.log is not None:
                # It differs by a few edits, which are in the log.
                state = state_from_log(like.state, SqliteReader(connection, like.log)).terminal
            else:
                state = read_state(connection, like=None if like is None else like.state)
            return state, initial_log(connection, state)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[SqliteFile]:
        """A copy of its own for one session."""
        yield SqliteFile(self.data, self.state, self.log)


def domain_image(domain: Domain) -> SqliteImage:
    """Schema and seed of a domain.

    Raises:
        InputError: The SQL fails, a foreign key is broken, or a table has no primary key.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        for field, script in (("schema", domain.schema_sql), ("seed", domain.seed_sql)):
            try:
                connection.executescript(f"BEGIN;{script}\n;COMMIT;")
            except sqlite3.Error as error:
                name = getattr(domain.settings, f"{field}_file")
                raise InputError(
                    f"the SQL fails: {error}", file=domain.folder / name, field=field
                ) from error
        _check_references(connection, _Blame(str(domain.folder / domain.settings.seed_file)))
        try:
            state = read_state(connection, require_keys=True)
        except SchemaError as error:
            raise InputError(
                str(error), file=domain.folder / domain.settings.schema_file
            ) from error
        for _, name in (*state.schema, *state.own):
            if name.startswith(OWN):
                raise InputError(
                    f"names that begin with {OWN} are the sandbox's own; give another",
                    file=domain.folder / domain.settings.schema_file,
                    field="schema",
                    value=name,
                )
        if domain.settings.changes == "log":
            install(connection, state)
        return SqliteImage(connection.serialize())
    finally:
        connection.close()


def task_image(base: SqliteImage, task: Task) -> SqliteImage:
    """The domain's image with the task's ``init`` applied (the same object if it has none).

    Raises:
        InputError: An edit names a table, column or row that is not there, or breaks a constraint.
    """
    if not task.init:
        return base
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.deserialize(base.data)
        # Edits may come in any order of tables: references are checked once, at the end.
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("BEGIN")
        for edit in edits_of(task, base.state):
            _apply(connection, task, edit)
        connection.execute("COMMIT")
        _check_references(connection, _Blame(None, task=task.uid, field="init"))
        return SqliteImage(connection.serialize(), like=base)
    finally:
        connection.close()


@dataclass(frozen=True)
class _Blame:
    """A place to blame: makes errors that name it."""

    file: str | None
    task: str | None = None
    field: str | None = None

    def __call__(self, message: str, value: object = None) -> InputError:
        return InputError(message, file=self.file, task=self.task, field=self.field, value=value)


def _check_references(connection: sqlite3.Connection, blame: _Blame) -> None:
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    if broken:
        table, rowid, parent, _ = broken[0]
        columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
        row = connection.execute(f'SELECT * FROM "{table}" WHERE rowid = ?', (rowid,)).fetchone()
        shown = dict(zip(columns, row, strict=True)) if row else None
        raise blame(f"a row of {table} refers to a row of {parent} that is not there", shown)


def _apply(connection: sqlite3.Connection, task: Task, edit: Edit) -> None:
    try:
        count = connection.execute(edit.sql, edit.parameters).rowcount
    except sqlite3.Error as error:
        raise InputError(
            f"the database refuses it: {error}", task=task.uid, field=edit.field, value=edit.shown
        ) from error
    if edit.one and count != 1:
        raise InputError(
            "no such row in the seed; mend the key",
            task=task.uid,
            field=f"{edit.field}.key",
            value=edit.shown,
        )
