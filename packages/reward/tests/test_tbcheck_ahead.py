"""Processes opened ahead: each check has one to itself, and none is left behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from outcomebox.reward.thinkingbox import CheckGrader
from outcomebox.reward.thinkingbox.ahead import opened_ahead
from outcomebox.sandbox.errors import SessionOpenError
from tbcheck_orders import order


@dataclass
class Pool:
    """Opens things that are counted, until it is told to fail."""

    open: set[int] = field(default_factory=set)
    most: int = 0
    count: int = 0
    error: Exception | None = None

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Any]:
        if self.error is not None:
            raise self.error
        self.count += 1
        number = self.count
        self.open.add(number)
        self.most = max(self.most, len(self.open))
        try:
            await anyio.lowlevel.checkpoint()
            yield number
        finally:
            self.open.remove(number)


async def settle() -> None:
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_each_gets_its_own_and_all_are_closed(count: int) -> None:
    pool = Pool()
    seen: list[int] = []

    async def run() -> None:
        async with opened_ahead(pool, count) as opener:
            await settle()
            assert len(pool.open) == count

            async def use() -> None:
                async with opener() as process:
                    assert isinstance(process, int)
                    assert process in pool.open
                    seen.append(process)
                    await settle()
                    assert process in pool.open

            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(use)
            await settle()
            assert len(pool.open) == count
        assert pool.open == set()

    anyio.run(run)
    assert sorted(seen) == sorted(set(seen))
    assert len(seen) == 8


def test_what_fails_in_the_body_comes_out_as_itself() -> None:
    pool = Pool()

    async def run() -> None:
        async with opened_ahead(pool, 2) as opener, opener():
            await settle()
            raise KeyError("body")

    with pytest.raises(KeyError, match="body"):
        anyio.run(run)
    assert pool.open == set()


def test_a_check_that_is_cancelled_leaves_nothing_open() -> None:
    pool = Pool()

    async def run() -> None:
        async with opened_ahead(pool, 1) as opener:
            await settle()
            with anyio.CancelScope() as scope:
                async with opener():
                    before = set(pool.open)
                    scope.cancel()
                    await anyio.sleep_forever()
            await settle()
            assert len(before) == len(pool.open) == 1
            assert before != pool.open

    anyio.run(run)
    assert pool.open == set()


@pytest.mark.parametrize("error", [SessionOpenError("cannot fork"), OSError("no memory")])
def test_where_no_process_can_be_had_there_is_no_verdict(error: Exception) -> None:
    pool = Pool(error=error)

    async def run() -> Any:
        async with opened_ahead(pool, 2) as opener:
            return await CheckGrader(opener).grade(order("passes"))

    verdict = anyio.run(run)
    assert verdict.outcome == "system_error"
    assert verdict.error == {"type": type(error).__name__, "message": str(error), "phase": "check"}
