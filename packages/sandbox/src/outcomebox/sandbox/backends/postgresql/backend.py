"""The PostgreSQL backend: sessions in copies of template databases."""

from __future__ import annotations

import atexit
import os
import threading

import psycopg

from outcomebox.sandbox.backends.postgresql.cluster import Cluster
from outcomebox.sandbox.backends.postgresql.connecting import told
from outcomebox.sandbox.backends.postgresql.image import DomainDatabase, PostgresqlImage
from outcomebox.sandbox.backends.postgresql.pool import Pool
from outcomebox.sandbox.backends.postgresql.template import digest, domain_template
from outcomebox.sandbox.domain import Domain
from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.servers import Network
from outcomebox.sandbox.task import Task

READY = 8
"""How many databases are made ahead, at most, of each domain."""


class PostgresqlBackend:
    """Makes PostgreSQL images; see :class:`~outcomebox.sandbox.backends.base.Backend`.

    What it has made on the server is removed by :meth:`close`, which the end of the process calls
    too, and by the next run where this one is killed. Templates stay, for the next run.

    Args:
        dsn: The server, with a user that may make databases and roles.
        ready: How many databases may be made ahead, of each domain.

    Raises:
        InputError: The server cannot be used.
    """

    name = "postgresql"

    def __init__(self, dsn: str, *, ready: int = READY) -> None:
        self._cluster = Cluster.open(dsn)
        self._pool = Pool(self._cluster, size=ready)
        self._domains: dict[str, DomainDatabase] = {}
        self._lock = threading.Lock()
        self._pid = os.getpid()
        atexit.register(self.close)

    @property
    def network(self) -> Network:
        """What a tool server needs to reach its database: no network where it is a socket."""
        return "loopback" if self._cluster.socket else "host"

    @property
    def pool(self) -> Pool:
        """The databases made ahead."""
        return self._pool

    @property
    def cluster(self) -> Cluster:
        """The server."""
        return self._cluster

    def domain_image(self, domain: Domain) -> PostgresqlImage:
        """Schema and seed of a domain.

        Raises:
            InputError: The domain has none for PostgreSQL, the SQL fails, or a table has no
                primary key, or the server fails.
        """
        key = f"{digest(domain)} {domain.settings.changes}"
        with self._lock:
            if key not in self._domains:
                try:
                    template = domain_template(self._cluster, domain)
                    full = domain.settings.changes == "full"
                    self._domains[key] = DomainDatabase(
                        self._cluster, self._pool, template, full=full
                    )
                except psycopg.Error as error:
                    raise InputError(
                        f"PostgreSQL fails: {told(error)}", file=domain.folder, field="backend"
                    ) from error
            return PostgresqlImage(self._domains[key])

    def task_image(self, base: PostgresqlImage, task: Task) -> PostgresqlImage:
        """The domain's image with the task's ``init`` applied (the same object if it has none).

        Raises:
            InputError: An edit names a table, column or row that is not there, or breaks a
                constraint, or the server fails.
        """
        return PostgresqlImage(base.base, task) if task.init else base

    def close(self) -> None:
        """Remove all that is on the server but the templates. A second time is none."""
        if self._pid != os.getpid():
            return  # a fork of whoever made it
        atexit.unregister(self.close)
        with self._lock:
            self._pool.close()
            self._cluster.close()
