"""Keeps something open for the life of a process, for many who use it at a time.

A sandbox has to be closed by the task that opened it, and none of the tasks that play episodes
lives long enough. So a task of its own opens it, waits, and closes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

T = TypeVar("T")


class Keeper(Generic[T]):
    """Opens on first use, once; opens anew when what was open broke.

    Args:
        opening: Gives what is to be entered, each time that it is.
    """

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self._opening = opening
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()
        self._kept: T | None = None
        self._failures = 0
        self._failure: Exception | None = None

    async def live(self) -> T:
        """What is kept.

        Raises:
            Exception: It cannot be opened. All who waited for that attempt get the same exception;
                who asks later causes another attempt.
        """
        failures = self._failures
        async with self._lock:
            if self._task is not None and not self._task.done() and self._kept is not None:
                return self._kept
            if self._failure is not None and self._failures > failures:
                raise self._failure
            return await self._open()

    async def _open(self) -> T:
        started: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._ending = asyncio.Event()
        self._task = asyncio.create_task(self._keep(started, self._ending))
        try:
            self._kept = await started
        except BaseException as error:
            self._kept = None
            self._task.cancel()  # of no effect where it is it that failed
            if isinstance(error, Exception):
                self._failures += 1
                self._failure = error
            raise
        return self._kept

    async def _keep(self, started: asyncio.Future[T], ending: asyncio.Event) -> None:
        try:
            async with self._opening() as kept:
                started.set_result(kept)
                await ending.wait()
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    async def aclose(self) -> None:
        """Close what is kept, if it is open."""
        async with self._lock:
            task, self._task, self._kept = self._task, None, None
            if task is not None:
                self._ending.set()
                await task
