"""Databases made ahead: a session takes one that is ready, and a thread makes the next.

Copying a template takes some tens of milliseconds and removing a copy some more; neither is waited
for. How many are kept ready follows how many are in use at a time, up to a bound.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass

import psycopg

from outcomebox.sandbox.backends.postgresql.catalogue import Connection
from outcomebox.sandbox.backends.postgresql.cluster import Cluster, drop_database
from outcomebox.sandbox.backends.postgresql.parts import fingerprint

# Copies waiting for their removal, at most: beyond it, whoever gives one back removes it.
_MOST_WASTE = 64
_RETRY_S = 1.0


@dataclass(frozen=True)
class Copy:
    """A session's database.

    Attributes:
        name: Its name on the server.
        template: What it is a copy of.
        connection: The harness's own connection to it.
    """

    name: str
    template: str
    connection: Connection


class Pool:
    """Copies of templates; safe to use from several threads.

    Args:
        cluster: Where they are made.
        size: How many may be ready at a time, of each template; 0 for none made ahead.
    """

    def __init__(self, cluster: Cluster, *, size: int) -> None:
        self._cluster = cluster
        self._size = size
        self._change = threading.Condition()
        self._ready: defaultdict[str, deque[Copy]] = defaultdict(deque)
        self._wanted: dict[str, int] = {}
        self._used: defaultdict[str, int] = defaultdict(int)
        self._waste: deque[str] = deque()
        self._closed = False
        self._spare: Connection | None = None
        self._worker = threading.Thread(target=self._work, name="outcomebox-pool", daemon=True)
        self._worker.start()

    def take(self, template: str) -> Copy:
        """A copy that nobody else has.

        Raises:
            psycopg.Error: The server does not make one.
        """
        with self._change:
            self._used[template] += 1
            # As many again as are in use: all of them may end and begin anew at once.
            most = min(self._size, max(self._used[template], self._wanted.get(template, 0)))
            self._wanted[template] = most
            ready = self._ready[template].popleft() if self._ready[template] else None
            self._change.notify()
        if ready is not None:
            with contextlib.suppress(psycopg.Error):
                ready.connection.execute("SELECT 1")
                return ready
            # The server has let go of it since it was made.
            with self._change:
                self._waste.append(ready.name)
        try:
            with self._cluster.admin() as connection:
                name = self._cluster.copy(template, connection)
            return self._entered(name, template)
        except BaseException:
            with self._change:
                self._used[template] -= 1
            raise

    def give_back(self, copy: Copy) -> None:
        """Have a copy removed, soon."""
        copy.connection.close()
        with self._change:
            self._used[copy.template] -= 1
            self._waste.append(copy.name)
            self._change.notify()
            backlog = len(self._waste) > _MOST_WASTE
        if backlog:
            with contextlib.suppress(psycopg.Error), self._cluster.admin() as connection:
                self._remove(connection)

    def close(self) -> None:
        """Stop making copies, and drop what is ready; the cluster removes what is left."""
        with self._change:
            self._closed = True
            self._change.notify()
        self._worker.join()
        for copies in self._ready.values():
            while copies:
                copies.pop().connection.close()

    def ready(self, template: str) -> int:
        """How many copies are ready now."""
        with self._change:
            return len(self._ready[template])

    def _entered(self, name: str, template: str) -> Copy:
        connection = self._cluster.connect(name)
        # What the end of a session asks first is slow the first time on a connection.
        fingerprint(connection)
        return Copy(name, template, connection)

    def _work(self) -> None:
        try:
            self._clean()
            while True:
                with self._change:
                    while not (self._closed or self._waste or self._lacking()):
                        self._change.wait()
                    if self._closed:
                        return
                    lacking = self._lacking()
                try:
                    self._step(lacking)
                except psycopg.Error:
                    # Whoever takes a copy is told by the attempt of its own.
                    self._spare = None
                    time.sleep(_RETRY_S)
        finally:
            if self._spare is not None:
                self._spare.close()

    def _clean(self) -> None:
        with contextlib.suppress(psycopg.Error):
            self._cluster.clean(self._connection())

    def _step(self, lacking: str | None) -> None:
        connection = self._connection()
        if lacking is not None:
            name = self._cluster.copy(lacking, connection)
            copy = self._entered(name, lacking)
            with self._change:
                self._ready[lacking].append(copy)
        self._remove(connection)

    def _remove(self, connection: Connection) -> None:
        with self._change:
            name = self._waste.popleft() if self._waste else None
        if name is not None:
            drop_database(connection, name)

    def _lacking(self) -> str | None:
        for template, wanted in self._wanted.items():
            if len(self._ready[template]) < wanted:
                return template
        return None

    def _connection(self) -> Connection:
        if self._spare is None or self._spare.closed:
            self._spare = self._cluster.second()
        return self._spare
