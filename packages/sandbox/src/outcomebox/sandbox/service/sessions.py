"""All sessions of a service: bounded in number, found by name, ended when nobody uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import anyio.abc

from outcomebox.sandbox.service.held import Held
from outcomebox.sandbox.service.metrics import Metrics
from outcomebox.sandbox.service.offers import Offers
from outcomebox.sandbox.service.refusals import RefusedRequest, no_session
from outcomebox.sandbox.service.requests import SessionCreate


class Sessions:
    """The sessions that clients have.

    Args:
        group: Where they live.
        offers: Opens them.
        metrics: Where they are counted.
        most: Sessions at a time.
        wait_s: Seconds that a client waits for a place before it is told to come again.
    """

    def __init__(
        self,
        group: anyio.abc.TaskGroup,
        offers: Offers,
        metrics: Metrics,
        *,
        most: int,
        wait_s: float,
    ) -> None:
        self._group = group
        self._offers = offers
        self._metrics = metrics
        self._most = most
        self._wait_s = wait_s
        self._places = anyio.Semaphore(most, max_value=most)
        self._held: dict[str, Held] = {}

    @property
    def in_use(self) -> int:
        """Places that are taken: by sessions that are there, come up or are being ended."""
        return self._most - self._places.value

    @property
    def waiting(self) -> int:
        """Requests that wait for a place."""
        return self._places.statistics().tasks_waiting

    async def create(self, order: SessionCreate) -> Mapping[str, Any]:
        """Open a session.

        Returns:
            What the start of each server told.

        Raises:
            RefusedRequest: The name is taken, there is no place, or it did not come up.
        """
        name = order.session_id
        if name in self._held:
            raise RefusedRequest("Session already exists")
        opening = self._offers.opening(order)
        held = self._held[name] = Held(order)

        async def hold() -> None:
            try:
                await held.hold(opening, self._places, most=self._most, wait_s=self._wait_s)
            finally:
                if self._held.get(name) is held:
                    del self._held[name]

        self._group.start_soon(hold)
        try:
            told = await held.opened()
        except RefusedRequest as error:
            self._metrics.session("refused" if error.status == 429 else "failed")
            raise
        self._metrics.session("created")
        return told

    def get(self, name: str) -> Held:
        """A session by name.

        Raises:
            RefusedRequest: There is none.
        """
        if name not in self._held:
            raise no_session()
        return self._held[name]

    async def destroy(self, name: str) -> None:
        """End a session.

        Raises:
            RefusedRequest: There is none.
        """
        held = self.get(name)
        del self._held[name]
        await held.destroy()
        self._metrics.session("destroyed")

    async def destroy_all(self) -> None:
        """End all sessions."""
        await self._end(list(self._held), "destroyed")

    async def expire(self, idle_s: float) -> list[str]:
        """End the sessions that nobody has used for some time.

        Returns:
            Their names.
        """
        idle = [name for name, held in self._held.items() if held.idle_s > idle_s]
        await self._end(idle, "expired")
        return idle

    async def _end(self, names: Sequence[str], how: str) -> None:
        async with anyio.create_task_group() as group:
            for held in [self._held.pop(name) for name in names]:
                group.start_soon(held.destroy)
                self._metrics.session(how)
