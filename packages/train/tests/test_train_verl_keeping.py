"""What a process keeps open: opened once, closed by who opened it, and anew if it broke."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from outcomebox.train.verl.keeping import Keeper

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """verl's event loop is asyncio's."""
    return "asyncio"


class Door:
    """Opens, and notes which task opened and closed it; breaks as often as it is told."""

    def __init__(self, *, breaks: int = 0) -> None:
        self.breaks = breaks
        self.opened: list[asyncio.Task[object] | None] = []
        self.closed: list[asyncio.Task[object] | None] = []
        self.go = asyncio.Event()
        self.go.set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[int]:
        """Its number."""
        self.opened.append(asyncio.current_task())
        try:
            await self.go.wait()
            if self.breaks:
                self.breaks -= 1
                raise ConnectionError(f"number {len(self.opened)}")
            yield len(self.opened)
        finally:
            self.closed.append(asyncio.current_task())


async def test_it_is_opened_once_for_all_and_closed_by_who_opened_it() -> None:
    door = Door()
    keeper = Keeper(door.open)
    assert await asyncio.gather(*(keeper.live() for _ in range(5))) == [1] * 5
    assert door.closed == []
    await keeper.aclose()
    assert door.opened == door.closed
    assert door.opened[0] is not asyncio.current_task()
    await keeper.aclose()
    assert await keeper.live() == 2
    await keeper.aclose()


async def test_all_who_waited_share_a_failure_and_the_next_tries_anew() -> None:
    door = Door(breaks=1)
    door.go.clear()
    keeper = Keeper(door.open)
    waiting = [asyncio.create_task(keeper.live()) for _ in range(5)]
    await asyncio.sleep(0)
    door.go.set()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert [str(each) for each in found] == ["number 1"] * 5
    assert len(door.opened) == 1
    assert await keeper.live() == 2
    await keeper.aclose()
    assert len(door.closed) == 2


async def test_what_broke_is_opened_anew() -> None:
    door = Door()
    keeper = Keeper(door.open)
    await keeper.live()
    assert keeper._task is not None
    keeper._task.cancel()
    await asyncio.wait([keeper._task])
    assert await keeper.live() == 2
    await keeper.aclose()


async def test_who_is_cancelled_while_it_opens_leaves_nothing_open() -> None:
    door = Door()
    door.go.clear()
    keeper = Keeper(door.open)
    waiting = asyncio.create_task(keeper.live())
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.wait([waiting])
    door.go.set()
    assert await keeper.live() == 2
    await keeper.aclose()
    assert len(door.opened) == len(door.closed) == 2
