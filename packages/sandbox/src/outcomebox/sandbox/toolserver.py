"""What a domain's MCP server is written with: typed tools over one session's own database.

A server module builds one :class:`ToolServer` at import, decorates plain functions with
:meth:`ToolServer.tool` and calls :meth:`ToolServer.run`. Nothing is opened at import, so that a
process may import the module once and fork a fresh session from there.

The session reaches the server through its environment:

=======================  =======================================================================
``OUTCOMEBOX_DATABASE``  path of the session's SQLite file, which must exist, or the address of its
                         PostgreSQL database
``OUTCOMEBOX_NOW``       the session's frozen clock, ISO 8601 with an offset or ``Z``
``OUTCOMEBOX_SEED``      the session's seed, a whole number
=======================  =======================================================================

Both take the same statements: ``?`` for a parameter, and whatever SQL the two have in common. Where
they differ, a domain's tools have to choose what both read (``coalesce``, not ``ifnull``).
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from datetime import UTC, datetime
from typing import Any, TypeVar

from mcp.types import ToolAnnotations

from outcomebox.sandbox._mcp import MCPServer, ToolError
from outcomebox.sandbox.serving import Answers, BackendFailed, serve_lines
from outcomebox.sandbox.tooldatabase import DatabaseMissing, ToolDatabase, open_database
from outcomebox.sandbox.variables import DATABASE_VARIABLE, NOW_VARIABLE, SEED_VARIABLE

__all__ = ["DATABASE_VARIABLE", "NOW_VARIABLE", "SEED_VARIABLE", "ToolError", "ToolServer"]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Exit status of a server whose own backend failed (sysexits.h: EX_IOERR).
BACKEND_FAILED = 74

_Tool = TypeVar("_Tool", bound=Callable[..., Any])


class ToolServer:
    """An MCP server whose tools share one database, one frozen clock and one seed.

    Args:
        name: The server's name, as clients see it.
        instructions: What a client may show its model about the server as a whole.
    """

    def __init__(self, name: str, *, instructions: str | None = None) -> None:
        self.name = name
        self._mcp = MCPServer(name, log_level="WARNING")
        self._instructions = instructions
        # One session a process as a rule; those inside the caller's process each have their own.
        self._process_session = _Session(os.environ)
        self._own_session: ContextVar[_Session | None] = ContextVar("session", default=None)

    def tool(self, *, writes: bool) -> Callable[[_Tool], _Tool]:
        """Register a function as a tool: its docstring and annotations are what the model reads.

        Each call is one transaction, committed when the function returns and rolled back when it
        raises. :class:`ToolError` and violated constraints reach the model as error results.

        Args:
            writes: Whether the tool may change the database; a tool that says no cannot.
        """

        def register(function: _Tool) -> _Tool:
            # Async, so that the SDK runs it where it is called, and not in a thread.
            @functools.wraps(function)
            async def call(*args: Any, **kwargs: Any) -> Any:
                # One JSON text, lists too, which the SDK would break into one block an element.
                result = self._transaction(writes, function, args, kwargs)
                return json.dumps(result, ensure_ascii=False)

            annotations = ToolAnnotations.model_validate(
                {"readOnlyHint": not writes, "openWorldHint": False}
            )
            self._mcp.tool(
                description=inspect.cleandoc(function.__doc__ or ""),
                annotations=annotations,
                structured_output=False,
            )(call)
            return function

        return register

    def _transaction(
        self, writes: bool, function: Callable[..., Any], args: Any, kwargs: Any
    ) -> Any:
        db = self._session.db
        try:
            db.begin(writes=writes)
            try:
                result = function(*args, **kwargs)
                db.commit()
            except BaseException:
                db.rollback()
                raise
        except Exception as error:
            blame = db.blame(error)
            if blame == "refused":
                message = f"The database refused the change: {error}. Nothing was written."
                raise ToolError(message) from error
            if blame == "failed":
                # Infrastructure, not the agent: no answer may look like a tool's own refusal.
                self._die(f"database failed during {function.__name__}: {error}")
            raise
        return result

    def _die(self, message: str) -> None:
        if self._own_session.get() is not None:
            raise BackendFailed(f"{self.name}: {message}")
        sys.stderr.write(f"{self.name}: {message}\n")
        sys.stderr.flush()
        os._exit(BACKEND_FAILED)

    @property
    def _session(self) -> _Session:
        return self._own_session.get() or self._process_session

    @property
    def db(self) -> Any:
        """The session's own connection: sqlite3's or psycopg's, in autocommit outside of a call."""
        return self._session.db.connection

    def rows(self, sql: str, *parameters: object) -> list[dict[str, Any]]:
        """All rows of a query, each a dict of column to value."""
        return self._session.db.rows(sql, parameters)

    def one(self, sql: str, *parameters: object) -> dict[str, Any] | None:
        """The first row of a query, or None."""
        return self._session.db.one(sql, parameters)

    def execute(self, sql: str, *parameters: object) -> int:
        """Run one statement; returns the number of rows it touched."""
        return self._session.db.execute(sql, parameters)

    @property
    def now(self) -> datetime:
        """The session's frozen clock, in UTC."""
        return self._session.now

    @property
    def now_text(self) -> str:
        """The frozen clock as text, such as ``2026-03-02T09:00:00Z``."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def seed(self) -> int:
        """The session's seed."""
        return self._session.seed

    def next_id(self, table: str, column: str, prefix: str) -> str:
        """The next free id of the form ``<prefix><number>``: one above the greatest in the table.

        The width of the greatest number is kept (``T-009`` is followed by ``T-010``); the first id
        of an empty table is ``<prefix>1``.

        Raises:
            ValueError: ``table`` or ``column`` is not a plain identifier.
        """
        for name in (table, column):
            if not _IDENTIFIER.match(name):
                raise ValueError(f"not a plain SQL identifier: {name!r}")
        best, width = 0, 1
        for row in self.rows(f'SELECT "{column}" AS id FROM "{table}"'):
            text = str(row["id"])
            digits = text.removeprefix(prefix)
            if text.startswith(prefix) and digits.isdecimal() and int(digits) >= best:
                best, width = int(digits), len(digits)
        return f"{prefix}{best + 1:0{width}d}"

    def run(self) -> None:
        """Serve over standard input and output until the client closes them.

        A session whose database, clock or seed is missing ends before the first answer, with
        status 74 and one line on standard error.
        """
        answers = self._answers
        # Sessions are forked where standard input is first touched; all below is one session's own.
        sys.stdin.readable()
        self._begin()
        serve_lines(answers.answer, sys.stdin.buffer, sys.stdout.buffer)

    @contextmanager
    def session(self, env: Mapping[str, str]) -> Iterator[Callable[[Any], dict[str, Any] | None]]:
        """A session of its own inside this process.

        Args:
            env: The session's variables, in place of the process's environment.

        Yields:
            What answers its messages; it raises :class:`BackendFailed` where there is no answer.

        Raises:
            BackendFailed: Its database, clock or seed is missing.
        """
        session = _Session(env)
        context = copy_context()
        context.run(self._own_session.set, session)
        try:
            context.run(self._begin)
            answers = self._answers
            yield lambda message: context.run(answers.answer, message)
        finally:
            session.close()

    @functools.cached_property
    def _answers(self) -> Answers:
        return Answers(self._mcp, self._instructions)

    def _begin(self) -> None:
        try:
            # Read here so that a bad value ends the start.
            self._session.db, self.now, self.seed  # noqa: B018
        except (DatabaseMissing, OSError, ValueError, KeyError) as error:
            self._die(f"cannot start: {error}")


class _Session:
    """What a session's variables say, read when first asked for."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    @functools.cached_property
    def db(self) -> ToolDatabase:
        return open_database(self._variable(DATABASE_VARIABLE))

    @functools.cached_property
    def now(self) -> datetime:
        moment = datetime.fromisoformat(self._variable(NOW_VARIABLE))
        if moment.tzinfo is None:
            raise ValueError(f"{NOW_VARIABLE} needs an offset or Z, found {moment.isoformat()}")
        return moment.astimezone(UTC)

    @functools.cached_property
    def seed(self) -> int:
        return int(self._variable(SEED_VARIABLE))

    def close(self) -> None:
        if "db" in self.__dict__:
            self.db.close()

    def _variable(self, name: str) -> str:
        try:
            return self._env[name]
        except KeyError:
            raise KeyError(f"environment variable {name} is not set") from None
