"""A PostgreSQL server as one run uses it: its databases, its role, and what dead runs have left.

What is ours on a server is told by name: ``outcomebox_<kind>_<place>_..`` where the kind is ``t``
(template), ``s`` (a session's database) or ``r`` (a run's role). A run holds an advisory lock as
long as it lives, and shares one for each template that it copies; what nobody holds may be removed.
Advisory locks belong to the database that a run is connected to, so ``place`` is its number, and
runs through another one leave each other's things alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
from psycopg import sql

from outcomebox.sandbox.backends.postgresql.adapt import stored
from outcomebox.sandbox.backends.postgresql.catalogue import Connection
from outcomebox.sandbox.backends.postgresql.connecting import (
    address,
    checked,
    connect,
    through_socket,
    told,
)
from outcomebox.sandbox.errors import InputError

_OLDEST = 130000
_RUNS = 0x6F7574  # the class of the runs' advisory locks
_KEPT = timedelta(days=14)
"""How long a template stays that nobody uses."""


class Cluster:
    """One run's hold on a server. Made by :meth:`open`; safe to use from several threads.

    Attributes:
        role: What the run's tool servers connect as.
        socket: Whether the server is reached through a Unix socket.
    """

    def __init__(self, dsn: str, connection: Connection) -> None:
        self._dsn = dsn
        self._connection = connection
        self._lock = threading.RLock()
        self._templates: set[str] = set()
        self._count = 0
        self._password = secrets.token_urlsafe(18)
        self._run = secrets.randbits(31)
        self.place = self._number("SELECT oid FROM pg_database WHERE datname = current_database()")
        self.role = f"outcomebox_r_{self.place}_{self._run:08x}"
        self.socket = through_socket(connection)
        self._copying = self._cheapest_copy()
        self._hold()
        self._make_role()

    @classmethod
    def open(cls, dsn: str) -> Cluster:
        """Connect to a server.

        Raises:
            InputError: It cannot be reached, is too old, or does not let its user do what is
                needed; the message holds no password.
        """
        checked(dsn)
        try:
            connection = connect(dsn, adapters=stored())
        except psycopg.Error as error:
            raise InputError(
                f"PostgreSQL cannot be reached: {told(error)}. Start it, or mend the address "
                "(`python3 -m tools.postgresql run -- COMMAND` starts one for a command)",
                field="backend",
            ) from error
        try:
            _check(connection)
            return cls(dsn, connection)
        except psycopg.Error as error:
            connection.close()
            raise InputError(f"PostgreSQL refuses: {told(error)}", field="backend") from error
        except InputError:
            connection.close()
            raise

    def connect(self, database: str) -> Connection:
        """A connection of the harness to one of its databases.

        Raises:
            psycopg.Error: There is none to be had.
        """
        return connect(self._dsn, adapters=stored(), name=self.role, dbname=database)

    def address(self, database: str) -> str:
        """What a tool server is told of its database."""
        return address(self._connection, dbname=database, user=self.role, password=self._password)

    @contextlib.contextmanager
    def admin(self) -> Iterator[Connection]:
        """The run's own connection, for one thread at a time; opened anew where it was lost.

        Raises:
            psycopg.Error: There is none to be had.
        """
        with self._lock:
            if self._connection.closed or self._connection.broken:
                self._connection = connect(self._dsn, adapters=stored())
                self._hold()
            yield self._connection

    def second(self) -> Connection:
        """Another connection like the run's own, for work in the background.

        Raises:
            psycopg.Error: There is none to be had.
        """
        return connect(self._dsn, adapters=stored(), name=self.role)

    def copy(self, template: str, connection: Connection) -> str:
        """A session's database made from a template; its name.

        Raises:
            psycopg.Error: It cannot be made.
        """
        with self._lock:
            self._count += 1
            name = f"outcomebox_s_{self.place}_{self._run:08x}_{self._count}"
        named, role = sql.Identifier(name), sql.Identifier(self.role)
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} {}").format(
                named, sql.Identifier(template), self._copying
            )
        )
        connection.execute(
            sql.SQL(
                "REVOKE ALL ON DATABASE {0} FROM PUBLIC; "
                "GRANT CONNECT, TEMPORARY ON DATABASE {0} TO {1}"
            ).format(named, role)
        )
        return name

    def template(self, digest: str) -> tuple[str, bool]:
        """The name of a template, held for this run; and whether it is there, sealed.

        Where it is not, the caller makes it under :meth:`making`.
        """
        # Who has made it owns it, and nobody else can read its log.
        owned = hashlib.sha256(f"{digest} {self._connection.info.user}".encode()).hexdigest()
        name = f"outcomebox_t_{self.place}_{owned[:24]}"
        with self.admin() as connection:
            connection.execute("SELECT pg_advisory_lock_shared(%s::bigint)", [_key(name)])
            if self._sealed(connection, name):
                self._templates.add(name)
                # Another run may write the same at the same moment, which is as good.
                with contextlib.suppress(psycopg.Error):
                    self._note_use(connection, name)
                return name, True
            connection.execute("SELECT pg_advisory_unlock_shared(%s::bigint)", [_key(name)])
            return name, False

    @contextlib.contextmanager
    def making(self, name: str) -> Iterator[bool]:
        """Hold a template alone, while it is made; tells whether that is still to be done.

        On leaving it is sealed: nobody can connect to it, so it can be copied at any time.

        Raises:
            psycopg.Error: The server refuses.
        """
        with self.admin() as connection:
            connection.execute("SELECT pg_advisory_lock(%s::bigint)", [_making(name)])
            try:
                if self._sealed(connection, name):
                    yield False
                else:
                    with self._sealing(connection, name):
                        yield True
                self._note_use(connection, name)
                connection.execute("SELECT pg_advisory_lock_shared(%s::bigint)", [_key(name)])
                self._templates.add(name)
            finally:
                if not connection.broken:
                    connection.execute("SELECT pg_advisory_unlock(%s::bigint)", [_making(name)])

    @contextlib.contextmanager
    def _sealing(self, connection: Connection, name: str) -> Iterator[None]:
        named = sql.Identifier(name)
        drop_database(connection, name)  # half of one, of a run that has died
        connection.execute(
            sql.SQL(
                "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"
            ).format(named)
        )
        try:
            yield
            connection.execute(
                sql.SQL("ALTER DATABASE {} IS_TEMPLATE true ALLOW_CONNECTIONS false").format(named)
            )
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                drop_database(connection, name)
            raise

    def clean(self, connection: Connection) -> None:
        """Remove what dead runs have left, and templates that nobody has used for long.

        Raises:
            psycopg.Error: The server refuses.
        """
        runs: dict[str, list[str]] = {}
        for name in _names(connection, f"outcomebox_s_{self.place}_"):
            runs.setdefault(name.split("_")[3], []).append(name)
        for role in connection.execute(
            "SELECT rolname FROM pg_roles WHERE starts_with(rolname, %s)",
            [f"outcomebox_r_{self.place}_"],
        ).fetchall():
            runs.setdefault(role[0].split("_")[3], [])
        for run, names in runs.items():
            number = int(run, 16)
            if number == self._run or not _try(connection, _RUNS, number):
                continue
            try:
                for name in names:
                    drop_database(connection, name)
                self._drop_role(connection, f"outcomebox_r_{self.place}_{run}")
            finally:
                connection.execute("SELECT pg_advisory_unlock(%s::int, %s::int)", [_RUNS, number])
        for name in _names(connection, f"outcomebox_t_{self.place}_"):
            self._clean_template(connection, name)

    def close(self) -> None:
        """Remove the run's databases and role, and let go of the server."""
        with self._lock, contextlib.suppress(psycopg.Error), self.admin() as connection:
            mine = f"outcomebox_s_{self.place}_{self._run:08x}_"
            for name in _names(connection, mine):
                drop_database(connection, name)
            self._drop_role(connection, self.role)
        self._connection.close()

    # -- one's own -------------------------------------------------------------------------

    def _number(self, query: str) -> int:
        row = self._connection.execute(query.encode()).fetchone()
        return 0 if row is None else int(row[0])

    def _cheapest_copy(self) -> sql.SQL:
        """How a database is best copied: by file where nothing is flushed to disk anyway."""
        row = self._connection.execute("SHOW fsync").fetchone()
        by_file = self._connection.info.server_version >= 150000 and row == ("off",)
        return sql.SQL("STRATEGY FILE_COPY" if by_file else "")

    def _hold(self) -> None:
        self._connection.execute("SELECT pg_advisory_lock(%s::int, %s::int)", [_RUNS, self._run])
        for name in self._templates:
            self._connection.execute("SELECT pg_advisory_lock_shared(%s::bigint)", [_key(name)])

    def _make_role(self) -> None:
        role = sql.Identifier(self.role)
        self._connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN NOINHERIT PASSWORD {}").format(
                role, sql.Literal(self._password)
            )
        )
        # Ends the connections that a dead tool server has left, which only a member may.
        if not _is_superuser(self._connection):
            self._connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(role))

    def _drop_role(self, connection: Connection, role: str) -> None:
        connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))

    def _sealed(self, connection: Connection, name: str) -> bool:
        found = connection.execute(
            "SELECT datistemplate AND NOT datallowconn FROM pg_database WHERE datname = %s", [name]
        ).fetchone()
        return found == (1,)

    def _note_use(self, connection: Connection, name: str) -> None:
        connection.execute(
            sql.SQL("COMMENT ON DATABASE {} IS {}").format(
                sql.Identifier(name), sql.Literal(f"used {datetime.now(UTC):%Y-%m-%d}")
            )
        )

    def _clean_template(self, connection: Connection, name: str) -> None:
        if name in self._templates or not _try(connection, _making(name)):
            return
        try:
            if not _try(connection, _key(name)):
                return
            row = connection.execute(
                "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s",
                [name],
            ).fetchone()
            limit = f"used {datetime.now(UTC) - _KEPT:%Y-%m-%d}"
            if row is not None and (row[0] or "") < limit:
                drop_database(connection, name)
            connection.execute("SELECT pg_advisory_unlock(%s::bigint)", [_key(name)])
        finally:
            connection.execute("SELECT pg_advisory_unlock(%s::bigint)", [_making(name)])


