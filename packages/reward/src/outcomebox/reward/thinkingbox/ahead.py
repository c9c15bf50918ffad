"""Grader processes that are opened before they are needed and closed after.

To open and to close one costs more than most checks take. Neither has to happen while somebody
waits for a verdict.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from outcomebox.reward.thinkingbox.processes import GraderProcess, Opener
from outcomebox.sandbox.errors import SandboxFault
from outcomebox.sandbox.ungrouped import ungrouped


@dataclass(frozen=True, eq=False)
class _Spare:
    process: GraderProcess
    done: anyio.Event = field(default_factory=anyio.Event)


@asynccontextmanager
async def opened_ahead(opener: Opener, count: int) -> AsyncIterator[Opener]:
    """An opener that has some processes ready.

    Args:
        opener: Opens one.
        count: How many wait at most; when none does, one is opened on the spot.
    """
    give, take = anyio.create_memory_object_stream[_Spare](0)

    async def keep() -> None:
        while True:
            try:
                async with opener() as process:
                    spare = _Spare(process)
                    await give.send(spare)
                    await spare.done.wait()
            except (SandboxFault, OSError):
                return  # whoever needs the next process opens it, and is told what is wrong

    @asynccontextmanager
    async def ready() -> AsyncIterator[GraderProcess]:
        try:
            spare = take.receive_nowait()
        except anyio.WouldBlock:
            async with opener() as process:
                yield process
            return
        try:
            yield spare.process
        finally:
            spare.done.set()

    with ungrouped():
        async with give, take, anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(keep)
            try:
                yield ready
            finally:
                group.cancel_scope.cancel()
