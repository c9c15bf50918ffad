"""What a domain's MCP server is written with: typed tools over one session's own SQLite file.

A server module builds one :class:`ToolServer` at import, decorates plain functions with
:meth:`ToolServer.tool` and calls :meth:`ToolServer.run`. Nothing is opened at import, so that a
process may import the module once and fork a fresh session from there.

The session reaches the server through its environment:

=====================  ==================================================================
``OUTCOMEBOX_DATABASE``  path of the session's SQLite file, which must exist
``OUTCOMEBOX_NOW``       the session's frozen clock, ISO 8601 with an offset or ``Z``
``OUTCOMEBOX_SEED``      the session's seed, a whole number
=====================  ==================================================================
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from mcp.types import ToolAnnotations

from outcomebox.sandbox._mcp import MCPServer, ToolError
from outcomebox.sandbox.serving import Answers, BackendFailed, serve_lines
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
        db = self.db
        try:
            db.execute(f"PRAGMA query_only = {0 if writes else 1}")
            db.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                result = function(*args, **kwargs)
                db.execute("COMMIT")
            except BaseException:
                db.rollback()
                raise
        except sqlite3.IntegrityError as error:
            message = f"The database refused the change: {error}. Nothing was written."
            raise ToolError(message) from error
        except sqlite3.ProgrammingError:
            raise  # a mistake in the server's own SQL: an error result that names it
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and not _backend_failed(error):
                raise
            # Infrastructure, not the agent: no answer may look like a tool's own refusal.
            self._die(f"database failed during {function.__name__}: {error}")
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
    def db(self) -> sqlite3.Connection:
        """The session's database (foreign keys on, autocommit outside of a tool call)."""
        return self._session.db

    def rows(self, sql: str, *parameters: object) -> list[dict[str, Any]]:
        """All rows of a query, each a dict of column to value."""
        return [dict(row) for row in self.db.execute(sql, parameters)]

    def one(self, sql: str, *parameters: object) -> dict[str, Any] | None:
        """The first row of a query, or None."""
        row = self.db.execute(sql, parameters).fetchone()
        return None if row is None else dict(row)

    def execute(self, sql: str, *parameters: object) -> int:
        """Run one statement; returns the number of rows it touched."""
        return self.db.execute(sql, parameters).rowcount

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
        for (text,) in self.db.execute(f'SELECT "{column}" FROM "{table}"'):
            digits = str(text).removeprefix(prefix)
            if str(text).startswith(prefix) and digits.isdecimal() and int(digits) >= best:
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
            self.db.execute("PRAGMA schema_version")
            self.now, self.seed  # noqa: B018 -- read here so that a bad value ends the start
        except (sqlite3.Error, OSError, ValueError, KeyError) as error:
            self._die(f"cannot start: {error}")


class _Session:
    """What a session's variables say, read when first asked for."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    @functools.cached_property
    def db(self) -> sqlite3.Connection:
        path = Path(self._variable(DATABASE_VARIABLE)).resolve()
        # mode=rw: a missing file is a fault, never a new empty database.
        db = sqlite3.connect(
            f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None, check_same_thread=False
        )
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA foreign_keys = ON")
        # The file lives as long as the session: it has to outlive the process, not a power cut.
        db.execute("PRAGMA synchronous = OFF")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        return db

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


def _backend_failed(error: sqlite3.OperationalError) -> bool:
    """Whether an operational error is the storage's fault (and not, say, a syntax error)."""
    primary = cast(int, getattr(error, "sqlite_errorcode", 0)) & 0xFF
    return primary not in {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_READONLY}
