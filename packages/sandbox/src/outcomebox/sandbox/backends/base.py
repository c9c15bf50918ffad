"""What a backend is: who makes a domain's database, a copy of it for each session, and its end.

An *image* is an initial state that sessions start from, made once; a *backing* is one session's own
database, made from an image and gone with the session. Neither knows of servers or processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol, TypeVar

from outcomebox.sandbox.changes import TerminalState
from outcomebox.sandbox.database import DatabaseState
from outcomebox.sandbox.domain import Domain
from outcomebox.sandbox.servers import Network
from outcomebox.sandbox.task import Task


class Backing(Protocol):
    """One session's database."""

    @property
    def address(self) -> str:
        """What the server is told (``OUTCOMEBOX_DATABASE``); ``{folder}`` is the session's."""
        ...

    @property
    def files(self) -> Mapping[str, bytes]:
        """Content of the files that the session's folder must hold at its start, by name."""
        ...

    def settle(self, folder: Path) -> None:
        """Learn the session's folder; called once, when its server is up."""
        ...

    async def mark(self) -> int | None:
        """Length of the change log now; None where it cannot be told.

        Called after each tool call. Never waits for a lock, and holds none when it returns.
        """
        ...

    async def so_far(self, calls: Sequence[tuple[str, int | None]]) -> TerminalState:
        """What the session holds between two calls, committed work alone; its server lives on.

        Args:
            calls: Tool and mark of each call, in order.

        Raises:
            StateUnreadable: The database is missing or broken, or a writer keeps it locked.
        """
        ...

    async def terminal_state(self, calls: Sequence[tuple[str, int | None]]) -> TerminalState:
        """What the session has left; called once, after its server was killed.

        Args:
            calls: Tool and mark of each call, in order.

        Raises:
            StateUnreadable: The database is missing or broken.
        """
        ...


class Image(Protocol):
    """An initial state of sessions."""

    @property
    def state(self) -> DatabaseState:
        """Its tables and rows, read once: the *before* of every comparison."""
        ...

    def open(self) -> AbstractAsyncContextManager[Backing]:
        """A database of its own for one session, gone on exit.

        Raises:
            SessionOpenError: There is none to be had.
        """
        ...


ImageT = TypeVar("ImageT", bound=Image)


class Backend(Protocol[ImageT]):
    """Makes images. Whoever has made a backend closes it."""

    @property
    def name(self) -> str:
        """What it is called in settings and records."""
        ...

    @property
    def network(self) -> Network:
        """What network a tool server needs to reach its database."""
        ...

    def domain_image(self, domain: Domain) -> ImageT:
        """Schema and seed of a domain.

        Raises:
            InputError: The SQL fails, a foreign key is broken, or a table has no primary key.
        """
        ...

    def task_image(self, base: ImageT, task: Task) -> ImageT:
        """The domain's image with the task's ``init`` applied (the same object if it has none).

        Raises:
            InputError: An edit names a table, column or row that is not there, or breaks a
                constraint.
        """
        ...

    def close(self) -> None:
        """Let go of all that it holds; a second time is none."""
        ...