def drop_database(connection: Connection, name: str) -> None:
    """Remove a database if it is there, whoever is connected to it.

    Raises:
        psycopg.Error: The server refuses.
    """
    named = sql.Identifier(name)
    if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
        connection.execute(sql.SQL("ALTER DATABASE {} IS_TEMPLATE false").format(named))
    connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(named))


def _names(connection: Connection, start: str) -> list[str]:
    found = connection.execute(
        "SELECT datname FROM pg_database WHERE starts_with(datname, %s) ORDER BY datname", [start]
    )
    return [name for (name,) in found]


def _key(name: str) -> int:
    """The lock that a template's users share, and its remover has alone."""
    return int(name.rsplit("_", 1)[1][:15], 16)


def _making(name: str) -> int:
    """The lock that a template's maker has alone; users come while others still wait for it."""
    return -_key(name)


def _try(connection: Connection, *key: int) -> bool:
    marks = ", ".join(["%s::int"] * 2) if len(key) == 2 else "%s::bigint"
    row = connection.execute(f"SELECT pg_try_advisory_lock({marks})".encode(), key).fetchone()
    return row == (1,)


def _is_superuser(connection: Connection) -> bool:
    row = connection.execute(
        "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    return row == (1,)


def _check(connection: Connection) -> None:
    version = connection.info.server_version
    if version < _OLDEST:
        raise InputError(
            f"the server is PostgreSQL {version // 10000}; version {_OLDEST // 10000} is the "
            "oldest that can be used",
            field="backend",
        )
    row = connection.execute(
        "SELECT rolsuper OR rolcreatedb AND rolcreaterole, rolname FROM pg_roles "
        "WHERE rolname = current_user"
    ).fetchone()
    if row is None or not row[0]:
        name = connection.info.user
        raise InputError(
            f"the user {name} may not make databases and roles, which each session needs: "
            f'ALTER ROLE "{name}" CREATEDB CREATEROLE',
            field="backend",
        )
