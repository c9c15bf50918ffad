"""What the crew asks of Ray, in one process: for what no healthy cluster does."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    """Of Ray's errors the general one."""


class _Method:
    """A method of an actor: asked, it answers later."""

    def __init__(self, function: Callable[..., Coroutine[Any, Any, Any]]) -> None:
        self._function = function

    def remote(self, *arguments: Any) -> Any:
        """Begin; what comes back has the answer."""
        answer: concurrent.futures.Future[Any] = concurrent.futures.Future()

        async def run() -> None:
            try:
                value = await self._function(*arguments)
            except Exception as error:  # noqa: BLE001 -- the answer, whatever it is
                if not answer.cancelled():
                    answer.set_exception(error)
            else:
                if not answer.cancelled():
                    answer.set_result(value)

        task = asyncio.ensure_future(run())
        return SimpleNamespace(future=lambda: answer, task=task)


class PretendedRay:
    """Gives the workers it is told to give, one after the other.

    Args:
        make: The worker with some number, from 0.
    """

    exceptions = SimpleNamespace(
        RayError=RayError,
        RuntimeEnvSetupError=type("RuntimeEnvSetupError", (RayError,), {}),
        ActorUnschedulableError=type("ActorUnschedulableError", (RayError,), {}),
    )
    util = SimpleNamespace(
        scheduling_strategies=SimpleNamespace(NodeAffinitySchedulingStrategy=SimpleNamespace)
    )

    def __init__(self, make: Callable[[int], Any]) -> None:
        self._make = make
        self.made: list[Any] = []
        self.killed: list[Any] = []
        self.ended: list[int] = []

    def remote(self, **options: Any) -> Callable[[Any], Any]:
        """What Ray makes of a class, or of the function that ends a process."""
        if "max_concurrency" in options:
            return lambda _: SimpleNamespace(remote=self._actor)

        async def end(pid: int, name: str) -> bool:
            assert name == "ray::OutcomeboxWorker"
            self.ended.append(pid)
            return True

        return lambda _: _Method(end)

    def _actor(self) -> Any:
        worker = self._make(len(self.made))
        self.made.append(worker)
        names = ("about", "node", "start", "attempt", "beat", "close")
        return SimpleNamespace(**{name: _Method(getattr(worker, name)) for name in names})

    def kill(self, actor: Any, *, no_restart: bool) -> None:
        """Note it."""
        assert no_restart
        self.killed.append(actor)

    def cancel(self, reference: Any, *, recursive: bool) -> None:
        """End what goes on."""
        assert not recursive
        reference.task.cancel()

    def cluster_resources(self) -> dict[str, float]:
        """Some CPUs."""
        return {"CPU": 2.0}

    available_resources = cluster_resources
