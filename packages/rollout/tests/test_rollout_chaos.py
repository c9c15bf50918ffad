"""An endpoint that does all that endpoints do: nothing is lost, doubled, or judged otherwise."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import stamina

from outcomebox.rollout.standin import KINDS, Chaos, standin
from outcomebox.rollout.standin.chaos import ANY, STREAMED, WHOLE
from standin_runs import Desk, Key, desk, found, outcomes

pytestmark = pytest.mark.anyio
HEAVY = os.environ.get("OUTCOMEBOX_HEAVY") == "1"
TASKS, ATTEMPTS = (40, 2) if HEAVY else (16, 1)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(autouse=True)
def quick_retries() -> Iterator[None]:
    """Retries without their waiting times; as many as the endpoint has by default."""
    stamina.set_testing(True, attempts=5)
    yield
    stamina.set_testing(False)


@pytest.fixture(scope="module")
async def shop() -> AsyncIterator[Desk]:
    """Some tasks of the shop."""
    async with desk(TASKS) as shop:
        yield shop


@pytest.fixture(scope="module")
async def clean(shop: Desk) -> dict[Key, dict[str, Any]]:
    """What a quiet endpoint gives."""
    async with standin(shop.known) as quiet:
        return await shop.against(quiet, attempts=ATTEMPTS)


def wild(rate: float, *, most: int = 3) -> Chaos:
    """All kinds, without much waiting."""
    return Chaos(rate=rate, seed=3, most=most, slow_s=0.01, stall_s=0.01, retry_after_s=0.01)


async def test_what_is_found_is_what_a_quiet_endpoint_gives(
    shop: Desk, clean: dict[Key, dict[str, Any]]
) -> None:
    assert len(clean) == TASKS * ATTEMPTS
    assert set(outcomes(clean).values()) == {"passed", "failed"}
    for stream, of_its_own in (("false", WHOLE), ("true", STREAMED)):
        async with standin(shop.known, wild(0.5)) as broken:
            rows = await shop.against(broken, attempts=ATTEMPTS, stream=stream)
            assert set(broken.luck.injected) == {*ANY, *of_its_own}
        assert found(rows) == found(clean)
        retries = sum(row["traffic"]["policy"]["retries"] for row in rows.values())
        assert retries > 0


async def test_requests_that_never_get_through_are_no_failures_of_the_model(
    shop: Desk, clean: dict[Key, dict[str, Any]]
) -> None:
    # Requests are hit more often than they are sent again, so that whole tries break.
    async with standin(shop.known, wild(0.75, most=8)) as broken:
        rows = await shop.against(broken, attempts=ATTEMPTS)
    told = outcomes(rows)
    expected = outcomes(clean)
    assert set(told) == set(expected)
    assert any(row["try"] for row in rows.values())
    for key, outcome in told.items():
        assert outcome in {expected[key], "system_error"}
        if outcome == "system_error":
            assert rows[key]["error"]["phase"] == "policy"


def test_all_kinds_are_of_some_request() -> None:
    assert {*ANY, *WHOLE, *STREAMED} == set(KINDS)
    assert len(KINDS) == len(ANY) + len(WHOLE) + len(STREAMED)
