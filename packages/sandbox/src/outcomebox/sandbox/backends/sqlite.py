"""The SQLite backend: a session's database is a file of its own, a plain copy of the image."""

from __future__ import annotations

from outcomebox.sandbox.domain import Domain
from outcomebox.sandbox.image import SqliteImage, domain_image, task_image
from outcomebox.sandbox.servers import Network
from outcomebox.sandbox.task import Task


class SqliteBackend:
    """Makes SQLite images; see :class:`~outcomebox.sandbox.backends.base.Backend`."""

    name = "sqlite"
    network: Network = "loopback"

    def domain_image(self, domain: Domain) -> SqliteImage:
        """Schema and seed of a domain.

        Raises:
            InputError: The SQL fails, a foreign key is broken, or a table has no primary key.
        """
        return domain_image(domain)

    def task_image(self, base: SqliteImage, task: Task) -> SqliteImage:
        """The domain's image with the task's ``init`` applied (the same object if it has none).

        Raises:
            InputError: An edit names a table, column or row that is not there, or breaks a
                constraint.
        """
        return task_image(base, task)

    def close(self) -> None:
        """Nothing is held."""


SQLITE = SqliteBackend()
